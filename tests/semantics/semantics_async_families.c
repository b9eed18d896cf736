// SPDX-License-Identifier: Apache-2.0
#include "semantics_async.h"

const cj_async_family *const cj_async_families[] = {&cj_async_copies,
                                                    &cj_async_bulk,
                                                    &cj_async_reductions,
                                                    &cj_async_stores,
                                                    &cj_async_mbarriers,
                                                    &cj_async_fences,
                                                    NULL};
