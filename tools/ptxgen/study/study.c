// SPDX-License-Identifier: Apache-2.0
#include "study.h"

#include <clusterjit/cache.h>
#include <clusterjit/gpus.h>
#include <clusterjit/occupancy.h>
#include <clusterjit/tuning.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "estimate.h"
#include "families.h"
#include "message.h"
#include "output.h"
#include "stats.h"
#include "threads.h"

int study_set(void *user, int key, char *value) {
    study_options *o = user;
    switch (key) {
    case STUDY_ARCH: o->arch = value; break;
    case STUDY_DEVICE: o->device = value; break;
    case STUDY_FILL: o->fill = value; break;
    case STUDY_INPUT: o->input = value; break;
    case STUDY_JSON: o->json = true; break;
    case STUDY_ROUNDS: o->rounds = args_number("--rounds", value, 1, MEASURE_ROUNDS_MAX); break;
    case STUDY_PLOT: o->plot = value; break;
    case STUDY_GPUS: o->gpus = args_number("--gpus", value, 2, CJ_GPUS_MAX); break;
    default: machine_set(&o->machine, key, value); break;
    }
    return CODE_OK;
}

// ---- opening

static int refuse_options(const study_options *o) {
    if (o->input && o->fill) return message_error(CJ_INVALID_ARGUMENT, "--input and --fill exclude each other");
    if (o->machine.last_seed == o->machine.cpu.seed) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "--schedule gives several seeds; here one is taken");
}

static int open_device(study *s) {
    cj_error error;
    if (cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = s->options.device}, &s->w.device,
                       &error))
        return message_failure(&error);
    int code = s->options.admit ? s->options.admit(s->w.device) : CODE_OK;
    if (code) return code;
    s->gpu = strcmp(cj_device_kind(s->w.device), "gpu") == 0;
    s->options.machine.cpu.stats = true;
    return machine_apply(&s->options.machine, s->w.device);
}

// On the CPU device a single kernel is launched and checked before and after its rounds; each of several kernels once.
static void say_how_long(const study *s) {
    const study_options *o = &s->options;
    const unsigned       checks = o->kernels ? o->kernels : 2, rounds = o->rounds ? o->rounds : MEASURE_ROUNDS_CPU;
    estimate_say(&s->w, (estimate_use){.launches = o->kernels ? checks : checks + rounds, .checks = checks});
}

int study_open(study *s, const study_options *options, const args_family *family, size_t capacity) {
    const char *name = cj_family_name(family->params.family);
    *s = (study){.options = *options, .capacity = capacity};
    s->variants = calloc(capacity, sizeof *s->variants);
    s->races = calloc(capacity + 1, sizeof *s->races);  // one more for the peer
    if (!s->variants || !s->races) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu kernels", capacity);
    s->w = (workload){.type = options->gpus ? workload_find_whole(name) : workload_find(name),
                      .gpus = options->gpus,
                      .params = family->params,
                      .given = family->given,
                      .fill = options->fill,
                      .input = options->input,
                      .rotate = true,
                      .forms = options->forms};
    s->options.arch = s->w.arch = args_target(options->arch, family->params.family);
    if (options->gpus && !s->w.type)
        return message_error(CJ_INVALID_ARGUMENT, "%s runs on one GPU\n--gpus goes with reduce, histogram, gemm and the families of several GPUs", name);
    int code = s->w.type ? refuse_options(options) : workload_missing(name);
    if (!code && family->ranks)
        code = message_error(CJ_INVALID_ARGUMENT, "--gpus env: times are measured with all GPUs in one process\ngive their number");
    if (!code) code = open_device(s);
    if (!code) say_how_long(s);
    if (code || !options->forms || !s->w.type->of_clusters) return code ? code : s->w.type->open(&s->w);
    s->own = calloc(capacity, sizeof *s->own);
    return s->own ? CODE_OK : message_error(CJ_OUT_OF_MEMORY, "no memory for %zu workloads", capacity);
}

void study_close(study *s) {
    for (size_t i = 0; i < s->count; i++) {
        cj_kernel_destroy(s->variants[i].kernel);
        if (s->own && s->own[i].device) s->w.type->close(&s->own[i]);
    }
    free(s->variants);
    free(s->races);
    free(s->own);
    if (!s->w.device) return;
    peer_close(&s->peer);
    s->w.type->close(&s->w);
    cj_device_close(s->w.device);
}

// ---- variants

static cj_status launch(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    variant *v = user;
    return v->w->type->launch(v->w, v->kernel, copy, stream, error);
}

// If the grid has fewer blocks than the GPU holds at once, SMs are idle.
static cj_status count_sms(const study *s, variant *v, cj_error *error) {
    cj_module           *module = NULL;
    cj_function         *function = NULL;
    cj_cluster_occupancy count = {CJ_INIT(count)};
    const char          *ptx = cj_kernel_ptx(v->kernel);
    const cj_plan       *p = &v->plan;
    cj_occupancy_query   query = {CJ_INIT(query), .block = p->block, .cluster = p->cluster,
                                  .dynamic_shared = p->dynamic_shared};
    cj_status            status = cj_module_get(s->w.device, ptx, strlen(ptx), &module, error);
    if (!status) status = cj_module_function(module, p->entry, &function, error);
    if (!status) status = cj_function_occupancy(function, &query, &count, error);
    cj_module_release(module);
    if (status) return status;
    uint64_t blocks = (uint64_t)p->grid.x * p->grid.y * p->grid.z;
    v->active = count.active_clusters;
    v->sms = blocks < count.sms_used ? (uint32_t)blocks : count.sms_used;
    if (!count.active_clusters)
        snprintf(v->refused, sizeof v->refused, "the device has no room for a cluster of %u such blocks", p->cluster.x);
    return CJ_OK;
}

// May run on several host threads, each with another variant.
static void load(study *s, variant *v, const cj_params *params) {
    cj_device  *device = s->w.device;
    const char *arch = s->options.arch;
    cj_error    error;
    *v = (variant){.w = &s->w};
    cj_status status = s->options.untuned ? cj_plan_make(params, cj_device_limits(device), arch, &v->plan, &error)
                                          : cj_tuning_plan(device, params, arch, &v->plan, &error);
    if (!status) status = cj_kernel_load(device, &v->plan, &v->kernel, &error);
    if (!status) status = count_sms(s, v, &error);
    if (status) v->why = error;
}

// Opens the variant's own problem, if it has one.
static int open_own(study *s, variant *v, const cj_params *params) {
    if (!s->own) return CODE_OK;
    v->w = &s->own[v - s->variants];
    *v->w = s->w;
    v->w->params = *params;
    return v->w->type->open(v->w);
}

static bool is_refusal(const study *s, cj_status status) {
    if (status == CJ_INVALID_ARGUMENT || status == CJ_OUT_OF_MEMORY) return s->options.forms;  // by a form's workspace
    return status == CJ_CONTRACT || status == CJ_UNSUPPORTED;
}

// What `load` has left: a contender, or a refusal.
static int enter(study *s, variant *v, const cj_params *params) {
    const cj_error *why = &v->why;
    if (why->status && !is_refusal(s, why->status)) return message_failure(why);
    if (why->status) snprintf(v->refused, sizeof v->refused, "%s%s%s", why->message, *why->rule ? ", rule " : "", why->rule);
    if (!v->refused[0]) {
        int code = open_own(s, v, params);
        if (code) return code;
        v->race = &s->races[s->race_count++];
        *v->race = (contender){.launch = launch, .user = v, .copies = v->w->copies};
        return CODE_OK;
    }
    cj_kernel_destroy(v->kernel);
    v->kernel = NULL;
    return CODE_OK;
}

typedef struct loading {
    study                  *s;
    const cj_params *const *params;
    variant                *first;
} loading;

static void load_one(void *user, size_t i) {
    const loading *l = user;
    load(l->s, &l->first[i], l->params[i]);
}


static bool is_same_launch(const variant *a, const variant *b) {
    const cj_plan *x = &a->plan, *y = &b->plan;
    return a->kernel && cj_dim3_equal(x->grid, y->grid) && cj_dim3_equal(x->block, y->block) && cj_dim3_equal(x->cluster, y->cluster) &&
           x->dynamic_shared == y->dynamic_shared && x->programmatic == y->programmatic && x->launches == y->launches &&
           !memcmp(x->derived, y->derived, sizeof x->derived) && !strcmp(cj_kernel_ptx(a->kernel), cj_kernel_ptx(b->kernel));
}

// Other values of parameters may give a kernel that is there already.
static void refuse_copy(const study *s, variant *v) {
    for (const variant *other = s->variants; v->kernel && !v->refused[0] && other < v; other++)
        if (is_same_launch(other, v)) snprintf(v->refused, sizeof v->refused, "another candidate is this kernel");
}

int study_add_all(study *s, const cj_params *const *params, size_t count, const char *what) {
    loading l = {s, params, &s->variants[s->count]};
    int     code = CODE_OK;
    s->count += count;
    threads_each(what, count, load_one, &l);
    for (size_t i = 0; !code && i < count; i++) {
        refuse_copy(s, &l.first[i]);
        code = enter(s, &l.first[i], params[i]);
    }
    return code;
}

int study_add(study *s, const cj_params *params) {
    variant *v = &s->variants[s->count++];
    load(s, v, params);
    return enter(s, v, params);
}

// ---- checking and timing

enum { CHECKED = 8 };  // sets of buffers whose results are checked against the reference, before and after

int study_check(study *s, variant *v, unsigned sets, double *milliseconds) {
    workload_verdict verdict;
    unsigned         copies = v->w->copies, checked = copies < sets ? copies : sets;
    for (unsigned i = 0; i < checked; i++) {
        int code = workload_try(v->w, v->kernel, (unsigned)((uint64_t)i * copies / checked), milliseconds, &verdict);
        if (code) return code;
        v->stats.struct_size = sizeof v->stats;
        if (!s->gpu) cj_cpu_stats_read(s->w.device, &v->stats, NULL);
        if (!verdict.ok) return workload_wrong(&verdict, NULL);
    }
    return CODE_OK;
}

static int check_all(study *s) {
    int code = CODE_OK;
    for (size_t i = 0; !code && i < s->count; i++)
        if (s->variants[i].kernel) code = study_check(s, &s->variants[i], CHECKED, NULL);
    return code;
}

// The least time for the bytes that must be read and written, at the measured ceilings; reads and writes overlap as far
// as possible.
static double least_time(const study *s, const workload *w) {
    double both = fmin(w->bytes_read, w->bytes_written), rest = fmax(w->bytes_read, w->bytes_written) - both;
    return s->gpu ? 1e3 * (2 * both / s->copy_ceiling + rest / s->read_ceiling) : 0;
}

int study_run(study *s) {
    cj_error         error;
    const cj_kernel *first = s->variants[0].kernel;
    int              code = check_all(s);
    if (!code && s->options.beside) code = peer_open(&s->peer, &s->w, first, &s->races[s->race_count]);
    if (code) return code;
    if (measure_ceilings(s->w.device, &s->read_ceiling, &s->copy_ceiling, &error) ||
        measure(s->w.device, s->races, s->race_count + (s->peer.race != NULL), s->options.rounds, &error))
        return message_failure(&error);
    code = check_all(s);
    return code ? code : peer_check(&s->peer, first);
}

// ---- figures

uint32_t study_cluster(const cj_plan *plan) { return plan->cluster.x * plan->cluster.y * plan->cluster.z; }

double study_waves(const variant *v) {
    const uint32_t cluster = study_cluster(&v->plan);
    const double   blocks = (double)v->plan.grid.x * v->plan.grid.y * v->plan.grid.z;
    return v->active ? blocks / (cluster ? cluster : 1) / v->active : 0;
}

double study_rate(const variant *v) { return (v->w->bytes_read + v->w->bytes_written) / (v->race->time.median * 1e-3); }

double study_share(const study *s, const variant *v) { return least_time(s, v->w) / v->race->time.median; }

static void add_work(json_t *object, const workload *w) {
    if (!object) return;
    json_object_set_new(object, "buffer_sets", json_integer(w->copies));
    json_object_set_new(object, "bytes_read", output_json_real(w->bytes_read));
    json_object_set_new(object, "bytes_written", output_json_real(w->bytes_written));
    json_object_set_new(object, "operations", output_json_real(w->operations));
    if (w->unit) json_object_set_new(object, "unit", json_string(w->unit));
}

// The buffers, bytes and operations of a workload of several GPUs are those of one of them, and so are the rates: all have as much to do.
static void add_gpus(json_t *object, const workload *w) {
    const uint32_t gpus = workload_gpus(w);
    if (!object || !gpus) return;
    json_object_set_new(object, "gpus", json_integer((json_int_t)gpus));
    json_object_set_new(object, "figures_of", json_string("each GPU"));
}

void study_print_gpus(const study *s) {
    const uint32_t gpus = workload_gpus(&s->w);
    if (gpus) printf("GPUs: %" PRIu32 "; bytes and rates are those of each\n", gpus);
}

void study_title(const study *s, char *text, size_t size) {
    const uint32_t gpus = workload_gpus(&s->w);
    char           times[16] = "";
    if (gpus) snprintf(times, sizeof times, "%" PRIu32 " x ", gpus);
    snprintf(text, size, "%s on %s%s", cj_family_name(s->w.params.family), times, cj_device_name(s->w.device));
}

static json_t *rounds_json(const contender *c) {
    json_t *rounds = json_array();
    for (unsigned i = 0; rounds && i < c->time.rounds; i++) json_array_append_new(rounds, json_real(c->round[i]));
    return rounds;
}

static json_t *peer_json(const peer *p) {
    const char *name = p->w->type->peer->name;
    if (!p->race) return json_pack("{s:s, s:o}", "name", name, "absent", output_json_text(p->facts.absent));
    const measurement *t = &p->race->time;
    return json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:I, s:I, s:b, s:o, s:o, s:o}", "name", name, "version",
                     p->facts.version, "ways", (json_int_t)p->facts.ways, "way", (json_int_t)p->way, "time_ms",
                     t->median, "low_ms", t->low, "high_ms", t->high, "rounds", (json_int_t)t->rounds, "launches",
                     (json_int_t)t->launches, "within_bound", p->verdict.ok, "error",
                     output_json_real(p->verdict.error), "bound", output_json_real(p->verdict.bound), "round_ms",
                     rounds_json(p->race));
}

json_t *study_json(const study *s) {
    json_t *object = json_pack("{s:s, s:o, s:o, s:s, s:o, s:o}", "family", cj_family_name(s->w.params.family),
                               "parameters", describe_params(&s->w.params), "device", describe_device(s->w.device),
                               "time_source", measure_clock(s->w.device), "read_ceiling",
                               output_json_real(s->gpu ? s->read_ceiling : (double)NAN), "copy_ceiling",
                               output_json_real(s->gpu ? s->copy_ceiling : (double)NAN));
    add_gpus(object, &s->w);
    if (!s->own) add_work(object, &s->w);
    if (object && s->peer.w) json_object_set_new(object, "peer", peer_json(&s->peer));
    return object;
}

json_t *study_json_variant(const study *s, const variant *v) {
    const measurement *t = &v->race->time;
    json_t            *object = json_pack(
                   "{s:I, s:o, s:f, s:f, s:f, s:I, s:I, s:o, s:I, s:I, s:f}", "cluster", (json_int_t)study_cluster(&v->plan),
                   "plan", describe_plan(&v->plan), "time_ms", t->median, "low_ms", t->low, "high_ms", t->high, "rounds",
                   (json_int_t)t->rounds, "launches", (json_int_t)t->launches, "bytes_per_second", output_json_real(study_rate(v)),
                   "sms", (json_int_t)v->sms, "active_clusters", (json_int_t)v->active, "waves", study_waves(v));
    if (s->own) add_work(object, v->w);
    if (object) json_object_set_new(object, "round_ms", rounds_json(v->race));
    if (object && s->gpu) json_object_set_new(object, "share_of_ceiling", json_real(study_share(s, v)));
    if (object && !s->gpu) json_object_set_new(object, "stats", stats_json(&v->stats));
    return object;
}
