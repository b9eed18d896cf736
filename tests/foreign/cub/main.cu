// SPDX-License-Identifier: Apache-2.0
// Runs every case CJ_REPEAT times (default 1), each time with other sizes and data; CJ_SEED repeats a run. Arguments
// choose cases by a part of their names. Exits 1 when a result was wrong.
#include <cstring>
#include <ctime>

#include "cases.cuh"

std::vector<Case> &all_cases() {
    static std::vector<Case> cases;
    return cases;
}

static uint64_t number_of(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, nullptr, 0) : otherwise;
}

static bool is_chosen(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strstr(name, argv[i])) return true;
    }
    return argc < 2;
}

static double seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    const uint64_t seed = number_of("CJ_SEED", (uint64_t)time(nullptr)), repeat = number_of("CJ_REPEAT", 1);
    unsigned       runs = 0, wrong = 0, chosen = 0;
    printf("CJ_SEED=%llu CJ_REPEAT=%llu\n", (unsigned long long)seed, (unsigned long long)repeat);
    for (const Case &one : all_cases()) {
        if (!is_chosen(one.name, argc, argv)) continue;
        const double start = seconds();
        chosen++;
        for (uint64_t i = 0; i < repeat; i++, runs++) {
            Random random{seed + i};
            try {
                one.run(random);
            } catch (const Wrong &what) {
                wrong++;
                printf("WRONG %s, CJ_SEED=%llu: %s\n", one.name, (unsigned long long)(seed + i), what.what.c_str());
            }
            cudaGetLastError();
        }
        if (number_of("CJ_VERBOSE", 0)) printf("%-48s %8.3f s\n", one.name, seconds() - start);
        fflush(stdout);
    }
    printf("%u algorithms, %u runs, %u wrong\n", chosen, runs, wrong);
    return wrong || !chosen;
}
