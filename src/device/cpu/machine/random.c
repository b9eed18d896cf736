// SPDX-License-Identifier: Apache-2.0
#include "random.h"

// splitmix64
uint64_t cj__cpu_random(cj_cpu_cluster *cluster) {
    uint64_t x = cluster->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
