// SPDX-License-Identifier: Apache-2.0
#include "collective_user.h"

#include <string.h>

#include "test.h"

enum { CLUSTER = 4, BLOCK = 64, WORDS = 32, TURNS = 5 };

// op(a, b) = a ^ b
static const char xor_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .func (.param .b32 result) op(.param .b32 a, .param .b32 b)\n{\n"
                              "    .reg .b32 %x, %y;\n    ld.param.b32 %x, [a];\n    ld.param.b32 %y, [b];\n"
                              "    xor.b32 %x, %x, %y;\n    st.param.b32 [result], %x;\n    ret;\n}\n";

// out[rank][thread] = word, if it has one.
static void put_word(cj_func *f, cj_var out_of, cj_reg rank, cj_reg thread, cj_reg has, cj_reg word) {
    cj_reg out = cj_u64(f, "out");
    cj_ptx(f, "ld.param.u64 $1, [$2];", out, out_of);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", out, rank, WORDS * 4);
    cj_ptx(f, "mad.wide.u32 $1, $2, 4, $1;", out, thread);
    cj_ptx(f, "@$1 st.global.u32 [$2], $3;", has, out, word);
}

static cj_user_function *make_xor(void) {
    const cj_signature signature = {CJ_U32, 2, {CJ_U32, CJ_U32}, {NULL}};
    cj_user_function  *function = NULL;
    cj_error           error = {0};
    cj_test_ok(cj_function_from_ptx(xor_ptx, sizeof xor_ptx - 1, "op", &signature, &function, &error), &error);
    return function;
}

// Five rounds: the row goes to the next rank, which adds 1 to each word; the xor of all ranks' first words is kept.
//   out[rank][0] = the sum of the xors; out[rank][1 …] = the rest of the row
static char *write_kernel(cj_strategy strategy) {
    const cj_collectives_desc desc = {
        .strategy = strategy, .cluster = CLUSTER, .threads = BLOCK, .values = true, .arrays = true};
    cj_user_function   *function = make_xor();
    cj_error            error = {0};
    char               *text = NULL;
    cj_builder         *b = cj_builder_create("sm_90");
    const cj_collective next = {.op = CJ_COLLECTIVE_SHIFT, .distance = 1, .around = true};
    const cj_collective all = {.op = CJ_COLLECTIVE_ALLREDUCE, .type = "u32",
                               .combine = {CJ_COMBINE_USER, "u32", cj_builder_function(b, function, "op"), "0"}};
    cj_func *f = cj_entry(b, "turns");
    cj_var   out_of = cj_param(f, "u64", "out", "u32 out[4][32]");
    cj_var   row = cj_shared(f, "u32", "row", WORDS, 16), came = cj_shared(f, "u32", "came", WORDS, 16);
    cj_block(f, BLOCK, 1, 1);
    cj_cluster(f, 2, 2, 1);
    cj_collectives c = cj_collectives_open(f, &desc);
    cj_reg   from = cj_shared_address(f, row), to = cj_shared_address(f, came), rank = cj_cluster_rank(f);
    cj_reg   thread = cj_u32(f, "thread"), at = cj_u32(f, "at"), there = cj_u32(f, "there"), word = cj_u32(f, "word");
    cj_reg   first = cj_u32(f, "first_word"), kept = cj_u32(f, "kept"), left = cj_u32(f, "left");
    cj_reg   has = cj_pred(f, "has"), more = cj_pred(f, "more"), leader = cj_pred(f, "leader");
    cj_label again = cj_label_new(f, "turn");
    cj_ptx(f, "mov.u32 $1, %tid.x;", thread);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", has, thread, WORDS);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, thread);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", at, thread, from);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", there, thread, to);
    cj_ptx(f, "mad.lo.u32 $1, $2, 1000, $3;", word, rank, thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", has, at, word);
    cj_ptx(f, "mov.u32 $1, 0;", kept);
    cj_ptx(f, "mov.u32 $1, $2;", left, TURNS);
    cj_collectives_ready(f, &c);
    cj_label_here(f, again);
    cj_collective_array(f, &c, &next, WORDS * 4, to, from, to);
    cj_ptx(f, "@$1 ld.shared.u32 $2, [$3];", has, word, there);
    cj_ptx(f, "add.u32 $1, $1, 1;", word);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", has, at, word);
    cj_ptx(f, "ld.shared.u32 $1, [$2]; // every thread", first, to);
    cj_collective_value(f, &c, &all, first, first);
    cj_ptx(f, "add.u32 $1, $1, $2;", kept, first);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra $2;", more, again);
    cj_collectives_close(f, &c);
    cj_ptx(f, "@$1 mov.u32 $2, $3;", leader, word, kept);
    put_word(f, out_of, rank, thread, has, word);
    cj_ptx(f, "ret;");
    cj_test_ok(cj_builder_finish(b, &text, NULL, &error), &error);
    cj_builder_destroy(b);
    cj_user_function_destroy(function);
    return text;
}

static void expect(uint32_t out[CLUSTER][WORDS]) {
    uint32_t kept = 0;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint32_t all = 0;
        for (uint32_t r = 0; r < CLUSTER; r++) all ^= r * 1000 + turn;
        kept += all;
    }
    for (uint32_t r = 0; r < CLUSTER; r++) {
        for (uint32_t i = 0; i < WORDS; i++) out[r][i] = (r + CLUSTER * TURNS - TURNS) % CLUSTER * 1000 + i + TURNS;
        out[r][0] = kept;
    }
}

void cj_test_collective_user(cj_device *device, cj_strategy strategy) {
    uint32_t     out[CLUSTER][WORDS], want[CLUSTER][WORDS];
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       memory = 0;
    cj_error     error = {0};
    char        *text = write_kernel(strategy);
    cj_test_ok(cj_module_from_ptx(device, text, strlen(text), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "turns", &function, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof out, &memory, &error), &error);
    cj_launch_config config = {CJ_INIT(config),        .function = function, .grid = {2, 2, 1},
                               .block = {BLOCK, 1, 1}, .cluster = {2, 2, 1}, CJ_ARGS(memory)};
    cj_status        status = cj_launch(device, &config, &error);
    if (status) print_error("%s", text);
    cj_test_ok(status, &error);
    cj_test_ok(cj_mem_read(device, out, memory, sizeof out, NULL, &error), &error);
    expect(want);
    assert_memory_equal(out, want, sizeof out);
    cj_mem_free(device, memory);
    cj_module_unload(module);
    cj_text_free(text);
}
