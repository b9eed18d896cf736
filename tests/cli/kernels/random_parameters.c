// SPDX-License-Identifier: Apache-2.0
// Random parameters of every family on the CPU device, through what `ptxgen run` is made of: public headers alone.
//
// A draw is planned, and is then refused by the name of a parameter or a rule, with what to do; or it has in plan, text and launch what was
// set, runs twice on one workspace, gives what the host computes, and nothing is said. Half of the draws are watched for
// hazards, under random schedules.
//
//     CJ_SEED=N    the first draw's seed; draw i has seed N + i
//     CJ_DRAWS=N   how many [1500; 30 with CJ_FEW=1]
//     CJ_FAMILY=F  of one family alone
//
// Draws run in a child process, which a crash ends, and none takes longer than a minute.
#define _DEFAULT_SOURCE
#include <clusterjit/cpu.h>
#include <clusterjit/kernel.h>
#include <clusterjit/log.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "families.h"

enum { DRAWS = 1500, FEW_DRAWS = 30, SECONDS = 60, SAID = 2000, LINE = 1024 };

// What parent and child both see.
typedef struct shared {
    uint64_t next, right, refused, wrong;
    char     line[LINE];  // of the draw that is being made
} shared;

static shared *board;

// ---- random numbers

static uint64_t random_bits(uint64_t *state) {  // splitmix64
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t end) { return random_bits(state) % end; }

// From low to high; as often of few digits as of many, and then the neighbours of powers of two.
static uint64_t some(uint64_t *state, uint64_t low, uint64_t high) {
    const bool     whole = high - low == UINT64_MAX;  // all numbers of 64 bits: all but the last, so that their number is one, too
    const uint64_t span = high - low + !whole;
    uint64_t       bits = 0;
    while (span >> bits > 1) bits++;
    const uint64_t power = UINT64_C(1) << below(state, bits + 1);
    if (power + 1 >= low && power + 1 <= high && !below(state, 4)) {
        const uint64_t near = power + below(state, 3) - 1;
        if (near >= low && near <= high) return near;
    }
    return low + below(state, power < span ? power : span);
}

// ---- a draw

typedef struct draw {
    uint64_t         seed, state;
    const cj_family *family;
    cj_params        params;
    bool             given[CJ_PARAM_MAX];
    const char      *arch;  // NULL: the device's
} draw;

// Problems stay small: the CPU device takes some milliseconds for each.
static const struct cap {
    const char *family, *name;
    uint64_t    most;
} caps[] = {
    {"reduce", "n", 20000},
    {"reduce", "grid", 40},
    {"argmax", "parts", 40},
    {"sample", "rows", 6},
    {"histogram", "n", 20000},
    {"histogram", "bins", 100000},
    {"histogram", "grid", 40},
    {"stencil", "nx", 70},
    {"stencil", "ny", 40},
    {"stencil", "nz", 20},
    {"stencil", "batch", 3},
    {"stencil", "steps", 7},
    {"stencil", "tile", 40},
    {"stencil", "depth", 6},
    {"exchange", "n", 2000},
    {"exchange", "clusters", 4},
    {"exchange", "grid", 40},
    {"exchange", "halo", 300},
    {"exchange", "repeat", 9},
    {"collective", "count", 300},
    {"collective", "rounds", 3},
    {"collective", "clusters", 3},
    {"collective", "cluster-y", 4},
    {"collective", "cluster-z", 3},
    {"scan", "rows", 20},
    {"scan", "columns", 9000},
    {"scan", "grid", 40},
    {"scan", "segments", 60},
    {"topk", "rows", 6},
    {"topk", "columns", 9000},
    {"sort", "rows", 5},
    {"sort", "columns", 4000},
    {"sort", "elements", 20000},
    {"gemm", "m", 300},
    {"gemm", "n", 300},
    {"gemm", "k", 400},
    {"gemm", "batch", 3},
    {"gemm", "lda", 500},
    {"gemm", "ldb", 500},
    {"gemm", "ldc", 500},
    {"gemm", "ldd", 500},
    {"gemm", "parts", 9},
    {NULL, "count", 20000},
    {NULL, "mail", 1 << 20},
    {NULL, "rows", 20},
    {NULL, "columns", 5000},
    {NULL, "pieces", 12},
    {NULL, "grid", 40},
    {NULL, "blocks", 20},
    {NULL, "mask-rows", 24},
};

static uint64_t most_of(const cj_family *family, const cj_param_info *info) {
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
        if (!strcmp(caps[i].name, info->name) && (!caps[i].family || !strcmp(caps[i].family, cj_family_name(family))))
            return caps[i].most < info->maximum ? caps[i].most : info->maximum;
    return info->maximum;
}

// The sizes of the problem, which every draw has.
static bool is_size(const cj_family *family, const char *name) {
    static const char *const sizes[] = {"n",    "m",       "k",     "nx",    "ny",      "nz",
                                        "rows", "columns", "steps", "count", "segments"};
    if (!strcmp(name, "k") && strcmp(cj_family_name(family), "gemm")) return false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!strcmp(name, sizes[i])) return true;
    return false;
}

static void give(draw *d, size_t i, const char *text) {
    cj_error error;
    if (cj_params_set(&d->params, cj_family_param(d->family, i)->name, text, &error)) {
        fprintf(stderr, "cannot set %s=%s: %s\n", cj_family_param(d->family, i)->name, text, error.message);
        exit(2);
    }
    d->given[i] = true;
}

static void give_number(draw *d, size_t i, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    give(d, i, text);
}

static void draw_choice(draw *d, size_t i) {
    char     words[256], *rest = NULL, *word;
    uint64_t count = 1;
    snprintf(words, sizeof words, "%s", cj_family_param(d->family, i)->choices);
    for (const char *at = words; *at; at++) count += *at == ' ';
    word = strtok_r(words, " ", &rest);
    for (uint64_t n = below(&d->state, count); n; n--) word = strtok_r(NULL, " ", &rest);
    give(d, i, word);
}

static void draw_real(draw *d, size_t i) {
    const char *name = cj_family_param(d->family, i)->name;
    const bool  positive = !strcmp(name, "epsilon") || !strcmp(name, "smoothing");
    char        text[40];
    double      value = (double)below(&d->state, 4001) / 1000 - 2;
    if (!strcmp(name, "ignore")) value = (double)below(&d->state, 9) - 4;
    if (!strcmp(name, "upper")) value = value / 2 + 3;
    if (strstr("lower upper", name) && cj_params_get(&d->params, "dtype") && below(&d->state, 8))
        value = (double)(int64_t)(20 * value + 40);  // bounds of integers
    if (positive) value = (value + 2) / 4;
    snprintf(text, sizeof text, "%.9g", value);
    give(d, i, text);
}

// As many as a star or box has taps, mostly.
static void draw_weights(draw *d, size_t i) {
    const uint64_t dim = cj_params_get(&d->params, "dim"), radius = cj_params_get(&d->params, "radius");
    uint64_t       box = 1, count = 2 * dim * radius + 1;
    double         weight[CJ_REALS_MAX];
    for (uint64_t a = 0; a < dim; a++) box *= 2 * radius + 1;
    if (cj_params_get(&d->params, "shape")) count = box;
    if (!below(&d->state, 9)) count++;
    if (count > CJ_REALS_MAX) return;
    for (uint64_t k = 0; k < count; k++) weight[k] = ((double)below(&d->state, 2001) / 1000 - 1) / (double)count;
    d->given[i] = !cj_params_set_reals(&d->params, "weights", weight, (uint32_t)count, NULL);
}

// Rows apart from each other, and now and then too near; grids of whole clusters, mostly.
static uint64_t draw_number(draw *d, const cj_param_info *info) {
    const uint64_t most = most_of(d->family, info), cluster = cj_params_get(&d->params, "cluster");
    uint64_t       value = some(&d->state, info->minimum, most);
    if (strstr(info->name, "stride")) {  // of rows, or of parts
        const uint64_t columns = cj_params_get(&d->params, "columns"), count = cj_params_get(&d->params, "count");
        value = (columns == UINT64_MAX ? count : columns) + below(&d->state, 40) - !below(&d->state, 20);
        return value < info->minimum ? info->minimum : value;
    }
    if (!strcmp(info->name, "k") && below(&d->state, 8)) return 1 + value % cj_params_get(&d->params, "columns");
    if (!strcmp(info->name, "cluster") && below(&d->state, 2)) value = (uint64_t)1 << below(&d->state, 5);
    if (!strcmp(info->name, "cluster") && !below(&d->state, 3)) value = info->minimum;
    if (!strcmp(info->name, "grid") && below(&d->state, 4)) value *= cluster && cluster <= 16 ? cluster : 1;
    if (!strcmp(info->name, "align") && below(&d->state, 4)) value = (uint64_t)1 << below(&d->state, 5);
    if (info->multiple) value = value / info->multiple * info->multiple;
    return value < info->minimum ? info->minimum : value > most ? most : value;
}

static void draw_param(draw *d, size_t i) {
    const cj_param_info *info = cj_family_param(d->family, i);
    if (info->function) return;  // they take NVRTC
    if (info->reals)
        draw_weights(d, i);
    else if (info->choices)
        draw_choice(d, i);
    else if (info->real)
        draw_real(d, i);
    else
        give_number(d, i, draw_number(d, info));
}

static const char *write_line(const draw *d, char line[LINE]) {
    size_t used = (size_t)snprintf(line, LINE, "%s", cj_family_name(d->family));
    for (size_t i = 0; i < cj_family_param_count(d->family) && used < LINE; i++) {
        char word[LINE];
        if (!d->given[i]) continue;
        const char *name = cj_family_param(d->family, i)->name;
        used += (size_t)snprintf(line + used, LINE - used, " --%s %s", name,
                                 cj_params_word(&d->params, name, word, sizeof word));
    }
    if (d->arch && used < LINE) snprintf(line + used, LINE - used, " --arch %s", d->arch);
    return line;
}

static void make_draw(draw *d, uint64_t seed) {
    const char *wanted = getenv("CJ_FAMILY");
    cj_error    error;
    *d = (draw){.seed = seed, .state = seed};
    d->family = cj_family_at(below(&d->state, cj_family_count()));
    if (wanted && cj_family_find(wanted, &d->family, &error)) exit(2);
    cj_params_init(&d->params, d->family);
    const uint64_t others = below(&d->state, 5);  // how many eighths of the other parameters are set
    for (size_t i = 0; i < cj_family_param_count(d->family); i++)
        if (is_size(d->family, cj_family_param(d->family, i)->name) || below(&d->state, 8) < others) draw_param(d, i);
    // Offsets have as many segments as are said, and nothing else has any.
    if (!strcmp(cj_family_name(d->family), "scan") && cj_params_get(&d->params, "heads") < 2)
        for (size_t i = 0; i < cj_family_param_count(d->family); i++)
            if (!strcmp(cj_family_param(d->family, i)->name, "segments")) give(d, i, "0"), d->given[i] = false;
    if (!below(&d->state, 10)) d->arch = "sm_80";
}

// ---- what is said

static void complain(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static bool is_word_at(const char *text, const char *at, const char *word) {
    const char after = at[strlen(word)];
    return (at == text || strchr(" ,", at[-1])) && strchr(":=, ", after);
}

// Whether one of the family's parameters is named.
static bool names_parameter(const cj_family *family, const char *text) {
    for (size_t i = 0; i < cj_family_param_count(family); i++) {
        const char *name = cj_family_param(family, i)->name;
        for (const char *at = text; (at = strstr(at, name)); at++)
            if (is_word_at(text, at, name)) return true;
    }
    return false;
}

static bool check_refusal(const draw *d, cj_status status, const cj_error *error) {
    const bool kind = status == CJ_INVALID_ARGUMENT || status == CJ_CONTRACT || status == CJ_UNSUPPORTED;
    const bool named = *error->rule || names_parameter(d->family, error->message);
    if (kind && named && *error->hint) return true;
    complain("refused, but not by name, or without a remedy: %s: %s (%s)", cj_status_name(status), error->message,
             error->hint);
    return false;
}

// ---- what is planned and emitted

static bool is_equal(const char *what, uint64_t asked, uint64_t is) {
    if (asked != is) complain("%s: %" PRIu64 " was asked for, it is %" PRIu64, what, asked, is);
    return asked == is;
}

static bool is_given(const draw *d, const char *name, uint64_t *value) {
    for (size_t i = 0; i < cj_family_param_count(d->family); i++) {
        const cj_param_info *info = cj_family_param(d->family, i);
        char                 word[LINE];
        if (strcmp(info->name, name)) continue;
        *value = d->params.value[i];
        return d->given[i] && strcmp(cj_params_word(&d->params, name, word, sizeof word), info->initial) != 0;
    }
    return false;
}

// Blocks of the cluster that were asked for: false where that was left to the plan, or the target has none.
static bool asked_cluster(const draw *d, const cj_plan *plan, uint64_t *blocks) {
    const char *family = cj_family_name(d->family);
    if (!is_given(d, "cluster", blocks) || d->arch) return false;
    if (!strcmp(family, "stencil") || !strcmp(family, "allreducenorm")) *blocks -= *blocks == 1;  // one: no cluster
    if (!strcmp(family, "gemm") && *blocks)
        *blocks *= cj_params_get(&plan->params, "cluster-n") * cj_params_get(&plan->params, "split");
    return true;
}

// Threads of a block besides those that a parameter counts.
static uint64_t asked_threads(const draw *d, const cj_plan *plan) {
    const uint64_t form = cj_params_get(&plan->params, "form");
    uint64_t       value;
    if (is_given(d, "warps", &value)) return 32 * (value + (form == 2));  // a stream has one more
    if (!is_given(d, "block", &value)) return plan->block.x;
    if (strcmp(cj_family_name(d->family), "scan") || form != 2) return value;
    return value + value + (cj_params_get(&plan->params, "counter") == 2 ? 64u : 96u);
}

static bool check_plan(const draw *d, const cj_plan *plan) {
    uint64_t   value;
    const bool exchange = !strcmp(cj_family_name(d->family), "exchange");
    bool       ok = is_equal("threads of a block", asked_threads(d, plan), plan->block.x);
    if (is_given(d, "grid", &value) && !(exchange && plan->grid.x <= value))
        ok &= is_equal("blocks of the grid", value, plan->grid.x);
    if (asked_cluster(d, plan, &value) && strcmp(cj_family_name(d->family), "collective"))
        ok &= is_equal("blocks of a cluster", value, plan->cluster.x);
    if (d->arch && is_given(d, "cluster", &value) && value > 1 && !*plan->note && plan->cluster.x != value) {
        complain("cluster: %" PRIu64 " was asked for, and no note says that there is none", value);
        ok = false;
    }
    return ok;
}

static bool has_directive(const char *text, const char *name, cj_dim3 wanted) {
    char    directive[32];
    cj_dim3 is = {0, 0, 0};
    snprintf(directive, sizeof directive, "\n%s ", name);
    const char *at = strstr(text, directive);
    if (at) sscanf(at + strlen(directive), "%" SCNu32 ", %" SCNu32 ", %" SCNu32, &is.x, &is.y, &is.z);
    if (is.x == wanted.x && is.y == wanted.y && is.z == wanted.z) return true;
    complain("%s is %u, %u, %u, not %u, %u, %u", name, is.x, is.y, is.z, wanted.x, wanted.y, wanted.z);
    return false;
}

// Without clusters nothing in the instructions may speak of them, but for the windows that bulk copies are written with.
static bool has_no_cluster(const char *text) {
    static const char *const words[] = {"reqnctapercluster", "explicitcluster", "barrier.cluster", "mapa",
                                        "%clusterid",        "%nclusterid",     "%cluster_"};
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char code[400];
        snprintf(code, sizeof code, "%.*s", (int)strcspn(line, "\n"), line);
        if (strstr(code, "//")) *strstr(code, "//") = '\0';
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strstr(code, words[i])) {
                complain("without a cluster, but: %s", code);
                return false;
            }
    }
    return true;
}

static bool check_text(const cj_plan *plan, const char *text) {
    if (!has_directive(text, ".reqntid", plan->block)) return false;
    return plan->cluster.x ? has_directive(text, ".reqnctapercluster", plan->cluster) : has_no_cluster(text);
}

// ---- running it

static cj_device *open_device(const draw *d) {
    cj_device           *device = NULL;
    cj_error             error;
    const cj_cpu_options options = {CJ_INIT(options), .threads = 1, .hazards = d->seed % 2,
                                    .random_schedule = d->seed % 4 < 2, .seed = d->seed};
    if (cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error) ||
        cj_cpu_configure(device, &options, &error)) {
        complain("%s", error.message);
        exit(2);
    }
    return device;
}

static bool run_twice(workload *w, cj_kernel *kernel) {
    for (int time = 0; time < 2; time++) {
        workload_verdict verdict;
        if (workload_try(w, kernel, 0, NULL, &verdict)) return false;  // it has said why
        if (verdict.ok) continue;
        complain("launch %d: wrong: %s", time, verdict.text);
        return false;
    }
    return true;
}

// Text and grid of what is loaded, and what it gives.
static bool check_kernel(const draw *d, cj_device *device, const cj_plan *plan) {
    workload   w = {.type = workload_find(cj_family_name(d->family)),
                    .device = device,
                    .params = d->params,
                    .arch = d->arch,
                    .given = d->given};
    cj_kernel *kernel = NULL;
    cj_error   error;
    bool       ok = true;
    if (cj_kernel_load(device, plan, &kernel, &error)) {
        complain("not loaded: %s: %s (%s)", error.rule, error.message, error.hint);
        return false;
    }
    ok = check_plan(d, cj_kernel_plan(kernel)) && check_text(plan, cj_kernel_ptx(kernel));
    if (ok) ok = !w.type->open(&w) && run_twice(&w, kernel);
    if (w.state) w.type->close(&w);
    cj_kernel_destroy(kernel);
    return ok;
}

// ---- all draws

// What was written to standard error since `said` was empty.
static const char *take_said(FILE *said, char text[SAID]) {
    fflush(stderr);
    rewind(said);
    const size_t length = fread(text, 1, SAID - 1, said);
    text[length] = '\0';
    rewind(said);
    if (ftruncate(fileno(said), 0)) exit(2);
    return text;
}

static void try_draw(uint64_t seed, FILE *said) {
    draw     d;
    cj_plan  plan;
    cj_error error = {0};
    char     text[SAID];
    make_draw(&d, seed);
    write_line(&d, board->line);
    cj_device      *device = open_device(&d);
    const cj_status status = cj_plan_make(&d.params, cj_device_limits(device), d.arch, &plan, &error);
    const bool      ok = status ? check_refusal(&d, status, &error)
                                : check_plan(&d, &plan) && check_kernel(&d, device, &plan);
    cj_device_close(device);
    take_said(said, text);
    if (ok && !*text) {
        *(status ? &board->refused : &board->right) += 1;
        if (getenv("CJ_SHOW"))
            printf("%s: %s%s%s\n", board->line, status ? error.message : "right", status ? " | " : "",
                   status ? error.hint : "");
        return;
    }
    board->wrong++;
    printf("CJ_SEED=%" PRIu64 " CJ_DRAWS=1: %s\n    %s\n", seed, board->line, text);
}

static void run_draws(uint64_t first, uint64_t draws) {
    FILE *said = tmpfile();
    if (!said || dup2(fileno(said), STDERR_FILENO) < 0) exit(2);
    while (board->next < draws) {
        alarm(SECONDS);
        try_draw(first + board->next, said);
        board->next++;
        fflush(stdout);
    }
    exit(0);
}

static uint64_t from_environment(const char *name, uint64_t otherwise) {
    const char *value = getenv(name);
    return value ? strtoull(value, NULL, 0) : otherwise;
}

int main(void) {
    const char    *few = getenv("CJ_FEW");
    const uint64_t first = from_environment("CJ_SEED", (uint64_t)time(NULL) * 1000000u + (uint64_t)getpid());
    const uint64_t draws = from_environment("CJ_DRAWS", few && !strcmp(few, "1") ? FEW_DRAWS : DRAWS);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED) return 2;
    printf("seed %" PRIu64 ": CJ_SEED=%" PRIu64 " CJ_DRAWS=%" PRIu64 " repeats this run\n", first, first, draws);
    while (board->next < draws) {
        int status = 0;
        fflush(stdout);
        const pid_t child = fork();
        if (child < 0) return 2;
        if (!child) run_draws(first, draws);
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && !WEXITSTATUS(status)) continue;
        printf("CJ_SEED=%" PRIu64 " CJ_DRAWS=1: %s\n    ended by %s %d\n", first + board->next, board->line,
               WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        board->wrong++;
        board->next++;
    }
    printf("%" PRIu64 " draws: %" PRIu64 " right, %" PRIu64 " refused by name, %" PRIu64 " wrong\n", draws,
           board->right, board->refused, board->wrong);
    return board->wrong || (draws > 100 && board->right * 3 < draws);
}
