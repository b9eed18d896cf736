// SPDX-License-Identifier: Apache-2.0
// flags: -lcuda
// What is loaded at run time: a fat binary in a file, whole and cut; PTX texts that the driver's linker makes one.
#include <cuda.h>
#include <string>
#include <unistd.h>

#include "check.cuh"

#define DRIVER(call) driver(call, #call, __LINE__)
static void driver(CUresult got, const char *call, int line) {
    if (got) printf("line %d: %s returns %d\n", line, call, (int)got);
    failures += got != CUDA_SUCCESS;
}

static const char kernel[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".extern .func (.param .b32 out) seven();\n"
                             ".extern .global .u32 bias;\n"
                             ".visible .entry store(.param .u64 to) {\n.reg .u64 %p; .reg .u32 %v, %b;\n"
                             "{ .param .b32 out; call (out), seven, (); ld.param.b32 %v, [out]; }\n"
                             "ld.global.u32 %b, [bias]; add.u32 %v, %v, %b;\n"
                             "ld.param.u64 %p, [to]; st.global.u32 [%p], %v; ret;\n}\n";
static const char function[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .global .u32 bias = 35;\n"
                               ".visible .func (.param .b32 out) seven() {\nst.param.b32 [out], 7; ret;\n}\n";

static int run(CUmodule module) {
    CUfunction store = nullptr;
    int       *p = to_device<int>({0});
    void      *arguments[] = {&p};
    DRIVER(cuModuleGetFunction(&store, module, "store"));
    DRIVER(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    const int result = to_host(p, 1)[0];
    OK(cudaFree(p));
    return result;
}

static void texts_are_linked() {
    CUlinkState link = nullptr;
    CUmodule    module = nullptr;
    void       *image = nullptr;
    size_t      size = 0;
    DRIVER(cuLinkCreate(0, nullptr, nullptr, &link));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)kernel, sizeof kernel, "kernel", 0, nullptr, nullptr));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)function, sizeof function, "function", 0, nullptr, nullptr));
    IS(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)function, sizeof function, "again", 0, nullptr, nullptr) ==
       CUDA_ERROR_NOT_SUPPORTED);  // two definitions
    DRIVER(cuLinkComplete(link, &image, &size));
    DRIVER(cuModuleLoadData(&module, image));
    IS(run(module) == 42);
    DRIVER(cuModuleUnload(module));
    DRIVER(cuLinkDestroy(link));
}

// A container with one entry of plain PTX, as fatbinary --compress-mode=none writes it.
static std::vector<unsigned char> container(const std::string &ptx) {
    struct {
        unsigned           magic;
        unsigned short     version, header_bytes;
        unsigned long long bytes;
        unsigned short     kind, entry_version;
        unsigned           entry_header_bytes;
        unsigned long long data_bytes;
        unsigned           compressed, options;
        unsigned short     minor, major;
        unsigned           capability, name, name_bytes;
        unsigned long long flags, reserved, plain;
    } head = {0xba55ed50, 1, 16, 64 + ptx.size(), 1, 0x101, 64, ptx.size(), 0, 0, 0, 9, 90, 0, 0, 0x11, 0, 0};
    static_assert(sizeof head == 80, "the layout of containers");
    std::vector<unsigned char> made((unsigned char *)&head, (unsigned char *)(&head + 1));
    made.insert(made.end(), ptx.begin(), ptx.end());
    return made;
}

static CUresult load(const std::vector<unsigned char> &bytes, size_t size, CUmodule *module) {
    char      path[] = "/tmp/cj_modules_XXXXXX";
    const int file = mkstemp(path);
    if (file < 0 || write(file, bytes.data(), size) != (ssize_t)size || close(file)) exit(2);
    const CUresult result = cuModuleLoad(module, path);
    unlink(path);
    return result;
}

static void files_are_read_to_their_end_alone() {
    std::string                      whole = std::string(function) + kernel;
    const size_t                     second = whole.find(".version", 10);
    CUmodule                         module = nullptr;
    whole.erase(second, whole.find(".visible", second) - second);  // the second header and its declarations
    const std::vector<unsigned char> fat = container(whole);
    DRIVER(load(fat, fat.size(), &module));
    IS(run(module) == 42);
    DRIVER(cuModuleUnload(module));
    const size_t sizes[] = {4, 15, 16, 79, 80, fat.size() - 1};
    for (const size_t size : sizes) IS(load(fat, size, &module) == CUDA_ERROR_INVALID_IMAGE);
    IS(cuModuleLoad(&module, "/nowhere.fatbin") == CUDA_ERROR_FILE_NOT_FOUND);
}

int main() {
    OK(cudaFree(nullptr));
    texts_are_linked();
    files_are_read_to_their_end_alone();
    return report();
}
