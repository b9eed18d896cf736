// SPDX-License-Identifier: Apache-2.0
// The families there are, and the way from parameters to text that they share.
#include "family.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "contract.h"
#include "error.h"

static const cj_family *const families[] = {&cj__family_reduce,   &cj__family_stencil,    &cj__family_histogram,
                                            &cj__family_exchange, &cj__family_collective, &cj__family_scan,
                                            &cj__family_topk,     &cj__family_softmax,    &cj__family_logsoftmax,
                                            &cj__family_rmsnorm,  &cj__family_layernorm,  &cj__family_crossentropy,
                                            &cj__family_gemm};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

size_t               cj_family_count(void) { return FAMILY_COUNT; }
const cj_family     *cj_family_at(size_t index) { return index < FAMILY_COUNT ? families[index] : NULL; }
const char          *cj_family_name(const cj_family *family) { return family ? family->name : NULL; }
const char          *cj_family_summary(const cj_family *family) { return family ? family->summary : NULL; }
size_t               cj_family_param_count(const cj_family *family) { return family ? family->param_count : 0; }
const cj_param_info *cj_family_param(const cj_family *family, size_t index) {
    return family && index < family->param_count ? &family->param[index] : NULL;
}

static const char *family_name_at(const void *user, size_t i) {
    (void)user;
    return i < FAMILY_COUNT ? families[i]->name : NULL;
}

cj_status cj_family_find(const char *name, const cj_family **family, cj_error *error) {
    REQUIRE(name);
    REQUIRE(family);
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        if (!strcmp(families[i]->name, name)) {
            *family = families[i];
            return CJ_OK;
        }
    cj_status   status = cj__fail(error, CJ_INVALID_ARGUMENT, "there is no kernel family '%s'", name);
    const char *nearest = cj__nearest(name, family_name_at, NULL);
    if (nearest)
        cj__hint(error, "is '%s' meant?", nearest);
    else
        cj__hint(error, "'ptxgen list' shows the families there are");
    return status;
}

const char *cj_family_arch(const cj_family *family, const cj_limits *limits) {
    const char *own = family ? family->arch : NULL;
    if (!family || !limits) return NULL;
    return own && cj__target_find(own)->number == limits->compute_capability ? own : cj_limits_arch(limits);
}

// The target that a plan is for: `arch`, or the family's on that device.
static cj_status choose_arch(cj_plan *plan, const cj_limits *limits, const char *arch, const cj_target_info **target,
                             cj_error *error) {
    const cj_limits *builtin;
    if (!arch) arch = cj_family_arch(plan->params.family, limits);
    *target = cj__target_find(arch);
    if (!*target) {
        cj_status status = cj_limits_builtin(arch, &builtin, error);  // names the nearest
        return status ? status : cj__fail(error, CJ_INVALID_ARGUMENT, "'%s' is not a target that PTX knows", arch);
    }
    snprintf(plan->arch, sizeof plan->arch, "%s", arch);
    return CJ_OK;
}

static bool has_blocks(cj_dim3 d) { return d.x || d.y || d.z; }

static cj_status check_contract(const cj_plan *plan, const cj_limits *limits, cj_error *error) {
    cj_contract contract = {.reqntid = plan->block, .reqnctapercluster = plan->cluster};
    contract.explicitcluster = contract.uses_clusters = has_blocks(plan->cluster);
    snprintf(contract.entry, sizeof contract.entry, "%s", plan->entry);
    cj_launch_shape shape = {.grid = plan->grid,
                             .block = plan->block,
                             .cluster = plan->cluster,
                             .dynamic_shared = plan->dynamic_shared,
                             .cooperative = plan->cooperative,
                             .nonportable = true,
                             .smem_optin = true};
    return cj__contract_check(&contract, &shape, limits, error);
}

cj_status cj_plan_make(const cj_params *params, const cj_limits *limits, const char *arch, cj_plan *plan,
                       cj_error *error) {
    REQUIRE(params);
    REQUIRE(params->family);
    REQUIRE(limits);
    REQUIRE(plan);
    *plan = (cj_plan){.params = *params};
    const cj_target_info *target;
    cj_status             status = choose_arch(plan, limits, arch, &target, error);
    if (status) return status;
    if (target->number > limits->compute_capability)
        return cj__refuse(error, CJ_UNSUPPORTED, "leave the target to the device",
                          "a kernel for %s does not run on %s (sm_%" PRIu32 ")", plan->arch, limits->name,
                          limits->compute_capability);
    const bool clusters = target->number >= 90;
    status = cj__given_check(params, error);
    if (!status) status = params->family->plan(plan, limits, clusters, error);
    if (!status) status = cj__given_check_plan(params, plan, clusters, error);
    return status ? status : check_contract(plan, limits, error);
}

cj_status cj_plan_emit(const cj_plan *plan, char **text, size_t *length, cj_error *error) {
    REQUIRE(plan);
    REQUIRE(text);
    cj_builder *builder = cj_builder_create(plan->arch);
    plan->params.family->emit(plan, builder);
    cj_status status = cj_builder_finish(builder, text, length, error);
    cj_builder_destroy(builder);
    return status;
}

const char *cj__constant_text(const char *type, uint64_t bits, char buffer[24]) {
    const bool narrow = type[1] == '3';
    if (narrow) bits &= UINT32_MAX;
    if (*type == 'f')
        snprintf(buffer, 24, narrow ? "0f%08" PRIX64 : "0d%016" PRIX64, bits);
    else if (*type == 'u')
        snprintf(buffer, 24, "%" PRIu64, bits);
    else
        snprintf(buffer, 24, "%" PRId64, narrow ? (int64_t)(int32_t)bits : (int64_t)bits);
    return buffer;
}

cj_reg cj__load_pointer(cj_func *f, cj_var param, const char *name) {
    cj_reg pointer = cj_u64(f, name);
    cj_ptx(f, "ld.param.u64 $1, [$2];", pointer, param);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", pointer);
    return pointer;
}

cj_reg cj__pool_address(cj_func *f, const char *pool) {
    cj_reg at = cj_u32(f, "pool");
    cj_ptx(f, "mov.u32 $1, $2;", at, pool);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, CJ_POOL_ALIGN - 1);
    cj_ptx(f, "and.b32 $1, $1, $2; // bulk copies are faster to multiples of that", at, -CJ_POOL_ALIGN);
    return at;
}

// At most what an SM of the plan's target holds.
static uint32_t fit_sm(const cj_plan *plan, uint64_t wanted) {
    const cj_limits *limits;
    if (cj_limits_builtin(plan->arch, &limits, NULL)) return 1;
    const uint32_t fit = limits->max_threads_per_sm / (plan->block.x * plan->block.y * plan->block.z);
    if (wanted > fit) wanted = fit;
    return wanted < limits->max_blocks_per_sm ? (uint32_t)wanted : limits->max_blocks_per_sm;
}

void cj__blocks_per_sm(const cj_plan *plan, cj_func *f, uint64_t wanted) {
    const uint32_t blocks = fit_sm(plan, wanted);
    if (blocks > 1) cj_blocks_per_sm(f, blocks);
}

void cj__registers(const cj_plan *plan, cj_func *f, uint32_t registers, bool spills) {
    enum { SCHEDULERS = 4, REGISTERS = 16384, WARP = 32, UNIT = 8, MEASURED = 90 };  // of a scheduler, on all targets
    const uint32_t unit = (registers + UNIT - 1) / UNIT * UNIT, warps = (plan->block.x + WARP - 1) / WARP;
    const uint32_t blocks = SCHEDULERS * (REGISTERS / (unit * WARP)) / warps;
    if (spills || cj__target_number(plan) != MEASURED) cj_blocks_per_sm(f, fit_sm(plan, blocks ? blocks : 1));
}

unsigned cj__target_number(const cj_plan *plan) { return cj__target_find(plan->arch)->number; }

enum { ROUNDS_PAIRS = 80 };  // the first target with cvt.rn.f16x2.f32, and with bf16

void cj__pack_halves(const cj_plan *plan, cj_func *f, const char *type, cj_reg word, cj_reg high, cj_reg low) {
    if (cj__target_number(plan) >= ROUNDS_PAIRS) {
        cj_ptx(f, "cvt.rn.$1x2.f32 $2, $3, $4;", type, word, high, low);
        return;
    }
    cj_reg upper = cj_register(f, "b16", "upper"), lower = cj_register(f, "b16", "lower");
    cj_ptx(f, "cvt.rn.$1.f32 $2, $3;", type, upper, high);
    cj_ptx(f, "cvt.rn.$1.f32 $2, $3;", type, lower, low);
    cj_ptx(f, "mov.b32 $1, {$2, $3};", word, lower, upper);
}

cj_status cj__refuse_bf16(const cj_plan *plan, const char *name, const char *type, cj_error *error) {
    if (*type != 'b' || cj__target_number(plan) >= ROUNDS_PAIRS) return CJ_OK;
    cj__fail(error, CJ_UNSUPPORTED, "%s: bf16 is rounded to by instructions of sm_%d and later; the target is %s", name,
             ROUNDS_PAIRS, plan->arch);
    cj__hint(error, "f16 and f32 are written on every target");
    return CJ_UNSUPPORTED;
}

void cj__launch_dependents(const cj_plan *plan, cj_func *f) {
    if (!plan->programmatic) return;
    cj_step(f, "the next kernel's blocks may start where there is room");
    cj_ptx(f, "griddepcontrol.launch_dependents;");
}
