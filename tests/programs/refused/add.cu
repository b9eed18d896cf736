// SPDX-License-Identifier: Apache-2.0
// A program on the runtime that ends as its first argument says, after a launch that adds 1 to 64 numbers.
#include <cassert>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "../runtime/check.h"

__global__ void add(int *x, int what) {
    const int i = threadIdx.x;
    x[i]++;
    if (what == 1) x[(i + 1) % 64]++;  // found here: race
    if (what == 2) assert(x[i] < 60);  // found here: assert
    if (what == 3) __trap();           // found here: trap
    if (what == 4)
        while (atomicAdd(&x[0], 0) >= 0) continue;  // found here: livelock
    if (what == 5) printf("thread %d has %d\n", i, x[i]);
}

// What a second runtime in the program, linked statically, asks of the driver.
static void ask_for_private_tables() {
    void                           *found;
    cudaDriverEntryPointQueryResult result;
    const void                     *table;
    const char                      id[16] = "no such table";
    CHECK(cudaGetDriverEntryPointByVersion("cuGetExportTable", &found, 13000, cudaEnableDefault, &result));
    REQUIRE(reinterpret_cast<int (*)(const void **, const void *)>(found)(&table, id) != 0);
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    const int   what = !strcmp(how, "race") ? 1 : !strcmp(how, "assert") ? 2 : !strcmp(how, "trap") ? 3 :
                       !strcmp(how, "livelock") ? 4 : !strcmp(how, "printf") ? 5 : 0;
    int *x, host[64];
    for (int i = 0; i < 64; i++) host[i] = i;
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    add<<<1, 64>>>(x, what);
    if (!strcmp(how, "fork")) {
        int status;
        if (!fork()) _exit(cudaMemset(x, 0, sizeof host) == cudaSuccess ? 0 : 3);
        wait(&status);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    if (!strcmp(how, "unchecked")) add<<<1, 2000>>>(x, what);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "tables")) {
        ask_for_private_tables();
        CHECK(cudaFree(x));
        return 3;
    }
    if (strcmp(how, "leak")) CHECK(cudaFree(x));
    puts("add: passed");
    return 0;
}
