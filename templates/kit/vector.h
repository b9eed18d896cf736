// SPDX-License-Identifier: Apache-2.0
// Accesses of memory of one, two or four registers at once, under a predicate or not; and what is loaded, of f32, f16, bf16, i32 or u32, as numbers of
// 32 bits (those of 16 bits are widened to f32) and as keys.
#ifndef CJ_TEMPLATES_VECTOR_H
#define CJ_TEMPLATES_VECTOR_H

#include <clusterjit/ptx.h>

// The elements of `bytes` bytes of a load: as many as an alignment allows, given by the choices "16 8 4 2" of a parameter, and all
// of these numbers are multiples of (they are or'ed in `multiples`); at least 1.
unsigned cj__load_width(uint64_t align, unsigned bytes, uint64_t multiples);

// "LOAD.vN.TYPE {into}, [at + offset];" with `load` such as "ld.global.nc" or "ld.shared"; `count` is 1, 2 or 4, and an access
// is aligned to its size. A thread for which `when` does not hold (cj_always(): it does) keeps what its registers had.
void cj__load(cj_func *f, cj_reg when, const char *load, const char *type, const cj_reg *into, unsigned count,
              cj_reg at, int64_t offset);

// One register, made for it: of the type `reg`, as a value in memory of `type` is loaded into.
cj_reg cj__load_value(cj_func *f, cj_reg when, const char *load, const char *type, const char *reg, const char *name,
                      cj_reg at);

// "STORE.vN.TYPE [at + offset], {value};" with `store` such as "st.global".
void cj__store(cj_func *f, cj_reg when, const char *store, const char *type, const cj_reg *value, unsigned count,
               cj_reg at, int64_t offset);

// Bytes [begin, end) of an array that begins anywhere: a head, aligned vectors [body, tail), and a tail. Head and tail are shorter than a
// vector each, so that the first threads take an element each of both. Where there is no whole vector, body = tail.
typedef struct cj_span {
    cj_reg begin, body, tail, end;  // u64, addresses
} cj_span;

cj_span cj__span(cj_func *f, cj_reg begin, cj_reg end, unsigned vector_bytes);

// Keeps loads where they are: ptxas moves loads down to where each is used, one latency after the other, but none over an exit that depends on
// it. `never` is a predicate that no thread has and that ptxas cannot know; `loaded` has a register of `type` ("b16", "b32", …) of each of `count`
// loads, all of which have arrived then. It may be 0 where the loads are under predicates and `never` depends on what these depend on: ptxas
// leaves the exit after such loads by itself. Not between a barrier's arrival and its wait.
void cj__keep_loads(cj_func *f, cj_reg never, const char *type, const cj_reg *loaded, unsigned count);

// ---- elements as numbers and keys

bool        cj__is_float(cj_dtype dtype);     // f32, f16 or bf16
const char *cj__number_type(cj_dtype dtype);  // what an element is compared as: "f32", "s32" or "u32"

// An element in a register of its own (b16 of f16 and bf16) as that type.
cj_reg cj__number_of(cj_func *f, cj_dtype dtype, cj_reg element);

// Two elements of 16 bits, of a word that has both: that of the lower address first.
void cj__numbers_of_word(cj_func *f, cj_dtype dtype, cj_reg word, cj_reg number[2]);

// Keys are u32 numbers in the order of the elements. Of an f32 that is not -0, in a b32 or f32: its bits, all of them flipped below zero, the
// sign elsewhere; so a NaN whose sign is 0 is greater than any number.
cj_reg cj__key_of_float(cj_func *f, cj_reg real);

cj_reg cj__key_of_integer(cj_func *f, cj_dtype dtype, cj_reg number);

#endif
