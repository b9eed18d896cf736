// SPDX-License-Identifier: Apache-2.0
#include "delay.h"

#include "random.h"

enum {
    OFTEN = 4,  // rounds from one warp that falls asleep to the next, on average
    SELDOM = 64,
    SLEEP_LOG2 = 4,  // rounds of sleep: 16 to 1024
    SLEEPS = 7,
    POLLS = 1024,    // of memory: the others probably wait for a warp that sleeps
    RARER = 8,       // warps then fall asleep so many times less often
    BLOCK_LATE = 64  // rounds that a block begins late at most
};

static uint64_t draw_sleep(cj_cpu_cluster *cluster) {
    return UINT64_C(1) << (SLEEP_LOG2 + cj__cpu_draw(cluster, SLEEPS));
}

void cj__delay_start(cj_cpu_cluster *cluster) {
    static const uint8_t drowsy[] = {0, 0, SELDOM, OFTEN};
    const cj_cpu_launch *launch = cluster->launch;
    cluster->drowsy = 0;
    cluster->polls_awake = POLLS;
    if (!launch->options.random_schedule) return;
    cluster->drowsy = drowsy[cj__cpu_draw(cluster, sizeof drowsy)];
    for (uint32_t i = 0; i < launch->ranks; i++) {
        const uint64_t late = cj__cpu_once_in(cluster, 4) ? cj__cpu_draw(cluster, BLOCK_LATE) : 0;
        for (uint32_t k = 0; k < launch->warps; k++) {
            const bool falls = cluster->drowsy && cj__cpu_once_in(cluster, 4);
            cluster->block[i].warp[k].sleeps = late + (falls ? draw_sleep(cluster) : 0);
        }
    }
}

static cj_cpu_warp *warp_at(cj_cpu_cluster *cluster, uint64_t i) {
    const uint32_t warps = cluster->launch->warps;
    return &cluster->block[i / warps].warp[i % warps];
}

static bool most_sleep(cj_cpu_cluster *cluster) {
    const uint32_t count = cluster->launch->ranks * cluster->launch->warps;
    uint32_t       asleep = 0;
    for (uint32_t i = 0; i < count; i++) asleep += cj__delay_sleeps(warp_at(cluster, i));
    return 2 * (asleep + 1) > count;
}

bool cj__delay_wake(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    bool                 slept = false;
    if (!launch->options.random_schedule) return false;
    for (uint32_t i = 0; i < launch->ranks * launch->warps; i++) {
        cj_cpu_warp *w = warp_at(cluster, i);
        slept |= w->live && cj__delay_sleeps(w);
        w->sleeps = 0;
    }
    return slept;
}

void cj__delay_round(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    if (cluster->polls >= cluster->polls_awake) {
        cluster->polls_awake = cluster->polls + POLLS;
        if (cj__delay_wake(cluster)) cluster->drowsy *= RARER;
    }
    if (!cluster->drowsy || !cj__cpu_once_in(cluster, cluster->drowsy) || most_sleep(cluster)) return;
    cj_cpu_warp *w = warp_at(cluster, cj__cpu_draw(cluster, (uint64_t)launch->ranks * launch->warps));
    if (!cj__delay_sleeps(w)) w->sleeps = cluster->rounds + draw_sleep(cluster);
}

uint64_t cj__delay_order(const cj_cpu_launch *launch, uint64_t number, uint64_t count, uint64_t window) {
    const uint64_t begin = number - number % window, size = count - begin < window ? count - begin : window;
    uint64_t       state = launch->options.seed, place = number - begin;
    if (!launch->options.random_schedule || cj__cpu_random_next(&state) % 4 == 0) return number;
    state ^= begin;
    // Follows one place through the exchanges of a shuffle.
    for (uint64_t i = size; i > 1; i--) {
        const uint64_t other = cj__cpu_random_next(&state) % i;
        if (place == i - 1)
            place = other;
        else if (place == other)
            place = i - 1;
    }
    return begin + place;
}
