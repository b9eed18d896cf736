// SPDX-License-Identifier: Apache-2.0
// The tables and their index. The .def files hold syntax as people write it. The first use makes the index, of words and
// opcodes. The first use of a row compiles its syntax into arrays that are searched without a string comparison: a kernel
// needs some fifty of a thousand rows, and a process that starts waits for them.
#include "table.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#include "hash.h"

const cj_word_info cj__words[CJ_WORD_COUNT] = {
    [CJ_WORD_NONE] = {.text = ""},
#define CJ_WORD(id, word, since, least) [CJ_W_##id] = {.text = word, .ptx = since, .target = least},
#define CJ_TYPE(id, word, kind, size, since, least) \
    [CJ_W_##id] = {.text = word, .class = CJ_CLASS_##kind, .bits = size, .ptx = since, .target = least},
#include "words.def"
#undef CJ_WORD
#undef CJ_TYPE
};

const cj_special_info cj__specials[CJ_SPECIAL_COUNT] = {
    [CJ_SPECIAL_NONE] = {.text = ""},
#define CJ_SPECIAL(id, name, kind, parts, since, least) \
    [CJ_S_##id] = {.text = name, .type = CJ_W_##kind, .components = parts, .ptx = since, .target = least},
#include "specials.def"
#undef CJ_SPECIAL
};

const cj_row cj__rows[CJ_ROW_COUNT] = {
#define CJ_ROW(executor, form, pattern, since, least, does, line) \
    {.syntax = form, .operands = pattern, .ptx = since, .target = least, .effects = does, .sample = line},
#include "instructions.def"
#undef CJ_ROW
};

static const struct {
    const char *name, *words;
} sets[] = {
#define CJ_SET(name, words) {#name, words},
#include "sets.def"
#undef CJ_SET
};

// ---- the index: built once, then read only

enum { SLOTS_MAX = 20, POOL_MAX = 48 * 1024, WORD_BUCKETS = 2048, OPCODE_BUCKETS = 1024 };

static_assert(CJ_WORD_COUNT * 2 < WORD_BUCKETS, "enlarge WORD_BUCKETS");
static_assert(CJ_SPECIAL_COUNT < 256, "specials are indexed by a byte-sized bucket table");

typedef struct {
    uint16_t first, count;  // its words in the pool
    bool     optional;
} cj_slot;

typedef struct {
    atomic_bool compiled;           // then the rest is only read
    uint8_t     slot_count, fixed;  // how many of the first slots keep their place in any order of the words
    cj_slot     slots[SLOTS_MAX];
    cj_pattern  pattern;
    char        opcode[24];
} cj_form;

static struct {
    cj_form  forms[CJ_ROW_COUNT];
    uint16_t pool[POOL_MAX];
    size_t   pool_count;
    uint16_t next[CJ_ROW_COUNT];             // the next row of the same opcode + 1
    uint16_t word_bucket[WORD_BUCKETS];      // cj_word, open addressing
    uint16_t opcode_bucket[OPCODE_BUCKETS];  // first row of the opcode + 1, open addressing
    uint8_t  special_bucket[256];
} table;

static pthread_once_t  built = PTHREAD_ONCE_INIT;
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;  // guards forms that are not compiled, and the pool

static size_t opcode_length(const char *syntax) { return strcspn(syntax, ".{"); }

static cj_word find_word(const char *text, size_t length) {
    for (size_t i = cj__hash(text, length);; i++) {
        cj_word word = table.word_bucket[i % WORD_BUCKETS];
        if (!word) return CJ_WORD_NONE;
        if (!strncmp(cj__words[word].text, text, length) && !cj__words[word].text[length]) return word;
    }
}

// A mistake in a .def file is a mistake of the program: the table test, which runs first, names it.
static void broken(const char *what) {
    fprintf(stderr, "clusterjit: instruction table: '%s' has an unknown word or set, or more than its array takes\n", what);
    abort();
}

// Adds the words of "a|.b|$SET" up to `end` to the pool.
static void add_words(const char *at, const char *end) {
    while (at < end) {
        if (*at == '.' || *at == '|') {
            at++;
            continue;
        }
        size_t length = strcspn(at, "|})");
        if (at + length > end) length = (size_t)(end - at);
        if (*at == '$') {
            size_t i = 0;
            while (i < sizeof sets / sizeof *sets &&
                   (strncmp(sets[i].name, at + 1, length - 1) || sets[i].name[length - 1]))
                i++;
            if (i == sizeof sets / sizeof *sets) broken(at);
            add_words(sets[i].words, sets[i].words + strlen(sets[i].words));
        } else {
            cj_word word = find_word(at, length);
            if (!word || table.pool_count == POOL_MAX) broken(at);
            table.pool[table.pool_count++] = (uint16_t)word;
        }
        at += length;
    }
}

// The extent that a word gives its instruction's operands: x4, 3d, m64n128k16; 0: none.
static uint16_t word_extent(const char *text) {
    if (*text == 'x') return (uint16_t)strtoul(text + 1, NULL, 10);
    if (*text >= '1' && *text <= '5' && !strcmp(text + 1, "d")) return (uint16_t)(*text - '0');
    const char *n = *text == 'm' && text[1] >= '0' && text[1] <= '9' ? strchr(text, 'n') : NULL;
    return n ? (uint16_t)strtoul(n + 1, NULL, 10) : 0;
}

// Words of one of these orders keep it among themselves: f32.f16 is no f16.f32, and a copy goes from the second space
// to the first. All others may change places.
typedef enum {
    ORDER_FREE, ORDER_TYPES, ORDER_SPACES, ORDER_LAYOUTS, ORDER_POLICIES, ORDER_FORMATS, ORDER_BITS, ORDER_COUNT
} cj_order;

static cj_order word_order(unsigned word) {
    if (cj__words[word].class && word != CJ_W_B1024) return ORDER_TYPES;
    switch (word) {
    case CJ_W_ROW: case CJ_W_COL: return ORDER_LAYOUTS;
    case CJ_W_L2_EVICT_NORMAL: case CJ_W_L2_EVICT_UNCHANGED: case CJ_W_L2_EVICT_FIRST: case CJ_W_L2_EVICT_LAST:
        return ORDER_POLICIES;
    case CJ_W_B8X16: case CJ_W_B6X16_P32: case CJ_W_B4X16_P64: return ORDER_FORMATS;
    case CJ_W_AND: case CJ_W_XOR: case CJ_W_POPC: return ORDER_BITS;
    default: return word >= CJ_W_GLOBAL && word <= CJ_W_PARAM_FUNC ? ORDER_SPACES : ORDER_FREE;
    }
}

// Names of several words, which stand first. Sorted; where "a.b.c" is here, "a.b" is, too.
static const char *const names[] = {
    "bar.arrive", "bar.cta", "bar.cta.arrive", "bar.cta.red", "bar.cta.sync", "bar.red", "bar.sync", "bar.warp",
    "bar.warp.sync", "barrier.arrive", "barrier.cluster", "barrier.cluster.arrive", "barrier.cluster.wait",
    "barrier.cta", "barrier.cta.arrive", "barrier.cta.red", "barrier.cta.sync", "barrier.red", "barrier.sync",
    "clusterlaunchcontrol.query_cancel", "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.try_cancel.async",
    "cp.async", "cp.async.bulk", "cp.async.bulk.commit_group", "cp.async.bulk.prefetch",
    "cp.async.bulk.prefetch.tensor", "cp.async.bulk.tensor", "cp.async.bulk.wait_group", "cp.async.commit_group",
    "cp.async.mbarrier", "cp.async.mbarrier.arrive", "cp.async.wait_all", "cp.async.wait_group", "cp.reduce",
    "cp.reduce.async", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor", "createpolicy.cvt",
    "createpolicy.fractional", "createpolicy.range", "cvt.pack", "cvta.to", "div.full", "dp2a.lo", "fence.proxy",
    "griddepcontrol.launch_dependents", "griddepcontrol.wait", "mad.hi", "mad.lo", "mad.wide", "mad24.hi", "mad24.lo",
    "madc.hi", "madc.lo", "mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop",
    "mbarrier.arrive_drop.expect_tx", "mbarrier.complete_tx", "mbarrier.expect_tx", "mbarrier.init", "mbarrier.inval",
    "mbarrier.pending_count", "mbarrier.test_wait", "mbarrier.test_wait.parity", "mbarrier.try_wait",
    "mbarrier.try_wait.parity", "mul.hi", "mul.lo", "mul.wide", "mul24.hi", "mul24.lo", "multimem.cp",
    "multimem.cp.async", "multimem.cp.async.bulk", "multimem.cp.reduce", "multimem.cp.reduce.async",
    "multimem.cp.reduce.async.bulk", "multimem.ld_reduce", "multimem.red", "multimem.st", "red.async",
    "setmaxnreg.dec", "setmaxnreg.inc", "shf.l", "st.async", "st.bulk", "suld.b", "sured.b", "sured.p", "sust.b",
    "sust.p", "tcgen05.alloc", "tcgen05.commit", "tcgen05.cp", "tcgen05.dealloc", "tcgen05.fence::after_thread_sync",
    "tcgen05.fence::before_thread_sync", "tcgen05.ld", "tcgen05.ld.red", "tcgen05.mma", "tcgen05.mma.ws",
    "tcgen05.relinquish_alloc_permit", "tcgen05.shift", "tcgen05.st", "tcgen05.wait::ld", "tcgen05.wait::st",
    "tensormap.cp_fenceproxy", "tensormap.replace", "tex.base", "tex.grad", "tex.level", "txq.level",
    "wgmma.commit_group", "wgmma.fence", "wgmma.mma_async", "wgmma.wait_group", "wmma.load", "wmma.load.a",
    "wmma.load.b", "wmma.load.c", "wmma.mma", "wmma.store", "wmma.store.d",
};

static int compare_names(const void *key, const void *element) {
    const char *name = key, *const *known = element;
    return strcmp(name, *known);
}

static bool is_name(const char *name) {
    return bsearch(name, names, sizeof names / sizeof *names, sizeof *names, compare_names);
}

// Whether a name stays one with the first word that the slot takes; adds the word. `length` characters of the name's 128 are used.
static bool is_longer_name(char name[128], size_t *length, const cj_slot *slot) {
    const char  *word = cj__words[table.pool[slot->first]].text;
    const size_t more = strlen(word);
    if (*length + more + 2 > 128) return false;
    name[*length] = '.';
    memcpy(name + *length + 1, word, more + 1);
    *length += 1 + more;
    return is_name(name);
}

static void compile_syntax(cj_form *form, const char *syntax) {
    const char *at = syntax + opcode_length(syntax);
    size_t      length = strlen(form->opcode);
    char        name[128];  // of the words so far, while they are a name
    memcpy(name, form->opcode, length);
    while (*at) {
        if (form->slot_count == SLOTS_MAX) broken(syntax);
        cj_slot *slot = &form->slots[form->slot_count++];
        slot->first = (uint16_t)table.pool_count;
        const char *end;
        if (*at == '{') {
            end = strchr(at, '}');
            slot->optional = true;
        } else {
            end = at[1] == '(' ? strchr(at, ')') : at + 1 + strcspn(at + 1, ".{");
        }
        if (!end) broken(syntax);
        add_words(at + 1 + (at[1] == '('), end);
        slot->count = (uint16_t)(table.pool_count - slot->first);
        if (form->fixed + 1 == form->slot_count && !slot->optional) form->fixed += is_longer_name(name, &length, slot);
        at = end + (*end == '}' || *end == ')');
    }
}

// 4, n, 4n, n/2, n-2: returns what follows.
static const char *compile_length(cj_pattern_item *item, const char *at) {
    char *end;
    item->length = (uint8_t)strtoul(at, &end, 10);
    if (*end != 'n') return end;
    if (end == at) item->length = 1;
    item->divisor = 1;
    at = end + 1;
    if (*at == '/') item->divisor = (uint8_t)strtoul(at + 1, &end, 10), at = end;
    if (*at == '-') item->less = (uint8_t)strtoul(at + 1, &end, 10), at = end;
    return at;
}

// =0..15, and so on: returns what follows.
static const char *compile_limits(cj_pattern_item *item, const char *at) {
    char *end;
    item->register_only = !strncmp(at, "reg", 3);
    if (item->register_only) return at + 3;
    item->number_only = !strncmp(at, "num", 3);
    if (item->number_only) return at + 3;
    item->beside_registers = !strncmp(at, "some", 4);
    if (item->beside_registers) return at + 4;
    item->single_floats = !strncmp(at, "0f", 2);
    if (item->single_floats) return at + 2;
    item->is_limited = true;
    item->low = item->high = strtoll(at, &end, 10);
    item->step = 1;
    if (!strncmp(end, "..max", 5)) item->high = INT64_MAX, end += 5;
    else if (!strncmp(end, "..", 2)) item->high = strtoll(end + 2, &end, 10);
    if (*end == '*') item->step = strtoll(end + 1, &end, 10);
    item->powers = *end == '^';
    item->low_word = *end == 'w';
    return end + (item->powers || item->low_word);
}

static void compile_pattern(cj_pattern *pattern, const char *text) {
    for (const char *at = text; *at; at += *at == ' ') {
        if (pattern->count == CJ_OPERANDS_MAX) broken(text);
        cj_pattern_item *item = &pattern->item[pattern->count++];
        item->kind = *at++;
        pattern->vectors |= item->kind == 'D' || item->kind == 'S';
        if (*at == 'q' || *at == 'Q' || *at == 'k') {
            item->predicate = true;
            item->paired = *at == 'Q';
            item->kept = *at++ == 'k';
        }
        at = compile_length(item, at);
        if (*at == ':') {
            size_t length = strcspn(++at, " ?=");
            bool numbered = length == 2 && at[0] == 'T';
            if (numbered) {
                item->type = at[1];
            } else if (length == 1) {
                item->type = *at;
            } else {
                item->type = 'F';
                item->fixed = (uint16_t)find_word(at, length);
                if (!item->fixed) broken(text);
            }
            at += length;
        }
        if (*at == '=') at = compile_limits(item, at + 1);
        if (*at != '?') continue;
        size_t length = strcspn(++at, " ");
        item->optional = !length;
        if (!length) continue;
        item->only_with = (uint16_t)find_word(at, length);
        if (!item->only_with) broken(text);
        pattern->conditional = true;
        at += length;
    }
}

// The bucket that holds the opcode's first row, or the empty one where it belongs.
static uint16_t *opcode_bucket(const char *opcode, size_t length) {
    for (size_t i = cj__hash(opcode, length);; i++) {
        uint16_t *bucket = &table.opcode_bucket[i % OPCODE_BUCKETS];
        if (!*bucket) return bucket;
        const char *syntax = cj__rows[*bucket - 1].syntax;
        if (opcode_length(syntax) == length && !memcmp(syntax, opcode, length)) return bucket;
    }
}

static const cj_form *form_of(size_t row) {
    cj_form *form = &table.forms[row];
    if (atomic_load_explicit(&form->compiled, memory_order_acquire)) return form;
    pthread_mutex_lock(&compiling);
    if (!form->compiled) {  // else another thread was first
        const char *syntax = cj__rows[row].syntax;
        memcpy(form->opcode, syntax, opcode_length(syntax));
        compile_syntax(form, syntax);
        compile_pattern(&form->pattern, cj__rows[row].operands);
        atomic_store_explicit(&form->compiled, true, memory_order_release);
    }
    pthread_mutex_unlock(&compiling);
    return form;
}

static void build(void) {
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i - 1], names[i]) >= 0) broken(names[i]);
    for (cj_word word = 1; word < CJ_WORD_COUNT; word++) {
        size_t i = cj__hash(cj__words[word].text, strlen(cj__words[word].text));
        while (table.word_bucket[i % WORD_BUCKETS]) i++;
        table.word_bucket[i % WORD_BUCKETS] = (uint16_t)word;
    }
    for (cj_special special = 1; special < CJ_SPECIAL_COUNT; special++) {
        size_t i = cj__hash(cj__specials[special].text, strlen(cj__specials[special].text));
        while (table.special_bucket[i % 256]) i++;
        table.special_bucket[i % 256] = (uint8_t)special;
    }
    for (size_t row = CJ_ROW_COUNT; row-- > 0;) {  // backwards, so that chains run forwards
        const char *syntax = cj__rows[row].syntax;
        uint16_t *bucket = opcode_bucket(syntax, opcode_length(syntax));
        table.next[row] = *bucket;
        *bucket = (uint16_t)(row + 1);
    }
}

// ---- look-ups

cj_word cj__word_find(const char *text, size_t length) {
    pthread_once(&built, build);
    return find_word(text, length);
}

cj_special cj__special_find(const char *text, size_t length) {
    pthread_once(&built, build);
    for (size_t i = cj__hash(text, length);; i++) {
        cj_special special = table.special_bucket[i % 256];
        if (!special) return CJ_SPECIAL_NONE;
        const char *name = cj__specials[special].text;
        if (!strncmp(name, text, length) && !name[length]) return special;
    }
}

const cj_pattern *cj__row_pattern(const cj_row *row) {
    pthread_once(&built, build);
    return &form_of((size_t)(row - cj__rows))->pattern;
}

const char *cj__row_opcode(const cj_row *row) {
    pthread_once(&built, build);
    return form_of((size_t)(row - cj__rows))->opcode;
}

const cj_pattern_item *cj__pattern_item(const cj_pattern *pattern, const cj_mnemonic *mnemonic, unsigned index) {
    unsigned i = pattern->conditional ? 0 : index;
    for (; pattern->conditional && i < pattern->count; i++) {
        cj_word word = pattern->item[i].only_with;
        bool present = !word || cj__mnemonic_has(mnemonic, word);
        if (present && !index--) break;
    }
    return i < pattern->count ? &pattern->item[i] : NULL;
}

static bool is_one_of(const char *opcode, const char *const *list) {
    while (*list && strcmp(*list, opcode)) list++;
    return *list;
}

static void raise(cj_row_shape *shape, uint16_t ptx, uint16_t target) {
    if (ptx > shape->ptx) shape->ptx = ptx;
    if (target > shape->target) shape->target = target;
}

// What a mnemonic's words ask for. Of a few instructions ptxas takes a word as soon as it takes the instruction.
static void add_words_needs(cj_row_shape *shape, const cj_mnemonic *mnemonic) {
    const uint32_t early = shape->row->effects & (CJ_EARLY_CTA | CJ_EARLY_SCOPE);
    if (!early) raise(shape, mnemonic->ptx, mnemonic->target);
    for (unsigned i = 0; early && i < mnemonic->word_count; i++) {
        const cj_word id = mnemonic->word[i];
        const bool    is_early = early & CJ_EARLY_CTA ? id == CJ_W_SHARED_CTA : id >= CJ_W_CTA && id <= CJ_W_SYS;
        if (!is_early) raise(shape, cj__words[id].ptx, cj__words[id].target);
    }
}

static void add_needs(cj_row_shape *shape, const cj_mnemonic *mnemonic) {
    const unsigned bits = mnemonic->vector > 1 ? mnemonic->vector * cj__words[mnemonic->type_last].bits : 0;
    raise(shape, shape->row->ptx, shape->row->target);
    add_words_needs(shape, mnemonic);
    if (shape->vectors && bits > 128) raise(shape, 88, 100);
    if (mnemonic->type_last == CJ_W_B128 && cj__mnemonic_has(mnemonic, CJ_W_SYS)) raise(shape, 84, 0);
}

// Whether the registers have the size of the types all the same: of st.async, and of a cvt with bf16 or packed types.
static bool is_exact(const char *opcode, const cj_mnemonic *mnemonic, const cj_row *row) {
    bool packed = false;
    for (unsigned i = 0; i < 4; i++)
        packed |= cj__words[mnemonic->type[i]].class == CJ_CLASS_PACKED && mnemonic->type[i] != CJ_W_F16X2;
    return ((packed || row->effects & CJ_ARCH) && !strcmp(opcode, "cvt")) || row->effects & CJ_ASYNC;
}

static bool is_video(const char *opcode) { return *opcode == 'v' && strcmp(opcode, "vote") != 0; }

static cj_word wide(cj_word type) {
    static const struct {
        cj_word narrow, wide;
    } pairs[] = {{CJ_W_U16, CJ_W_U32}, {CJ_W_S16, CJ_W_S32}, {CJ_W_U32, CJ_W_U64}, {CJ_W_S32, CJ_W_S64}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].narrow == type) return pairs[i].wide;
    return type;
}

// The type that an item of a pattern asks for; NONE where any will do.
static cj_word wanted_type(const cj_pattern_item *item, const cj_mnemonic *mnemonic) {
    switch (item->type) {
    case 'T': return mnemonic->type_last;
    case 'W': return wide(mnemonic->type_last);
    case 'A': return CJ_W_U64;
    case 'B': return CJ_W_B32;
    case 'F': return item->fixed;
    case '1':
    case '2':
    case '3':
    case '4': return mnemonic->type[item->type - '1'];
    default: return item->kind == 'q' || item->kind == 'p' ? CJ_W_PRED : CJ_WORD_NONE;
    }
}

void cj__shape_make(cj_row_shape *shape, const cj_row *row, const cj_mnemonic *mnemonic) {
    static const char *const moves[] = {"ld", "st", NULL}, *const wider[] = {"ld",   "st",   "ldu",   "cvt",
                                                                             "suld", "sust", "sured", NULL};
    static const char *const calls[] = {"call", NULL}, *const warpgroups[] = {"wgmma", "setmaxnreg", NULL};
    static const char *const media[] = {"tex", "tld4", "txq", "suq", "suld", "sust", "sured", NULL};
    const cj_pattern *pattern = cj__row_pattern(row);
    const char       *opcode = cj__row_opcode(row);
    *shape = (cj_row_shape){.row = row, .vectors = pattern->vectors, .is_move = is_one_of(opcode, moves),
                        .is_call = is_one_of(opcode, calls), .may_be_wider = is_one_of(opcode, wider) && !is_exact(opcode, mnemonic, row),
                        .is_warpgroup = is_one_of(opcode, warpgroups),
                        .is_media = is_one_of(opcode, media) || is_video(opcode)};
    for (unsigned i = 0; i < CJ_OPERANDS_MAX && (shape->item[i] = cj__pattern_item(pattern, mnemonic, i)); i++) {
        const char kind = shape->item[i]->kind;
        const bool result = kind == 'L' && !i;  // call (results), function, (arguments)
        shape->has_memory |= strchr("mMt", kind) != NULL;
        if (result || strchr("dDUq", kind)) shape->written |= (uint16_t)(1u << i);
        shape->want[i] = (uint16_t)wanted_type(shape->item[i], mnemonic);
        shape->operands_most++;
    }
    add_needs(shape, mnemonic);
}

unsigned cj__pattern_length(const cj_pattern_item *item, const cj_mnemonic *mnemonic) {
    if (!item->divisor) return item->length;
    return (unsigned)item->length * mnemonic->extent / item->divisor - item->less;
}

static bool slot_takes(const cj_slot *slot, uint16_t word) {
    for (unsigned i = 0; i < slot->count; i++)
        if (table.pool[slot->first + i] == word) return true;
    return false;
}

// Whether slots [s..] match words [w..]; *reached is the furthest word that found no slot.
static bool matches(const cj_form *form, unsigned s, const cj_mnemonic *mnemonic, unsigned w, unsigned *reached) {
    if (w > *reached) *reached = w;
    if (s == form->slot_count) return w == mnemonic->word_count;
    const cj_slot *slot = &form->slots[s];
    if (w < mnemonic->word_count && slot_takes(slot, mnemonic->word[w]) &&
        matches(form, s + 1, mnemonic, w + 1, reached))
        return true;
    return slot->optional && matches(form, s + 1, mnemonic, w, reached);
}

// Whether words [w..] fill the slots that are not `taken`; those of an order go to slots from next[order] on. slot_of
// becomes the slot of each word.
static bool fills(const cj_form *form, uint32_t taken, const uint8_t *next, const cj_mnemonic *mnemonic, unsigned w,
                  uint8_t *slot_of) {
    bool     last = w == mnemonic->word_count;
    cj_order order = last ? ORDER_FREE : word_order(mnemonic->word[w]);
    for (unsigned s = next[order]; s < form->slot_count; s++) {
        const cj_slot *slot = &form->slots[s];
        if (taken >> s & 1) continue;
        if (last && !slot->optional) return false;
        if (last || !slot_takes(slot, mnemonic->word[w])) continue;
        uint8_t then[ORDER_COUNT];
        memcpy(then, next, sizeof then);
        if (order) then[order] = (uint8_t)(s + 1);
        slot_of[w] = (uint8_t)s;
        if (fills(form, taken | 1u << s, then, mnemonic, w + 1, slot_of)) return true;
    }
    return last;
}

// Brings the words into the order of their slots, which all readers of a mnemonic expect.
static void arrange(cj_mnemonic *mnemonic, uint8_t *slot_of) {
    for (unsigned i = 1; i < mnemonic->word_count; i++) {
        const uint16_t word = mnemonic->word[i];
        const uint8_t  slot = slot_of[i];
        unsigned       at = i;
        for (; at && slot_of[at - 1] > slot; at--) {
            mnemonic->word[at] = mnemonic->word[at - 1];
            slot_of[at] = slot_of[at - 1];
        }
        mnemonic->word[at] = word;
        slot_of[at] = slot;
    }
}

// ptxas takes the words in any order, after those of the name; libcu++ writes atom.add.acquire.gpu.u32.
static bool matches_unordered(const cj_form *form, cj_mnemonic *mnemonic) {
    uint8_t slot_of[CJ_WORDS_MAX];
    if (mnemonic->word_count < form->fixed) return false;
    for (unsigned s = 0; s < form->fixed; s++) {
        if (!slot_takes(&form->slots[s], mnemonic->word[s])) return false;
        slot_of[s] = (uint8_t)s;
    }
    if (!fills(form, (1u << form->fixed) - 1, (const uint8_t[ORDER_COUNT]){0}, mnemonic, form->fixed, slot_of))
        return false;
    if (!mnemonic->candidate_count) arrange(mnemonic, slot_of);
    return true;
}

// T, T1, T2, …
static void note_types(cj_mnemonic *mnemonic) {
    unsigned count = 0;
    for (unsigned i = 0; i < mnemonic->word_count; i++) {
        if (!cj__words[mnemonic->word[i]].class) continue;
        mnemonic->type_last = mnemonic->word[i];
        if (count < 4) mnemonic->type[count++] = mnemonic->word[i];
    }
}

// Words that ptxas takes a second time, and makes nothing of it: add.sat.sat.s32.
static bool may_repeat(cj_word word) {
    static const cj_word words[] = {CJ_W_NAN, CJ_W_APPROX, CJ_W_CC,   CJ_W_RELU, CJ_W_SAT,
                                    CJ_W_SATFINITE, CJ_W_SHIFTAMT, CJ_W_SYNC, CJ_W_UNI};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i] == word) return true;
    return false;
}

// Splits the words after the opcode; false at a word that no table knows.
static bool split_words(const char *at, const char *end, cj_mnemonic *mnemonic, unsigned *wrong) {
    while (at < end) {
        const char *word = ++at;  // after the dot
        while (at < end && *at != '.') at++;
        *wrong = mnemonic->word_count + 1u;
        cj_word id = find_word(word, (size_t)(at - word));
        if (!id || mnemonic->word_count == CJ_WORDS_MAX) return false;
        const cj_word_info *info = &cj__words[id];
        if (cj__mnemonic_has(mnemonic, id) && may_repeat(id)) continue;
        mnemonic->word[mnemonic->word_count++] = (uint16_t)id;
        mnemonic->has[id / 64] |= UINT64_C(1) << id % 64;
        if (info->ptx > mnemonic->ptx) mnemonic->ptx = info->ptx;
        if (info->target > mnemonic->target) mnemonic->target = info->target;
        uint16_t extent = word_extent(info->text);
        if (extent && (*info->text != 'm' || !mnemonic->extent)) mnemonic->extent = extent;
        if (id == CJ_W_V2 || id == CJ_W_V4 || id == CJ_W_V8) mnemonic->vector = (uint8_t)(info->text[1] - '0');
    }
    return true;
}

bool cj__mnemonic_resolve(const char *text, size_t length, cj_mnemonic *mnemonic, unsigned *wrong) {
    pthread_once(&built, build);
    *mnemonic = (cj_mnemonic){.text = text, .length = (uint16_t)length, .vector = 1};
    *wrong = 0;
    const char *dot = memchr(text, '.', length);
    size_t opcode = dot ? (size_t)(dot - text) : length;
    uint16_t row = *opcode_bucket(text, opcode);
    if (!row || !split_words(text + opcode, text + length, mnemonic, wrong)) return false;
    unsigned reached = 0;
    for (int pass = 0; pass < 2 && !mnemonic->candidate_count; pass++) {
        for (unsigned at = row; at && mnemonic->candidate_count < CJ_CANDIDATES_MAX; at = table.next[at - 1]) {
            const cj_form *form = form_of(at - 1);
            if (pass ? matches_unordered(form, mnemonic) : matches(form, 0, mnemonic, 0, &reached))
                mnemonic->candidate[mnemonic->candidate_count++] = (uint16_t)(at - 1);
        }
    }
    *wrong = reached + 1;
    note_types(mnemonic);
    return mnemonic->candidate_count > 0;
}
