// SPDX-License-Identifier: Apache-2.0
// The table of objects. A handle is no address: it holds a slot's index, and the count of objects that the slot had before,
// so that the handle of an object that was destroyed names nothing, also where its slot is used again.
//
//     bit 46: 1 | 45..28: generation | 27..4: index | 3..0: 0
#include <stdlib.h>

#include "driver.h"

enum { INDEX_SHIFT = 4, INDEX_BITS = 24, GENERATION_SHIFT = 28, GENERATION_BITS = 18, MARK_SHIFT = 46 };
#define MASK(bits) ((UINT64_C(1) << (bits)) - 1)

typedef struct slot {
    cj_object *object;      // NULL: free
    uint32_t   generation;  // of the object that is there, or of the next one
    uint32_t   next;        // free slot, as an index plus one; 0: none
} slot;

static slot    *slots;
static uint32_t count, room, first_free, last_free;  // a queue, so that a slot rests as long as can be

static bool make_room(void) {
    const uint32_t more = room ? room * 2 : 256;
    if (count < room) return true;
    if (more > MASK(INDEX_BITS)) return false;
    slot *grown = realloc(slots, more * sizeof *slots);
    if (!grown) return false;
    slots = grown;
    room = more;
    return true;
}

static slot *take_slot(void) {
    slot *taken;
    if (first_free) {
        taken = &slots[first_free - 1];
        first_free = taken->next;
        if (!first_free) last_free = 0;
        return taken;
    }
    if (!make_room()) return NULL;
    taken = &slots[count++];
    *taken = (slot){.generation = 1};
    return taken;
}

void *cj__object_new(cj_kind kind, size_t bytes, cj_context *owner, void (*release)(void *object)) {
    cj_object *made = calloc(1, bytes);
    slot      *taken = made ? take_slot() : NULL;
    if (!taken) {
        free(made);
        return NULL;
    }
    *made = (cj_object){.kind = kind, .keeps = 1, .owner = owner, .call = cj__thread.call, .release = release};
    made->handle = UINT64_C(1) << MARK_SHIFT | (uint64_t)taken->generation << GENERATION_SHIFT |
                   (uint64_t)(taken - slots) << INDEX_SHIFT;
    taken->object = made;
    return made;
}

static slot *slot_of(uint64_t handle) {
    const uint64_t index = handle >> INDEX_SHIFT & MASK(INDEX_BITS);
    if (index >= count) return NULL;
    slot *found = &slots[index];
    return found->object && found->object->handle == handle ? found : NULL;
}

void *cj__object_find(cj_kind kind, const void *handle) {
    const slot *found = slot_of((uintptr_t)handle);
    return found && found->object->kind == kind ? found->object : NULL;
}

void *cj__keep(void *object) {
    ((cj_object *)object)->keeps++;
    return object;
}

void cj__let(void *object) {
    cj_object *o = object;
    if (o && !--o->keeps) o->release(o);
}

void cj__object_destroy(void *object) {
    cj_object *o = object;
    slot      *held = slot_of(o->handle);
    if (!held) return;
    held->object = NULL;
    held->generation = held->generation == MASK(GENERATION_BITS) ? 1 : held->generation + 1;
    held->next = 0;
    const uint32_t index = (uint32_t)(held - slots) + 1;
    if (last_free)
        slots[last_free - 1].next = index;
    else
        first_free = index;
    last_free = index;
    cj__let(o);
}

void *cj__object_next(const void *object, const cj_context *owner) {
    const cj_object *before = object;
    uint32_t         i = before ? (uint32_t)(before->handle >> INDEX_SHIFT & MASK(INDEX_BITS)) + 1 : 0;
    while (i < count && !(slots[i].object && (!owner || slots[i].object->owner == owner))) i++;
    return i < count ? slots[i].object : NULL;
}
