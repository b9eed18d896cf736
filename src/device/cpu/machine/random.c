// SPDX-License-Identifier: Apache-2.0
#include "random.h"

// splitmix64
uint64_t cj__cpu_random_next(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t cj__cpu_random(cj_cpu_cluster *cluster) { return cj__cpu_random_next(&cluster->random); }

uint64_t cj__cpu_draw(cj_cpu_cluster *cluster, uint64_t below) { return cj__cpu_random(cluster) % below; }

bool cj__cpu_once_in(cj_cpu_cluster *cluster, uint64_t calls) { return !cj__cpu_draw(cluster, calls); }
