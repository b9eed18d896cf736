// SPDX-License-Identifier: Apache-2.0
// How long the rounds of a measurement are, on the fake driver's clock, which goes forward by `launch_ms` a launch.
#include "cuda_rig.h"
#include "measure.h"

// Work of so many kernel launches, one after another, as a stencil's strategy=step has them.
typedef struct work {
    const rig *r;
    unsigned   kernels, highest_set;
} work;

static cj_status launch_work(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    work                  *w = user;
    uint64_t               out = 0;
    const cj_launch_config config = {CJ_INIT(config),     .function = w->r->k, .grid = {1, 1, 1},
                                     .block = {32, 1, 1}, .stream = stream,    CJ_ARGS(out)};
    cj_status status = CJ_OK;
    if (copy > w->highest_set) w->highest_set = copy;
    for (unsigned i = 0; !status && i < w->kernels; i++) status = cj_launch(w->r->device, &config, error);
    return status;
}

enum { SETS_MAX = 4096, KERNELS_MAX = 40 };

static const struct {
    const char *what;
    unsigned    count, rounds, kernels, sets;
    double      kernel_ms;
    unsigned    low, high;  // launches of a round
    double      seconds;    // of the GPU, at most
} cases[] = {
    {"short launches fill 2 ms", 1, 15, 1, 8, 0.01, 200, 201, 0.5},
    {"thousands of sets for short launches: through all of them", 2, 15, 1, SETS_MAX, 0.003, SETS_MAX, SETS_MAX, 1.5},
    {"long launches, few sets: through all of them", 2, 15, 1, 24, 1, 24, 24, 4},
    {"one kernel of 12 us, thousands of sets: through all of them", 1, 15, 1, SETS_MAX, 0.012, SETS_MAX, SETS_MAX, 2.5},
    {"compare stencil --dim 1 --nx 4096 --steps 256, resident: 4,096 sets of 0.2 ms", 13, 15, 1, SETS_MAX, 0.2, 10, 40,
     3},
    {"the same with a launch a step: 256 kernels, a graph of a million if a round went through all sets", KERNELS_MAX,
     3, 256, SETS_MAX, 0.002, 4, 10, 3},
    {"--nx 16384 --steps 1024 with a launch a step", 13, 15, 1024, 1441, 0.002, 1, 3, 3},
};

static void rounds_end_in_time(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_fake_reset();
        rig       r = rig_open();
        work      w[KERNELS_MAX];
        contender contenders[KERNELS_MAX];
        cj_error  error = {0};
        cj_fake_driver.launch_ms = cases[i].kernel_ms;
        for (unsigned k = 0; k < cases[i].count; k++) {
            w[k] = (work){.r = &r, .kernels = cases[i].kernels};
            contenders[k] = (contender){.launch = launch_work, .user = &w[k], .copies = cases[i].sets};
        }
        cj_test_ok(measure(r.device, contenders, cases[i].count, cases[i].rounds, &error), &error);
        const unsigned launches = contenders[0].time.launches;
        const double   seconds = 1e-3 * cj_fake_driver.launches * cases[i].kernel_ms;
        const double   expected = cases[i].kernels * cases[i].kernel_ms;
        if (launches < cases[i].low || launches > cases[i].high || seconds > cases[i].seconds)
            fail_msg("%s: %u launches a round, %.2f s of the GPU", cases[i].what, launches, seconds);
        assert_true(contenders[0].time.median > 0.999 * expected && contenders[0].time.median < 1.001 * expected);
        assert_int_equal(w[0].highest_set, (launches < cases[i].sets ? launches : cases[i].sets) - 1);
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(rounds_end_in_time, reset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
