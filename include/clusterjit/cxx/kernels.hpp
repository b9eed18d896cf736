// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp: the kernel families, each a class over its C calls:
//
//     clusterjit::softmax rows(device, desc);       // cj_softmax_create: plans, generates, checks and loads
//     rows.run(arrays, stream);                     // cj_softmax_run
//     clusterjit::softmax::launch(device, desc, arrays, stream);    // cj_softmax_launch: no handle
//
// Arguments are C's, in C's order: buffers convert to cj_ptr, structures go by reference, the stream comes last and may be left out.
#ifndef CLUSTERJIT_CXX_KERNELS_HPP
#define CLUSTERJIT_CXX_KERNELS_HPP

#include <initializer_list>

#include <clusterjit/cxx/device.hpp>

namespace clusterjit {

namespace detail {

// A parameter of the C call as C++ takes it: a pointer to a structure becomes a reference.
template <class T> struct parameter {
    using type = T;
    static T pass(T value) noexcept { return value; }
};
template <class T> struct parameter<const T *> {
    using type = const T &;
    static const T *pass(const T &value) noexcept { return &value; }
};

}  // namespace detail

// The kernel beneath a handle, or of any family by the names of its parameters, as `ptxgen list` shows them.
inline const cj_plan &plan_of(const cj_kernel *kernel) noexcept { return *cj_kernel_plan(kernel); }

template <class Handle, class Desc, auto Create, auto Destroy, auto Run, auto Launch, auto Kernel, class... Arguments>
class family {
  public:
    using desc_type = Desc;

    family(const device &where, const Desc &desc) : device_(where.shared()) {
        Handle *made = nullptr;
        call(Create, device_.get(), &desc, &made);
        handle_.reset(made);
    }

    Handle          *get() const noexcept { return handle_.get(); }
    const cj_kernel *kernel() const noexcept { return Kernel(get()); }
    const cj_plan   &plan() const noexcept { return plan_of(kernel()); }
    const char      *ptx() const noexcept { return cj_kernel_ptx(kernel()); }

    void run(typename detail::parameter<Arguments>::type... arguments, cj_stream stream = nullptr) const {
        call(Run, get(), detail::parameter<Arguments>::pass(arguments)..., stream);
    }

    static void launch(const device &where, const Desc &desc, typename detail::parameter<Arguments>::type... arguments,
                       cj_stream stream = nullptr) {
        call(Launch, where.get(), &desc, detail::parameter<Arguments>::pass(arguments)..., stream);
    }

  private:
    std::shared_ptr<cj_device> device_;
    handle<Handle, Destroy>    handle_;
};

#define CJ__FAMILY(name, ...)                                                                                         \
    family<cj_##name, cj_##name##_desc, cj_##name##_create, cj_##name##_destroy, cj_##name##_run, cj_##name##_launch, \
           cj_##name##_kernel, __VA_ARGS__>

using reduce = CJ__FAMILY(reduce, cj_ptr, cj_ptr);               // x, out
using stencil = CJ__FAMILY(stencil, cj_ptr, cj_ptr);             // in, out
using softmax = CJ__FAMILY(softmax, const cj_softmax_arrays *);  // and logsoftmax
using norm = CJ__FAMILY(norm, const cj_norm_arrays *);           // rmsnorm, layernorm
using crossentropy = CJ__FAMILY(crossentropy, const cj_crossentropy_arrays *);
using topk = CJ__FAMILY(topk, cj_ptr, cj_ptr, cj_ptr);  // x, values, indices
using argmax = CJ__FAMILY(argmax, cj_ptr, cj_ptr);      // x, out
using sample = CJ__FAMILY(sample, const cj_sample_arrays *);
using exchange = CJ__FAMILY(exchange, cj_ptr, cj_ptr);  // x, out
using gemm = CJ__FAMILY(gemm, const cj_gemm_operands *);

// x, counts; add() adds to the counts that are there.
class histogram : public CJ__FAMILY(histogram, cj_ptr, cj_ptr) {
  public:
    using family::family;
    void add(cj_ptr x, cj_ptr counts, cj_stream stream = nullptr) const {
        call(cj_histogram_add, get(), x, counts, stream);
    }
};

// x, out; with segments: x, heads, out.
class scan : public CJ__FAMILY(scan, cj_ptr, cj_ptr) {
  public:
    using family::family;
    void run_segmented(cj_ptr x, cj_ptr heads, cj_ptr out, cj_stream stream = nullptr) const {
        call(cj_scan_run_segmented, get(), x, heads, out, stream);
    }
    static void launch_segmented(const device &where, const cj_scan_desc &desc, cj_ptr x, cj_ptr heads, cj_ptr out,
                                 cj_stream stream = nullptr) {
        call(cj_scan_launch_segmented, where.get(), &desc, x, heads, out, stream);
    }
};
// x, values, indices; with a payload: a cj_sort_arrays.
class sort : public CJ__FAMILY(sort, cj_ptr, cj_ptr, cj_ptr) {
  public:
    using family::family;
    void run_segmented(cj_ptr x, cj_ptr offsets, cj_ptr values, cj_ptr indices, cj_stream stream = nullptr) const {
        call(cj_sort_run_segmented, get(), x, offsets, values, indices, stream);
    }
    static void launch_segmented(const device &where, const cj_sort_desc &desc, cj_ptr x, cj_ptr offsets, cj_ptr values, cj_ptr indices,
                                 cj_stream stream = nullptr) {
        call(cj_sort_launch_segmented, where.get(), &desc, x, offsets, values, indices, stream);
    }
    void run_pairs(detail::parameter<const cj_sort_arrays *>::type arrays, cj_stream stream = nullptr) const {
        call(cj_sort_run_pairs, get(), detail::parameter<const cj_sort_arrays *>::pass(arrays), stream);
    }
    static void launch_pairs(const device &where, const cj_sort_desc &desc,
                             detail::parameter<const cj_sort_arrays *>::type arrays, cj_stream stream = nullptr) {
        call(cj_sort_launch_pairs, where.get(), &desc, detail::parameter<const cj_sort_arrays *>::pass(arrays), stream);
    }
};
#undef CJ__FAMILY

// Any family by its name, and parameters as words: kernel(device, "reduce", {{"n", "2^20"}, {"op", "max"}}).
class parameters {
  public:
    parameters(const char *family, std::initializer_list<std::pair<const char *, const char *>> values) {
        const cj_family *found = nullptr;
        call(cj_family_find, family, &found);
        cj_params_init(&params_, found);
        for (const auto &[name, text] : values) set(name, text);
    }
    parameters &set(const char *name, const char *text) {
        call(cj_params_set, &params_, name, text);
        return *this;
    }
    parameters &set(const char *name, const cj_user_function *function) {
        call(cj_params_set_function, &params_, name, function);
        return *this;
    }
    const cj_params *get() const noexcept { return &params_; }

    // The plan for a device's limits, or a target's ("sm_90a"), without a device; and its PTX.
    cj_plan plan(const cj_limits &limits, const char *arch = nullptr) const {
        cj_plan made{};
        call(cj_plan_make, get(), &limits, arch, &made);
        return made;
    }
    cj_plan plan(const char *arch) const {
        const cj_limits *limits = nullptr;
        call(cj_limits_builtin, arch, &limits);
        return plan(*limits, arch);
    }

  private:
    cj_params params_{};
};

inline std::string emit(const cj_plan &plan) {
    char  *text = nullptr;
    size_t length = 0;
    call(cj_plan_emit, &plan, &text, &length);
    return take_text(text, length);
}

class kernel {
  public:
    kernel(const device &where, const parameters &chosen) : device_(where.shared()) {
        cj_kernel *made = nullptr;
        call(cj_kernel_create, device_.get(), chosen.get(), &made);
        kernel_.reset(made);
    }
    cj_kernel     *get() const noexcept { return kernel_.get(); }
    const cj_plan &plan() const noexcept { return plan_of(get()); }
    const char    *ptx() const noexcept { return cj_kernel_ptx(get()); }

    // With the family's own arguments, in the order of the entry's parameters: buffers and values, as function::launch takes
    // them. The library adds those that the plan derives.
    template <class... Arguments> void launch(cj_stream stream, const Arguments &...arguments) const {
        launch_values(stream, detail::value_of(arguments)...);
    }

  private:
    template <class... Values> void launch_values(cj_stream stream, const Values &...values) const {
        void *const pointers[] = {detail::pointer_to(values)..., nullptr};
        call(cj_kernel_launch, get(), stream, static_cast<void *const *>(pointers),
             static_cast<std::uint32_t>(sizeof...(Values)));
    }

    std::shared_ptr<cj_device>           device_;
    handle<cj_kernel, cj_kernel_destroy> kernel_;
};

}  // namespace clusterjit

#endif
