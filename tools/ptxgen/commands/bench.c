// SPDX-License-Identifier: Apache-2.0
// bench: how fast one kernel does one problem, as a share of what the device's memory allows.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "output.h"
#include "plot.h"
#include "study.h"

static const args_option options[] = {STUDY_OPTIONS, STUDY_PLOT_OPTION("Draw the time of each round"), MACHINE_OPTIONS, {0}};

const args_spec bench_spec = {
    .doc = "Measures a kernel of FAMILY on a device: the median time of a launch and its spread, by CUDA graph replay, on "
           "inputs that do not stay in the L2 cache; bytes a second, and their share of the fastest that this device reads and "
           "copies, measured in the same run. Results are checked before and after. gemm has cuBLAS beside it where libcublasLt "
           "is found: the fastest of the first 8 algorithms of its heuristics, in turns with ours.",
    .options = options,
    .set = study_set,
    .params = true,
    .examples = "ptxgen bench softmax --rows 8192 --columns 4096 --dtype bf16 --plot rounds.svg",
};

// As the plan has them. Of what it leaves open the launch's line has grid, block and cluster; the form that was taken has nothing of the rest.
static void print_params(const cj_params *params) {
    for (size_t i = 0; i < cj_family_param_count(params->family); i++) {
        const cj_param_info *info = cj_family_param(params->family, i);
        char                 buffer[64];
        const char          *word = cj_params_word(params, info->name, buffer, sizeof buffer);
        if ((info->function && !params->function[i]) || !strcmp(word, "auto")) continue;
        printf(" %s=%s", info->name, word);
    }
    putchar('\n');
}

static void print_rates(const study *s, const variant *v) {
    char rate[FIGURE_TEXT], read[FIGURE_TEXT], copy[FIGURE_TEXT];
    printf("Rate: %s", figure_rate(study_rate(v), "B", rate));
    if (s->gpu)
        printf(", %.1f %% of the ceiling (read %s, copy %s)", 100 * study_share(s, v),
               figure_rate(s->read_ceiling, "B", read), figure_rate(s->copy_ceiling, "B", copy));
    putchar('\n');
    if (s->w.unit)
        printf("Work: %s\n", figure_rate(s->w.operations / (v->race->time.median * 1e-3), s->w.unit, rate));
}

// The peer's results are compared with our bound, which the peer does not promise to keep.
static void print_peer(const study *s, const variant *v) {
    const peer *p = &s->peer;
    char        median[FIGURE_TEXT], low[FIGURE_TEXT], high[FIGURE_TEXT], rate[FIGURE_TEXT];
    if (!p->w) return;
    printf("%s", s->w.type->peer->name);
    if (!p->race) {
        printf(": not measured: %s\n", p->facts.absent);
        return;
    }
    const measurement *t = &p->race->time;
    printf(" %s: %s, half of the rounds from %s to %s, %s (way %u of %u, the fastest)\n", p->facts.version,
           figure_time(t->median, median), figure_time(t->low, low), figure_time(t->high, high),
           figure_rate(s->w.operations / (t->median * 1e-3), s->w.unit, rate), p->way + 1, p->facts.ways);
    if (!p->verdict.ok) printf("Its error: %.3g, beyond our bound of %.3g\n", p->verdict.error, p->verdict.bound);
    printf("Ratio: %.3f (its time over ours)\n", t->median / v->race->time.median);
}

static int print_text(const study *s, const variant *v) {
    const measurement *t = &v->race->time;
    const cj_plan     *p = &v->plan;
    char               median[FIGURE_TEXT], low[FIGURE_TEXT], high[FIGURE_TEXT];
    printf("%s:", cj_family_name(p->params.family));
    print_params(&p->params);
    printf("Launch: grid %" PRIu32 " x %" PRIu32 " x %" PRIu32 ", block %" PRIu32 " x %" PRIu32 " x %" PRIu32 ", cluster %" PRIu32
           "; on %" PRIu32 " of %" PRIu32 " SMs\n",
           p->grid.x, p->grid.y, p->grid.z, p->block.x, p->block.y, p->block.z, p->cluster.x, v->sms,
           cj_device_limits(s->w.device)->sm_count);
    printf("Device: %s (%s)\n", cj_device_name(s->w.device), cj_device_reason(s->w.device));
    study_print_gpus(s);
    printf("Time: %s, half of the rounds from %s to %s (%u rounds of %u launch%s, %s)\n", figure_time(t->median, median),
           figure_time(t->low, low), figure_time(t->high, high), t->rounds, t->launches, t->launches == 1 ? "" : "es",
           measure_clock(s->w.device));
    print_rates(s, v);
    print_peer(s, v);
    if (!s->gpu) puts("This is the CPU device: its times say nothing about a GPU");
    return CODE_OK;
}

static int print_json(const study *s, const variant *v) {
    json_t *object = study_json(s), *figures = study_json_variant(s, v);
    if (object && figures) json_object_update(object, figures);
    json_decref(figures);
    return output_json(object);
}

// ---- the plot: the time of each round, in the order in which they were measured

static void put_rounds(plot *p, const char *name, const contender *c) {
    fprintf(p->script, "$%s << END\n", name);
    for (unsigned i = 0; i < c->time.rounds; i++) fprintf(p->script, "%u %.9g\n", i + 1, c->round[i] * 1e3);
    fputs("END\n", p->script);
}

// The time that the bytes alone take, at the ceilings measured in this run, is a line.
static int draw(const study *s, const variant *v, plot *p) {
    const peer *beside = s->peer.race ? &s->peer : NULL;
    char        title[256];
    study_title(s, title, sizeof title);
    put_rounds(p, "ours", v->race);
    if (beside) put_rounds(p, "peer", beside->race);
    fputs("set title ", p->script);
    plot_string(p, title);
    fprintf(p->script, "\nset xlabel 'round'\nset ylabel 'time of a launch (us, %s)'\nset xrange [0.5:%u.5]\nset yrange [0:*]\n"
                       "set key bottom\nplot $ours with linespoints lt 1 pt 7 title 'clusterjit'",
            measure_clock(s->w.device), v->race->time.rounds);
    if (beside) {
        fputs(", $peer with linespoints lt 2 pt 5 title ", p->script);
        plot_string(p, s->w.type->peer->name);
    }
    if (s->gpu)
        fprintf(p->script, ", %.9g with lines lt 3 title 'the ceiling of the memory'", study_share(s, v) * v->race->time.median * 1e3);
    fputc('\n', p->script);
    return plot_finish(p);
}

static int bench(study *s, plot *p) {
    const variant *v = &s->variants[0];
    int            code = study_add(s, &s->w.params);
    if (code) return code;
    if (!v->kernel) return v->why.status ? message_failure(&v->why) : message_error(CJ_CONTRACT, "%s", v->refused);
    if (v->plan.note[0]) message_note(v->plan.note);
    code = study_run(s);
    if (code) return code;
    code = s->options.json ? print_json(s, v) : print_text(s, v);
    return code || !s->options.plot ? code : draw(s, v, p);
}

int cmd_bench(int argc, char **argv) {
    study_options o = {.device = "auto", .beside = true};
    args_family   family;
    study         s = {0};
    plot          p = {0};
    args_parse(&bench_spec, argc, argv, &o, &family);
    int code = o.plot ? plot_open(&p, o.plot) : CODE_OK;
    if (!code) code = study_open(&s, &o, &family, 1);
    if (!code) code = bench(&s, &p);
    study_close(&s);
    plot_close(&p);
    args_family_free(&family);
    return code;
}
