// SPDX-License-Identifier: Apache-2.0
#include "driver_input.h"

// ---- the input

static const unsigned char *at, *end;

void begin_input(const unsigned char *data, size_t size) { at = data, end = data + size; }
bool has_input(void) { return at < end; }

unsigned byte(void) { return at < end ? *at++ : 0; }
unsigned below(unsigned limit) { return byte() % limit; }

size_t amount(void) {
    static const size_t amounts[] = {4,          0,       1,        64,           256,   100,        4096,
                                     16384,      2 << 20, SIZE_MAX, SIZE_MAX / 2, 65536, 1ull << 40, (2 << 20) + 1,
                                     1ull << 63, 4 << 20};
    return amounts[below(16)];
}

// ---- handles

uint64_t slot[KINDS][SLOTS];
unsigned made[KINDS];

_Alignas(256) unsigned char host[HOST];

void *pointer(uint64_t h) { return (void *)(uintptr_t)h; }

static void end_reserved(uint64_t h) {
    cuMemUnmap(h, PAGE);
    cuMemUnmap(h + PAGE, PAGE);
    cuMemUnmap(h, 2 * PAGE);
    cuMemAddressFree(h, 2 * PAGE);
}

void destroy(enum kind kind, uint64_t h) {
    if (!h) return;
    switch (kind) {
    case CONTEXT: cuCtxDestroy(pointer(h)); break;
    case STREAM: cuStreamDestroy(pointer(h)); break;
    case EVENT: cuEventDestroy(pointer(h)); break;
    case MODULE: cuModuleUnload(pointer(h)); break;
    case LIBRARY: cuLibraryUnload(pointer(h)); break;
    case LINK: cuLinkDestroy(pointer(h)); break;
    case ARRAY: cuArrayDestroy(pointer(h)); break;
    case POOL: cuMemPoolDestroy(pointer(h)); break;
    case PHYSICAL: cuMemRelease(h); break;
    case GRAPH: cuGraphDestroy(pointer(h)); break;
    case NODE: cuGraphDestroyNode(pointer(h)); break;
    case EXEC: cuGraphExecDestroy(pointer(h)); break;
    case USER: cuUserObjectRelease(pointer(h), 1); break;
    case TEXTURE: cuTexObjectDestroy(h); break;
    case SURFACE: cuSurfObjectDestroy(h); break;
    case ADDRESS: cuMemFree(h); break;
    case PINNED: cuMemFreeHost(pointer(h)); break;
    case RESERVED: end_reserved(h); break;
    default: break;
    }
}

void put(enum kind kind, uint64_t h) {
    uint64_t *to = &slot[kind][made[kind]++ % SLOTS];
    if (kind != NODE && kind != FUNCTION && kind != KERNEL) destroy(kind, *to);
    *to = h;
}

void put_pointer(enum kind kind, const void *h) { put(kind, (uintptr_t)h); }

uint64_t pick(enum kind kind) {
    const unsigned choice = byte();
    const unsigned known = made[kind] < 1 ? 1 : made[kind] < SLOTS ? made[kind] : SLOTS;
    if (choice < 216) return slot[kind][choice % known];
    if (choice < 236) return slot[below(KINDS)][choice % SLOTS];
    if (choice < 246) return choice - 236;
    return 0x400000000000u + ((uint64_t)byte() << 28) + ((uint64_t)byte() << 4);
}

void *handle(enum kind kind) { return pointer(pick(kind)); }

CUstream stream(void) {
    static CUstream const defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    const unsigned        choice = byte();
    return choice < 24 ? defaults[choice % 3] : handle(STREAM);
}

CUdeviceptr address(void) {
    return pick(byte() % 8 ? ADDRESS : below(2) ? PINNED : RESERVED) + (below(4) ? 0 : byte());
}
unsigned flags(void) { return below(3) ? below(2) : byte(); }
void    *host_at(void) { return host + below(64) * 4; }
size_t   host_amount(void) { return below(200) * 64; }
CUdevice device(void) { return (int)below(5) % 4 - (below(8) == 7); }

// ---- modules

const char program_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 bias = 5;\n.visible .const .align 4 .b8 table[16];\n"
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p1;\n"
    " ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n]; mov.u32 %r2,%tid.x; setp.ge.u32 %p1,%r2,%r1; @%p1 bra E;\n"
    " mul.wide.u32 %rd2,%r2,4; add.s64 %rd3,%rd1,%rd2; ld.global.u32 %r4,[bias]; add.u32 %r5,%r4,%r2;\n"
    " st.global.u32 [%rd3],%r5;\nE: ret;\n}\n"
    ".visible .entry empty()\n{\n ret;\n}\n"
    ".visible .entry halt(.param .align 8 .b8 s[24])\n{\n trap;\n}\n"
    ".visible .entry pair(.param .u64 p) .reqntid 32 .explicitcluster .reqnctapercluster 2\n{\n"
    " barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n";

const char *const names[NAMES] = {"add", "empty", "halt", "pair", "bias", "table", "none", ""};

const char *name(void) { return names[below(NAMES)]; }

const void *image(void) {
    static const char elf[] = "\177ELF machine code", broken[] = ".version 8.0\n.target sm_90\n.visible .entry x(\n";
    static const char *const images[] = {program_text, program_text, program_text, program_text,
                                         program_text, elf,          broken,       ""};
    return images[below(8)];
}
