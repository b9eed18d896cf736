// SPDX-License-Identifier: Apache-2.0
// Products by tiles give the bits of the plain definition, element by element: for each type, by each instruction set of
// this host, on random bits, on edges of the type, and where sums cancel.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "tile.h"

enum { CHUNKS = 2, WORDS = CJ_TILE_WORDS, SIDE = CJ_TILE, K_MAX = CHUNKS * 128, ROUNDS = 600 };

static const struct {
    cj_word     type, sum;
    cj_multiply how;
} products[] = {
    {CJ_W_F64, CJ_W_F64, CJ_MULTIPLY_FMA},  {CJ_W_TF32, CJ_W_F32, CJ_MULTIPLY_SUM},
    {CJ_W_BF16, CJ_W_F32, CJ_MULTIPLY_SUM}, {CJ_W_F16, CJ_W_F32, CJ_MULTIPLY_SUM},
    {CJ_W_F16, CJ_W_F16, CJ_MULTIPLY_SUM},  {CJ_W_E5M2, CJ_W_F32, CJ_MULTIPLY_SUM},
    {CJ_W_E5M2, CJ_W_F16, CJ_MULTIPLY_SUM}, {CJ_W_E4M3, CJ_W_F32, CJ_MULTIPLY_SUM},
    {CJ_W_E4M3, CJ_W_F16, CJ_MULTIPLY_SUM}, {CJ_W_U8, CJ_W_S32, CJ_MULTIPLY_SUM},
    {CJ_W_S8, CJ_W_S32, CJ_MULTIPLY_SUM},   {CJ_W_U4, CJ_W_S32, CJ_MULTIPLY_SUM},
    {CJ_W_S4, CJ_W_S32, CJ_MULTIPLY_SUM},   {CJ_W_B1, CJ_W_S32, CJ_MULTIPLY_XOR},
    {CJ_W_B1, CJ_W_S32, CJ_MULTIPLY_AND},
};

// Registers as a warp has them: words of 32 bits, or of 64 of f64, are the lower bits of these.
typedef struct operands {
    uint64_t a[CHUNKS][WORDS], b[CHUNKS][WORDS], c[2][WORDS];
} operands;

// Codes of an element at which something changes: zeros, the smallest and largest numbers, infinity, NaN, one, two.
static uint64_t edge_of(unsigned bits, unsigned exponent_bits, uint64_t *random) {
    const unsigned fraction = bits - 1 - exponent_bits;
    const uint64_t largest = ((UINT64_C(1) << exponent_bits) - 1) << fraction,
                   one = (largest >> 1) & ~(((UINT64_C(1) << fraction) - 1));
    const uint64_t edges[] = {0,
                              1,
                              largest,
                              largest - 1,
                              largest + 1,
                              largest | (largest >> exponent_bits),
                              one,
                              one + 1,
                              one - 1,
                              UINT64_C(1) << fraction,
                              (UINT64_C(1) << fraction) - 1,
                              largest >> 1};
    const uint64_t number = cj_test_random(random);
    return edges[number % CJ_TEST_COUNT(edges)] | (number >> 40 & 1) << (bits - 1);
}

static unsigned exponent_bits(cj_word type, unsigned bits) {
    return type == CJ_W_F64                        ? 11
           : type == CJ_W_F16 || type == CJ_W_E5M2 ? 5
           : type == CJ_W_E4M3                     ? 4
           : bits >= 16                            ? 8
                                                   : bits - 1;
}

// Fills a register in one of three ways: random bits; edges; numbers of one magnitude, so that sums cancel.
static void fill(uint64_t word[WORDS], const cj_element *type, unsigned way, uint64_t *random) {
    const unsigned bits = type->bits, in_word = bits < 32 ? 32 / bits : 1;
    const unsigned exponents = exponent_bits((cj_word)type->type, bits), fraction = bits - 1 - exponents;
    for (unsigned i = 0; i < WORDS; i++) {
        word[i] = cj_test_random(random);
        if (way == 0 || bits < 8) continue;
        uint64_t made = 0;
        for (unsigned e = 0; e < in_word; e++) {
            const uint64_t number = cj_test_random(random), half = (UINT64_C(1) << (exponents - 1)) - 1;
            const uint64_t near = (number & ((UINT64_C(1) << fraction) - 1)) | half << fraction |
                                  (number >> 63) << (bits - 1);
            made |= (way == 1 && number & 3 ? edge_of(bits, exponents, random) : near) << e * (bits % 64);
        }
        word[i] = made;
    }
}

// ---- the plain definition: dense matrices, element by element

static uint64_t element_of(const uint64_t word[WORDS], unsigned bits, unsigned line, unsigned k) {
    const unsigned in_word = bits < 32 ? 32 / bits : 1;
    return word[line * 4 + k / in_word] >> k % in_word * (bits % 64) & (UINT64_MAX >> (64 - bits));
}

static uint64_t sum_of(uint64_t c[2][WORDS], unsigned bits, unsigned line, unsigned column) {
    const unsigned lane = line * 4 + column / 2;
    return bits == 16 ? c[0][lane] >> column % 2 * 16 & 0xffff : c[column % 2][lane] & (UINT64_MAX >> (64 - bits));
}

static void expect(operands *o, unsigned product, uint64_t result[SIDE * SIDE]) {
    const cj_element *type = cj__element(products[product].type), *sum = cj__element(products[product].sum);
    const unsigned    bits = type->bits, length = bits == 64 ? 4 : 128 / bits, k = CHUNKS * length;
    static uint64_t   a[SIDE * K_MAX], b[K_MAX * SIDE], c[SIDE * SIDE];
    static double     x[SIDE * K_MAX], y[K_MAX * SIDE], d[SIDE * SIDE];
    for (unsigned i = 0; i < SIDE * k; i++) {
        a[i] = element_of(o->a[i % k / length], bits, i / k, i % k % length);
        b[i] = element_of(o->b[i / SIDE / length], bits, i % SIDE, i / SIDE % length);
    }
    for (unsigned i = 0; i < SIDE * SIDE; i++) c[i] = sum_of(o->c, sum->bits, i / SIDE, i % SIDE);
    type->decode(a, SIDE * k, x);
    type->decode(b, SIDE * k, y);
    sum->decode(c, SIDE * SIDE, d);
    cj__multiply(products[product].how, SIDE, SIDE, k, x, y, d);
    sum->encode(d, SIDE * SIDE, result);
}

// ---- by tiles

static void pack(const uint64_t word[WORDS], unsigned bits, void *reg) {
    for (unsigned i = 0; i < WORDS; i++) memcpy((char *)reg + i * (bits / 8), &word[i], bits / 8);
}

// Registers side by side, each as large as one of f64.
static const uint32_t slots[CHUNKS] = {0, WORDS * sizeof(uint64_t)};

static cj_tile_registers pack_all(uint64_t from[][WORDS], unsigned bits, uint64_t reg[][WORDS]) {
    for (unsigned i = 0; i < CHUNKS; i++) pack(from[i], bits, reg[i]);
    return (cj_tile_registers){(unsigned char *)reg, slots};
}

static void unpack(unsigned bits, uint64_t reg[2][WORDS], uint64_t back[2][WORDS]) {
    memset(back, 0, 2 * sizeof *back);
    for (unsigned i = 0; i < 2 * WORDS; i++) {
        memcpy(&back[i / WORDS][i % WORDS], (char *)reg[i / WORDS] + i % WORDS * (bits / 8), bits / 8);
    }
}

// f64 has no tiles of A and B.
static void multiply(operands *o, unsigned product, const cj_tile_set *set, uint64_t result[SIDE * SIDE]) {
    const cj_tile_type     *type = cj__tile_type(set, products[product].type);
    const unsigned          width = type ? 32 : 64;
    const cj_tile_sum       sum = cj__tile_sum(products[product].sum);
    const cj_tile_panel     panel = {.how = products[product].how,
                                     .c = sum,
                                     .d = sum,
                                     .rows = 1,
                                     .chunks = CHUNKS,
                                     .length = (uint16_t)(4 * (type ? type->in_word : 1))};
    CJ_TILE_ALIGNED double  a[CHUNKS * 8 * WORDS], b[CHUNKS * 8 * WORDS];
    uint64_t                reg[3][2][WORDS], back[2][WORDS];
    const cj_tile_registers of_a = pack_all(o->a, width, reg[0]), of_b = pack_all(o->b, width, reg[1]);
    const cj_tile_registers c = pack_all(o->c, width, reg[2]);
    if (type) {
        type->read_a(of_a, 1, CHUNKS, a);
        type->read_b(of_b, 1, CHUNKS, b);
        set->multiply(&panel, 1, a, b, &c, &c);
    } else {
        const uint32_t size = sizeof reg[0], half = sizeof reg[0][0];
        const uint32_t all[] = {0, 0, 0, half, size, size + half, 2 * size, 2 * size + half};
        set->multiply_f64(&panel, of_a.base, all, c);
    }
    unpack(width, reg[2], back);
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        result[i] = sum_of(back, cj__element(products[product].sum)->bits, i / SIDE, i % SIDE);
}

// ---- two tiles, of one B

static const char *const ways[] = {"one below the other", "as two parts", "in one call", "one in one call"};
enum { BELOW, PARTS, ONE_CALL, ONE_IN_ONE_CALL };

typedef struct registers {
    uint64_t a[2][CHUNKS][WORDS], b[CHUNKS][WORDS], c[2][2][WORDS];
} registers;

static void multiply_two(operands o[2], unsigned product, const cj_tile_set *set, unsigned way, registers *r) {
    enum { SIZE = WORDS * sizeof(uint64_t) };
    static const uint32_t of_two[] = {0, CHUNKS * SIZE, SIZE, (CHUNKS + 1) * SIZE};  // those of a chunk side by side
    const cj_tile_type   *type = cj__tile_type(set, products[product].type);
    const cj_tile_sum     sum = cj__tile_sum(products[product].sum);
    const uint32_t        second = cj__tile_sum_registers(sum) == 2 ? SIZE : 2 * SIZE,
                   slot[] = {0, second, 2 * SIZE, 3 * SIZE};
    const unsigned         rows = way == BELOW || way == ONE_CALL ? 2 : 1, length = 4 * type->in_word;
    const cj_tile_panel    panel = {.how = products[product].how,
                                    .c = sum,
                                    .d = sum,
                                    .rows = (uint16_t)rows,
                                    .chunks = CHUNKS,
                                    .length = (uint16_t)length};
    CJ_TILE_ALIGNED double a[2 * CHUNKS * 8 * WORDS], b[CHUNKS * 8 * WORDS];
    for (unsigned i = 0; i < 2; i++) {
        pack_all(o[i].a, 32, r->a[i]);
        pack_all(o[i].c, 32, r->c[i]);
    }
    const cj_tile_registers of_b = pack_all(o[0].b, 32, r->b),
                            of_a = {(unsigned char *)r->a, rows == 2 ? of_two : slots};
    const cj_tile_registers below = {(unsigned char *)r->a[1], slots}, c = {(unsigned char *)r->c, slot};
    const cj_tile_registers parts[] = {c, {(unsigned char *)r->c[1], slot}};
    if (way == ONE_CALL || way == ONE_IN_ONE_CALL) {
        type->product(&panel, &(cj_tile_operands){of_a, of_b, c, c});
        return;
    }
    type->read_a(of_a, rows, CHUNKS, a);
    if (way == PARTS) type->read_a(below, 1, CHUNKS, a + CHUNKS * SIDE * length);
    type->read_b(of_b, 1, CHUNKS, b);
    set->multiply(&panel, way == PARTS ? 2 : 1, a, b, parts, parts);
}

static void check_two(operands o[2], unsigned product, const cj_tile_set *set, unsigned way) {
    const unsigned bits = cj__element(products[product].sum)->bits;
    registers      r;
    uint64_t       expected[SIDE * SIDE], back[2][WORDS];
    multiply_two(o, product, set, way, &r);
    for (unsigned tile = 0; tile < (way == ONE_IN_ONE_CALL ? 1 : 2); tile++) {
        expect(&o[tile], product, expected);
        unpack(32, r.c[tile], back);
        for (unsigned i = 0; i < SIDE * SIDE; i++) {
            const uint64_t code = sum_of(back, bits, i / SIDE, i % SIDE);
            if (code != expected[i])
                fail_msg("%s, %s, %s, tile %u, number %u: 0x%llx, not 0x%llx", set->name, ways[way],
                         cj__words[products[product].type].text, tile, i, (unsigned long long)code,
                         (unsigned long long)expected[i]);
        }
    }
}

static void two_tiles_have_the_bits_of_each(void **state) {
    enum { PRODUCTS = CJ_TEST_COUNT(products) };
    uint64_t       random = cj_test_seed() + 2;
    const unsigned rounds = cj_test_few() ? 3 : 30;
    (void)state;
    for (unsigned round = 0; round < rounds * PRODUCTS; round++) {
        const unsigned    product = round % PRODUCTS, way = round / PRODUCTS % 3;
        const cj_element *type = cj__element(products[product].type), *sum = cj__element(products[product].sum);
        operands          o[2];
        if (type->type == CJ_W_F64) continue;  // has no tiles of A and B
        for (unsigned i = 0; i < 2 * CHUNKS; i++) {
            fill(o[i / CHUNKS].a[i % CHUNKS], type, way, &random);
            fill(o[i / CHUNKS].b[i % CHUNKS], type, way, &random);
            fill(o[i / CHUNKS].c[i % CHUNKS], sum, sum->type == CJ_W_S32 ? 0 : way, &random);
        }
        memcpy(o[1].b, o[0].b, sizeof o[0].b);
        for (unsigned at = 0; cj__tile_set_at(at); at++) {
            if (!cj__tile_set_at(at)->runs()) continue;
            for (unsigned i = 0; i < CJ_TEST_COUNT(ways); i++) check_two(o, product, cj__tile_set_at(at), i);
        }
    }
}

static void tiles_give_the_bits_of_the_definition(void **state) {
    uint64_t     random = cj_test_seed(), cases = 0;
    const size_t rounds = cj_test_few() ? ROUNDS / 20 : ROUNDS;
    (void)state;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned product = 0; product < CJ_TEST_COUNT(products); product++) {
            const cj_element *type = cj__element(products[product].type), *sum = cj__element(products[product].sum);
            operands          o;
            uint64_t          expected[SIDE * SIDE], result[SIDE * SIDE];
            for (unsigned i = 0; i < CHUNKS; i++) {
                fill(o.a[i], type, (round + i) % 3, &random);
                fill(o.b[i], type, round / 3 % 3, &random);
                fill(o.c[i], sum, sum->type == CJ_W_S32 ? 0 : round / 9 % 3, &random);
            }
            expect(&o, product, expected);
            for (unsigned at = 0; cj__tile_set_at(at); at++) {
                const cj_tile_set *set = cj__tile_set_at(at);
                if (!set->runs()) continue;
                multiply(&o, product, set, result);
                for (unsigned i = 0; i < SIDE * SIDE; i++, cases++) {
                    if (result[i] == expected[i]) continue;
                    fail_msg("%s, %s to %s, row %u, column %u: 0x%llx, not 0x%llx", set->name,
                             cj__words[type->type].text, cj__words[sum->type].text, i / SIDE, i % SIDE,
                             (unsigned long long)result[i], (unsigned long long)expected[i]);
                }
            }
        }
    }
    print_message("%llu numbers\n", (unsigned long long)cases);
}

// The bits of NaNs of f64 on an H200, which a host's own may differ from: an infinity times 0, and a sum of both infinities, make one
// with a sign; of several NaNs the result is that of B, then of A, then of C, made quiet.
static void nans_of_f64_are_the_chips(void **state) {
    static const uint64_t infinity = 0x7ff0000000000000, one = 0x3ff0000000000000, made = 0xfff8000000000000;
    static const struct {
        uint64_t a, b, c, d;
    } rows[] = {
        {infinity, 0, one, made},
        {0, infinity, one, made},
        {infinity, one, infinity | UINT64_C(1) << 63, made},
        {infinity, 0, 0x7ff8000000000123, 0x7ff8000000000123},
        {infinity, 0, 0x7ff0000000000123, 0x7ff8000000000123},
        {0x7ff8000000000001, one, 0x7ff8000000000003, 0x7ff8000000000001},
        {0x7ff8000000000001, 0xfff0000000000002, 0x7ff8000000000003, 0xfff8000000000002},
    };
    (void)state;
    for (unsigned i = 0; i < CJ_TEST_COUNT(rows); i++) {
        operands o = {0};
        uint64_t expected[SIDE * SIDE], result[SIDE * SIDE];
        o.a[0][0] = rows[i].a;
        o.b[0][0] = rows[i].b;
        o.c[0][0] = rows[i].c;
        expect(&o, 0, expected);
        assert_true(expected[0] == rows[i].d);
        for (unsigned at = 0; cj__tile_set_at(at); at++) {
            const cj_tile_set *set = cj__tile_set_at(at);
            if (!set->runs()) continue;
            multiply(&o, 0, set, result);
            if (result[0] != rows[i].d) fail_msg("%s, row %u: 0x%llx", set->name, i, (unsigned long long)result[0]);
        }
    }
}

// Doubles around every f16 and f32 that the rounding to them could miss: halves, their neighbours, subnormals, overflow.
static double near(uint64_t *random, cj_word type) {
    const uint64_t    number = cj_test_random(random);
    const cj_element *element = cj__element(type);
    double            low, value;
    element->decode(&(uint64_t){number & (type == CJ_W_F16 ? 0xffff : 0xffffffff)}, 1, &low);
    const uint64_t cut = number >> 34, half = UINT64_C(1) << (type == CJ_W_F16 ? 41 : 28);
    uint64_t       bits;
    memcpy(&bits, &low, sizeof bits);
    bits += cut % 7 < 3 ? half + cut % 3 - 1 : cut % 7 < 5 ? cut % 3 - 1 : cut;
    memcpy(&value, &bits, sizeof value);
    return cut % 5 ? value : value * (cut % 2 ? 0x1p-9 : 0x1p-20);
}

// A product of no chunks rounds C, of f64, to D.
static void sums_are_rounded_as_the_definition_rounds(void **state) {
    enum { SUMS = 2 };
    static const cj_word types[SUMS] = {CJ_W_F16, CJ_W_F32};
    uint64_t             random = cj_test_seed() + 1;
    const unsigned       rounds = cj_test_few() ? 500 : 10000;
    (void)state;
    for (unsigned round = 0; round < rounds * SUMS; round++) {
        const cj_word       type = types[round % SUMS];
        const cj_tile_panel panel = {
            .how = CJ_MULTIPLY_SUM, .c = CJ_TILE_SUM_F64, .d = cj__tile_sum(type), .rows = 1, .length = 4};
        double   number[SIDE * SIDE], c[2][WORDS];
        uint64_t expected[SIDE * SIDE], reg[2][WORDS], back[2][WORDS];
        for (unsigned i = 0; i < SIDE * SIDE; i++) c[i % 2][i / 2] = number[i] = near(&random, type);
        cj__element(type)->encode(number, SIDE * SIDE, expected);
        for (unsigned at = 0; cj__tile_set_at(at); at++) {
            const cj_tile_set *set = cj__tile_set_at(at);
            if (!set->runs()) continue;
            set->multiply(&panel, 1, NULL, NULL, &(cj_tile_registers){(unsigned char *)c, slots},
                          &(cj_tile_registers){(unsigned char *)reg, slots});
            unpack(32, reg, back);
            for (unsigned i = 0; i < SIDE * SIDE; i++) {
                const uint64_t code = sum_of(back, type == CJ_W_F16 ? 16 : 32, i / SIDE, i % SIDE);
                if (code != expected[i])
                    fail_msg("%s, %a to %s: 0x%llx, not 0x%llx", set->name, number[i], cj__words[type].text,
                             (unsigned long long)code, (unsigned long long)expected[i]);
            }
        }
    }
}

// ---- a sparse A

// Where the definition puts a unit, of the stored ones of a line of tiles: the lane and bit of its indices, and its place in 64 bits.
static unsigned place_of(const cj_tile_sparse *how, const uint32_t *metadata, unsigned row, unsigned line,
                         unsigned word, unsigned unit, bool *valid) {
    const unsigned chunk = word / 4, lane = line * 4 + how->first + (how->of_bytes ? 2 * chunk + row : chunk);
    const unsigned bit = how->of_bytes ? word % 4 * 8 + unit / 2 * 4 : row * 16 + word % 4 * 4;
    const unsigned indices = metadata[lane] >> bit & 15;
    *valid &= how->valid >> indices & 1;
    return (unit / 2 * 4 + (indices >> unit % 2 * 2 & 3)) * (how->of_bytes ? 8 : 16);
}

static bool expect_spread(const cj_tile_sparse *how, const uint32_t *metadata, uint32_t stored[][WORDS],
                          uint32_t *words) {
    const unsigned width = how->of_bytes ? 8 : 16;
    bool           valid = true;
    for (unsigned i = 0; i < how->rows * how->chunks * WORDS; i++) {
        const unsigned row = i / WORDS % how->rows, chunk = i / WORDS / how->rows, line = i % WORDS / 4;
        const unsigned word = chunk * 4 + i % 4, at = (row * how->chunks * 2 + word / 2) * WORDS + line * 4 + i % 2 * 2;
        uint64_t       dense = 0;
        for (unsigned unit = 0; unit < 32 / width; unit++) {
            const uint64_t bits = stored[i / WORDS][i % WORDS] >> unit * width & ((1u << width) - 1);
            dense |= bits << place_of(how, metadata, row, line, word, unit, &valid);
        }
        memcpy(words + at, &dense, sizeof dense);
    }
    return valid;
}

static void sparse_words_are_spread_as_the_definition_spreads(void **state) {
    enum {
        STORED = 4,
        DISTINCT = 0x7bde,
    };
    uint64_t       random = cj_test_seed() + 2;
    const unsigned rounds = cj_test_few() ? 100 : 2000;
    unsigned       invalid = 0;
    (void)state;
    for (unsigned round = 0; round < rounds; round++) {
        const bool           of_bytes = round % 2;
        const uint16_t       chunks = (uint16_t)(1 + round / 2 % 2), of_row = (uint16_t)(chunks << of_bytes);
        const cj_tile_sparse how = {2, chunks, (uint16_t)(round / 4 % (4 / of_row) * of_row), DISTINCT, of_bytes};
        uint32_t metadata[WORDS], stored[STORED][WORDS], expected[2 * STORED * WORDS], words[2 * STORED * WORDS];
        for (unsigned i = 0; i < WORDS; i++) {
            for (unsigned k = 0; k < STORED; k++) stored[k][i] = (uint32_t)cj_test_random(&random);
            metadata[i] = 0;
            for (unsigned k = 0; k < 8; k++) {
                const uint32_t first = (uint32_t)cj_test_random(&random) >> 20 & 3,
                               more = 1 + (uint32_t)cj_test_random(&random) % 3;
                metadata[i] |= (first | ((first + more) & 3) << 2) << 4 * k;
            }
        }
        if (round % 3 == 0) metadata[cj_test_random(&random) % WORDS] &= ~(15u << cj_test_random(&random) % 8 * 4);
        const uint32_t slot[STORED] = {0, CJ_TILE_BYTES, 2 * CJ_TILE_BYTES, 3 * CJ_TILE_BYTES};
        const bool     valid = expect_spread(&how, metadata, stored, expected);
        invalid += !valid;
        for (unsigned at = 0; cj__tile_set_at(at); at++) {
            const cj_tile_set *set = cj__tile_set_at(at);
            if (!set->runs()) continue;
            assert_int_equal(set->spread(&how, metadata, (cj_tile_registers){(unsigned char *)stored, slot}, words),
                             valid);
            if (memcmp(words, expected, 2u * how.rows * how.chunks * CJ_TILE_BYTES))
                fail_msg("%s: other words, round %u", set->name, round);
        }
    }
    assert_true(invalid && invalid < rounds / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_give_the_bits_of_the_definition),
        cmocka_unit_test(two_tiles_have_the_bits_of_each),
        cmocka_unit_test(nans_of_f64_are_the_chips),
        cmocka_unit_test(sums_are_rounded_as_the_definition_rounds),
        cmocka_unit_test(sparse_words_are_spread_as_the_definition_spreads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
