// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp: several devices as one (clusterjit/gpus.h).
//
//     clusterjit::gpus all({device("gpu:0"), device("gpu:1")});
//     const std::vector<cj_ptr> x = all.allocate(bytes);            // x[r] on device r
//     all.run(desc, x, x);                                          // cj_gpus_run
//     all.check();                                                  // after the streams were synchronized
#ifndef CLUSTERJIT_CXX_GPUS_HPP
#define CLUSTERJIT_CXX_GPUS_HPP

#include <clusterjit/cxx/device.hpp>

namespace clusterjit {

class gpus {
  public:
    using pointers = std::vector<cj_ptr>;  // one for each device
    using streams = std::vector<cj_stream>;

    explicit gpus(const std::vector<device> &devices, const cj_gpus_options &options = plain()) : devices_(devices) {
        std::vector<cj_device *> list;
        for (const device &one : devices_) list.push_back(one.get());
        cj_gpus *made = nullptr;
        call(cj_gpus_create, list.data(), static_cast<std::uint32_t>(list.size()), &options, &made);
        gpus_.reset(made, cj_gpus_destroy);
    }

    // One process a GPU, `own`: by the caller's ncclComm_t, by what a launcher's environment says, by an exchange of the caller's.
    static gpus by_nccl(const device &own, void *communicator, const cj_gpus_options &options = plain()) {
        cj_gpus *made = nullptr;
        call(cj_gpus_create_nccl, own.get(), communicator, &options, &made);
        return gpus(own, made);
    }
    static gpus by_env(const device &own, const cj_gpus_options &options = plain()) {
        cj_gpus *made = nullptr;
        call(cj_gpus_create_env, own.get(), &options, &made);
        return gpus(own, made);
    }
    static gpus by_exchange(const device &own, const cj_gpus_exchange &exchange, const cj_gpus_options &options = plain()) {
        cj_gpus *made = nullptr;
        call(cj_gpus_create_rank, own.get(), &exchange, &options, &made);
        return gpus(own, made);
    }

    cj_gpus      *get() const noexcept { return gpus_.get(); }
    std::uint32_t count() const noexcept { return cj_gpus_count(get()); }

    cj_gpus_info about(const cj_gpus_desc &desc) const {
        cj_gpus_info info{};
        call(cj_gpus_about, get(), &desc, &info);
        return info;
    }

    // Memory of each device, which free gives back.
    pointers allocate(std::size_t bytes) const {
        pointers memory(count());
        call(cj_gpus_alloc, get(), bytes, memory.data());
        return memory;
    }
    // With the option multicast: the address at which multimem instructions reach it on all devices.
    cj_ptr multicast(const pointers &memory) const {
        cj_ptr address = 0;
        call(cj_gpus_multicast, get(), list(memory), &address);
        return address;
    }
    // All ranks tell each other where this memory lies; and the end of that.
    void register_memory(const pointers &memory, std::size_t bytes) const { call(cj_gpus_register, get(), list(memory), bytes); }
    void unregister_memory(const pointers &memory) const { call(cj_gpus_unregister, get(), list(memory)); }
    void free(const pointers &memory) const noexcept { cj_gpus_free(get(), memory.data()); }

    void run(const cj_gpus_desc &desc, const pointers &x, const pointers &out, const streams &on = {}) const {
        call(cj_gpus_run, get(), &desc, list(x), list(out), list(on));
    }
    // The parameters of a fused kernel with as many rows as a launch has room for.
    cj_params divide(const cj_params &params) const {
        cj_params piece{};
        call(cj_gpus_divide, get(), &params, &piece);
        return piece;
    }
    void norm(const cj_gpus_norm_desc &desc, const cj_gpus_norm_arrays &arrays, const streams &on = {}) const {
        call(cj_gpus_norm, get(), &desc, &arrays, list(on));
    }
    void crossentropy(const cj_gpus_crossentropy_desc &desc, const cj_gpus_crossentropy_arrays &arrays,
                      const streams &on = {}) const {
        call(cj_gpus_crossentropy, get(), &desc, &arrays, list(on));
    }
    void softmax(const cj_gpus_softmax_desc &desc, const pointers &x, const pointers &y, const streams &on = {}) const {
        call(cj_gpus_softmax, get(), &desc, list(x), list(y), list(on));
    }
    void topk(const cj_topk_desc &desc, const pointers &x, const pointers &values, const pointers &indices, const streams &on = {}) const {
        call(cj_gpus_topk, get(), &desc, list(x), list(values), list(indices), list(on));
    }
    void reduce(const cj_reduce_desc &desc, const pointers &x, const pointers &out, const streams &on = {}) const {
        call(cj_gpus_reduce, get(), &desc, list(x), list(out), list(on));
    }
    void histogram(const cj_histogram_desc &desc, const pointers &x, const pointers &counts, const streams &on = {}) const {
        call(cj_gpus_histogram, get(), &desc, list(x), list(counts), list(on));
    }
    void gemm_reduce_scatter(const cj_gpus_gemm_desc &desc, const pointers &a, const pointers &b, const pointers &out,
                             const streams &on = {}) const {
        call(cj_gpus_gemm_reduce_scatter, get(), &desc, list(a), list(b), list(out), list(on));
    }
    void all_gather_gemm(const cj_gpus_gemm_desc &desc, const pointers &a, const pointers &b, const pointers &out,
                         const streams &on = {}) const {
        call(cj_gpus_all_gather_gemm, get(), &desc, list(a), list(b), list(out), list(on));
    }
    void check() const { call(cj_gpus_check, get()); }

  private:
    gpus(const device &own, cj_gpus *made) : devices_{own}, gpus_(made, cj_gpus_destroy) {}

    static cj_gpus_options plain() {
        cj_gpus_options options{};
        return options;
    }
    template <class T> static const T *list(const std::vector<T> &all) { return all.empty() ? nullptr : all.data(); }

    std::vector<device>      devices_;  // they stay open as long as this does
    std::shared_ptr<cj_gpus> gpus_;
};

}  // namespace clusterjit

#endif
