// SPDX-License-Identifier: Apache-2.0
// Calls (PTX ISA, "call", "ret") and the stack ("alloca", "stacksave", "stackrestore").
//
// Each lane has its own return address: lanes may enter a function from different places and leave it to them. Each
// lane has a stack in its local memory, above what the entry declares; it grows upwards:
//
//   outer ──> | kept: what the call before had in the file | frame: parameters, variables | alloca … | <── top
//
// A function's registers have one place in the file. A lane that enters a function which it is already in first saves
// its registers on the stack, and restores them when it returns. Results are passed in the callee's frame, which stays
// unchanged until the next call.
#include <inttypes.h>

#include "address.h"
#include "call.h"
#include "exec.h"
#include "library.h"
#include "undefined.h"

enum { ALLOCA_ALIGNMENT = 8, ALLOCA_ALIGNMENT_MAX = 1 << 23 };  // the least and the most

enum { REGISTER_BYTES = 64 };  // of the largest vector of registers

// Where a caller keeps an argument, or wants a result: a register, or its local memory.
typedef struct home {
    cj_cpu_packed in;
    uint32_t      at, bytes;  // of one lane's; offset in local memory
    uint32_t      frame;      // slot: the base of the offset
} home;

typedef struct call {
    const cj_cpu_func         *callee;   // NULL: called by the address in slot 0, or of the library
    const cj_library_function *library;  // or NULL
    uint32_t           argument_count, result_count;
    home              *argument, *result;
} call;

static lane_u32 *lanes_at(const cj_cpu_warp *w, uint32_t slot) { return (lane_u32 *)(void *)(w->file + slot); }

static unsigned char *local_of(const cj_cpu_warp *w, unsigned lane) {
    return w->block->local + ((size_t)w->index * CJ_LANES + lane) * w->block->cluster->launch->local_bytes;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

// ---- frames

// Moves the top of a lane's stack up by `bytes`, aligned; *begin is the address of the new bytes, whose contents are
// undefined. False when the stack is full.
static bool grow(const cj_cpu_warp *w, unsigned lane, uint64_t bytes, uint64_t align, uint32_t *begin) {
    const uint64_t limit = w->block->cluster->launch->local_bytes;
    lane_u32      *top = lanes_at(w, w->block->cluster->launch->program->stack);
    const uint64_t at = (top[lane] + align - 1) / align * align;
    if (at > limit || bytes > limit - at) return false;
    *begin = (uint32_t)at;
    top[lane] = (uint32_t)(at + bytes);
    memset(local_of(w, lane) + at, CJ_POISON, bytes);
    if (w->block->undefined) memset(cj__undefined_local_of(w, lane) + at, 0, bytes);
    return true;
}

static cj_cpu_step overflow(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, const char *what, uint64_t bytes) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    const uint32_t       top = lanes_at(w, launch->program->stack)[lane];
    return cj__cpu_hazard(w, op, lane, CJ_HAZARD_STACK_OVERFLOW,
                          "%s takes %" PRIu64 " bytes of the thread's local memory, of which %u of %u are in use", what,
                          bytes, top, launch->local_bytes);
}

// What is copied of a lane: its values, or its undefined bits (undefined.h); each kind has a file and local memory.
typedef struct part {
    unsigned char *file, *local;
    unsigned       lane;
} part;

static part values_of(const cj_cpu_warp *w, unsigned lane) { return (part){w->file, local_of(w, lane), lane}; }

static part undefined_of(const cj_cpu_warp *w, unsigned lane) {
    return (part){w->file + w->block->cluster->launch->program->file_bytes, cj__undefined_local_of(w, lane), lane};
}

// Copies a lane's part of a slot to memory, or back; returns the address after it.
static unsigned char *copy_place(part of, cj_cpu_kept place, unsigned char *memory, bool back) {
    unsigned char *slot = of.file + place.slot;
    if (!place.bytes && back)
        cj__cpu_predicate_set(slot, 1u << of.lane, (uint32_t)*memory << of.lane);
    else if (!place.bytes)
        *memory = (unsigned char)(*(const lane_u32 *)(const void *)slot >> of.lane & 1);
    else if (back)
        memcpy(slot + (size_t)of.lane * place.bytes, memory, place.bytes);
    else
        memcpy(memory, slot + (size_t)of.lane * place.bytes, place.bytes);
    return memory + (place.bytes ? place.bytes : 1);
}

// Copies a lane's slots of a function from the file to the stack, or back.
static void keep(part of, const cj_cpu_func *f, uint32_t at, bool back) {
    unsigned char *memory = of.local + at;
    for (size_t i = 0; i < f->kept_count; i++) memory = copy_place(of, f->kept[i], memory, back);
}

static void copy_packed(part of, cj_cpu_packed packed, unsigned char *memory, bool back) {
    cj_cpu_kept place = packed.first;
    for (uint32_t k = 0; k < packed.count; k++) {
        memory = copy_place(of, place, memory, back);
        place.slot += place.bytes ? place.bytes * CJ_LANES : (uint32_t)sizeof(lane_u32);
    }
}

// Copies an argument or result between its home and memory: the smaller of both sizes.
static void copy_home(const cj_cpu_warp *w, part of, home h, unsigned char *memory, uint32_t bytes, bool back) {
    unsigned char  packed[REGISTER_BYTES];
    unsigned char *at = h.in.count ? packed : of.local + lanes_at(w, h.frame)[of.lane] + h.at;
    if (h.in.count) copy_packed(of, h.in, packed, false);
    memcpy(back ? at : memory, back ? memory : at, smaller(bytes, h.bytes));
    if (h.in.count && back) copy_packed(of, h.in, packed, true);
}

// Copies the parameters or results that have registers from the frame into them, or back.
static void use_registers(part of, const cj_cpu_param *param, size_t count, uint32_t frame, bool back) {
    for (size_t k = 0; k < count; k++) copy_packed(of, param[k].in, of.local + frame + param[k].at, !back);
}

// Offsets of a caller's homes count from the caller's frame, which is still the current one here.
static void pass_arguments(const cj_cpu_warp *w, part of, const call *c, const cj_cpu_func *f, uint32_t frame) {
    for (uint32_t k = 0; k < c->argument_count; k++) {
        copy_home(w, of, c->argument[k], of.local + frame + f->param[k].at, f->param[k].bytes, false);
    }
    use_registers(of, f->param, f->func->param_count, frame, false);
}

static void pass_results(const cj_cpu_warp *w, part of, const call *c, const cj_cpu_func *f, uint32_t frame) {
    for (uint32_t k = 0; k < c->result_count; k++) {
        copy_home(w, of, c->result[k], of.local + frame + f->result[k].at, f->result[k].bytes, true);
    }
}

// Undefined bits that a call copies from register to register keep their origin, the load that made them.
static void pass_origins(const cj_cpu_warp *w, cj_cpu_packed to, cj_cpu_packed from) {
    const uint32_t step = from.first.bytes ? from.first.bytes * CJ_LANES : (uint32_t)sizeof(lane_u32);
    for (uint32_t k = 0; k < to.count && k < from.count && to.first.bytes == from.first.bytes; k++) {
        cj__undefined_pass(w, to.first.slot + k * step, from.first.slot + k * step);
    }
}

static void pass_undefined_arguments(const cj_cpu_warp *w, const call *c, const cj_cpu_func *f, unsigned lane,
                                     uint32_t frame) {
    pass_arguments(w, undefined_of(w, lane), c, f, frame);
    for (uint32_t k = 0; k < c->argument_count; k++) pass_origins(w, f->param[k].in, c->argument[k].in);
}

static void pass_undefined_results(const cj_cpu_warp *w, const call *c, const cj_cpu_func *f, unsigned lane,
                                   uint32_t frame) {
    pass_results(w, undefined_of(w, lane), c, f, frame);
    for (uint32_t k = 0; k < c->result_count; k++) pass_origins(w, c->result[k].in, f->result[k].in);
}

static void set_addresses(const cj_cpu_warp *w, const cj_cpu_func *f, unsigned lane, uint32_t frame) {
    for (size_t i = 0; i < f->frame_address_count; i++) {
        const cj_cpu_frame_address *address = &f->frame_address[i];
        if (address->bits == 32)
            lanes_at(w, address->slot)[lane] = frame + (uint32_t)address->offset;
        else
            ((lane_u64 *)(void *)(w->file + address->slot))[lane] = frame + address->offset;
    }
}

// Begins a lane's call of f. False when its stack has no room.
static bool push(cj_cpu_warp *w, const call *c, const cj_cpu_func *f, unsigned lane) {
    const uint32_t outer = lanes_at(w, w->block->cluster->launch->program->stack)[lane];
    const part     values = values_of(w, lane);
    const bool     moves_undefined = w->undefined || w->block->undefined;
    uint32_t       kept, frame;
    if (lanes_at(w, f->depth)[lane]++) {
        if (!grow(w, lane, f->kept_bytes, 1, &kept)) return false;
        keep(values, f, kept, false);
        if (moves_undefined) keep(undefined_of(w, lane), f, kept, false);
    }
    if (!grow(w, lane, f->frame_bytes, f->frame_align, &frame)) return false;
    pass_arguments(w, values, c, f, frame);
    if (moves_undefined) pass_undefined_arguments(w, c, f, lane, frame);
    lanes_at(w, f->back)[lane] = w->pc + 1;
    lanes_at(w, f->outer)[lane] = outer;
    lanes_at(w, f->frame)[lane] = frame;
    set_addresses(w, f, lane, frame);
    w->block->undefined |= moves_undefined;
    w->undefined = moves_undefined;
    return true;
}

// Ends a lane's call of f; copies the results to its caller from the frame, which nothing has overwritten. Returns the
// op at which the lane continues.
static uint32_t pop(cj_cpu_warp *w, const cj_cpu_func *f, unsigned lane) {
    const cj_cpu_program *program = w->block->cluster->launch->program;
    const uint32_t        back = lanes_at(w, f->back)[lane], outer = lanes_at(w, f->outer)[lane];
    const uint32_t        frame = lanes_at(w, f->frame)[lane];
    const call           *c = program->op[back - 1].plan;
    const part            values = values_of(w, lane);
    const bool            moves_undefined = w->undefined || w->block->undefined;
    use_registers(values, f->result, f->func->result_count, frame, true);
    if (moves_undefined) use_registers(undefined_of(w, lane), f->result, f->func->result_count, frame, true);
    lanes_at(w, program->stack)[lane] = outer;
    if (--lanes_at(w, f->depth)[lane]) {
        keep(values, f, outer, true);
        if (moves_undefined) keep(undefined_of(w, lane), f, outer, true);
    }
    pass_results(w, values, c, f, frame);
    if (moves_undefined) pass_undefined_results(w, c, f, lane, frame);
    w->undefined = moves_undefined;
    return back;
}

// ---- calls

static const cj_cpu_func *callee_of(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane) {
    const call           *c = op->plan;
    const cj_cpu_program *program = w->block->cluster->launch->program;
    if (c->callee) return c->callee;
    const uint64_t address = CJ_LANES_OF(const lane_u64, 0)[lane];
    for (size_t i = 0; i < program->func_count; i++) {
        if (program->func[i]->address == address) return program->func[i];
    }
    return NULL;
}

// Why the device cannot make this call, or NULL.
static const char *complaint(const call *c, const cj_cpu_func *callee) {
    if (!callee) return "the address is no function's";
    if (callee->func->param_count == c->argument_count && callee->func->result_count == c->result_count) return NULL;
    return "the function has other parameters";
}

CJ_EXEC(enter) {
    const call *c = op->plan;
    uint32_t    to[CJ_LANES];
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_func *callee = callee_of(w, op, i);
        const char        *wrong = complaint(c, callee);
        if (wrong) return cj__cpu_hazard(w, op, i, CJ_HAZARD_TRAP, "%s", wrong);
        if (!push(w, c, callee, i)) return overflow(w, op, i, callee->func->name, callee->frame_bytes);
        to[i] = callee->start;
    }
    return cj__cpu_disperse(w, mask, to);
}

CJ_EXEC(come_back) {
    const cj_cpu_func *f = op->plan;
    uint32_t           to[CJ_LANES];
    CJ_SOME_LANES(i, mask) to[i] = pop(w, f, i);
    return cj__cpu_disperse(w, mask, to);
}

// Whether some bit of a lane's arguments is undefined.
static bool has_undefined(const cj_cpu_warp *w, const call *c, unsigned lane) {
    uint64_t bits = 0;
    for (uint32_t k = 0; k < c->argument_count; k++) {
        uint64_t one = 0;
        copy_home(w, undefined_of(w, lane), c->argument[k], (unsigned char *)&one, sizeof one, false);
        bits |= one;
    }
    return bits;
}

// Runs a function of the library for each lane. Its results are defined; undefined bits of its arguments are used.
CJ_EXEC(call_library) {
    const call *c = op->plan;
    const bool  moves_undefined = w->undefined || w->block->undefined;
    CJ_SOME_LANES(i, mask) {
        cj_library_call made = {.w = w, .op = op, .lane = i};
        const part      values = values_of(w, i);
        uint64_t        defined = 0;
        for (uint32_t k = 0; k < c->argument_count; k++)
            copy_home(w, values, c->argument[k], (unsigned char *)&made.argument[k], sizeof *made.argument, false);
        if (moves_undefined && has_undefined(w, c, i)) cj__undefined_used(w, op, i);
        if (!c->library->run(&made)) return CJ_STEP_STOP;
        for (uint32_t k = 0; k < c->result_count; k++) {
            copy_home(w, values, c->result[k], (unsigned char *)&made.result, sizeof made.result, true);
            if (moves_undefined)
                copy_home(w, undefined_of(w, i), c->result[k], (unsigned char *)&defined, sizeof defined, true);
        }
    }
    return CJ_STEP_NEXT;
}

// A return from an entry ends the thread.
bool cj__cpu_select_ret(cj_cpu_prepare *p) {
    if (!p->callee) return cj__cpu_select_exit(p);
    p->op.plan = p->callee;
    p->op.run = come_back;
    return true;
}

// ---- the stack

static uint64_t wide_lane(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned k, unsigned lane) {
    return op->bytes == 8 ? CJ_LANES_OF(const lane_u64, k)[lane] : CJ_LANES_OF(const lane_u32, k)[lane];
}

static void set_wide_lane(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint32_t value) {
    if (op->bytes == 8)
        CJ_LANES_OF(lane_u64, 0)[lane] = value;
    else
        CJ_LANES_OF(lane_u32, 0)[lane] = value;
}

// op->mode: the logarithm of the alignment.
CJ_EXEC(alloca) {
    CJ_SOME_LANES(i, mask) {
        const uint64_t bytes = wide_lane(w, op, 1, i);
        uint32_t       begin;
        if (!grow(w, i, bytes, (uint64_t)1 << op->mode, &begin)) return overflow(w, op, i, "alloca", bytes);
        set_wide_lane(w, op, i, begin);
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(stacksave) {
    const lane_u32 *top = lanes_at(w, w->block->cluster->launch->program->stack);
    CJ_SOME_LANES(i, mask) set_wide_lane(w, op, i, top[i]);
    return CJ_STEP_NEXT;
}

// op->plan: the function, or NULL: the entry. No stacksave of the function gives a value below what it declares,
// or above the top.
CJ_EXEC(stackrestore) {
    const cj_cpu_program *program = w->block->cluster->launch->program;
    const cj_cpu_func    *f = op->plan;
    lane_u32             *top = lanes_at(w, program->stack);
    CJ_SOME_LANES(i, mask) {
        const uint64_t to = wide_lane(w, op, 0, i);
        const uint32_t least = f ? lanes_at(w, f->frame)[i] + f->frame_bytes : program->stack_begin;
        if (to < least || to > top[i]) {
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_OUT_OF_BOUNDS,
                                  "the stack cannot end at 0x%" PRIx64
                                  ": what alloca took of it lies from 0x%x to 0x%x",
                                  to, least, top[i]);
        }
        top[i] = (uint32_t)to;
    }
    return CJ_STEP_NEXT;
}

static bool select_stack(cj_cpu_prepare *p, cj_cpu_exec run) {
    p->op.run = run;
    p->op.bytes = (uint8_t)(cj__words[p->mnemonic->type_last].bits / 8);
    p->program->has_stack = p->program->stack_grows = true;
    return true;
}

bool cj__cpu_select_alloca(cj_cpu_prepare *p) {
    const uint64_t align = p->inst->operand_count > 2 ? p->inst->operand[2].bits : ALLOCA_ALIGNMENT;
    if (!align || align & (align - 1) || align > ALLOCA_ALIGNMENT_MAX) {
        cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: the alignment is a power of 2 up to 2^23, not %" PRIu64,
                       p->mnemonic->text, align);
        return false;
    }
    p->op.mode = (uint16_t)__builtin_ctzll(align > ALLOCA_ALIGNMENT ? align : ALLOCA_ALIGNMENT);
    return select_stack(p, alloca);
}

bool cj__cpu_select_stacksave(cj_cpu_prepare *p) { return select_stack(p, stacksave); }

bool cj__cpu_select_stackrestore(cj_cpu_prepare *p) {
    p->op.plan = p->callee;
    return select_stack(p, stackrestore);
}

// ---- selection

static home home_of(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type) {
    if (operand->kind == CJ_OPERAND_VAR) {
        const cj_cpu_symbol *symbol = cj__cpu_symbol_of(p->program, operand->var);
        if (symbol) {
            return (home){.at = (uint32_t)symbol->offset,
                          .bytes = (uint32_t)symbol->bytes,
                          .frame = symbol->in_frame ? p->callee->frame : cj__cpu_constant(p, 0, 32)};
        }
    }
    uint16_t            bits = 0;
    const uint32_t      slot = cj__cpu_slot_of(p, operand, type, &bits);
    const bool          is_whole = operand->kind == CJ_OPERAND_REG && !operand->component;
    const cj_cpu_packed in = cj__cpu_packed(slot, bits, is_whole ? operand->reg->vector : 1);
    return (home){.in = in, .bytes = cj__cpu_packed_bytes(in)};
}

// The homes of a list of arguments or results. A literal has the type of the parameter.
static home *homes_of(cj_cpu_prepare *p, const cj_ir_operand *list, cj_ir_var *const *params, size_t count) {
    home *made = cj__cpu_keep(p, (list->count + 1u) * sizeof *made);
    for (unsigned i = 0; made && i < list->count; i++) {
        made[i] = home_of(p, &list->list[i], i < count ? params[i]->type : CJ_W_B64);
    }
    return made;
}

bool cj__cpu_select_call(cj_cpu_prepare *p) {
    static const cj_ir_operand empty;
    const cj_ir_inst          *inst = p->inst;
    const unsigned             at = inst->operand[0].kind == CJ_OPERAND_LIST;
    const cj_ir_operand       *target = &inst->operand[at];
    const cj_ir_operand       *results = at ? &inst->operand[0] : &empty;
    const bool                 listed = at + 1 < inst->operand_count && inst->operand[at + 1].kind == CJ_OPERAND_LIST;
    const cj_ir_operand       *arguments = listed ? &inst->operand[at + 1] : &empty,
                        *last = &inst->operand[inst->operand_count - 1];

    const cj_ir_func *func = target->kind == CJ_OPERAND_FUNC  ? target->func
                             : last->kind == CJ_OPERAND_LABEL ? last->label->prototype
                                                              : NULL;
    call *c = cj__cpu_keep(p, sizeof *c);
    if (!c) return false;
    c->callee = target->kind == CJ_OPERAND_FUNC ? cj__cpu_func_of(p->program, func) : NULL;
    if (target->kind == CJ_OPERAND_FUNC && !c->callee) c->library = cj__library_function(p, func);
    c->argument_count = arguments->count;
    c->result_count = results->count;
    c->argument = homes_of(p, arguments, func ? func->param : NULL, func ? func->param_count : 0);
    c->result = homes_of(p, results, func ? func->result : NULL, func ? func->result_count : 0);
    p->op.plan = c;
    p->op.run = c->library ? call_library : enter;
    return !p->status;
}
