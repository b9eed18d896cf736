// SPDX-License-Identifier: Apache-2.0
#include "exchange_model.h"

#include <stdbool.h>

// A halo is on the left or on the right of the block's own chunk. After an even number of rounds it holds the block's own edge.
static size_t halo_source(const exchange_model *m, uint64_t b, size_t i) {
    const bool     odd = m->rounds % 2;
    const uint64_t left = odd ? (b + m->size - 1) % m->size : b, right = odd ? (b + 1) % m->size : b;
    if (i < m->halo) return left * m->n + (odd ? m->n - m->halo + i : i);
    i -= m->halo;
    if (i < m->n) return b * m->n + i;
    return right * m->n + i - m->n + (odd ? 0 : m->n - m->halo);
}

size_t exchange_model_source(const exchange_model *m, uint64_t b, size_t i) {
    const uint64_t partner = (b ^ 1) < m->size ? b ^ 1 : b;
    const bool     odd = m->rounds % 2;
    const size_t   part = m->n / m->size, own = b * m->n;
    switch (m->pattern) {
    case CJ_EXCHANGE_PAIR: return (odd ? partner : b) * m->n + i;
    case CJ_EXCHANGE_RING: return (b + m->shift * m->rounds) % m->size * m->n + i;
    case CJ_EXCHANGE_ALL_TO_ALL: return odd ? i / part * m->n + b * part + i % part : own + i;
    case CJ_EXCHANGE_HALO: break;
    }
    return halo_source(m, b, i);
}
