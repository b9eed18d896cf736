// SPDX-License-Identifier: Apache-2.0
#include "entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL  // users of the library need no xxhash
#include <xxhash.h>

enum { VERSION = 1, SUM = 16 };

typedef struct head {
    char     magic[8];
    uint32_t version;
    uint8_t  zero[12];
    uint64_t key_bytes, value_bytes;
    int64_t  created;
    uint8_t  sum[SUM];
} head;

_Static_assert(sizeof(head) == CJ_ENTRY_HEAD && offsetof(head, sum) == CJ_ENTRY_HEAD - SUM, "the layout in entry.h");

static const char magic[] = "CJCACHE\n";

static void sum_of(const head *h, const cj_entry *entry, uint8_t sum[SUM]) {
    XXH3_state_t      state;
    XXH128_canonical_t bytes;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, h, offsetof(head, sum));
    XXH3_128bits_update(&state, entry->value, entry->value_bytes);
    XXH3_128bits_update(&state, entry->key, entry->key_bytes);
    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state));
    memcpy(sum, bytes.digest, SUM);
}

void cj__entry_head(const cj_entry *entry, char to[CJ_ENTRY_HEAD]) {
    head h = {.version = VERSION,
              .key_bytes = entry->key_bytes,
              .value_bytes = entry->value_bytes,
              .created = entry->created};
    memcpy(h.magic, magic, sizeof h.magic);
    sum_of(&h, entry, h.sum);
    memcpy(to, &h, sizeof h);
}

const char *cj__entry_read(const char *file, size_t bytes, cj_entry *entry) {
    head    h;
    uint8_t sum[SUM];
    if (bytes < sizeof h) return "it is shorter than an entry's head";
    memcpy(&h, file, sizeof h);
    if (memcmp(h.magic, magic, sizeof h.magic)) return "it is no entry of this cache";
    if (h.version != VERSION) return "its format is another version's";
    const uint64_t rest = bytes - sizeof h;
    if (h.value_bytes > rest || h.key_bytes != rest - h.value_bytes) return "its length is not what its head says";

    *entry = (cj_entry){.value = file + sizeof h,
                        .value_bytes = h.value_bytes,
                        .key = file + sizeof h + h.value_bytes,
                        .key_bytes = h.key_bytes,
                        .created = h.created};
    sum_of(&h, entry, sum);
    return memcmp(sum, h.sum, SUM) ? "its bytes are not those that were written" : NULL;
}

void cj__entry_name(const char *key, size_t bytes, char name[CJ_ENTRY_NAME]) {
    const XXH128_hash_t hash = XXH3_128bits(key, bytes);
    snprintf(name, CJ_ENTRY_NAME, "%016" PRIx64 "%016" PRIx64 ".cj", (uint64_t)hash.high64, (uint64_t)hash.low64);
}
