// SPDX-License-Identifier: Apache-2.0
#include "semantics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "test.h"

enum { LANES_MAX = 1024, BATCH = 64 };

static const struct {
    cj_dim3 grid, block, cluster;
} shapes[CJ_GROUP_COUNT] = {
    [CJ_GROUP_REGISTER] = {{4, 1, 1}, {256, 1, 1}, {0, 0, 0}}, [CJ_GROUP_MEMORY] = {{4, 2, 1}, {16, 4, 1}, {2, 2, 1}},
    [CJ_GROUP_ATOMIC] = {{4, 2, 1}, {16, 4, 1}, {2, 2, 1}},    [CJ_GROUP_WARP] = {{2, 1, 1}, {96, 1, 1}, {0, 0, 0}},
    [CJ_GROUP_ADDRESS] = {{4, 2, 1}, {16, 4, 1}, {2, 2, 1}},   [CJ_GROUP_CONTROL] = {{2, 1, 1}, {96, 1, 1}, {0, 0, 0}},
};

static unsigned block_threads(cj_semantics_group group) {
    return shapes[group].block.x * shapes[group].block.y * shapes[group].block.z;
}

static unsigned lanes_of(cj_semantics_group group) {
    return shapes[group].grid.x * shapes[group].grid.y * shapes[group].grid.z * block_threads(group);
}

// ---- the maker of a row

typedef struct coverage {
    const char        *prefix, *operands;  // of a row's syntax, up to a dot or its end; a part of its pattern
    cj_semantics_group group;
    cj_maker          *make;  // NULL: compared elsewhere
} coverage;

static const coverage covered[] = {
#define CJ_COMPARED(prefix, operands, group, maker) {prefix, operands, CJ_GROUP_##group, cj__make_##maker},
#define CJ_ELSEWHERE(prefix, operands, reason) {prefix, operands, CJ_GROUP_COUNT, NULL},
#include "coverage.def"
#undef CJ_COMPARED
#undef CJ_ELSEWHERE
};

static const coverage *coverage_of(const cj_row *row) {
    static const coverage registers = {"", "", CJ_GROUP_REGISTER, cj__make_register};
    for (size_t i = 0; i < CJ_TEST_COUNT(covered); i++) {
        const size_t length = strlen(covered[i].prefix);
        if (!strncmp(row->syntax, covered[i].prefix, length) &&
            (!row->syntax[length] || strchr(".{", row->syntax[length])) && strstr(row->operands, covered[i].operands))
            return &covered[i];
    }
    return &registers;
}

// ---- modules

static void declare(cj_text *text, const char *prefix, unsigned k, cj_word type) {
    const unsigned bits = cj__register_bits(type);
    if (bits == 1)
        cj__text_printf(text, "    .reg .pred %s%u;\n", prefix, k);
    else
        cj__text_printf(text, "    .reg .b%u %s%u;\n", bits, prefix, k);
}

// A narrow input is loaded with its own width: if it is cut out of a 64-bit register, ptxas 13.0 takes the wrong bits
// for the upper half in atom.add.noftz.f16x2 on shared memory.
static void load_input(cj_text *text, unsigned k, cj_word type, unsigned lanes) {
    const unsigned bits = cj__register_bits(type);
    if (bits == 1)
        cj__text_printf(text,
                        "    ld.global.b16 %%h0, [%%in+%u];\n    and.b16 %%h0, %%h0, 1;\n"
                        "    setp.ne.u16 %%i%u, %%h0, 0;\n",
                        k * lanes * 8, k);
    else
        cj__text_printf(text, "    ld.global.b%u %%i%u, [%%in+%u];\n", bits, k, k * lanes * 8);
}

static void store_output(cj_text *text, unsigned k, cj_word type, unsigned lanes) {
    const unsigned bits = cj__register_bits(type);
    if (bits == 1)
        cj__text_printf(text, "    selp.b64 %%word, 1, 0, %%o%u;\n", k);
    else if (bits == 64)
        cj__text_printf(text, "    mov.b64 %%word, %%o%u;\n", k);
    else
        cj__text_printf(text, "    cvt.u64.u%u %%word, %%o%u;\n", bits, k);
    cj__text_printf(text, "    st.global.b64 [%%out+%u], %%word;\n", k * lanes * 8);
}

static void add_head(cj_text *text) {
    cj__text_puts(text, ".version 9.0\n.target sm_90a\n.address_size 64\n.const .align 16 .b8 table[48] = {");
    for (unsigned i = 0; i < CJ_CELL; i++) cj__text_printf(text, "%s%u", i ? "," : "", (i * 73 + 129) & 255);
    cj__text_puts(text, "};\n");
}

static void add_entry(cj_text *text, const cj_experiment *e, cj_semantics_group group) {
    const unsigned lanes = lanes_of(group);
    const char    *body = e->body.data;
    if (e->outside.length) cj__text_puts(text, e->outside.data);
    cj__text_printf(text,
                    ".visible .entry k%u(.param .u64 in, .param .u64 out, .param .u64 space,\n"
                    "                    .param .align 16 .b8 x[48])\n{\n"
                    "    .reg .b64 %%in, %%out, %%space, %%word, %%l<10>;\n"
                    "    .reg .b32 %%thread, %%threads, %%lane, %%block, %%r<10>;\n"
                    "    .reg .b16 %%h<10>;\n    .reg .b128 %%q<10>;\n    .reg .pred %%p<10>;\n",
                    e->number);
    if (strstr(body, "tile"))
        cj__text_printf(text, "    .shared .align 16 .b8 tile[%u];\n", CJ_CELL * block_threads(group));
    if (strstr(body, "stack")) cj__text_printf(text, "    .local .align 16 .b8 stack[%u];\n", CJ_CELL);
    for (unsigned k = 0; k < e->input_count; k++) declare(text, "%i", k, e->input[k].type);
    for (unsigned k = 0; k < e->output_count; k++) declare(text, "%o", k, e->output[k].type);
    cj__text_printf(text,
                    "    ld.param.u64 %%in, [in];\n    ld.param.u64 %%out, [out];\n    ld.param.u64 %%space, [space];\n"
                    "    mov.u32 %%thread, %%tid.x;\n    mov.u32 %%r0, %%tid.y;\n    mov.u32 %%threads, %%ntid.x;\n"
                    "    mad.lo.u32 %%thread, %%r0, %%threads, %%thread;\n    mov.u32 %%r0, %%ntid.y;\n"
                    "    mul.lo.u32 %%threads, %%threads, %%r0;\n    and.b32 %%lane, %%thread, 31;\n"
                    "    mov.u32 %%block, %%ctaid.x;\n    mov.u32 %%r0, %%ctaid.y;\n    mov.u32 %%r1, %%nctaid.x;\n"
                    "    mad.lo.u32 %%block, %%r0, %%r1, %%block;\n    mad.lo.u32 %%r0, %%block, %%threads, %%thread;\n"
                    "    mad.wide.u32 %%in, %%r0, 8, %%in;\n    mad.wide.u32 %%out, %%r0, 8, %%out;\n"
                    "    mad.wide.u32 %%space, %%r0, %u, %%space;\n",
                    CJ_SPACE_CELL);
    for (unsigned k = 0; k < e->input_count; k++) load_input(text, k, e->input[k].type, lanes);
    cj__text_puts(text, body);
    for (unsigned k = 0; k < e->output_count; k++) store_output(text, k, e->output[k].type, lanes);
    cj__text_puts(text, "    ret;\n}\n");
}

static cj_text module_of(const cj_experiment *first, size_t count, cj_semantics_group group) {
    cj_text text = {0};
    add_head(&text);
    for (size_t i = 0; i < count; i++) add_entry(&text, &first[i], group);
    assert_false(text.failed);
    return text;
}

// ---- making

// Leaves out what our rules refuse: alternatives that exclude each other are not PTX.
static bool is_ptx(const cj_experiment *e, cj_semantics_group group) {
    cj_text       text = module_of(e, 1, group);
    cj_ir_module *module = NULL;
    cj_error      error = {0};
    const bool    ok = !cj__ir_parse(text.data, text.length, &module, &error) && !cj__check(module, &error);
    cj__ir_free(module);
    cj__text_free(&text);
    return ok;
}

typedef struct maker {
    const coverage *by;
    unsigned        every, phase;  // takes every form whose index is -phase modulo `every`
    cj_experiments *list;
} maker;

static bool make(const cj_form *form, void *user) {
    const maker    *m = user;
    cj_experiments *list = m->list;
    const size_t    before = list->count;
    size_t          kept = before;
    if (form->index && (form->index + m->phase) % m->every) return true;
    m->by->make(form, list);
    for (size_t i = kept; i < list->count; i++) {
        if (is_ptx(&list->at[i], m->by->group))
            list->at[kept++] = list->at[i];
        else
            cj__experiment_free(&list->at[i]);
    }
    list->count = kept;
    return kept > before;
}

static cj_experiments make_group(cj_semantics_group group, uint64_t seed, unsigned every) {
    cj_experiments list = {0};
    const unsigned phase = (unsigned)(seed % every);
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const coverage *by = coverage_of(&cj__rows[i]);
        if (by->make && by->group == group && cj_row_is_sm_90(&cj__rows[i]))
            cj_row_forms(&cj__rows[i], &seed, make, &(maker){by, every, phase, &list});
    }
    return list;
}

// Calls `take` for some experiments; if it returns false, calls it for each half of them.
typedef bool taker(const cj_experiment *first, size_t count, void *user);

static void take_halves(const cj_experiment *first, size_t count, taker *take, void *user) {
    if (take(first, count, user) || count == 1) return;
    take_halves(first, count / 2, take, user);
    take_halves(first + count / 2, count - count / 2, take, user);
}

static void take_all(const cj_experiments *list, taker *take, void *user) {
    for (size_t i = 0; i < list->count; i += BATCH)
        take_halves(&list->at[i], list->count - i < BATCH ? list->count - i : BATCH, take, user);
}

typedef struct module_user {
    cj_semantics_group group;
    cj_module_taker   *take;
    void              *user;
} module_user;

static bool take_module(const cj_experiment *first, size_t count, void *user) {
    const module_user *u = user;
    cj_text            text = module_of(first, count, u->group);
    const bool         taken = u->take(text.data, count == 1 ? first->text : NULL, u->user);
    cj__text_free(&text);
    return taken;
}

void cj_semantics_modules(cj_semantics_group group, uint64_t seed, unsigned every, cj_module_taker *take, void *user) {
    cj_experiments list = make_group(group, seed, every);
    take_all(&list, take_module, &(module_user){group, take, user});
    cj__experiments_free(&list);
}

unsigned cj_semantics_uncovered(void) {
    bool     needed[CJ_TEST_COUNT(covered)] = {false};
    unsigned uncovered = 0;
    uint64_t random = 0;
    for (size_t i = 0; i < CJ_ROW_COUNT; i++) {
        const coverage *by = coverage_of(&cj__rows[i]);
        cj_experiments  list = {0};
        if (!cj_row_is_sm_90(&cj__rows[i])) continue;
        if (by->make) cj_row_forms(&cj__rows[i], &random, make, &(maker){by, 1, 0, &list});
        if (by->make && !list.count && ++uncovered)
            print_error("NOT COMPARED %s %s\n", cj__rows[i].syntax, cj__rows[i].operands);
        if (by >= covered && by < covered + CJ_TEST_COUNT(covered)) needed[by - covered] = true;
        cj__experiments_free(&list);
    }
    for (size_t i = 0; i < CJ_TEST_COUNT(covered); i++)
        if (!needed[i] && ++uncovered)
            print_error("no row needs %s %s in coverage.def\n", covered[i].prefix, covered[i].operands);
    return uncovered;
}

// ---- values

static uint64_t edge_or_random(cj_word type, unsigned k, unsigned lane, unsigned lanes, uint64_t *random) {
    const uint64_t pair = k == 0 ? lane : k == 1 ? lane * 49 / lanes : lane / 7 + lane;
    const uint64_t drawn = cj_random_value(type, random);
    return lane < lanes * 3 / 4 ? cj_edge_value(type, pair) : drawn;
}

// The last lane of a segment, and above it the mask of lanes that stay in one.
static uint64_t segment(uint64_t bits) {
    static const uint64_t usual[] = {31, 0, 0x1c03, 0x1800, 0x101f, 0x1e01, 0x1f1f, 0x0f1f};
    return bits & 1 ? usual[bits >> 1 & 7] : bits >> 4 & 0x1f1f;
}

static void fill(const cj_experiment *e, unsigned lanes, uint64_t *in, uint64_t seed) {
    for (unsigned k = 0; k < e->input_count; k++) {
        for (unsigned i = 0; i < lanes; i++) {
            const cj_word  type = e->input[k].type;
            const uint64_t value = edge_or_random(type, k, i, lanes, &seed), bits = cj_test_random(&seed);
            uint64_t      *at = &in[k * lanes + i];
            switch (e->input[k].fill) {
            case CJ_FILL_EDGES: *at = value; break;
            case CJ_FILL_AS_0: *at = i & 1 ? value : in[i]; break;
            case CJ_FILL_AS_1: *at = i & 1 ? value : in[lanes + i]; break;
            case CJ_FILL_WHOLE: *at = cj_whole_value(type, bits & 3); break;
            case CJ_FILL_FORTY: *at = 40; break;
            case CJ_FILL_LANE: *at = bits % 41; break;
            case CJ_FILL_SEGMENT: *at = segment(bits); break;
            }
        }
    }
}

// ---- comparing

// PTX ISA: 2^-20 and better for f32.
static bool close_enough(cj_word type, uint64_t a, uint64_t b, double tolerance) {
    const unsigned parts = cj__words[type].class == CJ_CLASS_PACKED && cj__words[type].bits == 32 ? 2 : 1;
    for (unsigned part = 0; part < parts; part++) {
        const double x = cj_value_number(type, a, part), y = cj_value_number(type, b, part);
        if (x == y || (isnan(x) && isnan(y))) continue;
        if (!(fabs(x - y) <= tolerance * fmax(fabs(x), 1))) return false;
    }
    return true;
}

static void print_difference(const cj_experiment *e, unsigned lanes, unsigned lane, unsigned k, uint64_t want,
                             uint64_t got, const uint64_t *in) {
    print_message("DIFFERS %s: lane %u, output %u: %#llx, not %#llx; inputs", e->text, lane, k, (unsigned long long)got,
                  (unsigned long long)want);
    for (unsigned j = 0; j < e->input_count; j++) print_message(" %#llx", (unsigned long long)in[j * lanes + lane]);
    print_message("\n");
}

static bool agrees(const cj_experiment *e, unsigned lanes, const uint64_t *in, const uint64_t *want,
                   const uint64_t *got) {
    for (unsigned k = 0; k < e->output_count; k++) {
        const cj_word  type = e->output[k].type;
        const unsigned bits = cj__register_bits(type);
        const uint64_t mask = UINT64_MAX >> (64 - bits);
        for (unsigned i = 0; i < lanes; i++) {
            const uint64_t a = want[k * lanes + i] & mask, b = got[k * lanes + i] & mask;
            if (a == b || (e->tolerance > 0 && bits > 1 && close_enough(type, a, b, e->tolerance))) continue;
            print_difference(e, lanes, i, k, a, b, in);
            return false;
        }
    }
    return true;
}

// Threads exchange memory with threads of the neighbouring block, which is also the next one in the grid.
static void apply_model(const cj_experiment *e, cj_semantics_group group, const uint64_t *in, uint64_t *expected) {
    const unsigned lanes = lanes_of(group), other = e->reaches_peer ? block_threads(group) : 0;
    for (unsigned i = 0; i < lanes; i++) {
        uint64_t own[CJ_INPUTS_MAX], peers[CJ_INPUTS_MAX], outputs[CJ_OUTPUTS_MAX];
        for (unsigned k = 0; k < e->input_count; k++) {
            own[k] = in[k * lanes + i];
            peers[k] = in[k * lanes + (i ^ other)];
        }
        e->model(e, own, peers, outputs);
        for (unsigned k = 0; k < e->output_count; k++) expected[k * lanes + i] = outputs[k];
    }
}

// ---- running

// One of the two devices, with everything that a launch needs there.
typedef struct side {
    cj_device  *device;
    const char *name;
    cj_ptr      in, out, space;
    cj_module  *module;
    uint64_t    result[CJ_OUTPUTS_MAX * LANES_MAX];
} side;

typedef struct comparison {
    cj_semantics_group group;
    uint64_t           seed;
    cj_semantics       result;
    uint64_t           in[CJ_INPUTS_MAX * LANES_MAX], expected[CJ_OUTPUTS_MAX * LANES_MAX];
    side               first, twin;
} comparison;

static void open_side(side *s, cj_device *device, const char *name) {
    cj_error error = {0};
    s->device = device;
    s->name = name;
    cj_test_ok(cj_mem_alloc(device, sizeof((comparison *)0)->in, &s->in, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof s->result, &s->out, &error), &error);
    cj_test_ok(cj_mem_alloc(device, LANES_MAX * CJ_SPACE_CELL, &s->space, &error), &error);
}

static void close_side(side *s) {
    cj_mem_free(s->device, s->in);
    cj_mem_free(s->device, s->out);
    cj_mem_free(s->device, s->space);
}

static cj_status launch(const comparison *c, side *s, const cj_experiment *e, cj_error *error) {
    const size_t  in_bytes = sizeof *c->in * e->input_count * lanes_of(c->group);
    const size_t  out_bytes = sizeof *s->result * e->output_count * lanes_of(c->group);
    unsigned char x[CJ_CELL];
    char          name[16];
    cj_function  *function = NULL;
    for (unsigned i = 0; i < CJ_CELL; i++) x[i] = (unsigned char)(i * 37 + 201);
    snprintf(name, sizeof name, "k%u", e->number);
    cj_status status = cj_module_function(s->module, name, &function, error);
    if (!status && in_bytes) status = cj_mem_write(s->device, s->in, c->in, in_bytes, NULL, error);
    if (!status) status = cj_mem_fill(s->device, s->out, 0xa5, out_bytes, NULL, error);
    if (!status) {
        void                  *arguments[] = {&s->in, &s->out, &s->space, x};
        const cj_launch_config config = {CJ_INIT(config),
                                         .function = function,
                                         .grid = shapes[c->group].grid,
                                         .block = shapes[c->group].block,
                                         .cluster = shapes[c->group].cluster,
                                         .arguments = arguments,
                                         .argument_count = 4};
        status = cj_launch(s->device, &config, error);
    }
    return status ? status : cj_mem_read(s->device, s->result, s->out, out_bytes, NULL, error);
}

static void report(comparison *c, const side *s, const cj_experiment *e, cj_status status, const cj_error *error) {
    const bool refused = s == &c->twin && status == CJ_UNSUPPORTED;
    *(refused ? &c->result.refused : &c->result.failed) += 1;
    print_message("%s %s: %s: %.300s\n", refused ? "REFUSED" : "FAILED ", e->text, s->name, error->message);
}

static void compare_one(comparison *c, const cj_experiment *e) {
    side *const sides[] = {&c->first, &c->twin};
    fill(e, lanes_of(c->group), c->in, c->seed + e->number);
    for (unsigned i = 0; i < CJ_TEST_COUNT(sides); i++) {
        cj_error        error = {0};
        const cj_status status = launch(c, sides[i], e, &error);
        if (status) {
            report(c, sides[i], e, status, &error);
            return;
        }
    }
    bool ok = agrees(e, lanes_of(c->group), c->in, c->first.result, c->twin.result);
    if (ok && e->model) {
        apply_model(e, c->group, c->in, c->expected);
        ok = agrees(e, lanes_of(c->group), c->in, c->expected, c->first.result);
    }
    c->result.forms++;
    c->result.different += !ok;
}

// Loads them on both devices and compares one after the other; false if a device does not load all of them at once.
static bool compare_some(const cj_experiment *first, size_t count, void *user) {
    comparison *c = user;
    cj_text     text = module_of(first, count, c->group);
    cj_error    error = {0};
    const side *refuses = &c->first;
    cj_status   status = cj_module_from_ptx(c->first.device, text.data, text.length, &c->first.module, &error);
    if (!status) {
        refuses = &c->twin;
        status = cj_module_from_ptx(c->twin.device, text.data, text.length, &c->twin.module, &error);
    }
    for (size_t i = 0; !status && i < count; i++) compare_one(c, &first[i]);
    if (status && count == 1) report(c, refuses, first, status, &error);
    cj_module_unload(c->first.module);
    cj_module_unload(c->twin.module);
    c->first.module = c->twin.module = NULL;
    cj__text_free(&text);
    return !status;
}

cj_semantics cj_test_semantics(cj_semantics_group group, cj_device *device, cj_device *twin, uint64_t seed,
                               unsigned every) {
    cj_experiments list = make_group(group, seed, every);
    comparison    *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->group = group;
    c->seed = seed;
    open_side(&c->first, device, "first");
    open_side(&c->twin, twin, "twin");
    take_all(&list, compare_some, c);
    const cj_semantics result = c->result;
    close_side(&c->first);
    close_side(&c->twin);
    free(c);
    cj__experiments_free(&list);
    return result;
}
