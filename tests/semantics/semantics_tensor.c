// SPDX-License-Identifier: Apache-2.0
#include "semantics_tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "semantics_tensor_case.h"
#include "test.h"

enum {
    BLOCKS = 4,  // of a multicast's cluster
    THREADS = 128,
    MAP = sizeof(cj_tensormap),
    GUARD = 4096,  // bytes before and after the tensor that must not change
    TRIES = 4000,  // of at most a microsecond
    LACK_MAX = 32768
};

// The memory of a launch: tiles before or after, a map that a kernel made, the bytes that mbarriers lack, and the
// tensor.
typedef struct memory {
    unsigned char tile[BLOCKS][CJ_TENSOR_TILE];
    unsigned char map[MAP];
    uint64_t      lack[BLOCKS];
    unsigned char before[GUARD - MAP - BLOCKS * sizeof(uint64_t)], tensor[CJ_TENSOR_BYTES], after[GUARD];
} memory;

// ---- kernels: an entry for each action and rank

static const char *coordinates(unsigned rank) {
    static const char *const lists[] = {"%c0", "%c0, %c1", "%c0, %c1, %c2", "%c0, %c1, %c2, %c3",
                                        "%c0, %c1, %c2, %c3, %c4"};
    return lists[rank - 1];
}

// Threads copy the tile, a word each.
static void write_words(const char *label, const char *lines, cj_text *text) {
    cj__text_printf(text,
                    "    mov.u32 %%r4, tile;\n    mad.lo.u32 %%r4, %%r0, 4, %%r4;\n"
                    "    mad.wide.u32 %%l4, %%r0, 4, %%l0;\n    mov.u32 %%r5, %%r0;\n%s:\n%s"
                    "    add.u32 %%r4, %%r4, %d;\n    add.u64 %%l4, %%l4, %d;\n    add.u32 %%r5, %%r5, %d;\n"
                    "    setp.lt.u32 %%p2, %%r5, %d;\n    @%%p2 bra %s;\n",
                    label, lines, 4 * THREADS, 4 * THREADS, THREADS, CJ_TENSOR_TILE / 4, label);
}

static void write_load(cj_tensor_action action, unsigned rank, cj_text *text) {
    const char *at = coordinates(rank);
    if (action == CJ_TENSOR_PREFETCH)
        cj__text_printf(text, "    @%%p0 cp.async.bulk.prefetch.tensor.%ud.L2.global.tile [%%l1, {%s}];\n", rank, at);
    cj__text_printf(text,
                    "    @%%p1 cp.async.bulk.tensor.%ud.shared::%s.global.tile.mbarrier::complete_tx::bytes%s%s "
                    "[%%r3], [%%l1, {%s}], [bar]%s%s;\n",
                    rank, action == CJ_TENSOR_LOAD_CTA ? "cta" : "cluster",
                    action == CJ_TENSOR_MULTICAST ? ".multicast::cluster" : "",
                    action == CJ_TENSOR_PREFETCH ? ".L2::cache_hint" : "", at,
                    action == CJ_TENSOR_MULTICAST ? ", %h0" : "", action == CJ_TENSOR_PREFETCH ? ", %policy" : "");
    // A thread whose wait times out reads how many bytes the mbarrier lacks.
    cj__text_printf(text,
                    "    mov.u32 %%r6, 0;\nwait:\n"
                    "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%p2, [bar], 0, 1000;\n"
                    "    @%%p2 bra waited;\n    add.u32 %%r6, %%r6, 1;\n    setp.lt.u32 %%p3, %%r6, %d;\n"
                    "    @%%p3 bra wait;\n    mov.u64 %%l5, 0;\n    @!%%p0 bra waited;\nlack:\n"
                    "    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n    add.u64 %%l5, %%l5, 16;\n"
                    "    mbarrier.test_wait.parity.shared::cta.b64 %%p2, [bar], 0;\n"
                    "    setp.lt.and.u64 %%p3, %%l5, %d, !%%p2;\n    @%%p3 bra lack;\n"
                    "    st.global.u64 [%%l6], %%l5;\nwaited:\n",
                    TRIES, LACK_MAX);
}

static void write_store(cj_tensor_action action, unsigned rank, cj_text *text) {
    const char *operation = cj_tensor_operations[action],
               *hint = action == CJ_TENSOR_STORE_HINT ? ".L2::cache_hint" : "";
    cj__text_printf(
        text,
        "    @%%p0 cp.%sasync.bulk.tensor.%ud.global.shared::cta%s%s.tile.bulk_group%s [%%l1, {%s}], [%%r3]%s;\n"
        "    @%%p0 cp.async.bulk.commit_group;\n    @%%p0 cp.async.bulk.wait_group 0;\n",
        *operation ? "reduce." : "", rank, *operation ? "." : "", operation, hint, coordinates(rank),
        *hint ? ", %policy" : "");
}

static void name_kernel(const cj_tensor_case *c, char name[32]) {
    snprintf(name, 32, "k%u_%u_%u", c->action, c->rank, c->replacement);
}

// Depends only on fields of the case that distinguish kernels.
static void write_kernel(const cj_tensor_case *c, cj_text *text) {
    const cj_tensor_action action = c->action;
    char                   name[32];
    name_kernel(c, name);
    const bool  clusters = action == CJ_TENSOR_MULTICAST;
    const char *join = clusters ? "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n" : "    barrier.sync 0;\n";
    cj__text_printf(
        text,
        ".visible .entry %s(.param .u64 tiles, .param .align 64 .b8 map[128], .param .u32 base,\n"
        "                      .param .u32 bytes, .param .u32 mask, .param .align 4 .b8 at[20], .param .u64 value)\n{\n"
        "    .shared .align 1024 .b8 tile[%d];\n    .shared .align 8 .b64 bar;\n"
        "    .reg .b32 %%r<16>, %%c<5>;\n    .reg .b64 %%policy, %%l<8>;\n    .reg .b16 %%h0;\n"
        "    .reg .pred %%p<8>;\n    ld.param.u64 %%l0, [tiles];\n    mov.b64 %%l1, map;\n"
        "    cvta.param.u64 %%l1, %%l1;\n    ld.param.u32 %%r3, [base];\n    ld.param.u32 %%r2, [bytes];\n"
        "    ld.param.u32 %%r7, [mask];\n"
        "    ld.param.u64 %%l2, [value];\n    cvt.u32.u64 %%r8, %%l2;\n",
        name, CJ_TENSOR_TILE);
    for (unsigned i = 0; i < c->rank; i++) cj__text_printf(text, "    ld.param.u32 %%c%u, [at + %u];\n", i, 4 * i);
    cj__text_printf(text,
                    "    createpolicy.fractional.L2::evict_first.b64 %%policy, 1.0;\n"
                    "    mov.u32 %%r0, %%tid.x;\n    mov.u32 %%r1, %%ctaid.x;\n    mad.wide.u32 %%l6, %%r1, 8, %%l0;\n"
                    "    add.u64 %%l7, %%l0, %d;\n"
                    "    add.u64 %%l6, %%l6, %d;\n    mad.wide.u32 %%l0, %%r1, %d, %%l0;\n"
                    "    setp.eq.u32 %%p0, %%r0, 0;\n    setp.eq.and.u32 %%p1, %%r1, %d, %%p0;\n"
                    "    cvt.u16.u32 %%h0, %%r7;\n    shr.u32 %%r7, %%r7, %%r1;\n    and.b32 %%r7, %%r7, 1;\n"
                    "    mul.lo.u32 %%r2, %%r2, %%r7;\n    mov.u32 %%r4, tile;\n    add.u32 %%r3, %%r3, %%r4;\n"
                    "    @%%p0 mbarrier.init.shared::cta.b64 [bar], 1;\n    fence.mbarrier_init.release.cluster;\n"
                    "    @%%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %%l5, [bar], %%r2;\n",
                    BLOCKS * CJ_TENSOR_TILE, BLOCKS * CJ_TENSOR_TILE + MAP, CJ_TENSOR_TILE, clusters);
    if (action == CJ_TENSOR_REPLACE) cj_tensor_replacement_write(c->replacement, text);
    write_words("copy_in", "    ld.global.u32 %r6, [%l4];\n    st.shared.u32 [%r4], %r6;\n", text);
    cj__text_puts(text, "    fence.proxy.async;\n");
    cj__text_puts(text, join);
    (cj_tensor_loads(action) ? write_load : write_store)(action, c->rank, text);
    cj__text_puts(text, join);
    write_words("copy_out", "    ld.shared.u32 %r6, [%r4];\n    st.global.u32 [%l4], %r6;\n", text);
    cj__text_puts(text, "    ret;\n}\n");
}

void cj_tensor_text(cj_text *text) {
    cj__text_puts(text, ".version 8.7\n.target sm_90a\n.address_size 64\n");
    for (unsigned rank = 1; rank <= 5; rank++) {
        for (unsigned action = 0; action < CJ_TENSOR_ACTIONS; action++) {
            if (action == CJ_TENSOR_REPLACE) continue;
            write_kernel(&(cj_tensor_case){.action = (cj_tensor_action)action, .rank = rank}, text);
        }
    }
    for (unsigned i = 0; i < CJ_TENSOR_REPLACEMENTS; i++)
        write_kernel(&(cj_tensor_case){.action = CJ_TENSOR_REPLACE, .rank = 2, .replacement = i}, text);
}

// ---- running

typedef struct bench {
    cj_device *device;
    cj_module *module;
    cj_ptr     memory;
} bench;

static cj_status open_bench(bench *b, cj_device *device, cj_error *error) {
    cj_text text = {0};
    *b = (bench){.device = device};
    cj_tensor_text(&text);
    cj_status status = cj_module_from_ptx(device, text.data, text.length, &b->module, error);
    if (!status) status = cj_mem_alloc(device, sizeof(memory), &b->memory, error);
    cj__text_free(&text);
    return status;
}

static void close_bench(bench *b) {
    if (!b->device) return;
    cj_mem_free(b->device, b->memory);
    cj_module_unload(b->module);
}

static unsigned blocks_of(const cj_tensor_case *c) { return c->action == CJ_TENSOR_MULTICAST ? BLOCKS : 1; }

// The map that the launch gets.
static cj_status encode(const bench *b, const cj_tensor_case *c, cj_ptr address, cj_tensormap *map, cj_error *error) {
    cj_tensor_case given = *c;
    if (c->action == CJ_TENSOR_REPLACE) cj_tensor_replacement_spoil(&given, &address);
    return cj_tensormap_encode_tiled(b->device, map, given.type, given.rank, address, given.dims, given.strides,
                                     given.box, given.steps, CJ_TENSORMAP_INTERLEAVE_NONE, given.swizzle, given.l2,
                                     given.fill, error);
}

static cj_status run(const bench *b, const cj_tensor_case *c, memory *m, cj_error *error) {
    cj_tensormap map;
    cj_function *function = NULL;
    cj_ptr       at = b->memory;
    const cj_ptr tensor = at + offsetof(memory, tensor);
    uint32_t     base = c->base, bytes = cj_tensor_bytes(c), mask = c->mask ? c->mask : 1;
    uint64_t     value = c->action == CJ_TENSOR_REPLACE ? cj_tensor_replacement_value(c, tensor) : 0;
    int32_t      coordinate[5];
    char         name[32];
    memcpy(coordinate, c->at, sizeof coordinate);
    name_kernel(c, name);
    cj_status status = encode(b, c, tensor, &map, error);
    if (!status) status = cj_module_function(b->module, name, &function, error);
    if (!status) status = cj_mem_write(b->device, at, m, sizeof *m, NULL, error);
    if (status) return status;
    const unsigned         blocks = blocks_of(c), cluster = blocks > 1 ? 1 : 0;
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {blocks, 1, 1},
                                     .block = {THREADS, 1, 1},
                                     .cluster = {cluster * blocks, cluster, cluster},
                                     .arguments = (void *[]){&at, &map, &base, &bytes, &mask, coordinate, &value},
                                     .argument_count = 7};
    status = cj_launch(b->device, &config, error);
    if (!status) status = cj_mem_read(b->device, m, at, sizeof *m, NULL, error);
    memset(m->map, 0, sizeof m->map);  // each device has its own
    return status;
}

static void start(memory *m, uint64_t random) {
    unsigned char *bytes = (unsigned char *)m;
    for (size_t i = 0; i < sizeof *m; i += 8) {
        const uint64_t word = cj_test_random(&random);
        memcpy(bytes + i, &word, sizeof word);
    }
    memset(m->map, 0, sizeof m->map);
    memset(m->lack, 0, sizeof m->lack);
}

static void expect(const cj_tensor_case *c, memory *m) {
    for (unsigned rank = 0; rank < blocks_of(c); rank++)
        if (blocks_of(c) == 1 || c->mask >> rank & 1) cj_tensor_apply(c, m->tile[rank], m->tensor);
}

// Whether both are the same; prints the first difference.
static bool same(const char *what, const cj_tensor_case *c, const memory *want, const memory *got) {
    const unsigned char *a = (const unsigned char *)want, *b = (const unsigned char *)got;
    size_t               at = sizeof *want, wrong = 0;
    for (size_t i = sizeof *want; i-- > 0;) {
        if (a[i] == b[i]) continue;
        wrong++;
        at = i;
    }
    if (!wrong) return true;
    uint64_t x, y;
    memcpy(&x, a + at / 8 * 8, sizeof x);
    memcpy(&y, b + at / 8 * 8, sizeof y);
    print_message("%s %s: %zu bytes, the first at %zu: 0x%016llx, not 0x%016llx\n", what, c->name, wrong,
                  at - (at < offsetof(memory, tensor) ? 0 : offsetof(memory, tensor)), (unsigned long long)y,
                  (unsigned long long)x);
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (!want->lack[i] && !got->lack[i]) continue;
        print_message("        rank %u: an mbarrier lacks %llu bytes, and here %llu\n", i,
                      (unsigned long long)want->lack[i], (unsigned long long)got->lack[i]);
    }
    return false;
}

unsigned cj_tensor_check(cj_device *device, uint64_t seed) {
    static memory want, got;
    cj_error      error = {0};
    bench         b;
    unsigned      failed = 0;
    cj_test_ok(open_bench(&b, device, &error), &error);
    for (unsigned i = 0; i < cj_tensor_count(); i++) {
        cj_tensor_case c;
        cj_tensor_make(i, &c);
        start(&got, seed + i);
        want = got;
        expect(&c, &want);
        const cj_status status = run(&b, &c, &got, &error);
        if (status == CJ_UNSUPPORTED) continue;
        if (status) print_message("FAILED  %s: %s %.300s\n", c.name, error.rule, error.message);
        failed += status || !same("WRONG  ", &c, &want, &got);
    }
    close_bench(&b);
    return failed;
}

// Runs one case on both devices. If the twin refuses it, compares the device with the model.
static void compare(const cj_tensor_case *c, const bench *device, const bench *twin, uint64_t seed,
                    cj_semantics *result) {
    static memory want, got;
    cj_error      error = {0};
    start(&got, seed);
    want = got;
    const cj_status first = run(device, c, &want, &error), second = first ? first : run(twin, c, &got, &error);
    if (!first && second == CJ_UNSUPPORTED) {
        result->refused++;
        print_message("REFUSED %s: %.300s\n", c->name, error.message);
        expect(c, &got);
        same("model  ", c, &want, &got);
    } else if (second) {
        result->failed++;
        print_message("FAILED  %s: %s: %.300s\n", c->name, first ? "first" : "twin", error.message);
    } else {
        result->forms++;
        result->different += !same("DIFFERS", c, &want, &got);
    }
}

cj_semantics cj_tensor_compare(cj_device *device, cj_device *twin, uint64_t seed) {
    cj_semantics result = {0};
    cj_error     error = {0};
    bench        first = {0}, second = {0};
    if (open_bench(&first, device, &error) || open_bench(&second, twin, &error)) {
        print_message("FAILED  %s: %.2000s\n", second.device ? "twin" : "first", error.message);
        result.failed++;
    }
    for (unsigned i = 0; !result.failed && i < cj_tensor_count(); i++) {
        cj_tensor_case c;
        cj_tensor_make(i, &c);
        compare(&c, &first, &second, seed + i, &result);
    }
    close_bench(&second);
    close_bench(&first);
    return result;
}
