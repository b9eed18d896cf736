// SPDX-License-Identifier: Apache-2.0
// Functions that this runtime does not have: they are there, and their calls fail.
#include "check.cuh"

int main() {
    int                   *p = nullptr;
    cudaIpcMemHandle_t     memory;
    cudaIpcEventHandle_t   other;
    cudaEvent_t            event = nullptr;
    cudaExternalMemory_t   external = nullptr;
    const void            *table = nullptr;
    cudaUUID_t             id = {};
    cudaMemPool_t          pool = nullptr;
    int                    handle = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    EXPECT(cudaErrorNotSupported, cudaIpcGetMemHandle(&memory, p));
    EXPECT(cudaErrorNotSupported, cudaIpcGetEventHandle(&other, event));
    EXPECT(cudaErrorNotSupported, cudaIpcOpenMemHandle((void **)&p, memory, cudaIpcMemLazyEnablePeerAccess));
    EXPECT(cudaErrorNotSupported, cudaImportExternalMemory(&external, nullptr));
    EXPECT(cudaErrorNotSupported, cudaGetExportTable(&table, &id));
    EXPECT(cudaErrorNotSupported,
           cudaMemPoolExportToShareableHandle(&handle, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    OK(cudaEventDestroy(event));
    OK(cudaFree(p));
    return report();
}
