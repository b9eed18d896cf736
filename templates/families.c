// SPDX-License-Identifier: Apache-2.0
// The families there are, and the way from parameters to text that they share.
#include "check.h"
#include "contract.h"
#include "kit.h"
#include "sized.h"

static const cj_family *const families[] = {
    &cj__family_reduce,        &cj__family_stencil,       &cj__family_histogram,     &cj__family_exchange,
    &cj__family_collective,    &cj__family_scan,          &cj__family_topk,          &cj__family_sort,
    &cj__family_argmax,        &cj__family_sample,        &cj__family_softmax,       &cj__family_logsoftmax,
    &cj__family_rmsnorm,       &cj__family_layernorm,     &cj__family_crossentropy,  &cj__family_gemm,
    &cj__family_allreduce,     &cj__family_reducescatter, &cj__family_allgather,     &cj__family_alltoall,
    &cj__family_broadcast,     &cj__family_barrier,       &cj__family_allreducenorm, &cj__family_shardedcrossentropy,
    &cj__family_shardedsoftmax, &cj__family_shardedtopk};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

size_t           cj_family_count(void) { return FAMILY_COUNT; }
const cj_family *cj_family_at(size_t index) { return index < FAMILY_COUNT ? families[index] : NULL; }
const char      *cj_family_name(const cj_family *family) { return family ? family->name : NULL; }
const char      *cj_family_summary(const cj_family *family) { return family ? family->summary : NULL; }

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
    cj_status   status = cj__fail(error, CJ_INVALID_ARGUMENT, "there is no kernel family '%.64s'", name);
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
    REQUIRE_KNOWN(cj_limits, limits);
    TRY(cj__limits_check(limits, error));
    REQUIRE(plan);
    *plan = (cj_plan){.params = *params};
    const cj_target_info *target;
    TRY(choose_arch(plan, limits, arch, &target, error));
    FAIL_IF(target->number > limits->compute_capability, CJ_UNSUPPORTED,
            "a kernel for %s does not run on %s (sm_%" PRIu32 ")" CJ_HINT "leave the target to the device", plan->arch,
            limits->name, limits->compute_capability);
    const bool clusters = target->number >= 90;
    TRY(cj__given_check(params, error));
    TRY(params->family->plan(plan, limits, clusters, error));
    TRY(cj__given_check_plan(params, plan, clusters, error));
    return check_contract(plan, limits, error);
}

cj_status cj_plan_emit(const cj_plan *plan, char **text, size_t *length, cj_error *error) {
    REQUIRE_KNOWN(cj_plan, plan);
    REQUIRE(plan->params.family);
    REFUSE_IF(plan->block.x < 1 || plan->block.x > 1024, "plan: its block has %" PRIu32 " threads, not 1 to 1024" CJ_HINT "begin with cj_plan_make", plan->block.x);
    REQUIRE(text);
    cj_builder *builder = cj_builder_create(plan->arch);
    plan->params.family->emit(plan, builder);
    cj_status status = cj_builder_finish(builder, text, length, error);
    cj_builder_destroy(builder);
    return status;
}
