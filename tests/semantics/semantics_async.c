// SPDX-License-Identifier: Apache-2.0
#include "semantics_async.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum {
    BLOCK_BYTES = 2 * CJ_ASYNC_TILE,
    GLOBAL_AT = CJ_ASYNC_BLOCKS * BLOCK_BYTES,
    TRIES = 4000,  // of at most a microsecond
    NOTE_BYTE = 0xa5
};

_Static_assert(sizeof(cj_async_state) == GLOBAL_AT + CJ_ASYNC_GLOBAL, "a state is what the kernels take it for");

// ---- text

void cj_async_barrier(const cj_async_case *c, cj_text *text) {
    cj__text_puts(text, "    fence.proxy.async;\n");
    cj__text_puts(text,
                  c->blocks > 1 ? "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n" : "    barrier.sync 0;\n");
}

void cj_async_wait(cj_text *text, const char *label, const char *mbarrier, unsigned parity) {
    cj__text_printf(text,
                    "    mov.u32 %%tries, 0;\n%s:\n"
                    "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%done, [%s], %u, 1000;\n"
                    "    @%%done bra %s_done;\n    add.u32 %%tries, %%tries, 1;\n"
                    "    setp.lt.u32 %%done, %%tries, %d;\n    @%%done bra %s;\n"
                    "    st.global.u64 [%%note + %d], 1;\n%s_done:\n",
                    label, mbarrier, parity, label, TRIES, label, CJ_ASYNC_LATE * 8, label);
}

void cj_async_map(cj_text *text, const char *to, const char *variable, unsigned bytes, const char *rank) {
    cj__text_printf(text, "    mov.u32 %s, %s;\n    add.u32 %s, %s, %u;\n    mapa.shared::cluster.u32 %s, %s, %s;\n",
                    to, variable, to, to, bytes, to, to, rank);
}

// A block's tile and its source are copied from its record in the state, and its tile is copied back there.
static void write_kernel(const cj_async_family *family, const cj_async_case *c, cj_text *text) {
    cj__text_printf(
        text,
        ".visible .entry k%u(.param .u64 in, .param .u64 out)\n{\n"
        "    .shared .align 128 .b8 tile[%d], from[%d];\n    .shared .align 8 .b64 bar, bar2;\n"
        "    .reg .b64 %%in, %%out, %%note, %%policy, %%at, %%l<32>;\n    .reg .b16 %%h<8>;\n    .reg .pred %%p<8>;\n"
        "    .reg .b32 %%thread, %%rank, %%tries, %%i, %%to, %%word, %%r<32>;\n"
        "    .reg .pred %%first, %%done;\n"
        "    ld.param.u64 %%in, [in];\n    ld.param.u64 %%out, [out];\n    mov.u32 %%thread, %%tid.x;\n"
        "    mov.u32 %%rank, %%ctaid.x;\n    setp.eq.u32 %%first, %%thread, 0;\n"
        "    mad.wide.u32 %%note, %%rank, %d, %%out;\n    mad.wide.u32 %%at, %%rank, %d, %%in;\n"
        "    add.u64 %%note, %%note, %d;\n    add.u64 %%in, %%in, %d;\n    add.u64 %%out, %%out, %d;\n",
        c->index, CJ_ASYNC_TILE, CJ_ASYNC_TILE, BLOCK_BYTES, BLOCK_BYTES, CJ_ASYNC_TILE, GLOBAL_AT, GLOBAL_AT);
    cj__text_printf(text,
                    "    mov.u32 %%to, tile;\n    mad.lo.u32 %%to, %%thread, 4, %%to;\n"
                    "    mad.wide.u32 %%at, %%thread, 4, %%at;\n    mov.u32 %%i, %%thread;\ncopy_in:\n"
                    "    ld.global.u32 %%word, [%%at];\n    st.shared.u32 [%%to], %%word;\n"
                    "    ld.global.u32 %%word, [%%at + %d];\n    st.shared.u32 [%%to + %d], %%word;\n"
                    "    add.u64 %%at, %%at, %u;\n    add.u32 %%to, %%to, %u;\n    add.u32 %%i, %%i, %u;\n"
                    "    setp.lt.u32 %%done, %%i, %d;\n    @%%done bra copy_in;\n",
                    CJ_ASYNC_TILE, CJ_ASYNC_TILE, 4 * c->threads, 4 * c->threads, c->threads, CJ_ASYNC_TILE / 4);
    cj__text_puts(text, "    createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;\n");
    family->write(c, text);
    cj_async_barrier(c, text);
    cj__text_printf(text,
                    "    mov.u32 %%to, tile;\n    mad.lo.u32 %%to, %%thread, 4, %%to;\n"
                    "    mad.wide.u32 %%at, %%thread, 4, %%note;\n    mov.u32 %%i, %%thread;\ncopy_out:\n"
                    "    ld.shared.u32 %%word, [%%to];\n    st.global.u32 [%%at + -%d], %%word;\n"
                    "    add.u64 %%at, %%at, %u;\n    add.u32 %%to, %%to, %u;\n    add.u32 %%i, %%i, %u;\n"
                    "    setp.lt.u32 %%done, %%i, %d;\n    @%%done bra copy_out;\n    ret;\n}\n",
                    CJ_ASYNC_TILE, 4 * c->threads, 4 * c->threads, c->threads, CJ_ASYNC_TILE / 4);
}

static cj_async_case make(const cj_async_family *family, unsigned index) {
    cj_async_case c = {.index = index, .threads = 32, .blocks = 1};
    family->make(index, &c);
    return c;
}

void cj_async_text(const cj_async_family *family, cj_text *text) {
    cj__text_puts(text, ".version 8.7\n.target sm_90a\n.address_size 64\n");
    for (unsigned i = 0; i < family->count(); i++) {
        const cj_async_case c = make(family, i);
        write_kernel(family, &c, text);
    }
}

// ---- running

// A device with a family's kernels.
typedef struct bench {
    cj_device *device;
    cj_module *module;
    cj_ptr     in, out;
} bench;

static void close_bench(bench *b) {
    cj_mem_free(b->device, b->in);
    cj_mem_free(b->device, b->out);
    cj_module_unload(b->module);
}

static cj_status open_bench(bench *b, const cj_async_family *family, cj_device *device, cj_error *error) {
    cj_text text = {0};
    *b = (bench){.device = device};
    cj_async_text(family, &text);
    cj_status status = cj_module_from_ptx(device, text.data, text.length, &b->module, error);
    if (!status) status = cj_mem_alloc(device, sizeof(cj_async_state), &b->in, error);
    if (!status) status = cj_mem_alloc(device, sizeof(cj_async_state), &b->out, error);
    cj__text_free(&text);
    return status;
}

static cj_status run(const bench *b, const cj_async_case *c, const cj_async_state *in, cj_async_state *out,
                     cj_error *error) {
    char         name[16];
    cj_function *function = NULL;
    cj_ptr       from = b->in, to = b->out;
    snprintf(name, sizeof name, "k%u", c->index);
    cj_status status = cj_module_function(b->module, name, &function, error);
    if (!status) status = cj_mem_write(b->device, b->in, in, sizeof *in, NULL, error);
    if (!status) status = cj_mem_write(b->device, b->out, out, sizeof *out, NULL, error);
    if (status) return status;
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {c->blocks, 1, 1},
                                     .block = {c->threads, 1, 1},
                                     .cluster = {c->blocks > 1 ? c->blocks : 0, c->blocks > 1, c->blocks > 1},
                                     .arguments = (void *[]){&from, &to},
                                     .argument_count = 2};
    status = cj_launch(b->device, &config, error);
    return status ? status : cj_mem_read(b->device, out, b->out, sizeof *out, NULL, error);
}

// Memory before the launch: of inputs, and of results.
static void start(const cj_async_family *family, const cj_async_case *c, uint64_t seed, cj_async_state *in,
                  cj_async_state *out) {
    uint64_t       random = seed + c->index;
    unsigned char *bytes = (unsigned char *)in;
    for (size_t i = 0; i < sizeof *in; i++) bytes[i] = (unsigned char)(cj_test_random(&random) >> 16);
    if (family->fill) family->fill(c, in, &random);
    memset(out, NOTE_BYTE, sizeof *out);
    memcpy(out->global, in->global, sizeof out->global);
}

// The memory after the launch, by the model.
static void expect(const cj_async_family *family, const cj_async_case *c, const cj_async_state *in,
                   cj_async_state *out) {
    for (unsigned i = 0; i < c->blocks; i++) memcpy(out->block[i].tile, in->block[i].tile, CJ_ASYNC_TILE);
    family->model(c, in, out);
}

// Whether both are the same; prints the first difference.
static bool same(const char *what, const cj_async_case *c, const cj_async_state *want, const cj_async_state *got) {
    const unsigned char *a = (const unsigned char *)want, *b = (const unsigned char *)got;
    size_t               at = 0, wrong = 0, last = 0;
    for (size_t i = sizeof *want; i-- > 0;) {
        if (a[i] == b[i]) continue;
        if (!wrong++) last = i;
        at = i;
    }
    if (!wrong) return true;
    const size_t within = at < GLOBAL_AT ? at % BLOCK_BYTES : at - GLOBAL_AT, word = at / 8 * 8;
    uint64_t     x, y;
    memcpy(&x, a + word, sizeof x);
    memcpy(&y, b + word, sizeof y);
    print_message("%s %s: %zu bytes, the first is %s %zu", what, c->name, wrong,
                  at >= GLOBAL_AT          ? "global"
                  : within < CJ_ASYNC_TILE ? "tile"
                                           : "note byte",
                  within % (at < GLOBAL_AT ? CJ_ASYNC_TILE : CJ_ASYNC_GLOBAL));
    print_message(" of rank %zu, %zu bytes before the last: 0x%016llx, not 0x%016llx\n",
                  at < GLOBAL_AT ? at / BLOCK_BYTES : 0, last - at, (unsigned long long)y, (unsigned long long)x);
    return false;
}

unsigned cj_async_check(const cj_async_family *family, cj_device *device, uint64_t seed) {
    static cj_async_state in, want, got;
    cj_error              error = {0};
    bench                 b;
    unsigned              failed = 0;
    cj_test_ok(open_bench(&b, family, device, &error), &error);
    for (unsigned i = 0; i < family->count(); i++) {
        const cj_async_case c = make(family, i);
        start(family, &c, seed, &in, &got);
        want = got;
        expect(family, &c, &in, &want);
        const cj_status status = run(&b, &c, &in, &got, &error);
        if (status) print_message("FAILED  %s: %s %.300s\n", c.name, error.rule, error.message);
        failed += status || !same("WRONG  ", &c, &want, &got);
    }
    close_bench(&b);
    return failed;
}

// One kernel on both devices.
static void compare(const cj_async_family *family, const cj_async_case *c, const bench *device, const bench *twin,
                    uint64_t seed, cj_semantics *result) {
    static cj_async_state in, want, got;
    cj_error              error = {0};
    start(family, c, seed, &in, &want);
    got = want;
    const cj_status first = run(device, c, &in, &want, &error);
    const cj_status second = first ? first : run(twin, c, &in, &got, &error);
    if (second) {
        const bool refused = !first && second == CJ_UNSUPPORTED;
        print_message("%s %s: %s: %.300s\n", refused ? "REFUSED" : "FAILED ", c->name, first ? "first" : "twin",
                      error.message);
        ++*(refused ? &result->refused : &result->failed);
        return;
    }
    result->forms++;
    result->different += !same("DIFFERS", c, &want, &got);
}

cj_semantics cj_async_compare(const cj_async_family *family, cj_device *device, cj_device *twin, uint64_t seed) {
    cj_semantics result = {0};
    cj_error     error = {0};
    bench        first = {0}, second = {0};
    if (open_bench(&first, family, device, &error) || open_bench(&second, family, twin, &error)) {
        print_message("FAILED  %s: %s: %.2000s\n", family->name, second.device ? "twin" : "first", error.message);
        result.failed++;
    } else {
        for (unsigned i = 0; i < family->count(); i++) {
            const cj_async_case c = make(family, i);
            compare(family, &c, &first, &second, seed, &result);
        }
    }
    if (second.device) close_bench(&second);
    close_bench(&first);
    return result;
}
