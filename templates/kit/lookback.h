// SPDX-License-Identifier: Apache-2.0
// Decoupled look-back: the prefix of a tile, from the totals that the blocks of the tiles before it have published.
//
//   status of a tile:   a mailbox (mailbox.h): its total, and in the tag's lowest bit whether a segment begins in the tile
//   status of a group:  a mailbox of 32 tiles' total; then, with the lowest bit of the tag set, of the prefix after the group
//   status word:        32 bits: two that say what it has, and a number modulo 2^30: a total, or the prefix after the tile
//
// With mailboxes a warp looks back; a launch tells its statuses from older ones by the epoch, and nobody clears them. With words a
// thread looks back, so that a block does it for as many numbers as it has threads; somebody clears them before the launch.
//
// A tile's exclusive prefix is that of its group op the totals of the tiles before it in its group. All is combined in the
// same order whatever the schedule, so equal plans give equal bits. docs/maintaining/kit.md, "Look-back", has the proof that
// no block waits forever.
#ifndef CJ_TEMPLATES_LOOKBACK_H
#define CJ_TEMPLATES_LOOKBACK_H

#include "prefix.h"

enum { CJ_LOOKBACK_GROUP = 32, CJ_LOOKBACK_WINDOW = 8 };  // tiles of a group; groups in one look-back, at most

typedef struct cj_lookback {
    const cj_prefix *p;
    cj_reg           epoch;  // u32, even: this launch's (schedule.h)
} cj_lookback;

// ---- status

unsigned cj__status_bytes(cj_combine combine);
cj_reg   cj__status_tag(const cj_lookback *l,
                        cj_reg             heads);  // of a tile: a segment begins in it if a bit of `heads` is set
void     cj__status_publish(const cj_lookback *l, cj_reg when, cj_reg at, cj_reg total, cj_reg tag);

// ---- one tile a block: a warp reads the statuses of the tiles of its group, then those of up to 32 groups at once

// The tiles before `tile` (its number in the row) in its group: `place`, how many they are; their total; which have heads.
// `at` is the address of the tile's own status.
typedef struct cj_lookback_part {
    cj_reg place, total, heads;
} cj_lookback_part;

cj_lookback_part cj__lookback_tiles(const cj_lookback *l, cj_reg tile, cj_reg at);

// carry, the identity before, becomes the prefix of the tile. The block of a group's last tile publishes the group's status, by
// the thread `leader`: `total` and `heads` are the tile's, `tag` is its status' tag, `group_at` the address of its group's
// status, beside that of the group before.
void cj__lookback_groups(const cj_lookback *l, cj_reg leader, const cj_lookback_part *before, cj_reg group,
                         cj_reg group_at, cj_reg total, cj_reg heads, cj_reg tag, cj_reg carry);

// ---- many tiles a block: a warp keeps the prefix of the group of its last tile, and adds the tiles since then. No status of
// a group is published or awaited, so there is no chain of blocks that wait for each other.

typedef struct cj_lookback_known {
    cj_reg row, groups, prefix;  // the prefix of group number `groups` of that row
} cj_lookback_known;

cj_lookback_known cj__lookback_begin(const cj_lookback *l);  // in the place of a row: UINT32_MAX

// What is known, as far as it is of this row; returns the tile's group. Then the tile's prefix: `row_at` is the address of the
// status of the row's first tile, `window` the groups whose statuses a step reads.
cj_reg cj__lookback_enter(const cj_lookback *l, const cj_lookback_known *known, cj_reg row, cj_reg tile);
cj_reg cj__lookback_window(const cj_lookback *l, const cj_lookback_known *known, cj_reg group, cj_reg tile,
                           cj_reg row_at, unsigned window);

// ---- words: a thread looks back over the tiles before its own, one by one, until one has a prefix

enum { CJ_WORD_NUMBERS = 1 << 30 };  // numbers are modulo this

cj_reg cj__word_total(cj_func *f, cj_reg total);                  // of a tile; total < CJ_WORD_NUMBERS
cj_reg cj__word_prefix(cj_func *f, cj_reg before, cj_reg total);  // of the tile and all before it
void   cj__word_publish(cj_func *f, cj_reg when, cj_reg at, cj_reg word, const char *what);

// before = the sum of all tiles before the one whose status word is at `at`; the word of the tile before it lies `stride` bytes
// lower. The first tile publishes its prefix alone.
void cj__lookback_words(cj_func *f, cj_reg at, unsigned stride, cj_reg before);

#endif
