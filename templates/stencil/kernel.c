// SPDX-License-Identifier: Apache-2.0
// stencil: what the kernels of all forms write.
#include "stencil.h"

// Launch t of n writes `out` if n - 1 - t is even, else the workspace, and reads what the launch before has written.
static stencil_buffers of_turn(const kernel *k, cj_reg in, cj_reg out) {
    static const char *const select = "selp.b64 $1, $2, $3, $4;";
    cj_func                 *f = k->f;
    cj_reg workspace = cj__load_pointer(f, k->workspace, "workspace"), turn = cj__load_param(f, "u64", k->turn, "turn");
    cj_reg parity = cj_and(f, "parity", cj_add(f, "parity", turn, (k->s->launches - 1) & 1), 1);
    cj_reg even = cj_eq(f, "even", parity, 0), begins = cj_eq(f, "begins", turn, 0);
    cj_reg before = cj_let(f, "u64", "before", select, workspace, out, even);
    cj_reg from = cj_let(f, "u64", "from", select, in, before, begins);
    return (stencil_buffers){from, cj_let(f, "u64", "to", select, out, workspace, even)};
}

stencil_buffers cj__stencil_buffers(const kernel *k, cj_reg problem) {
    cj_func *f = k->f;
    cj_step(f, "what this launch reads and writes, from this problem on");
    cj_reg          in = cj__load_pointer(f, k->in, "in"), out = cj__load_pointer(f, k->out, "out");
    stencil_buffers b = {in, out};
    if (k->s->launches > 1) b = of_turn(k, in, out);
    if (k->s->batch == 1) return b;
    cj_reg skip = cj_mul(f, "skip", cj_cvt(f, "u64", "skip", problem), k->s->points * k->s->bytes);
    cj_update(f, b.from, "add", skip);
    cj_update(f, b.to, "add", skip);
    return b;
}

void cj__stencil_enter_grid(const kernel *k, cj_reg at, uint32_t n, uint32_t reach) {
    if (k->s->boundary == BOUNDARY_PERIODIC) {
        cj_update(k->f, at, "add", cj__round_up(reach, n));
        cj_ptx(k->f, "rem.u32 $1, $1, $2;", at, n);
    } else {
        cj_update(k->f, at, "max", 0);
        cj_update(k->f, at, "min", n - 1);
    }
}

cj_reg cj__stencil_steps(const kernel *k) {
    cj_reg steps = cj__load_param(k->f, "u64", k->steps, "all_steps");
    if (k->plan->launches) {
        cj_reg done = cj_mul(k->f, "steps_done", cj__load_param(k->f, "u64", k->turn, "turn"), k->s->depth);
        steps = cj_min(k->f, "steps", cj_sub(k->f, "steps_left", steps, done), k->s->depth);
    }
    return cj_cvt(k->f, "u32", "steps", steps);
}

void cj__stencil_sum(const kernel *k, cj_reg into, cj_reg (*value)(void *user, const stencil_tap *tap), void *user) {
    for (uint32_t i = 0; i < k->s->tap_count; i++) {
        const stencil_tap *tap = &k->s->tap[i];
        const cj_arg       weight = k->s->bytes == 4 ? cj_arg_f32((float)tap->weight) : cj_arg_f64(tap->weight);
        cj_ptx(k->f, i ? "fma.rn.$1 $2, $3, $4, $2;" : "mul.rn.$1 $2, $3, $4;", k->s->type, into, value(user, tap),
               weight);
    }
}
