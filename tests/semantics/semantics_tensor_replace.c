// SPDX-License-Identifier: Apache-2.0
// tensormap.replace: copies a map that is wrong in one field; the kernel that loads with it corrects the field. Or the
// kernel makes the map itself, from zeros and every field, as Triton's device descriptors do.
#include <stdio.h>
#include <string.h>

#include "semantics_tensor_case.h"
#include "test.h"

// The field that is replaced; its value is the kernel's, or an immediate of the instruction.
typedef struct replacement {
    const char *field;
    int         dimension;  // below 0: the field has no dimensions
    unsigned    bits;       // of the value; 0: an immediate
    unsigned    immediate;
} replacement;

#define EVERY_FIELD "every field"

enum { ELEMTYPE_F32_FTZ = 8, ELEMTYPE_BF16 = 10, SPACES = 2 };

static const replacement replacements[] = {{"global_address", -1, 64, 0},
                                           {"rank", -1, 32, 0},
                                           {"box_dim", 0, 32, 0},
                                           {"box_dim", 1, 32, 0},
                                           {"global_dim", 0, 32, 0},
                                           {"global_dim", 1, 32, 0},
                                           {"global_stride", 0, 64, 0},
                                           {"element_stride", 1, 32, 0},
                                           {"elemtype", -1, 0, ELEMTYPE_F32_FTZ},
                                           {"elemtype", -1, 0, ELEMTYPE_BF16},
                                           {"interleave_layout", -1, 0, CJ_TENSORMAP_INTERLEAVE_NONE},
                                           {"swizzle_mode", -1, 0, CJ_TENSORMAP_SWIZZLE_128B},
                                           {"fill_mode", -1, 0, CJ_TENSORMAP_FILL_NAN},
                                           {EVERY_FIELD, -1, 64, 0}};

_Static_assert(CJ_TEST_COUNT(replacements) * SPACES == CJ_TENSOR_REPLACEMENTS, "each in both spaces");

static const replacement *replacement_at(unsigned index) { return &replacements[index / SPACES]; }
static bool is_field(unsigned index, const char *field) { return !strcmp(replacement_at(index)->field, field); }

// The tile that a correct map loads.
void cj_tensor_replacement_make(unsigned index, cj_tensor_case *c) {
    const bool brain = replacement_at(index)->immediate == ELEMTYPE_BF16 && is_field(index, "elemtype");
    c->type = brain ? CJ_TENSORMAP_BF16 : is_field(index, "elemtype") ? CJ_TENSORMAP_F32_FTZ : CJ_TENSORMAP_F32;
    c->element = brain ? 2 : 4;
    c->action = CJ_TENSOR_REPLACE;
    c->replacement = index;
    c->rank = 2;
    memcpy(c->dims, (uint64_t[5]){64, 40}, sizeof c->dims);
    c->strides[0] = 320;
    memcpy(c->box, (uint32_t[5]){32, 12}, sizeof c->box);
    memcpy(c->steps, (uint32_t[5]){1, is_field(index, "element_stride") ? 3 : 1, 1, 1, 1}, sizeof c->steps);
    memcpy(c->at, (int32_t[5]){40, -4}, sizeof c->at);
    c->swizzle = is_field(index, "swizzle_mode") ? CJ_TENSORMAP_SWIZZLE_128B : CJ_TENSORMAP_SWIZZLE_NONE;
    c->fill = is_field(index, "fill_mode") || brain ? CJ_TENSORMAP_FILL_NAN : CJ_TENSORMAP_FILL_ZEROS;
}

void cj_tensor_replacement_spoil(cj_tensor_case *c, uint64_t *address) {
    const replacement *r = replacement_at(c->replacement);
    const char *const  field = r->field;
    if (!strcmp(field, "global_address")) *address += 1024;
    if (!strcmp(field, "box_dim")) c->box[r->dimension] = 16;
    if (!strcmp(field, "global_dim")) c->dims[r->dimension] = 50;
    if (!strcmp(field, "global_stride")) c->strides[r->dimension] = 256;
    if (!strcmp(field, "element_stride")) c->steps[r->dimension] = 1;
    if (!strcmp(field, "elemtype")) c->type = c->element == 2 ? CJ_TENSORMAP_F16 : CJ_TENSORMAP_F32;
    if (!strcmp(field, "swizzle_mode")) c->swizzle = CJ_TENSORMAP_SWIZZLE_NONE;
    if (!strcmp(field, "fill_mode")) c->fill = CJ_TENSORMAP_FILL_ZEROS;
    if (strcmp(field, "rank") != 0) return;
    c->rank = 3;
    c->dims[2] = c->box[2] = 2;
    c->strides[1] = 16000;
}

uint64_t cj_tensor_replacement_value(const cj_tensor_case *c, uint64_t address) {
    const replacement *r = replacement_at(c->replacement);
    if (!strcmp(r->field, "global_address") || !strcmp(r->field, EVERY_FIELD)) return address;
    if (!strcmp(r->field, "rank")) return c->rank - 1;  // counts from 0
    if (!strcmp(r->field, "box_dim")) return c->box[r->dimension];
    if (!strcmp(r->field, "global_dim")) return c->dims[r->dimension];
    if (!strcmp(r->field, "global_stride")) return c->strides[r->dimension];
    return c->steps[1];
}

// Writes the map of cj_tensor_replacement_make; the address is in %l2.
static void write_every_field(const char *space, cj_text *text) {
    static const struct {
        const char *field, *value;
    } fields[] = {{"rank", "1"},
                  {"box_dim", "0, 32"},
                  {"box_dim", "1, 12"},
                  {"global_dim", "0, 64"},
                  {"global_dim", "1, 40"},
                  {"element_stride", "0, 1"},
                  {"element_stride", "1, 1"},
                  {"elemtype", "7"},
                  {"interleave_layout", "0"},
                  {"swizzle_mode", "0"},
                  {"fill_mode", "0"}};
    const char *map = space[0] == 'g' ? "%l7" : "copy";
    cj__text_printf(text,
                    "    tensormap.replace.tile.global_address.%s.b1024.b64 [%s], %%l2;\n"
                    "    mov.u64 %%l3, 320;\n    tensormap.replace.tile.global_stride.%s.b1024.b64 [%s], 0, %%l3;\n",
                    space, map, space, map);
    for (size_t i = 0; i < CJ_TEST_COUNT(fields); i++)
        cj__text_printf(text, "    tensormap.replace.tile.%s.%s.b1024.b32 [%s], %s;\n", fields[i].field, space, map,
                        fields[i].value);
}

static void write_replace(const replacement *r, const char *space, cj_text *text) {
    char dimension[16] = "";
    if (!strcmp(r->field, EVERY_FIELD)) {
        write_every_field(space, text);
        return;
    }
    if (r->dimension >= 0) snprintf(dimension, sizeof dimension, "%d, ", r->dimension);
    cj__text_printf(text, "    tensormap.replace.tile.%s.%s.b1024.b%d [%s], %s", r->field, space,
                    r->bits == 64 ? 64 : 32, space[0] == 'g' ? "%l7" : "copy", dimension);
    if (r->bits)
        cj__text_printf(text, r->bits == 64 ? "%%l2;\n" : "%%r8;\n");
    else
        cj__text_printf(text, "%u;\n", r->immediate);
}

// %l1: the wrong map, a parameter, and then the correct one, at %l7 in global memory. %l2, %r8: the value. Executed by
// the first warp.
void cj_tensor_replacement_write(unsigned index, cj_text *text) {
    const bool in_shared = index % SPACES;
    cj__text_puts(text,
                  "    .shared .align 128 .b8 copy[128];\n    setp.ge.u32 %p4, %r0, 32;\n    @%p4 bra published;\n"
                  "    setp.lt.u32 %p5, %r0, 16;\n    mad.wide.u32 %l3, %r0, 8, %l1;\n    @%p5 ld.u64 %l5, [%l3];\n");
    if (is_field(index, EVERY_FIELD)) cj__text_puts(text, "    mov.u64 %l5, 0;\n");
    if (in_shared) {
        cj__text_puts(text, "    mov.u32 %r9, copy;\n    mad.lo.u32 %r9, %r0, 8, %r9;\n"
                            "    @%p5 st.shared.u64 [%r9], %l5;\n    bar.warp.sync -1;\n    @!%p0 bra replaced;\n");
        write_replace(replacement_at(index), "shared::cta", text);
        cj__text_puts(text,
                      "replaced:\n    bar.warp.sync -1;\n"
                      "    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                      "[%l7], [copy], 128;\n");
    } else {
        cj__text_puts(text, "    mad.wide.u32 %l3, %r0, 8, %l7;\n    @%p5 st.global.u64 [%l3], %l5;\n"
                            "    bar.warp.sync -1;\n    @!%p0 bra replaced;\n");
        write_replace(replacement_at(index), "global", text);
        cj__text_puts(text, "    fence.proxy.tensormap::generic.release.gpu;\nreplaced:\n    bar.warp.sync -1;\n");
    }
    cj__text_puts(text,
                  "    fence.proxy.tensormap::generic.acquire.gpu [%l7], 128;\npublished:\n    mov.u64 %l1, %l7;\n");
}
