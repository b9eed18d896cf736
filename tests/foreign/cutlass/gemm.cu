// SPDX-License-Identifier: Apache-2.0
// A GEMM of CUTLASS's collective builder for sm_90a, D = A B + beta C, in bf16 with f32 accumulators: tensor copies that are
// multicast to a cluster fill the pipeline's stages, wgmma multiplies, the epilogue stores D by TMA. Compile it with
// -DSCHEDULE=KernelTmaWarpSpecializedCooperative -DEPILOGUE=TmaWarpSpecializedCooperative, or with
// KernelTmaWarpSpecializedPingpong and TmaWarpSpecialized. Arguments: M N K SMS BETA SEED; SMS bounds the blocks of the
// persistent kernel, so that each of them computes several tiles.
#include <cutlass/cutlass.h>

#include <cstdio>
#include <cstdlib>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>
#include <random>
#include <vector>

using namespace cute;
using element = cutlass::bfloat16_t;
using row = cutlass::layout::RowMajor;
using column = cutlass::layout::ColumnMajor;
using tile = Shape<_128, _128, _64>;
using cluster = Shape<_2, _1, _1>;

using epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, tile, cluster, cutlass::epilogue::collective::EpilogueTileAuto,
    float, float, element, row, 8, element, row, 8, cutlass::epilogue::EPILOGUE>::CollectiveOp;

using mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, element, row, 8, element, column, 8, float, tile, cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename epilogue::SharedStorage))>,
    cutlass::gemm::SCHEDULE>::CollectiveOp;

using kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, mainloop, epilogue>;
using operation = cutlass::gemm::device::GemmUniversalAdapter<kernel>;

static void need(bool holds, const char *what) {
    if (holds) return;
    std::printf("FAILED: %s\n", what);
    std::exit(1);
}

// An array on the device, with the host's copy.
struct matrix {
    std::vector<element> host;
    element             *device = nullptr;

    matrix(size_t count) : host(count) { need(!cudaMalloc(&device, bytes()), "cudaMalloc"); }
    size_t bytes() const { return host.size() * sizeof(element); }
    void   write() { need(!cudaMemcpy(device, host.data(), bytes(), cudaMemcpyHostToDevice), "a copy to the device"); }
    void   read() { need(!cudaMemcpy(host.data(), device, bytes(), cudaMemcpyDeviceToHost), "a copy from the device"); }
    void   fill(std::mt19937 &random) {
        for (element &each : host) each = element(static_cast<float>(static_cast<int>(random() % 17) - 8) / 8);
        write();
    }
};

struct problem {
    int   m, n, k, sms;
    float beta;
};

static void launch(const problem &of, const matrix &a, const matrix &b, const matrix &c, matrix &d) {
    cutlass::KernelHardwareInfo hardware;
    hardware.sm_count = of.sms;
    using A = typename kernel::StrideA;
    using B = typename kernel::StrideB;
    using C = typename kernel::StrideC;
    typename operation::Arguments arguments{
        cutlass::gemm::GemmUniversalMode::kGemm,
        {of.m, of.n, of.k, 1},
        {a.device, cutlass::make_cute_packed_stride(A{}, {of.m, of.k, 1}), b.device,
         cutlass::make_cute_packed_stride(B{}, {of.n, of.k, 1})},
        {{1.0f, of.beta},
         c.device,
         cutlass::make_cute_packed_stride(C{}, {of.m, of.n, 1}),
         d.device,
         cutlass::make_cute_packed_stride(C{}, {of.m, of.n, 1})},
        hardware};
    operation run;
    matrix  workspace(operation::get_workspace_size(arguments) / sizeof(element) + 1);
    need(operation::can_implement(arguments) == cutlass::Status::kSuccess, "can_implement");
    need(run.initialize(arguments, workspace.device) == cutlass::Status::kSuccess, "initialize");
    need(run.run() == cutlass::Status::kSuccess, "run");
    need(!cudaDeviceSynchronize(), "the kernel");
}

// Sums of these numbers are exact in f32: D must be the sum in f64, rounded once to bf16.
static void judge(const problem &of, const matrix &a, const matrix &b, const matrix &c, const matrix &d) {
    size_t wrong = 0;
    for (int i = 0; i < of.m; i++) {
        for (int j = 0; j < of.n; j++) {
            double sum = of.beta * double(float(c.host[size_t(i) * of.n + j]));
            for (int l = 0; l < of.k; l++) {
                sum += double(float(a.host[size_t(i) * of.k + l])) * double(float(b.host[size_t(j) * of.k + l]));
            }
            const float want = float(element(float(sum))), got = float(d.host[size_t(i) * of.n + j]);
            if (want == got) continue;
            if (!wrong++) std::printf("D[%d][%d] is %g, not %g\n", i, j, double(got), double(want));
        }
    }
    if (wrong) std::printf("%zu of %zu elements are wrong\n", wrong, d.host.size());
    need(!wrong, "the product");
}

int main(int count, char **words) {
    const auto    number = [&](int i, int otherwise) { return count > i ? std::atoi(words[i]) : otherwise; };
    const problem of = {number(1, 256), number(2, 128), number(3, 128), number(4, 132), float(number(5, 0))};
    std::mt19937  random(unsigned(number(6, 1)));
    matrix        a(size_t(of.m) * of.k), b(size_t(of.n) * of.k), c(size_t(of.m) * of.n), d(size_t(of.m) * of.n);
    a.fill(random), b.fill(random), c.fill(random), d.fill(random);
    launch(of, a, b, c, d);
    d.read();
    judge(of, a, b, c, d);
    std::printf("right: %dx%dx%d\n", of.m, of.n, of.k);
}
