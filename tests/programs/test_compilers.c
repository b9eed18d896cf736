// SPDX-License-Identifier: Apache-2.0
// libnvrtc.so.13 and libnvJitLink.so.13 as a program uses them: they hand out PTX where machine code is asked for, with the lines of
// the source, and all else is NVIDIA's. Skipped where NVIDIA's are not installed.
#define _GNU_SOURCE
#include <clusterjit/check.h>
#include <clusterjit/nvrtc.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

typedef struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*destroy)(void **);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int (*cubin_size)(void *, size_t *);
    int (*cubin)(void *, char *);
    int (*lto_size)(void *, size_t *);
    int (*lto)(void *, char *);
    const char *(*error)(int);
} nvrtc;

typedef struct jitlink {
    int (*create)(void **, uint32_t, const char **);
    int (*destroy)(void **);
    int (*add)(void *, int, const void *, size_t, const char *);
    int (*complete)(void *);
    int (*cubin_size)(void *, size_t *);
    int (*cubin)(void *, void *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
} jitlink;

enum { CUBIN = 1, PTX = 2, LTOIR = 3, ANY = 10 };

static nvrtc   ours, theirs;
static jitlink linker;

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) fail_msg("there is no %s", name);
    return found;
}

#define FIND(field, library, name)                        \
    do {                                                  \
        void *found_ = symbol(library, name);             \
        memcpy((void *)&(field), &found_, sizeof found_); \
    } while (0)

static void find_nvrtc(nvrtc *n, void *library) {
    FIND(n->create, library, "nvrtcCreateProgram");
    FIND(n->compile, library, "nvrtcCompileProgram");
    FIND(n->destroy, library, "nvrtcDestroyProgram");
    FIND(n->log_size, library, "nvrtcGetProgramLogSize");
    FIND(n->log, library, "nvrtcGetProgramLog");
    FIND(n->cubin_size, library, "nvrtcGetCUBINSize");
    FIND(n->cubin, library, "nvrtcGetCUBIN");
    FIND(n->lto_size, library, "nvrtcGetLTOIRSize");
    FIND(n->lto, library, "nvrtcGetLTOIR");
    FIND(n->error, library, "nvrtcGetErrorString");
}

static void find_linker(jitlink *l, void *library) {
    FIND(l->create, library, "__nvJitLinkCreate_13_0");
    FIND(l->destroy, library, "nvJitLinkDestroy");
    FIND(l->add, library, "nvJitLinkAddData");
    FIND(l->complete, library, "nvJitLinkComplete");
    FIND(l->cubin_size, library, "nvJitLinkGetLinkedCubinSize");
    FIND(l->cubin, library, "nvJitLinkGetLinkedCubin");
    FIND(l->log_size, library, "nvJitLinkGetErrorLogSize");
    FIND(l->log, library, "nvJitLinkGetErrorLog");
}

// ---- NVRTC

// What GetCUBIN gives; *size 0 where it has none. To be freed.
static char *machine_code(const nvrtc *n, const char *source, const char *option, size_t *size) {
    void *program;
    assert_int_equal(n->create(&program, source, "made.cu", 0, NULL, NULL), 0);
    assert_int_equal(n->compile(program, option ? 1 : 0, &option), 0);
    assert_int_equal(n->cubin_size(program, size), 0);
    char *code = calloc(1, *size + 1);
    assert_non_null(code);
    if (*size) assert_int_equal(n->cubin(program, code), 0);
    assert_int_equal(n->destroy(&program), 0);
    return code;
}

static const char kernel[] = "__device__ int f(int);\n"
                             "extern \"C\" __global__ void k(int *p) {\n"
                             "    *p = 3;\n"
                             "}\n";

static void nvrtc_hands_out_ptx_with_lines(void **state) {
    size_t         size;
    char          *ptx = machine_code(&ours, kernel, "-arch=sm_90", &size);
    cj_source_map *map;
    unsigned       line = 1;
    (void)state;
    assert_int_equal(strlen(ptx) + 1, size);
    assert_non_null(strstr(ptx, ".entry k("));
    const char *store = strstr(ptx, "st.global");
    assert_non_null(store);
    for (const char *c = ptx; c < store; c++) line += *c == '\n';
    cj_test_ok(cj_source_map_create(ptx, strlen(ptx), &map, NULL), NULL);
    assert_int_equal(cj_source_map_find(map, line)->line, 3);
    cj_source_map_destroy(map);
    free(ptx);
}

static void nvrtc_without_machine_code_has_none(void **state) {
    size_t size;
    (void)state;
    free(machine_code(&ours, kernel, "-arch=compute_90", &size));
    assert_int_equal(size, 0);
    free(machine_code(&ours, kernel, NULL, &size));
    assert_int_equal(size, 0);
}

static void errors_are_nvrtcs_own(void **state) {
    static const char *const options[] = {"-arch=sm_90"};
    void                    *program;
    size_t                   size;
    char                     log[4096] = "";
    (void)state;
    assert_int_equal(ours.create(&program, "int x = y;", "made.cu", 0, NULL, NULL), 0);
    assert_string_equal(ours.error(ours.compile(program, 1, options)), "NVRTC_ERROR_COMPILATION");
    assert_int_equal(ours.log_size(program, &size), 0);
    assert_in_range(size, 1, sizeof log);
    assert_int_equal(ours.log(program, log), 0);
    assert_non_null(strstr(log, "made.cu(1)"));
    assert_int_equal(ours.destroy(&program), 0);
    assert_int_not_equal(ours.destroy(&program), 0);
}

// The report has the text of what was compiled, under the name that the PTX has.
static void sources_go_into_the_report(void **state) {
    char   path[] = "/tmp/cj-report-XXXXXX", line[4096] = "";
    size_t size;
    (void)state;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    setenv("CLUSTERJIT_REPORT", path, 1);
    free(machine_code(&ours, kernel, "-arch=sm_90", &size));
    unsetenv("CLUSTERJIT_REPORT");
    FILE *report = fdopen(file, "r");
    assert_non_null(fgets(line, sizeof line, report));
    fclose(report);
    remove(path);
    assert_non_null(strstr(line, "{\"kind\": \"source\", \"file\": \"/"));
    assert_non_null(strstr(line, "/made.cu\", \"text\": \"__device__ int f(int);\\u000aextern \\\"C\\\" __global__"));
}

// ---- nvJitLink

typedef struct input {
    int         type;
    const char *bytes;
    size_t      size;
    const char *name;
} input;

// Links; *failed is the error log, or "". Returns the result.
static int link_all(const input *inputs, size_t count, const char *option, char **made, char failed[4096]) {
    const char *options[] = {"-arch=sm_90", option};
    void       *handle;
    size_t      size = 0;
    assert_int_equal(linker.create(&handle, option ? 2 : 1, options), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(linker.add(handle, inputs[i].type, inputs[i].bytes, inputs[i].size, inputs[i].name), 0);
    const int result = linker.complete(handle);
    *made = NULL;
    failed[0] = '\0';
    assert_int_equal(linker.log_size(handle, &size), 0);
    if (size && size < 4096) assert_int_equal(linker.log(handle, failed), 0);
    if (!result) {
        assert_int_equal(linker.cubin_size(handle, &size), 0);
        *made = calloc(1, size + 1);
        assert_int_equal(linker.cubin(handle, *made), 0);
    }
    assert_int_equal(linker.destroy(&handle), 0);
    return result;
}

static const char caller[] = "extern __device__ int f(int);\nextern \"C\" __global__ void k(int *p) { *p = f(*p); }\n";
static const char callee[] = "__device__ int f(int x) { return x + 5; }\n";

static input compiled(const char *source, const char *option, int type, const char *name) {
    const char *options[] = {"-arch=sm_90", "-rdc=true", option};
    void       *program;
    size_t      size;
    assert_int_equal(ours.create(&program, source, name, 0, NULL, NULL), 0);
    assert_int_equal(ours.compile(program, option ? 3 : 2, options), 0);
    assert_int_equal((type == LTOIR ? ours.lto_size : ours.cubin_size)(program, &size), 0);
    char *bytes = calloc(1, size + 1);
    assert_int_equal((type == LTOIR ? ours.lto : ours.cubin)(program, bytes), 0);
    assert_int_equal(ours.destroy(&program), 0);
    return (input){type, bytes, size, name};
}

// The kernel adds 5 to a number.
static void adds_five(const char *ptx) {
    cj_error     error;
    cj_module   *module;
    cj_function *function;
    cj_ptr       memory;
    int32_t      value = 10;
    cj_test_ok(cj_module_from_ptx(cj_test_device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "k", &function, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof value, &memory, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, memory, &value, sizeof value, NULL, &error), &error);
    const cj_launch_config one = {CJ_INIT(one), .function = function, .grid = {1, 1, 1}, .block = {1, 1, 1},
                                  CJ_ARGS(memory)};
    cj_test_ok(cj_launch(cj_test_device, &one, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, &value, memory, sizeof value, NULL, &error), &error);
    assert_int_equal(value, 15);
    cj_mem_free(cj_test_device, memory);
    cj_module_unload(module);
}

static void links(const input *inputs, const char *option) {
    char *made, failed[4096];
    if (link_all(inputs, 2, option, &made, failed)) fail_msg("%s", failed);
    adds_five(made);
    free(made);
}

// "cubins" of NVRTC are PTX, whatever the program calls them.
static void ptx_and_lto_ir_are_linked(void **state) {
    const input ptx[] = {compiled(caller, NULL, CUBIN, "caller.cu"), compiled(callee, NULL, CUBIN, "callee.cu")};
    const input lto[] = {compiled(caller, "-dlto", LTOIR, "caller.cu"), compiled(callee, "-dlto", LTOIR, "callee.cu")};
    const input both[] = {lto[0], ptx[1]};
    input       any[] = {ptx[0], ptx[1]};
    (void)state;
    any[0].type = any[1].type = ANY;
    links(ptx, NULL);
    links(any, NULL);
    links(lto, "-lto");
    links(both, "-lto");
    for (size_t i = 0; i < 2; i++) {
        free((void *)(uintptr_t)ptx[i].bytes);
        free((void *)(uintptr_t)lto[i].bytes);
    }
}

static void what_is_missing_is_told_by_nvjitlink(void **state) {
    const input in = compiled(caller, NULL, CUBIN, "caller.cu");
    char       *made, failed[4096];
    (void)state;
    assert_int_not_equal(link_all(&in, 1, NULL, &made, failed), 0);
    assert_non_null(strstr(failed, "_Z1fi"));
    free((void *)(uintptr_t)in.bytes);
}

static void machine_code_is_refused_by_name(void **state) {
    size_t size;
    char  *code = machine_code(&theirs, "extern \"C\" __global__ void k(int *p) { *p = 1; }", "-arch=sm_90", &size);
    char  *made, failed[4096];
    (void)state;
    assert_memory_equal(code, "\177ELF", 4);
    const input in = {CUBIN, code, size, "theirs.cubin"};
    assert_int_not_equal(link_all(&in, 1, NULL, &made, failed), 0);
    assert_non_null(strstr(failed, "'theirs.cubin' is a cubin"));
    free(code);
}

// ---- names

// The names that the library exports, one a line.
static char *names_of(const char *library) {
    char command[4096], *names = calloc(1, 1 << 16);
    snprintf(command, sizeof command,
             "nm -D --defined-only '%s' | awk '$2 == \"T\" { sub(/@.*/, \"\", $3); print \"\\n\" $3 \"\\n\" }'",
             library);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    assert_in_range(fread(names, 1, (1 << 16) - 1, output), 100, (1 << 16) - 1);
    pclose(output);
    return names;
}

// All of NVIDIA's, except two that no header has.
static void names_are_nvidias(const char *own, const char *real) {
    char *have = names_of(own), *want = names_of(real);
    for (char *name = strtok(want, "\n"); name; name = strtok(NULL, "\n")) {
        char line[128];
        snprintf(line, sizeof line, "\n%s\n", name);
        if (strstr(have, line) || !strcmp(name, "__nvrtcCPEx") || !strcmp(name, "__nvJitLinkAPI")) continue;
        fail_msg("%s lacks %s", own, name);
    }
    free(have);
    free(want);
}

static char real_nvrtc[4096], real_linker[4096];

static void every_documented_name_is_exported(void **state) {
    (void)state;
    names_are_nvidias(CJ_PROGRAMS "/libnvrtc.so.13", real_nvrtc);
    names_are_nvidias(CJ_PROGRAMS "/libnvJitLink.so.13", real_linker);
}

static void *open_real(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) cj_test_skip("%s", dlerror());
    return library;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvrtc_hands_out_ptx_with_lines),  cmocka_unit_test(nvrtc_without_machine_code_has_none),
        cmocka_unit_test(errors_are_nvrtcs_own),           cmocka_unit_test(sources_go_into_the_report),
        cmocka_unit_test(ptx_and_lto_ir_are_linked),       cmocka_unit_test(what_is_missing_is_told_by_nvjitlink),
        cmocka_unit_test(machine_code_is_refused_by_name), cmocka_unit_test(every_documented_name_is_exported),
    };
    cj_error error;
    int      major, minor;
    if (cj_nvrtc_find(&major, &minor, real_nvrtc, sizeof real_nvrtc, &error)) cj_test_skip("%s", error.message);
    if (major != 13) cj_test_skip("NVRTC is %d.%d, not of CUDA 13", major, minor);
    find_nvrtc(&theirs, open_real(real_nvrtc));
    const int folder = (int)(strrchr(real_nvrtc, '/') - real_nvrtc);
    snprintf(real_linker, sizeof real_linker, "%.*s/libnvJitLink.so.13", folder, real_nvrtc);
    open_real(real_linker);
    setenv("CLUSTERJIT_NVRTC", real_nvrtc, 1);
    setenv("CLUSTERJIT_NVJITLINK", real_linker, 1);
    find_nvrtc(&ours, open_real(CJ_PROGRAMS "/libnvrtc.so.13"));
    find_linker(&linker, open_real(CJ_PROGRAMS "/libnvJitLink.so.13"));
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
