// SPDX-License-Identifier: Apache-2.0
#include "near.h"

#include <string.h>

// How many letters two words share at the start and at the end: enough to find a typing mistake.
static size_t likeness(const char *a, const char *b) {
    size_t left = strlen(a), right = strlen(b), front = 0, back = 0, least = left < right ? left : right;
    while (front < least && a[front] == b[front]) front++;
    while (back < least - front && a[left - 1 - back] == b[right - 1 - back]) back++;
    return front + back;
}

// More than half of the word's letters must be the name's.
void near_offer(nearest *n, const char *name) {
    const size_t like = likeness(n->word, name), least = strlen(n->word) / 2;
    if (like <= (n->best > least ? n->best : least)) return;
    n->best = like;
    n->name = name;
}
