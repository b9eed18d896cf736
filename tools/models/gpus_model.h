// SPDX-License-Identifier: Apache-2.0
// The expected results of the collectives of GPUs: those of a cluster of as many blocks, bit for bit.
#ifndef CJ_MODELS_GPUS_MODEL_H
#define CJ_MODELS_GPUS_MODEL_H

#include "collective_model.h"

// Of the parameters of allreduce, reducescatter, allgather, alltoall or broadcast: x[gpus][gives][count], out[gpus][gets][count].
// A barrier has count 0.
collective_model gpus_model_of(const cj_params *params);

#endif
