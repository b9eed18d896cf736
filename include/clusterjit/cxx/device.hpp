// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp: devices, memory, modules, launches, textures (clusterjit/device.h, nvrtc.h, cpu.h, texture.h).
#ifndef CLUSTERJIT_CXX_DEVICE_HPP
#define CLUSTERJIT_CXX_DEVICE_HPP

#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <clusterjit/cxx/error.hpp>

namespace clusterjit {

template <class T> class buffer;
class module;

// A device that is shared by all copies of this handle and by the memory and modules made from it; it closes with the last.
class device {
  public:
    explicit device(const char *spec = "auto") {  // "auto", "gpu", "gpu:N", "cpu"
        cj_device_options options{};
        options.spec = spec;
        open(options);
    }
    explicit device(const cj_device_options &options) { open(options); }

    cj_device                        *get() const noexcept { return device_.get(); }
    const std::shared_ptr<cj_device> &shared() const noexcept { return device_; }
    const cj_limits                  &limits() const noexcept { return *cj_device_limits(get()); }
    const char                       *kind() const noexcept { return cj_device_kind(get()); }
    const char                       *name() const noexcept { return cj_device_name(get()); }
    const char                       *reason() const noexcept { return cj_device_reason(get()); }

    // Memory for `count` elements, at least one, with undefined contents; with those of a container; over an array of the
    // caller's (the cpu device alone: cj_mem_wrap).
    template <class T> buffer<T> allocate(std::size_t count) const;
    template <class Container>
    auto copy(const Container &from, cj_stream stream = nullptr) const
        -> buffer<std::remove_cv_t<std::remove_reference_t<decltype(*std::data(from))>>>;
    template <class T> buffer<T> wrap(T *host, std::size_t count) const;

    module load(std::string_view ptx) const;
    module load(const cj_cuda_source &source) const;
    module load_cuda(const char *text, const char *file = nullptr) const;

    void synchronize(cj_stream stream = nullptr) const { call(cj_synchronize, get(), stream); }
    void trim() const noexcept { cj_device_trim(get()); }

    // Milliseconds of what `work()` puts on the stream (cj_time).
    template <class Work> double time(Work &&work, cj_stream stream = nullptr) const;

    // The CPU device alone (clusterjit/cpu.h): how it runs, and what the last launch broke or did.
    void                   configure(const cj_cpu_options &options) const { call(cj_cpu_configure, get(), &options); }
    std::vector<cj_hazard> hazards() const { return list(cj_cpu_hazard_at); }
    std::vector<cj_hazard> notes() const { return list(cj_cpu_note_at); }
    cj_cpu_stats           stats() const {
                  cj_cpu_stats counted{};
                  call(cj_cpu_stats_read, static_cast<const cj_device *>(get()), &counted);
                  return counted;
    }

  private:
    void open(const cj_device_options &options) {
        cj_device *opened = nullptr;
        call(cj_device_open, &options, &opened);
        device_.reset(opened, cj_device_close);
    }
    std::vector<cj_hazard> list(const cj_hazard *(*at)(const cj_device *, size_t)) const {
        std::vector<cj_hazard> all;
        for (const cj_hazard *one; (one = at(get(), all.size()));) all.push_back(*one);
        return all;
    }

    std::shared_ptr<cj_device> device_;
};

// Device memory of `size()` elements of T, freed with its handle. It converts to its address, so it goes wherever C takes a
// cj_ptr.
template <class T> class buffer {
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied byte by byte");

  public:
    buffer() = default;  // of no elements, at address 0
    buffer(const device &where, std::size_t count) : device_(where.shared()), size_(count) {
        call(cj_mem_alloc, device_.get(), count * sizeof(T), &address_);
    }
    buffer(const device &where, T *host, std::size_t count) : device_(where.shared()), size_(count) {
        call(cj_mem_wrap, device_.get(), static_cast<void *>(host), count * sizeof(T), &address_);
    }
    buffer(buffer &&other) noexcept { swap(other); }
    buffer &operator=(buffer &&other) noexcept {
        buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~buffer() {
        if (address_) cj_mem_free(device_.get(), address_);
    }
    void swap(buffer &other) noexcept {
        std::swap(device_, other.device_);
        std::swap(address_, other.address_);
        std::swap(size_, other.size_);
    }

                operator cj_ptr() const noexcept { return address_; }
    cj_ptr      address() const noexcept { return address_; }
    std::size_t size() const noexcept { return size_; }

    // Copies, ordered on the stream; each waits for it. `count` elements from element `first` on: std::out_of_range beyond the
    // buffer.
    void write(const T *from, std::size_t count, std::size_t first = 0, cj_stream stream = nullptr) {
        check(first, count);
        if (count)
            call(cj_mem_write, device_.get(), at(first), static_cast<const void *>(from), count * sizeof(T), stream);
    }
    template <class Container> void write(const Container &from, cj_stream stream = nullptr) {
        write(std::data(from), std::size(from), 0, stream);
    }
    void read(T *to, std::size_t count, std::size_t first = 0, cj_stream stream = nullptr) const {
        check(first, count);
        if (count) call(cj_mem_read, device_.get(), static_cast<void *>(to), at(first), count * sizeof(T), stream);
    }
    std::vector<T> read(cj_stream stream = nullptr) const {
        std::vector<T> all(size_);
        read(all.data(), size_, 0, stream);
        return all;
    }
    void fill(std::uint8_t byte, cj_stream stream = nullptr) {
        if (size_) call(cj_mem_fill, device_.get(), address_, byte, size_ * sizeof(T), stream);
    }

  private:
    cj_ptr at(std::size_t first) const noexcept { return address_ + first * sizeof(T); }
    void   check(std::size_t first, std::size_t count) const {
          if (first > size_ || count > size_ - first)
            throw std::out_of_range("elements " + std::to_string(first) + " to " + std::to_string(first + count) +
                                      " of a buffer of " + std::to_string(size_));
    }

    std::shared_ptr<cj_device> device_;
    cj_ptr                     address_ = 0;
    std::size_t                size_ = 0;
};

template <class T> buffer<T> device::allocate(std::size_t count) const { return buffer<T>(*this, count); }

template <class T> buffer<T> device::wrap(T *host, std::size_t count) const { return buffer<T>(*this, host, count); }

template <class Container>
auto device::copy(const Container &from, cj_stream stream) const
    -> buffer<std::remove_cv_t<std::remove_reference_t<decltype(*std::data(from))>>> {
    buffer<std::remove_cv_t<std::remove_reference_t<decltype(*std::data(from))>>> made(*this, std::size(from));
    made.write(from, stream);
    return made;
}

template <class Work> double device::time(Work &&work, cj_stream stream) const {
    struct context {
        std::remove_reference_t<Work> *work;
        std::exception_ptr             thrown;
    } running{&work, nullptr};
    const auto run = [](void *user, cj_error *failure) {
        context &in = *static_cast<context *>(user);
        try {
            (*in.work)();
            return CJ_OK;
        } catch (const error &thrown) { *failure = thrown.c_error(); } catch (...) {
            failure->status = CJ_INVALID_ARGUMENT;
            in.thrown = std::current_exception();
        }
        return failure->status;
    };
    double   milliseconds = 0;
    cj_error failure{};
    if (cj_time(get(), stream, run, &running, &milliseconds, &failure)) {
        if (running.thrown) std::rethrow_exception(running.thrown);
        throw error(failure);
    }
    return milliseconds;
}

// ---- textures and surfaces of the cpu device, which kernels take as a 64-bit argument (clusterjit/texture.h)

template <auto Destroy> class texels {
  public:
    texels(texels &&other) noexcept : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, 0)) {}
    texels &operator=(texels other) noexcept {
        std::swap(device_, other.device_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~texels() { Destroy(device_.get(), handle_); }
    std::uint64_t get() const noexcept { return handle_; }

  protected:
    template <class Create, class... Arguments> texels(const device &where, Create create, Arguments... arguments) : device_(where.shared()) {
        call(create, device_.get(), arguments..., &handle_);
    }

  private:
    std::shared_ptr<cj_device> device_;
    std::uint64_t              handle_ = 0;
};

class texture : public texels<cj_cpu_texture_destroy> {
  public:
    texture(const device &where, const cj_image &image, const cj_sampler &sampler) : texels(where, cj_cpu_texture_create, &image, &sampler) {}
};

class surface : public texels<cj_cpu_surface_destroy> {
  public:
    surface(const device &where, const cj_image &image) : texels(where, cj_cpu_surface_create, &image) {}
};

// A multicast object of CPU devices, mapped for all of them: memory that is bound to it lives until it is unbound.
class multicast {
  public:
    multicast(const std::vector<device> &members, std::uint64_t bytes, cj_ptr address = 0) {
        std::vector<cj_device *> given;
        for (const device &member : members) {
            given.push_back(member.get());
            devices_.push_back(member.shared());
        }
        cj_cpu_multicast *made = nullptr;
        call(cj_cpu_multicast_create, given.data(), static_cast<std::uint32_t>(given.size()), bytes, address, &made);
        made_.reset(made);
        for (std::uint32_t i = 0; i < given.size(); i++) call(cj_cpu_multicast_map, made, i, &address_);
    }
    cj_ptr address() const noexcept { return address_; }
    void   bind(std::uint32_t member, std::uint64_t offset, cj_ptr memory, std::uint64_t bytes) {
          call(cj_cpu_multicast_bind, made_.get(), member, offset, memory, bytes);
    }
    void unbind(std::uint32_t member, std::uint64_t offset, std::uint64_t bytes) {
        call(cj_cpu_multicast_unbind, made_.get(), member, offset, bytes);
    }

  private:
    struct end {
        void operator()(cj_cpu_multicast *made) const noexcept { cj_cpu_multicast_destroy(made); }
    };
    std::vector<std::shared_ptr<cj_device>> devices_;  // closed after the object
    std::unique_ptr<cj_cpu_multicast, end>  made_;
    cj_ptr                                  address_ = 0;
};

// ---- modules and launches

// Where and how a launch runs; zero-initialized but for what is set, as cj_launch_config.
struct launch_shape {
    cj_dim3              grid{1, 1, 1}, block{1, 1, 1}, cluster{0, 0, 0};
    std::uint32_t        dynamic_shared = 0;
    cj_stream            stream = nullptr;
    bool                 nonportable = false;
    cj_launch_attributes attributes{};
};

namespace detail {

// A kernel's argument as it is copied: of a buffer its address, of a texture or a surface its handle.
template <class T> cj_ptr   value_of(const buffer<T> &memory) noexcept { return memory.address(); }
inline std::uint64_t        value_of(const texture &image) noexcept { return image.get(); }
inline std::uint64_t        value_of(const surface &image) noexcept { return image.get(); }
template <class T> const T &value_of(const T &value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>, "arguments of a kernel are copied byte by byte");
    return value;
}

template <class T> void *pointer_to(const T &value) noexcept {
    return const_cast<void *>(static_cast<const void *>(&value));
}

}  // namespace detail

// An entry of a module, which owns it.
class function {
  public:
    function(cj_device *device, cj_function *entry) noexcept : device_(device), entry_(entry) {}

    cj_function  *get() const noexcept { return entry_; }
    cj_entry_info info() const {
        cj_entry_info info{};
        call(cj_function_info, static_cast<const cj_function *>(entry_), &info);
        return info;
    }

    // Launches with these arguments, in the order of the entry's parameters: numbers and structures by value, buffers by their
    // address. Their number and sizes are held against the entry's.
    template <class... Arguments> void launch(const launch_shape &shape, const Arguments &...arguments) const {
        launch_values(shape, detail::value_of(arguments)...);
    }

    cj_cluster_occupancy occupancy(const cj_occupancy_query &query) const {
        cj_cluster_occupancy found{};
        call(cj_function_occupancy, entry_, &query, &found);
        return found;
    }
    std::uint32_t max_cluster(const cj_occupancy_query &query) const {
        std::uint32_t blocks = 0;
        call(cj_function_max_cluster, entry_, &query, &blocks);
        return blocks;
    }

  private:
    template <class... Values> void launch_values(const launch_shape &shape, const Values &...values) const {
        // One element more than there are arguments, so that neither array is empty.
        void *const       pointers[] = {detail::pointer_to(values)..., nullptr};
        const std::size_t bytes[] = {sizeof(Values)..., 0};
        cj_launch_config  config{};
        config.function = entry_;
        config.grid = shape.grid;
        config.block = shape.block;
        config.cluster = shape.cluster;
        config.dynamic_shared = shape.dynamic_shared;
        config.stream = shape.stream;
        config.arguments = pointers;
        config.argument_count = sizeof...(Values);
        config.argument_bytes = bytes;
        config.nonportable = shape.nonportable;
        config.attributes = shape.attributes;
        call(cj_launch, device_, static_cast<const cj_launch_config *>(&config));
    }

    cj_device   *device_;
    cj_function *entry_;
};

// Memory of a module: a variable's address and bytes.
struct global {
    cj_ptr      address;
    std::size_t bytes;
};

class module {
  public:
    module(const device &where, cj_module *loaded) noexcept :device_(where.shared()), module_(loaded) {}

    cj_module *get() const noexcept { return module_.get(); }
    function   entry(const char *name) const {
          cj_function *found = nullptr;
          call(cj_module_function, get(), name, &found);
          return function(device_.get(), found);
    }
    clusterjit::global variable(const char *name) const {
        clusterjit::global found{};
        call(cj_module_global, get(), name, &found.address, &found.bytes);
        return found;
    }
    std::vector<std::string> entries() const {
        std::vector<std::string> names;
        for (const char *name; (name = cj_module_entry(get(), names.size()));) names.emplace_back(name);
        return names;
    }

  private:
    std::shared_ptr<cj_device>          device_;  // closes after the module is unloaded
    handle<cj_module, cj_module_unload> module_;
};

inline module device::load(std::string_view ptx) const {
    cj_module        *loaded = nullptr;
    const std::string text(ptx);  // NUL-terminated
    call(cj_module_from_ptx, get(), text.c_str(), text.size(), &loaded);
    return module(*this, loaded);
}

inline module device::load(const cj_cuda_source &source) const {
    cj_module *loaded = nullptr;
    call(cj_module_from_cuda, get(), &source, &loaded);
    return module(*this, loaded);
}

inline module device::load_cuda(const char *text, const char *file) const {
    cj_cuda_source source{};
    source.text = text;
    source.name = file;
    return load(source);
}

}  // namespace clusterjit

#endif
