// SPDX-License-Identifier: Apache-2.0
// A libnccl whose ranks are threads of one process, on the memory of the fake driver, which is the host's. A call waits until all
// ranks make it, then each rank computes its own result: in the order of ranks, in double.
#include "fake_nccl.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "models/half.h"

enum {
    SENDS = 64,
    I8 = 0,
    U8 = 1,
    I32 = 2,
    U32 = 3,
    F16 = 6,
    F32 = 7,
    BF16 = 9,
    SUM = 0,
    MAX = 2,
    MIN = 3,
    INVALID = 4
};

#define EXPORT __attribute__((visibility("default")))

EXPORT fake_nccl *fake_nccl_reset(void);
EXPORT void      *fake_nccl_comm(int rank, int cuda_device);
EXPORT int        fake_nccl_calls(const char *call);

typedef struct transfer {
    const void *from;
    void       *to;
    size_t      bytes;
    int         peer;
} transfer;

typedef struct comm {
    int         rank, device;
    const void *x;            // of the call that all make
    transfer    send[SENDS];  // of the group
    transfer    recv[SENDS];
    void       *window;       // the memory of its last one; NULL: none
    int         sends, recvs;
} comm;

static fake_nccl       fake;
static comm            comms[FAKE_NCCL_RANKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  turned = PTHREAD_COND_INITIALIZER;
static int             waiting, turns;
static struct {
    char name[32];
    int  count;
} counts[32];

fake_nccl *fake_nccl_reset(void) {
    memset(comms, 0, sizeof comms);
    memset(counts, 0, sizeof counts);
    fake = (fake_nccl){.version = 22809, .ranks = 2};
    waiting = 0;
    return &fake;
}

void *fake_nccl_comm(int rank, int cuda_device) {
    comms[rank] = (comm){.rank = rank, .device = cuda_device};
    return &comms[rank];
}

static int *count_of(const char *call) {
    size_t i = 0;
    while (counts[i].name[0] && strcmp(counts[i].name, call)) i++;
    if (!counts[i].name[0]) snprintf(counts[i].name, sizeof counts[i].name, "%s", call);
    return &counts[i].count;
}

int fake_nccl_calls(const char *call) { return *count_of(call); }

static int enter(const char *call) {
    pthread_mutex_lock(&lock);
    const int times = ++*count_of(call);
    pthread_mutex_unlock(&lock);
    return fake.failing && !strcmp(fake.failing, call) && times >= fake.from ? fake.code : 0;
}

#define ENTER(call)                       \
    do {                                  \
        const int failure_ = enter(call); \
        if (failure_) return failure_;    \
    } while (0)

// All ranks are here.
static void join(void) {
    if (fake.absent) return;
    pthread_mutex_lock(&lock);
    const int turn = turns;
    if (++waiting == fake.ranks) {
        waiting = 0;
        turns++;
        pthread_cond_broadcast(&turned);
    }
    while (turn == turns) pthread_cond_wait(&turned, &lock);
    pthread_mutex_unlock(&lock);
}

// ---- numbers

static size_t size_of(int type) { return type <= U8 ? 1 : type == F16 || type == BF16 ? 2 : 4; }

static double get(const void *from, size_t at, int type) {
    const unsigned char *bytes = (const unsigned char *)from + at * size_of(type);
    uint16_t             half;
    uint32_t             word;
    float                real;
    memcpy(&half, bytes, size_of(type) == 2 ? 2 : 0);
    memcpy(&word, bytes, size_of(type) == 4 ? 4 : 0);
    memcpy(&real, bytes, size_of(type) == 4 ? 4 : 0);
    if (size_of(type) == 2) return half_to(type == F16 ? half_f16 : half_bf16, half);
    return type == F32 ? (double)real : type == I32 ? (double)(int32_t)word : (double)word;
}

static void put(void *to, size_t at, int type, double value) {
    unsigned char *bytes = (unsigned char *)to + at * size_of(type);
    const uint16_t half = size_of(type) == 2 ? half_from(type == F16 ? half_f16 : half_bf16, value) : 0;
    const uint32_t word = type == F32 || size_of(type) == 2 ? 0 : (uint32_t)(int64_t)value;
    const float    real = (float)value;
    memcpy(bytes, size_of(type) == 2 ? (const void *)&half : type == F32 ? (const void *)&real : &word, size_of(type));
}

static void combine(void *out, size_t count, size_t offset, int type, int op) {
    double value[4096];
    for (size_t begin = 0; begin < count; begin += 4096) {
        const size_t some = count - begin < 4096 ? count - begin : 4096;
        for (size_t i = 0; i < some; i++) {
            value[i] = get(comms[0].x, offset + begin + i, type);
            for (int q = 1; q < fake.ranks; q++) {
                const double other = get(comms[q].x, offset + begin + i, type);
                if (op == SUM) value[i] += other;
                if (op == MAX && other > value[i]) value[i] = other;
                if (op == MIN && other < value[i]) value[i] = other;
            }
        }
        for (size_t i = 0; i < some; i++) put(out, begin + i, type, value[i]);
    }
}

// ---- the library

EXPORT int         ncclGetVersion(int *version);
EXPORT const char *ncclGetErrorString(int result);
EXPORT const char *ncclGetLastError(void *c);
EXPORT int         ncclCommGetAsyncError(void *c, int *result);
EXPORT int         ncclCommCount(void *c, int *count);
EXPORT int         ncclCommCuDevice(void *c, int *device);
EXPORT int         ncclCommUserRank(void *c, int *rank);
EXPORT int         ncclAllReduce(const void *x, void *out, size_t count, int type, int op, void *c, void *stream);
EXPORT int         ncclReduceScatter(const void *x, void *out, size_t count, int type, int op, void *c, void *stream);
EXPORT int         ncclAllGather(const void *x, void *out, size_t count, int type, void *c, void *stream);
EXPORT int         ncclBroadcast(const void *x, void *out, size_t count, int type, int root, void *c, void *stream);
EXPORT int         ncclSend(const void *x, size_t count, int type, int peer, void *c, void *stream);
EXPORT int         ncclRecv(void *out, size_t count, int type, int peer, void *c, void *stream);
EXPORT int         ncclCommWindowRegister(void *c, void *memory, size_t bytes, void **window, int flags);
EXPORT int         ncclCommWindowDeregister(void *c, void *window);
EXPORT int         ncclGetPeerDevicePointer(void *window, size_t offset, int peer, void **memory);
EXPORT int         ncclGroupStart(void);
EXPORT int         ncclGroupEnd(void);

int ncclGetVersion(int *version) {
    ENTER("ncclGetVersion");
    *version = fake.version ? fake.version : 22809;
    return 0;
}

const char *ncclGetErrorString(int result) {
    return result == INVALID ? "invalid argument" : "the fake NCCL was told to";
}

const char *ncclGetLastError(void *c) {
    (void)c;
    return "the fake's last words";
}

int ncclCommGetAsyncError(void *c, int *result) {
    (void)c;
    ENTER("ncclCommGetAsyncError");
    *result = fake.async;
    return 0;
}

int ncclCommCount(void *c, int *count) {
    (void)c;
    ENTER("ncclCommCount");
    *count = fake.ranks;
    return 0;
}

int ncclCommCuDevice(void *c, int *device) {
    ENTER("ncclCommCuDevice");
    *device = ((comm *)c)->device;
    return 0;
}

int ncclCommUserRank(void *c, int *rank) {
    ENTER("ncclCommUserRank");
    *rank = ((comm *)c)->rank;
    return 0;
}

// The result is made elsewhere first where it may lie on another rank's x.
static int collect(comm *c, const void *x, void *out, size_t count, size_t offset, int type, int op) {
    static _Thread_local unsigned char made[1 << 20];
    if (count * size_of(type) > sizeof made) return INVALID;
    c->x = x;
    join();
    if (fake.absent) return 0;
    combine(made, count, offset, type, op);
    join();
    memcpy(out, made, count * size_of(type));
    return 0;
}

int ncclAllReduce(const void *x, void *out, size_t count, int type, int op, void *c, void *stream) {
    (void)stream;
    ENTER("ncclAllReduce");
    return collect(c, x, out, count, 0, type, op);
}

int ncclReduceScatter(const void *x, void *out, size_t count, int type, int op, void *c, void *stream) {
    (void)stream;
    ENTER("ncclReduceScatter");
    return collect(c, x, out, count, count * (size_t)((comm *)c)->rank, type, op);
}

int ncclAllGather(const void *x, void *out, size_t count, int type, void *c, void *stream) {
    (void)stream;
    ENTER("ncclAllGather");
    const size_t bytes = count * size_of(type);
    ((comm *)c)->x = x;
    join();
    for (int q = 0; q < fake.ranks && !fake.absent; q++) memcpy((char *)out + (size_t)q * bytes, comms[q].x, bytes);
    join();
    return 0;
}

int ncclBroadcast(const void *x, void *out, size_t count, int type, int root, void *c, void *stream) {
    (void)stream;
    ENTER("ncclBroadcast");
    if (root >= fake.ranks) return INVALID;
    ((comm *)c)->x = x;
    join();
    if (!fake.absent) memmove(out, comms[root].x, count * size_of(type));
    join();
    return 0;
}

// A window is its rank's communicator. All ranks register at the same time, and ask when all have.
int ncclCommWindowRegister(void *c, void *memory, size_t bytes, void **window, int flags) {
    ENTER("ncclCommWindowRegister");
    if (!memory || !bytes || flags != 1 || ((comm *)c)->window) return INVALID;
    ((comm *)c)->window = memory;
    *window = c;
    __atomic_add_fetch(&fake.windows, 1, __ATOMIC_RELAXED);
    join();
    return 0;
}

int ncclCommWindowDeregister(void *c, void *window) {
    ENTER("ncclCommWindowDeregister");
    if (window != c || !((comm *)c)->window) return INVALID;
    ((comm *)c)->window = NULL;
    __atomic_sub_fetch(&fake.windows, 1, __ATOMIC_RELAXED);
    return 0;
}

// As NCCL's, it gives NULL for a peer that loads and stores do not reach.
int ncclGetPeerDevicePointer(void *window, size_t offset, int peer, void **memory) {
    ENTER("ncclGetPeerDevicePointer");
    if (!window || peer >= fake.ranks) return INVALID;
    *memory = fake.far ? NULL : (char *)comms[peer].window + offset;
    return 0;
}

// Outside a group they would wait for each other: the fake refuses that.
static _Thread_local int   depth;
static _Thread_local comm *grouped;

int ncclSend(const void *x, size_t count, int type, int peer, void *c, void *stream) {
    (void)stream;
    ENTER("ncclSend");
    grouped = c;
    if (!depth || grouped->sends == SENDS) return INVALID;
    grouped->send[grouped->sends++] = (transfer){.from = x, .bytes = count * size_of(type), .peer = peer};
    return 0;
}

int ncclRecv(void *out, size_t count, int type, int peer, void *c, void *stream) {
    (void)stream;
    ENTER("ncclRecv");
    grouped = c;
    if (!depth || grouped->recvs == SENDS) return INVALID;
    grouped->recv[grouped->recvs++] = (transfer){.to = out, .bytes = count * size_of(type), .peer = peer};
    return 0;
}

int ncclGroupStart(void) {
    ENTER("ncclGroupStart");
    depth++;
    fake.group++;
    return 0;
}

int ncclGroupEnd(void) {
    depth--;
    fake.group--;
    ENTER("ncclGroupEnd");
    if (!grouped) return 0;
    join();
    for (int i = 0; i < grouped->recvs; i++) {
        const transfer *to = &grouped->recv[i];
        const comm     *peer = &comms[to->peer];
        for (int k = 0; k < peer->sends; k++)
            if (peer->send[k].peer == grouped->rank) memcpy(to->to, peer->send[k].from, to->bytes);
    }
    join();
    grouped->sends = grouped->recvs = 0;
    return 0;
}
