// SPDX-License-Identifier: Apache-2.0
#include "user_reference.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

enum { BLOCK = USER_REFERENCE_BLOCK };

static const char *const ptx_types[] = {
    [CJ_F32] = "f32", [CJ_F64] = "f64", [CJ_I32] = "s32", [CJ_U32] = "u32", [CJ_I64] = "s64", [CJ_U64] = "u64"};

// The address of the thread's own element x[i], one thread for each; threads with i >= n go to `done`.
static cj_reg own_element(cj_func *f, cj_dtype type, cj_reg n, cj_label done) {
    cj_var x_param = cj_param(f, "u64", "x", NULL), n_param = cj_param(f, "u64", "n", NULL);
    cj_reg x = cj_u64(f, "x"), i = cj_u64(f, "i"), past = cj_pred(f, "past");
    cj_reg thread = cj_u32(f, "thread"), block = cj_u32(f, "block");
    cj_ptx(f, "ld.param.u64 $1, [$2]; ld.param.u64 $3, [$4];", x, x_param, n, n_param);
    cj_ptx(f, "mov.u32 $1, %tid.x; mov.u32 $2, %ctaid.x;", thread, block);
    cj_ptx(f, "cvt.u64.u32 $1, $2; mad.wide.u32 $1, $3, $4, $1;", i, thread, block, BLOCK);
    cj_ptx(f, "setp.ge.u64 $1, $2, $3; @$1 bra $4;", past, i, n, done);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", x, i, (int)cj_dtype_size(type));
    return x;
}

// x[i] = map(x[i]).
static void write_map(cj_builder *b, const cj_user_function *map, cj_dtype type) {
    cj_callee callee = cj_builder_function(b, map, "map");
    cj_func  *f = cj_entry(b, "map_all");
    cj_reg    value = cj_register(f, ptx_types[type], "value");
    cj_label  done = cj_label_new(f, "done");
    cj_reg    x = own_element(f, type, cj_u64(f, "n"), done);
    cj_ptx(f, "ld.global.$1 $2, [$3];", ptx_types[type], value, x);
    cj_call(f, callee, value, value);
    cj_ptx(f, "st.global.$1 [$2], $3;", ptx_types[type], x, value);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}

// *part = op(*part, x[i]) for i = 0, 1, …: one thread. n is at least 1.
static void write_fold(cj_builder *b, const cj_user_function *op, cj_dtype type) {
    cj_callee callee = cj_builder_function(b, op, "op");
    cj_func  *f = cj_entry(b, "fold_all");
    cj_var    x_param = cj_param(f, "u64", "x", NULL), n_param = cj_param(f, "u64", "n", NULL);
    cj_var    part_param = cj_param(f, "u64", "part", NULL);
    cj_reg    x = cj_u64(f, "x"), n = cj_u64(f, "n"), at = cj_u64(f, "at"), more = cj_pred(f, "more");
    cj_reg    part = cj_register(f, ptx_types[type], "part"), value = cj_register(f, ptx_types[type], "value");
    cj_label  next = cj_label_new(f, "next");
    cj_ptx(f, "ld.param.u64 $1, [$2]; ld.param.u64 $3, [$4]; ld.param.u64 $5, [$6];", x, x_param, n, n_param, at,
           part_param);
    cj_ptx(f, "ld.global.$1 $2, [$3];", ptx_types[type], part, at);
    cj_label_here(f, next);
    cj_ptx(f, "ld.global.$1 $2, [$3];", ptx_types[type], value, x);
    cj_call(f, callee, part, part, value);
    cj_ptx(f, "add.u64 $1, $1, $2; sub.u64 $3, $3, 1;", x, (int)cj_dtype_size(type), n);
    cj_ptx(f, "setp.ne.u64 $1, $2, 0; @$1 bra $3;", more, n, next);
    cj_ptx(f, "st.global.$1 [$2], $3; ret;", ptx_types[type], at, part);
}

// x[i] = part = begins[i] ? x[i] : op(part, x[i]) for i = 0, 1, …: one thread. n is at least 1.
static void write_scan(cj_builder *b, const cj_user_function *op, cj_dtype type) {
    cj_callee callee = cj_builder_function(b, op, "op");
    cj_func  *f = cj_entry(b, "scan_all");
    cj_var    x_param = cj_param(f, "u64", "x", NULL), n_param = cj_param(f, "u64", "n", NULL);
    cj_var    part_param = cj_param(f, "u64", "part", NULL), begins_param = cj_param(f, "u64", "begins", NULL);
    cj_reg    x = cj_u64(f, "x"), n = cj_u64(f, "n"), at = cj_u64(f, "at"), more = cj_pred(f, "more");
    cj_reg    begins = cj_u64(f, "begins"), flag = cj_u32(f, "flag"), goes_on = cj_pred(f, "goes_on");
    cj_reg    part = cj_register(f, ptx_types[type], "part"), value = cj_register(f, ptx_types[type], "value");
    cj_label  next = cj_label_new(f, "next"), anew = cj_label_new(f, "anew");
    cj_ptx(f, "ld.param.u64 $1, [$2]; ld.param.u64 $3, [$4];", x, x_param, n, n_param);
    cj_ptx(f, "ld.param.u64 $1, [$2]; ld.param.u64 $3, [$4];", at, part_param, begins, begins_param);
    cj_ptx(f, "ld.global.$1 $2, [$3];", ptx_types[type], part, at);
    cj_label_here(f, next);
    cj_ptx(f, "ld.global.$1 $2, [$3]; ld.global.u8 $4, [$5];", ptx_types[type], value, x, flag, begins);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0; @!$1 bra $3;", goes_on, flag, anew);
    cj_call(f, callee, value, part, value);
    cj_label_here(f, anew);
    cj_ptx(f, "mov.$1 $2, $3; st.global.$1 [$4], $2;", ptx_types[type], part, value, x);
    cj_ptx(f, "add.u64 $1, $1, $2; add.u64 $3, $3, 1; sub.u64 $4, $4, 1;", x, (int)cj_dtype_size(type), begins, n);
    cj_ptx(f, "setp.ne.u64 $1, $2, 0; @$1 bra $3;", more, n, next);
    cj_ptx(f, "st.global.$1 [$2], $3; ret;", ptx_types[type], at, part);
}

// x[i] = op(x[i], x[n + i]).
static void write_apply(cj_builder *b, const cj_user_function *op, cj_dtype type) {
    cj_callee callee = cj_builder_function(b, op, "op");
    cj_func  *f = cj_entry(b, "apply_all");
    cj_reg    n = cj_u64(f, "n"), y = cj_u64(f, "y");
    cj_reg    left = cj_register(f, ptx_types[type], "left"), right = cj_register(f, ptx_types[type], "right");
    cj_label  done = cj_label_new(f, "done");
    cj_reg    x = own_element(f, type, n, done);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", y, n, (int)cj_dtype_size(type), x);
    cj_ptx(f, "ld.global.$1 $2, [$3]; ld.global.$1 $4, [$5];", ptx_types[type], left, x, right, y);
    cj_call(f, callee, left, left, right);
    cj_ptx(f, "st.global.$1 [$2], $3;", ptx_types[type], x, left);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}

static void write_op(cj_builder *b, const cj_user_function *op, cj_dtype type) {
    write_fold(b, op, type);
    write_scan(b, op, type);
    write_apply(b, op, type);
}

static cj_status load(user_reference *u, const cj_user_function *map, const cj_user_function *op, cj_error *error) {
    cj_builder *b = cj_builder_create("sm_90");
    char       *text;
    size_t      length;
    if (map) write_map(b, map, u->type);
    if (op) write_op(b, op, u->type);
    cj_status status = cj_builder_finish(b, &text, &length, error);
    cj_builder_destroy(b);
    if (!status) status = cj_module_from_ptx(u->device, text, length, &u->module, error);
    cj_text_free(text);
    if (!status && map) status = cj_module_function(u->module, "map_all", &u->map, error);
    if (!status && op) status = cj_module_function(u->module, "fold_all", &u->fold, error);
    if (!status && op) status = cj_module_function(u->module, "scan_all", &u->scan, error);
    if (!status && op) status = cj_module_function(u->module, "apply_all", &u->apply, error);
    return status;
}

static cj_status begin_parts(user_reference *u, const cj_user_function *identity, cj_error *error) {
    uint64_t  bits = 0;
    size_t    size = cj_dtype_size(u->type);
    cj_status status = CJ_OK;
    cj_user_function_constant(identity, &bits);
    for (size_t i = 0; !status && i <= u->count; i++)
        status = cj_mem_write(u->device, u->parts + i * size, &bits, size, NULL, error);
    return status;
}

int user_reference_open(user_reference *u, cj_dtype type, const cj_user_function *map, const cj_user_function *op,
                        const cj_user_function *identity, size_t chunk, size_t parts) {
    cj_error error;
    size_t   size = cj_dtype_size(type);
    u->type = type;
    u->op = op;
    u->identity = identity;
    u->count = parts;
    if (!map && !op) return CODE_OK;
    if (cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &u->device, &error) ||
        load(u, map, op, &error) || cj_mem_alloc(u->device, chunk * size, &u->elements, &error) ||
        (op && (cj_mem_alloc(u->device, (parts + 1) * size, &u->parts, &error) ||
                cj_mem_alloc(u->device, chunk, &u->begins, &error) || begin_parts(u, identity, &error))))
        return message_failure(&error);
    return CODE_OK;
}

void user_reference_close(user_reference *u) {
    if (!u->device) return;
    cj_mem_free(u->device, u->elements);
    cj_mem_free(u->device, u->parts);
    cj_mem_free(u->device, u->begins);
    cj_module_unload(u->module);
    cj_device_close(u->device);
}

static cj_status run(user_reference *u, cj_function *function, const void *elements, uint64_t n, uint32_t grid,
                     uint32_t block, cj_ptr part, cj_error *error) {
    void            *arguments[] = {&u->elements, &n, &part, &u->begins};
    cj_launch_config config = {CJ_INIT(config),        .function = function,
                               .grid = {grid, 1, 1},   .block = {block, 1, 1},
                               .arguments = arguments, .argument_count = cj_function_param_count(function)};
    cj_status status = cj_mem_write(u->device, u->elements, elements, (size_t)n * cj_dtype_size(u->type), NULL, error);
    return status ? status : cj_launch(u->device, &config, error);
}

int user_reference_map(user_reference *u, void *elements, size_t count) {
    cj_error error;
    uint32_t grid = (uint32_t)((count + BLOCK - 1) / BLOCK);
    if (!u->map) return CODE_OK;
    if (run(u, u->map, elements, count, grid, BLOCK, 0, &error) ||
        cj_mem_read(u->device, elements, u->elements, count * cj_dtype_size(u->type), NULL, &error))
        return message_failure(&error);
    return CODE_OK;
}

int user_reference_fold(user_reference *u, const void *elements, size_t count, size_t part) {
    cj_error error;
    if (run(u, u->fold, elements, count, 1, 1, u->parts + part * cj_dtype_size(u->type), &error))
        return message_failure(&error);
    return CODE_OK;
}

int user_reference_scan(user_reference *u, void *elements, const unsigned char *begins, size_t count) {
    cj_error error;
    if (cj_mem_write(u->device, u->begins, begins, count, NULL, &error) ||
        run(u, u->scan, elements, count, 1, 1, u->parts, &error) ||
        cj_mem_read(u->device, elements, u->elements, count * cj_dtype_size(u->type), NULL, &error))
        return message_failure(&error);
    return CODE_OK;
}

int user_reference_parts(user_reference *u, void *parts) {
    cj_error error;
    if (cj_mem_read(u->device, parts, u->parts, u->count * cj_dtype_size(u->type), NULL, &error))
        return message_failure(&error);
    return CODE_OK;
}
