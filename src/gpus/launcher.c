// SPDX-License-Identifier: Apache-2.0
// What the launchers of processes say in their environments: torchrun, Open MPI, PMI (MPICH, Intel MPI), Slurm.
#include "system.h"

#include <clusterjit/gpus.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "hash.h"
#include "socket.h"

// Names of variables. Slurm is last: its variables are there, too, where another launcher runs in its allocation.
static const struct launcher {
    const char *name, *rank, *size, *local, *local_size, *job;
} launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_ID"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL, "SLURM_JOB_ID"},
};

enum { RANKS_MOST = 1 << 16, PORT_LEAST = 20000, PORTS = 12000 };

static cj_status read_number(const char *variable, uint32_t most, uint32_t *value, cj_error *error) {
    const char *text = cj__getenv(variable), *end;
    uint64_t    number = 0;
    REFUSE_IF(!text, "the launcher has set no %s", variable);
    end = cj_number_read(text, &number);
    REFUSE_IF(!end || *end || number > most, "%s=%.64s is no number up to %" PRIu32, variable, text, most);
    *value = (uint32_t)number;
    return CJ_OK;
}

static const struct launcher *find(void) {
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (cj__getenv(launchers[i].rank) && cj__getenv(launchers[i].size)) return &launchers[i];
    return NULL;
}

// The port that the launcher gives the ranks; -1 if it gives none. MASTER_PORT is torchrun's own; the next one is ours.
static cj_status read_port(int32_t *port, cj_error *error) {
    const bool is_own = cj__getenv("CLUSTERJIT_PORT");
    uint32_t   said = 0;
    *port = -1;
    if (!is_own && !cj__getenv("MASTER_PORT")) return CJ_OK;
    TRY(is_own ? read_number("CLUSTERJIT_PORT", UINT16_MAX, &said, error) : read_number("MASTER_PORT", UINT16_MAX - 1, &said, error));
    *port = (int32_t)said + !is_own;
    return CJ_OK;
}

// The job's name; else the port, whatever has started the ranks on each node; else their parent.
static uint64_t job_of(const struct launcher *by, int32_t port) {
    char        name[256];
    const char *job = cj__getenv(by->job);
    if (job)
        snprintf(name, sizeof name, "%s %.200s", by->name, job);
    else if (port >= 0)
        snprintf(name, sizeof name, "%s at %" PRId32, by->name, port);
    else
        snprintf(name, sizeof name, "%s child of %ld", by->name, (long)getppid());
    return cj__hash(name, strlen(name));
}

static cj_status find_address(const struct launcher *by, int32_t port, cj_launched *launched, cj_error *error) {
    const char *address = cj__getenv("MASTER_ADDR");
    uint32_t    local_size = launched->size;
    if (by->local_size && cj__getenv(by->local_size)) TRY(read_number(by->local_size, RANKS_MOST, &local_size, error));
    REFUSE_IF(!address && local_size < launched->size,
              "%s has started %" PRIu32 " of %" PRIu32 " processes on this node, and MASTER_ADDR is "
              "not set" CJ_HINT "set MASTER_ADDR to the address of rank 0's node",
              by->name, local_size, launched->size);
    if (port < 0) port = PORT_LEAST + (int32_t)(launched->job % PORTS);
    snprintf(launched->address, sizeof launched->address, "%.255s", address ? address : "127.0.0.1");
    snprintf(launched->port, sizeof launched->port, "%" PRIu16, (uint16_t)port);
    return CJ_OK;
}

cj_status cj__launched(cj_launched *launched, cj_error *error) {
    const struct launcher *by = find();
    int32_t                port;
    *launched = (cj_launched){0};
    REFUSE_IF(!by, "no launcher has started this process: RANK and WORLD_SIZE are not set" CJ_HINT
                   "start the ranks by torchrun, mpirun or srun, or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and "
                   "MASTER_PORT");
    launched->launcher = by->name;
    TRY(read_number(by->size, RANKS_MOST, &launched->size, error));
    TRY(read_number(by->rank, RANKS_MOST, &launched->rank, error));
    REFUSE_IF(launched->rank >= launched->size, "%s=%" PRIu32 " is not below %s=%" PRIu32, by->rank, launched->rank, by->size,
              launched->size);
    launched->local = launched->rank;
    if (cj__getenv(by->local)) TRY(read_number(by->local, RANKS_MOST, &launched->local, error));
    TRY(read_port(&port, error));
    launched->job = job_of(by, port);
    return find_address(by, port, launched, error);
}

cj_status cj_gpus_env(uint32_t *rank, uint32_t *size, uint32_t *local, cj_error *error) {
    cj_launched launched;
    REQUIRE(rank);
    REQUIRE(size);
    REQUIRE(local);
    TRY(cj__launched(&launched, error));
    *rank = launched.rank;
    *size = launched.size;
    *local = launched.local;
    return CJ_OK;
}
