// SPDX-License-Identifier: Apache-2.0
#include "hazard.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cxx_name.h"
#include "error.h"
#include "source.h"

const char *cj__hazard_op_name(const cj_cpu_op *op) {
    return op->inst ? op->inst->mnemonic->text : "the end of the kernel";
}

cj_hazard_line cj__hazard_line(const cj_cpu_launch *launch, unsigned line) {
    const cj_ir_module *module = launch->program->entry->module;
    const cj_ir_place   place = cj__ir_place_at(module, line);
    const char         *file = place.line ? cj__ir_file(module, place.file) : NULL;
    cj_hazard_line      name;
    if (file) {
        const char *base = strrchr(file, '/');
        snprintf(name.text, sizeof name.text, "%.60s:%u (PTX line %u)", base ? base + 1 : file, place.line, line);
    } else {
        snprintf(name.text, sizeof name.text, "line %u", line);
    }
    return name;
}

static const struct {
    const char *rule, *hint;
    bool        is_note;
} rules[] = {
#define CJ_HAZARD(id, rule, hint) {rule, hint, false},
#define CJ_NOTE(id, rule, hint) {rule, hint, true},
#include "hazards.def"
#undef CJ_HAZARD
};

static const char *const cuda_hints[sizeof rules / sizeof *rules] = {
#define CJ_CUDA_HINT(id, hint) [CJ_HAZARD_##id] = hint,
#include "cuda_hints.def"
#undef CJ_CUDA_HINT
};

// Whether a line comes from CUDA C++. Compilers of other languages name their files differently.
static bool is_cuda(const cj_ir_module *module, unsigned line) {
    static const char *const ends[] = {".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".cpp", ".cc", ".cxx"};
    const cj_ir_place        place = cj__ir_place_at(module, line);
    const char              *file = place.line ? cj__ir_file(module, place.file) : NULL;
    const char              *end = file ? strrchr(file, '.') : NULL;
    for (size_t i = 0; end && i < sizeof ends / sizeof *ends; i++) {
        if (!strcmp(end, ends[i])) return true;
    }
    return false;
}

static const char *hint_of(const cj_cpu_findings *findings, cj_cpu_rule rule, unsigned line) {
    return cuda_hints[rule] && is_cuda(findings->module, line) ? cuda_hints[rule] : rules[rule].hint;
}

cj_hazard_name cj__hazard_variable(const char *name) {
    cj_hazard_name shown;
    if (!cj__cxx_name(name, shown.text, sizeof shown.text)) snprintf(shown.text, sizeof shown.text, "%.63s", name);
    return shown;
}

// ---- findings

static cj_cpu_found *list_of(cj_cpu_findings *findings, cj_cpu_rule rule) {
    return rules[rule].is_note ? &findings->notes : &findings->hazards;
}

static cj_hazard *find_known(cj_cpu_findings *findings, cj_cpu_rule rule, unsigned first, unsigned second) {
    cj_cpu_found *list = list_of(findings, rule);
    for (size_t i = 0; i < list->count; i++) {
        cj_hazard *known = &list->hazard[i];
        if (known->first.line == first && known->second.line == second && !strcmp(known->rule, rules[rule].rule)) {
            return known;
        }
    }
    return NULL;
}

// Whether these lines have broken this rule before; then the earlier finding counts one more.
bool cj__hazard_is_known(cj_cpu_findings *findings, cj_cpu_rule rule, unsigned first, unsigned second) {
    pthread_mutex_lock(&findings->lock);
    cj_hazard *known = find_known(findings, rule, first, second);
    if (known) known->count++;
    pthread_mutex_unlock(&findings->lock);
    return known;
}

void cj__hazard_add(cj_cpu_findings *findings, cj_cpu_rule rule, const cj_hazard *hazard) {
    pthread_mutex_lock(&findings->lock);
    cj_cpu_found *list = list_of(findings, rule);
    cj_hazard    *known = find_known(findings, rule, hazard->first.line, hazard->second.line);
    if (known) {  // another host thread was first
        known->count++;
    } else if (list->count < CJ_CPU_FINDINGS) {
        cj_hazard *kept = &list->hazard[list->count++];
        *kept = *hazard;
        kept->count = 1;
        snprintf(kept->rule, sizeof kept->rule, "%s", rules[rule].rule);
        snprintf(kept->hint, sizeof kept->hint, "%s", hint_of(findings, rule, hazard->second.line));
    }
    pthread_mutex_unlock(&findings->lock);
}

cj_status cj__cpu_findings_error(const cj_cpu_findings *findings, cj_error *error) {
    if (!findings->hazards.count) return CJ_OK;
    const cj_hazard *first = &findings->hazards.hazard[0];
    cj__fail(error, CJ_HAZARD, "%s", first->message);
    cj__rule(error, first->rule);
    cj__hint(error, "%s", first->hint);
    if (error) error->line = first->second.line;
    return CJ_HAZARD;
}

// ---- the thread that a report names

cj_hazard_side cj__hazard_side_of(const cj_cpu_launch *launch, const cj_cpu_op *op, uint64_t cluster, uint32_t rank,
                                  uint32_t thread) {
    cj_hazard_side side = {.line = op->line, .thread = cj__cpu_thread(launch, thread), .rank = rank};
    side.block = cj__cpu_position(launch, cluster, rank);
    snprintf(side.what, sizeof side.what, "%.47s", cj__hazard_op_name(op));
    return side;
}

cj_hazard_actor cj__hazard_actor(const cj_cpu_launch *launch, const cj_hazard_side *side, uint64_t cluster) {
    cj_hazard_actor result;
    char          gpu[24] = "";
    if (launch->gpus > 1) snprintf(gpu, sizeof gpu, " of GPU %u", cj__cpu_gpu(launch, cluster));
    snprintf(result.text, sizeof result.text, "thread (%u, %u, %u) of block (%u, %u, %u), rank %u in its cluster%s",
             side->thread.x, side->thread.y, side->thread.z, side->block.x, side->block.y, side->block.z, side->rank,
             gpu);
    return result;
}

// ---- hazards that end the launch

static cj_cpu_step stop(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, cj_hazard *hazard,
                        const char *format, va_list args) {
    char what[512];
    vsnprintf(what, sizeof what, format, args);
    const cj_cpu_block  *block = w->block;
    cj_cpu_cluster      *cluster = block->cluster;
    const cj_cpu_launch *launch = cluster->launch;
    hazard->second = cj__hazard_side_of(launch, op, cluster->index, block->rank, w->index * CJ_LANES + lane);
    snprintf(hazard->message, sizeof hazard->message, "%s, %s: %s; %s", cj__hazard_line(launch, op->line).text,
             cj__hazard_op_name(op), what, cj__hazard_actor(launch, &hazard->second, cluster->index).text);
    cluster->status = CJ_HAZARD;
    cj__hazard_add(launch->findings, rule, hazard);
    return CJ_STEP_STOP;
}

cj_cpu_step cj__cpu_hazard(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, const char *format,
                           ...) {
    cj_hazard hazard = {0};
    va_list   args;
    va_start(args, format);
    const cj_cpu_step step = stop(w, op, lane, rule, &hazard, format, args);
    va_end(args);
    return step;
}

cj_cpu_step cj__cpu_hazard_at(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, uint64_t address,
                              uint64_t bytes, const char *format, ...) {
    cj_hazard hazard = {.address = address, .bytes = bytes};
    va_list   args;
    va_start(args, format);
    const cj_cpu_step step = stop(w, op, lane, rule, &hazard, format, args);
    va_end(args);
    return step;
}

// ---- what cannot be executed

cj_cpu_step cj__cpu_unsupported(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    cj_cpu_findings *findings = w->block->cluster->launch->findings;
    (void)mask;
    pthread_mutex_lock(&findings->lock);
    if (!findings->unsupported) findings->unsupported = op;
    pthread_mutex_unlock(&findings->lock);
    w->block->cluster->status = CJ_UNSUPPORTED;
    return CJ_STEP_STOP;
}

cj_status cj__cpu_unsupported_error(const cj_cpu_findings *findings, cj_error *error) {
    const cj_cpu_op *op = findings->unsupported;
    cj__fail(error, CJ_UNSUPPORTED, "%s", (const char *)op->plan);
    cj__hint(error, "run the kernel on a GPU, or with arguments that do not lead there");
    if (error) error->line = op->line;
    return CJ_UNSUPPORTED;
}
