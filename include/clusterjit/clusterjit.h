// SPDX-License-Identifier: Apache-2.0
// clusterjit: PTX kernels for thread block clusters, written, checked, loaded and launched at run time.
#ifndef CLUSTERJIT_CLUSTERJIT_H
#define CLUSTERJIT_CLUSTERJIT_H

#include <clusterjit/allocator.h>
#include <clusterjit/argmax.h>
#include <clusterjit/base.h>
#include <clusterjit/cache.h>
#include <clusterjit/check.h>
#include <clusterjit/cluster.h>
#include <clusterjit/collectives.h>
#include <clusterjit/contract.h>
#include <clusterjit/control.h>
#include <clusterjit/crossentropy.h>
#include <clusterjit/cpu.h>
#include <clusterjit/device.h>
#include <clusterjit/exchange.h>
#include <clusterjit/gemm.h>
#include <clusterjit/gpus.h>
#include <clusterjit/histogram.h>
#include <clusterjit/kernel.h>
#include <clusterjit/log.h>
#include <clusterjit/norm.h>
#include <clusterjit/nvrtc.h>
#include <clusterjit/occupancy.h>
#include <clusterjit/pipeline.h>
#include <clusterjit/ptx.h>
#include <clusterjit/reduce.h>
#include <clusterjit/rows.h>
#include <clusterjit/sample.h>
#include <clusterjit/scan.h>
#include <clusterjit/softmax.h>
#include <clusterjit/sort.h>
#include <clusterjit/stencil.h>
#include <clusterjit/tensormap.h>
#include <clusterjit/texture.h>
#include <clusterjit/topk.h>
#include <clusterjit/tuning.h>
#include <clusterjit/value.h>
#include <clusterjit/warpgroup.h>

#endif
