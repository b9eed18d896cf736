// SPDX-License-Identifier: Apache-2.0
// An exchange over TCP: all ranks connect to rank 0, which collects what they give and sends all of it to each.
//
//     rank r:  connect, hello  -->  frame  -->               rank 0: reads the frames in the order of ranks
//              <--  frame with what all gave, or with the error that names a rank
//
// Every wait has an end: rank 0 waits for the timeout, the others twice as long, so that they hear which ranks rank 0 missed.
#include "system.h"

#include "socket.h"

#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "allocate.h"
#include "clock.h"
#include "error.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct cj_bootstrap {
    cj_launched launched;
    uint32_t    timeout_ms;
    uint64_t    turn;
    bool        broken;
    uint32_t    count;
    int         listener;
    int         peer[];  // of rank 0: each rank's socket, -1 for itself; of the others: peer[0]
};

typedef struct hello {
    char     magic[8];
    uint64_t job;
    uint32_t rank, size;
} hello;

// Before its bytes; with a status other than 0 before a message.
typedef struct frame {
    uint64_t turn, bytes;
    uint32_t status, reserved;
} frame;

static const char magic[8] = "cjboot1";

enum { STRANGER_MS = 2000, RETRY_MS = 50, PART_MS = 5000, LINGER_MS = 1000, MESSAGE = 512, BACKLOG = 128 };

// ---- bytes with an end of patience

typedef enum outcome { DONE, LATE, GONE } outcome;

static outcome wait_for(int file, short event, uint64_t end) {
    for (;;) {
        const uint64_t now = cj__clock_ms();
        struct pollfd  one = {.fd = file, .events = event};
        const uint64_t left = now < end ? end - now : 0;
        const int      got = poll(&one, 1, left < 1000 ? (int)left : 1000);
        if (got > 0) return DONE;
        if (got < 0 && errno != EINTR) return GONE;
        if (!left) return LATE;
    }
}

static outcome read_all(int file, void *to, size_t bytes, uint64_t end) {
    for (char *at = to; bytes;) {
        const outcome ready = wait_for(file, POLLIN, end);
        if (ready) return ready;
        const ssize_t got = recv(file, at, bytes, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) return GONE;
        at += got;
        bytes -= (size_t)got;
    }
    return DONE;
}

static outcome write_all(int file, const void *from, size_t bytes, uint64_t end) {
    for (const char *at = from; bytes;) {
        const outcome ready = wait_for(file, POLLOUT, end);
        if (ready) return ready;
        const ssize_t put = send(file, at, bytes, MSG_NOSIGNAL);
        if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (put <= 0) return GONE;
        at += put;
        bytes -= (size_t)put;
    }
    return DONE;
}

// ---- errors

static cj_status late(const cj_bootstrap *b, outcome why, uint32_t rank, cj_error *error) {
    if (why == GONE)
        return cj__fail(error, CJ_DRIVER,
                        "rank %" PRIu32 " of %" PRIu32 " has ended" CJ_HINT "see what that rank printed", rank,
                        b->launched.size);
    return cj__fail(error, CJ_DRIVER,
                    "rank %" PRIu32 " of %" PRIu32 " did not come within %" PRIu32 " ms" CJ_HINT
                    "see what that rank does instead; cj_gpus_options.timeout_ms is how long to wait",
                    rank, b->launched.size, b->timeout_ms);
}

// Tells all ranks that came why there is no exchange.
static void spread(cj_bootstrap *b, cj_status status, const cj_error *error) {
    char           message[MESSAGE];
    const uint64_t end = cj__clock_ms() + STRANGER_MS;
    const frame    head = {.turn = b->turn, .bytes = MESSAGE, .status = (uint32_t)status};
    memset(message, 0, sizeof message);
    snprintf(message, sizeof message, "%.500s", error->message);
    for (uint32_t r = 1; r < b->count; r++)
        if (b->peer[r] >= 0 && !write_all(b->peer[r], &head, sizeof head, end))
            write_all(b->peer[r], message, MESSAGE, end);
}

static cj_status heard(int file, const frame *head, uint64_t end, cj_error *error) {
    char message[MESSAGE + 1] = "";
    if (head->bytes == MESSAGE) read_all(file, message, MESSAGE, end);
    return cj__fail(error, (cj_status)head->status, "%s (rank 0 says so)" CJ_HINT "see what that rank printed",
                    message);
}

// ---- rank 0

static cj_status resolve(const cj_launched *launched, struct addrinfo **found, cj_error *error) {
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    const int             code = getaddrinfo(launched->address, launched->port, &wanted, found);
    FAIL_IF(code, CJ_DRIVER,
            "the address of rank 0, %s port %s, is not known: %s" CJ_HINT
            "MASTER_ADDR is a name or an address of rank 0's node",
            launched->address, launched->port, gai_strerror(code));
    return CJ_OK;
}

static cj_status listen_at(cj_bootstrap *b, cj_error *error) {
    struct addrinfo *found, *at;
    const int        yes = 1;
    int              why = 0;
    TRY(resolve(&b->launched, &found, error));
    for (at = found; at && b->listener < 0; at = at->ai_next) {
        const int file = socket(at->ai_family, SOCK_STREAM, 0);
        if (file < 0) continue;
        fcntl(file, F_SETFD, FD_CLOEXEC);
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (bind(file, at->ai_addr, at->ai_addrlen) || listen(file, BACKLOG))
            why = errno, close(file);
        else
            b->listener = file;
    }
    freeaddrinfo(found);
    FAIL_IF(b->listener < 0, CJ_DRIVER,
            "rank 0 cannot listen at %s port %s: %s" CJ_HINT
            "set CLUSTERJIT_PORT to a free port, the same for all ranks",
            b->launched.address, b->launched.port, strerror(why));
    return CJ_OK;
}

// Strangers, which say something else, are let go.
static cj_status welcome(cj_bootstrap *b, int file, uint32_t *missing, cj_error *error) {
    hello         said;
    const outcome got = read_all(file, &said, sizeof said, cj__clock_ms() + STRANGER_MS);
    if (got || memcmp(said.magic, magic, sizeof magic) || said.job != b->launched.job) {
        close(file);
        return CJ_OK;
    }
    const bool fits = said.size == b->launched.size && said.rank && said.rank < b->launched.size &&
                      b->peer[said.rank] < 0;
    if (fits) {
        b->peer[said.rank] = file;
        --*missing;
        return CJ_OK;
    }
    cj_error why = {0};
    if (said.size != b->launched.size)
        cj__fail(&why, CJ_INVALID_ARGUMENT,
                 "rank %" PRIu32 " came with size %" PRIu32 ", rank 0 with %" PRIu32 CJ_HINT
                 "give all ranks the same size",
                 said.rank, said.size, b->launched.size);
    else
        cj__fail(&why, CJ_INVALID_ARGUMENT, "rank %" PRIu32 " came twice" CJ_HINT "give each process a rank of its own",
                 said.rank);
    const frame head = {.bytes = MESSAGE, .status = CJ_INVALID_ARGUMENT};
    write_all(file, &head, sizeof head, cj__clock_ms() + STRANGER_MS);
    write_all(file, why.message, MESSAGE, cj__clock_ms() + STRANGER_MS);
    close(file);
    if (error) *error = why;
    return CJ_INVALID_ARGUMENT;
}

static cj_status gather_ranks(cj_bootstrap *b, cj_error *error) {
    const uint64_t end = cj__clock_ms() + b->timeout_ms;
    uint32_t       missing = b->count - 1;
    TRY(listen_at(b, error));
    while (missing) {
        if (wait_for(b->listener, POLLIN, end)) {
            uint32_t r = 1;
            while (b->peer[r] >= 0) r++;
            return cj__fail(error, CJ_DRIVER,
                            "rank %" PRIu32 " did not come to %s port %s within %" PRIu32 " ms (%" PRIu32 " of %" PRIu32
                            " ranks are missing)" CJ_HINT "see that the launcher starts it, and that it reaches this "
                            "address",
                            r, b->launched.address, b->launched.port, b->timeout_ms, missing, b->launched.size);
        }
        const int file = accept(b->listener, NULL, NULL);
        if (file < 0) continue;
        fcntl(file, F_SETFD, FD_CLOEXEC);
        TRY(welcome(b, file, &missing, error));
    }
    return CJ_OK;
}

// ---- the other ranks

static int try_connect(const struct addrinfo *found) {
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        const int file = socket(at->ai_family, SOCK_STREAM, 0);
        if (file < 0) continue;
        fcntl(file, F_SETFD, FD_CLOEXEC);
        if (!connect(file, at->ai_addr, at->ai_addrlen)) return file;
        close(file);
    }
    return -1;
}

static cj_status connect_to_root(cj_bootstrap *b, cj_error *error) {
    const uint64_t   end = cj__clock_ms() + b->timeout_ms;
    struct addrinfo *found;
    hello            said = {.job = b->launched.job, .rank = b->launched.rank, .size = b->launched.size};
    memcpy(said.magic, magic, sizeof magic);
    TRY(resolve(&b->launched, &found, error));
    while ((b->peer[0] = try_connect(found)) < 0 && cj__clock_ms() < end)
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000}, NULL);
    freeaddrinfo(found);
    const bool came = b->peer[0] >= 0 && !write_all(b->peer[0], &said, sizeof said, end);
    FAIL_IF(!came, CJ_DRIVER,
            "rank 0 did not listen at %s port %s within %" PRIu32 " ms" CJ_HINT
            "see that the launcher starts rank 0, and that this node reaches that address",
            b->launched.address, b->launched.port, b->timeout_ms);
    return CJ_OK;
}

// ---- the exchange

static cj_status collect(cj_bootstrap *b, char *all, size_t bytes, cj_error *error) {
    const uint64_t end = cj__clock_ms() + b->timeout_ms;
    for (uint32_t r = 1; r < b->count; r++) {
        frame   head;
        outcome got = read_all(b->peer[r], &head, sizeof head, end);
        if (got) return late(b, got, r, error);
        REFUSE_IF(head.bytes != bytes || head.turn != b->turn,
                  "rank %" PRIu32 " gives %" PRIu64 " bytes in exchange %" PRIu64
                  ", rank 0 %zu in exchange %" PRIu64 CJ_HINT
                  "all ranks make the same calls, of the same version of clusterjit",
                  r, head.bytes, head.turn, bytes, b->turn);
        got = read_all(b->peer[r], all + r * bytes, bytes, end);
        if (got) return late(b, got, r, error);
    }
    return CJ_OK;
}

static cj_status serve(cj_bootstrap *b, const void *mine, char *all, size_t bytes, cj_error *error) {
    cj_error    why = {0};
    const frame head = {.turn = b->turn, .bytes = b->count * bytes};
    memcpy(all, mine, bytes);
    cj_status status = collect(b, all, bytes, &why);
    for (uint32_t r = 1; r < b->count && !status; r++) {
        const uint64_t end = cj__clock_ms() + b->timeout_ms;
        outcome        sent = write_all(b->peer[r], &head, sizeof head, end);
        if (!sent) sent = write_all(b->peer[r], all, b->count * bytes, end);
        if (sent) status = late(b, sent, r, &why);
    }
    if (!status) return CJ_OK;
    spread(b, status, &why);
    if (error) *error = why;
    return status;
}

static cj_status ask(cj_bootstrap *b, const void *mine, char *all, size_t bytes, cj_error *error) {
    const uint64_t end = cj__clock_ms() + 2 * (uint64_t)b->timeout_ms + STRANGER_MS;
    frame          head = {.turn = b->turn, .bytes = bytes};
    if (!write_all(b->peer[0], &head, sizeof head, end)) write_all(b->peer[0], mine, bytes, end);
    outcome got = read_all(b->peer[0], &head, sizeof head,
                           end);  // rank 0 may have said why it does not listen any more
    if (got) return late(b, got, 0, error);
    if (head.status) return heard(b->peer[0], &head, end, error);
    REFUSE_IF(head.bytes != b->count * bytes,
              "rank 0 gives %" PRIu64 " bytes, and %zu are wanted" CJ_HINT
              "all ranks make the same calls, of the same version of clusterjit",
              head.bytes, b->count * bytes);
    got = read_all(b->peer[0], all, b->count * bytes, end);
    return got ? late(b, got, 0, error) : CJ_OK;
}

cj_status cj__bootstrap_all_gather(void *bootstrap, const void *mine, void *all, size_t bytes, cj_error *error) {
    cj_bootstrap *b = bootstrap;
    FAIL_IF(b->broken, CJ_DRIVER, "an earlier exchange of rank %" PRIu32 " failed", b->launched.rank);
    b->turn++;
    const cj_status status = b->launched.rank ? ask(b, mine, all, bytes, error) : serve(b, mine, all, bytes, error);
    b->broken = status;
    return status;
}

// ---- beginning and end

cj_status cj__bootstrap_open(uint32_t timeout_ms, cj_bootstrap **made, uint32_t *rank, uint32_t *size,
                             cj_error *error) {
    cj_launched launched;
    *made = NULL;
    TRY(cj__launched(&launched, error));
    REFUSE_IF(launched.size < 2,
              "%s has started %" PRIu32 " process, and 2 or more work together" CJ_HINT "start one a GPU",
              launched.launcher, launched.size);
    cj_bootstrap *b = cj__calloc(1, sizeof *b + launched.size * sizeof *b->peer);
    if (!b) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for the sockets of %" PRIu32 " ranks", launched.size);
    b->launched = launched;
    b->timeout_ms = timeout_ms;
    b->count = launched.size;
    b->listener = -1;
    for (uint32_t r = 0; r < launched.size; r++) b->peer[r] = -1;
    cj_error        why = {0};
    const cj_status status = launched.rank ? connect_to_root(b, &why) : gather_ranks(b, &why);
    if (status && !launched.rank) spread(b, status, &why);
    if (status) {
        if (error) *error = why;
        cj__bootstrap_close(b, false);
        return status;
    }
    *rank = launched.rank;
    *size = launched.size;
    *made = b;
    return CJ_OK;
}

// Rank 0 after a failure: a socket that is closed with bytes that nobody has read is reset, and its peer loses the message that says
// why. So it reads what comes until the peers have closed theirs.
static void drain(const cj_bootstrap *b) {
    const uint64_t end = cj__clock_ms() + LINGER_MS;
    char           dropped;
    for (uint32_t r = 1; r < b->count; r++)
        if (b->peer[r] >= 0) shutdown(b->peer[r], SHUT_WR);
    for (uint32_t r = 1; r < b->count; r++)
        while (b->peer[r] >= 0 && !read_all(b->peer[r], &dropped, 1, end)) continue;
}

void cj__bootstrap_close(cj_bootstrap *b, bool together) {
    if (!b) return;
    char *all = together && !b->broken ? cj__calloc(b->count, 1) : NULL;
    if (b->timeout_ms > PART_MS) b->timeout_ms = PART_MS;
    if (all) cj__bootstrap_all_gather(b, "", all, 1, NULL);
    cj__free(all);
    if (!b->launched.rank && (b->broken || !together)) drain(b);
    for (uint32_t r = 0; r < b->count; r++)
        if (b->peer[r] >= 0) close(b->peer[r]);
    if (b->listener >= 0) close(b->listener);
    cj__free(b);
}
