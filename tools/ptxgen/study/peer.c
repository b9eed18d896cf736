// SPDX-License-Identifier: Apache-2.0
#include "peer.h"

#include <stdio.h>

#include "message.h"

enum { ROUNDS = 3 };  // rounds to find the fastest way

typedef struct way {
    peer    *p;
    unsigned which;
} way;

static cj_status launch_way(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    const way *x = user;
    return x->p->w->type->peer->launch(x->p->w, x->which, copy, stream, error);
}

static cj_status launch(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    peer *p = user;
    return launch_way(&(way){p, p->way}, copy, stream, error);
}

static contender contender_of(const peer *p, cj_status (*run)(void *, unsigned, cj_stream, cj_error *), void *user) {
    return (contender){.launch = run, .user = user, .peer = p->w->type->peer->name, .copies = p->w->copies};
}

// Not every way that a library offers works; the first launch also loads its code.
static bool works(way *x, cj_error *error) {
    return !launch_way(x, 0, NULL, error) && !cj_synchronize(x->p->w->device, NULL, error);
}

static int find_fastest(peer *p) {
    way       ways[PEER_WAYS];
    contender racers[PEER_WAYS];
    size_t    count = 0;
    cj_error  error;
    for (unsigned i = 0; i < p->facts.ways; i++) {
        ways[count] = (way){p, i};
        racers[count] = contender_of(p, launch_way, &ways[count]);
        if (works(&ways[count], &error)) count++;
    }
    if (!count) {
        p->facts.ways = 0;
        snprintf(p->facts.absent, sizeof p->facts.absent, "%.*s", (int)sizeof p->facts.absent - 1, error.message);
        return CODE_OK;
    }
    if (measure(p->w->device, racers, count, ROUNDS, &error)) return message_failure(&error);
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (racers[i].time.median < racers[best].time.median) best = i;
    p->way = ways[best].which;
    return CODE_OK;
}

int peer_check(peer *p, const cj_kernel *kernel) {
    cj_error error;
    if (!p->race) return CODE_OK;
    if (p->w->type->poison(p->w, 0, &error) || launch(p, 0, NULL, &error) || cj_synchronize(p->w->device, NULL, &error))
        return message_failure(&error);
    return p->w->type->check(p->w, kernel, 0, &p->verdict);
}

int peer_open(peer *p, workload *w, const cj_kernel *kernel, contender *race) {
    if (!w->type->peer || !measure_is_real(w->device)) return CODE_OK;
    p->w = w;
    int code = w->type->peer->open(w, &p->facts);
    if (!code && p->facts.ways) code = find_fastest(p);
    if (code || !p->facts.ways) return code;
    *race = contender_of(p, launch, p);
    p->race = race;
    return peer_check(p, kernel);
}

void peer_close(peer *p) {
    if (p->w) p->w->type->peer->close(p->w);
    *p = (peer){0};
}
