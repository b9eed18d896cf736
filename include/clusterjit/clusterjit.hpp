// SPDX-License-Identifier: Apache-2.0
// The C interface for C++17: handles that destroy themselves, and errors as exceptions.
//
//     #include <clusterjit/clusterjit.hpp>
//
//     clusterjit::device        device;                                   // the first GPU with clusters, else the CPU device
//     std::vector<float>        x(1 << 20, 0.5f);
//     clusterjit::buffer<float> in = device.copy(x), out = device.allocate<float>(1);
//     clusterjit::reduce        sum(device, {.n = x.size()});             // C++20; in C++17 set the fields of a cj_reduce_desc
//     sum.run(in, out);
//     float total = out.read().front();
//
// Everything here calls the C functions of the same name; their headers say what they do, and what is thread-safe. C calls
// take the handles, too: `device.get()`, `sum.get()`. The enumerations, descriptions and limits are C's.
//
// Errors: every call that C's would let fail throws clusterjit::error, which carries status, rule, message and hint; running out
// of host memory throws it, too (CJ_OUT_OF_MEMORY). Destructors throw nothing.
#ifndef CLUSTERJIT_CLUSTERJIT_HPP
#define CLUSTERJIT_CLUSTERJIT_HPP

#include <clusterjit/cxx/allocator.hpp>
#include <clusterjit/cxx/builder.hpp>
#include <clusterjit/cxx/check.hpp>
#include <clusterjit/cxx/device.hpp>
#include <clusterjit/cxx/error.hpp>
#include <clusterjit/cxx/gpus.hpp>
#include <clusterjit/cxx/kernels.hpp>

#endif
