// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp in one program: a kernel that is written, checked, loaded and launched; a family beside it; an error.
//
//     example_scale [cpu|gpu]
#include <clusterjit/clusterjit.hpp>
#include <cstdio>
#include <vector>

namespace {

constexpr unsigned BLOCK = 128, CLUSTER = 2;

// x[i] *= 2, by clusters of two blocks: a cluster has 2 * BLOCK elements at a time.
std::string write_kernel() {
    clusterjit::builder ptx("sm_90");
    ptx.head("x[i] *= 2");
    const clusterjit::function_writer f = ptx.entry("scale");
    const cj_var                      x = f.param("u64", "x", "float *x [n]"), n = f.param("u32", "n");
    f.block(BLOCK);
    f.cluster(CLUSTER);
    const cj_reg thread = f.mov("u32", "thread", "%tid.x"), rank = cj_cluster_rank(f);
    const cj_reg base = f.let("u64", "base", "ld.param.u64 $1, [$2];", x);
    const cj_reg count = f.let("u32", "count", "ld.param.u32 $1, [$2];", n);
    f.step("every 256th element");
    f.loop_from("u32", "i", f.mad("first", rank, BLOCK, thread), count, CLUSTER * BLOCK, [&](cj_reg i) {
        const cj_reg at = f.mad_wide("at", i, 4, base);
        const cj_reg value = f.let("f32", "value", "ld.global.f32 $1, [$2];", at);
        f.ptx("st.global.f32 [$1], $2;", at, f.mul("twice", value, 2.0f));
    });
    f.ptx("ret;");
    return ptx.finish();
}

double sum_of_doubled(const clusterjit::device &device, const std::vector<float> &x) {
    const std::string               text = write_kernel();
    const clusterjit::module        module = device.load(text);
    const clusterjit::buffer<float> in = device.copy(x), out = device.allocate<float>(1);
    clusterjit::launch_shape        shape;
    shape.grid = {CLUSTER, 1, 1};
    shape.block = {BLOCK, 1, 1};
    module.entry("scale").launch(shape, in, static_cast<unsigned>(x.size()));

    cj_reduce_desc desc{};
    desc.n = x.size();
    const clusterjit::reduce sum(device, desc);
    sum.run(in, out);
    std::printf("%s: %zu findings of check, the sum by clusters of %u\n", device.name(), clusterjit::check(text).size(),
                sum.plan().cluster.x);
    return static_cast<double>(out.read().front());
}

}  // namespace

int main(int argc, char **argv) try {
    const clusterjit::device device(argc > 1 ? argv[1] : "auto");
    const double             sum = sum_of_doubled(device, std::vector<float>(1000, 0.5f));
    std::printf("%.1f\n", sum);
    return sum == 1000.0 ? 0 : 1;
} catch (const clusterjit::error &failed) {
    std::fprintf(stderr, "%s: %s\n", cj_status_name(failed.status()), failed.what());
    return 1;
}
