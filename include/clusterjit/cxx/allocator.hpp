// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp: where the library's memory comes from (clusterjit/allocator.h):
//
//     std::pmr::synchronized_pool_resource host;
//     clusterjit::set_host_memory(host);                 // before any other call of the library
//     clusterjit::set_workspaces(device, pool);          // cj_ptr pool.allocate(bytes, stream), pool.deallocate(…)
#ifndef CLUSTERJIT_CXX_ALLOCATOR_HPP
#define CLUSTERJIT_CXX_ALLOCATOR_HPP

#include <cstring>

#include <clusterjit/cxx/device.hpp>

#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

namespace clusterjit {

#ifdef __cpp_lib_memory_resource
namespace detail {

// A block begins with what its resource wants back; the caller's part follows.
struct block_head {
    std::size_t bytes, alignment;
};

inline void *take_host(void *user, std::size_t bytes, std::size_t alignment) noexcept try {
    const std::size_t head = alignment > sizeof(block_head) ? alignment : sizeof(block_head);
    const block_head  of = {bytes + head, alignment};
    char             *begin = static_cast<char *>(static_cast<std::pmr::memory_resource *>(user)->allocate(of.bytes, alignment));
    std::memcpy(begin + head - sizeof of, &of, sizeof of);
    return begin + head;
} catch (...) { return nullptr; }

inline void give_host(void *user, void *memory) noexcept {
    block_head of;
    std::memcpy(&of, static_cast<char *>(memory) - sizeof of, sizeof of);
    const std::size_t head = of.alignment > sizeof of ? of.alignment : sizeof of;
    static_cast<std::pmr::memory_resource *>(user)->deallocate(static_cast<char *>(memory) - head, of.bytes, of.alignment);
}

}  // namespace detail

// The library's host memory is from this resource, which several threads use at once and which outlives all else of the library.
inline void set_host_memory(std::pmr::memory_resource &resource) {
    cj_allocator allocator{};
    allocator.allocate = detail::take_host;
    allocator.free = detail::give_host;
    allocator.user = &resource;
    call(cj_allocator_set, static_cast<const cj_allocator *>(&allocator));
}
#endif

// Workspaces of kernels that are made from now on are from `pool`, which outlives them: cj_ptr pool.allocate(bytes, stream), a
// multiple of 256, 0 or an exception where there is none; pool.deallocate(memory, bytes, stream), which does not throw.
template <class Pool> void set_workspaces(const device &where, Pool &pool) {
    cj_workspaces from{};
    from.allocate = [](void *user, size_t bytes, cj_stream stream) -> cj_ptr {
        try {
            return static_cast<Pool *>(user)->allocate(bytes, stream);
        } catch (...) { return 0; }
    };
    from.free = [](void *user, cj_ptr memory, size_t bytes, cj_stream stream) {
        static_cast<Pool *>(user)->deallocate(memory, bytes, stream);
    };
    from.user = &pool;
    call(cj_workspaces_set, where.get(), static_cast<const cj_workspaces *>(&from));
}

// … and from the device again.
inline void set_workspaces(const device &where, std::nullptr_t) {
    call(cj_workspaces_set, where.get(), static_cast<const cj_workspaces *>(nullptr));
}

}  // namespace clusterjit

#endif
