// SPDX-License-Identifier: Apache-2.0
// Values of the type that is computed in, and their way over the lanes of a warp.
#include "scan.h"

cj_reg cj__scan_value(scan_kernel *k, const char *name) { return cj_register(k->f, k->s.type, name); }

void cj__scan_clear(scan_kernel *k, cj_reg value) {
    cj_ptx(k->f, "mov.$1 $2, $3;", k->s.type, value, cj_combine_identity(k->combine));
}

void cj__scan_move(scan_kernel *k, cj_reg when, cj_reg to, cj_reg from) {
    if (when.id)
        cj_ptx(k->f, "@$1 mov.$2 $3, $4;", when, k->s.type, to, from);
    else
        cj_ptx(k->f, "mov.$1 $2, $3;", k->s.type, to, from);
}

void cj__scan_before(scan_kernel *k, cj_reg when, cj_reg into, cj_reg earlier) {
    cj_reg sum = cj__scan_value(k, "sum");
    cj__scan_move(k, cj_always(), sum, earlier);
    cj_combine_into(k->f, k->combine, sum, into);
    cj__scan_move(k, when, into, sum);
}

// A shuffle moves 32 bits: wider values travel as two halves. `there` is true where the source is one of the lanes.
static void shuffle(scan_kernel *k, const char *mode, cj_reg there, cj_reg to, cj_reg from, cj_arg source,
                    unsigned clamp) {
    cj_func *f = k->f;
    if (k->s.computed == 4) {
        cj_ptx(f, "shfl.sync.$1.b32 $2|$3, $4, $5, $6, 0xffffffff;", mode, to, there, from, source, clamp);
        return;
    }
    cj_reg half[2] = {cj_b32(f, "low"), cj_b32(f, "high")};
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", half[0], half[1], from);
    for (int i = 0; i < 2; i++)
        cj_ptx(f, "shfl.sync.$1.b32 $2|$3, $2, $4, $5, 0xffffffff;", mode, half[i], there, source, clamp);
    cj_ptx(f, "mov.b64 $1, {$2, $3};", to, half[0], half[1]);
}

static unsigned segment(unsigned lanes) { return (SCAN_WARP - lanes) << 8; }

void cj__scan_pick(scan_kernel *k, cj_reg to, cj_reg from, cj_arg source, unsigned lanes) {
    shuffle(k, "idx", cj_pred(k->f, "there"), to, from, source, segment(lanes) | (SCAN_WARP - 1));
}

void cj__scan_previous(scan_kernel *k, cj_reg to, cj_reg from, unsigned lanes) {
    shuffle(k, "up", cj_pred(k->f, "there"), to, from, CJ_ARG(1), segment(lanes));
}

void cj__scan_lanes(scan_kernel *k, cj_reg value, cj_reg reach, unsigned lanes) {
    cj_reg other = cj__scan_value(k, "other"), there = cj_pred(k->f, "there");
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
        shuffle(k, "up", there, other, value, CJ_ARG(distance), segment(lanes));
        if (reach.id) cj_ptx(k->f, "setp.ge.u32 $1, $2, $3;", there, reach, distance);
        cj_combine_into(k->f, k->combine, other, value);
        cj__scan_move(k, there, value, other);
    }
}
