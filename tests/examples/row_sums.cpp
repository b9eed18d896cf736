// SPDX-License-Identifier: Apache-2.0
// A pipeline and a collective in C++ (clusterjit/pipeline.h, collectives.h through clusterjit.hpp): sums[r] = x[r][0] + x[r][1] + ….
// A cluster of two blocks has a row. In each block one thread of warp 1 copies the block's half of the row, part by part, into four
// stages; warp 0 adds the parts up, and both blocks' sums become one.
//
//     x[r][half]  --bulk copies-->  stage[4]  --loads-->  a lane  --shuffles-->  warp 0  --all-reduce-->  sums[r]
//
//     example_row_sums [cpu|gpu]
#include <clusterjit/clusterjit.hpp>
#include <cstdio>
#include <vector>

namespace {

constexpr unsigned ROWS = 7, CLUSTER = 2, WARP = 32, PARTS = 24, STAGES = 4, PART_BYTES = WARP * sizeof(float);
constexpr unsigned COLUMNS = CLUSTER * PARTS * WARP;

// The thread that copies: it waits until warp 0 has released a stage, and fills it again.
void write_producer(const clusterjit::function_writer &f, const cj_pipeline &pipeline, cj_reg stages, cj_reg half) {
    f.step("the producer: a part of the row goes into each stage that is free");
    const cj_reg         from = f.mov("u64", "from", half);
    const cj_pipeline_at at = cj_pipeline_begin(f, &pipeline, CJ_PRODUCER);
    f.loop_from("u32", "part", 0u, PARTS, 1u, [&](cj_reg) {
        const cj_reg full = cj_pipeline_acquire(f, &pipeline, &at, CJ_ARG(PART_BYTES));
        cj_bulk_load(f, cj_always(), f.mad("into", at.stage, PART_BYTES, stages), from, CJ_ARG(PART_BYTES), full);
        f.update(from, "add", PART_BYTES);
        cj_pipeline_next(f, &pipeline, &at);
    });
}

// Warp 0: a lane adds up its element of each part.
cj_reg write_consumer(const clusterjit::function_writer &f, const cj_pipeline &pipeline, cj_reg stages, cj_reg lane) {
    f.step("the consumers: each lane adds its element of each part");
    const cj_reg         sum = f.mov("f32", "sum", 0.0f), own = f.mad("own", lane, 4u, stages);
    const cj_pipeline_at at = cj_pipeline_begin(f, &pipeline, CJ_CONSUMER);
    f.loop_from("u32", "part", 0u, PARTS, 1u, [&](cj_reg) {
        cj_pipeline_wait(f, &pipeline, &at);
        f.update(sum, "add", f.let("f32", "element", "ld.shared.f32 $1, [$2];", f.mad("word", at.stage, PART_BYTES, own)));
        cj_pipeline_release(f, cj_always(), pipeline.empty, at.stage, "the lane has its element");
        cj_pipeline_next(f, &pipeline, &at);
    });
    return sum;
}

std::string write_kernel() {
    clusterjit::builder ptx("sm_90");
    ptx.head("sums[r] = x[r][0] + x[r][1] + ..., by a cluster of two blocks");
    const clusterjit::function_writer f = ptx.entry("row_sums");
    const cj_var                      x = f.param("u64", "x", "const float x[rows][1536]"), sums = f.param("u64", "sums", "float sums[rows]");
    f.block(2 * WARP);
    f.cluster(CLUSTER);

    cj_collectives_desc desc{};
    desc.strategy = CJ_STRATEGY_PUSH, desc.cluster = CLUSTER, desc.threads = WARP, desc.values = true;
    cj_collective total{};
    total.op = CJ_COLLECTIVE_ALLREDUCE, total.type = "f32", total.combine = {CJ_COMBINE_SUM, "f32", {}, nullptr};

    const cj_pipeline    pipeline = cj_pipeline_declare(f, "stage", STAGES);
    const cj_reg         stages = cj_shared_address(f, f.shared("f32", "parts", STAGES * WARP, 128));
    const cj_reg         thread = f.mov("u32", "thread", "%tid.x");
    const cj_collectives c = cj_collectives_open(f, &desc);
    cj_pipeline_init(f, f.eq("first", thread, 0u), &pipeline, CJ_ARG(WARP));
    f.ptx("bar.sync 0; // the stages' mbarriers are ready");
    cj_collectives_ready(f, &c);

    const cj_reg block = f.mov("u32", "block", "%ctaid.x");
    const cj_reg half = f.mad_wide("half", block, PARTS * PART_BYTES, f.let("u64", "base", "ld.param.u64 $1, [$2];", x));
    f.when(f.eq("copies", thread, WARP), "copied", [&] { write_producer(f, pipeline, stages, half); });
    f.when(f.lt("adds", thread, WARP), "added", [&] {
        const cj_reg sum = write_consumer(f, pipeline, stages, thread);
        cj_warp_reduce(f, total.combine, sum, WARP);
        cj_collective_value(f, &c, &total, sum, sum);
        const cj_reg stores = f.eq("stores", f.bit_or("either", thread, cj_cluster_rank(f)), 0u);
        const cj_reg at = f.mad_wide("at", cj_cluster_index(f), 4u, f.let("u64", "out", "ld.param.u64 $1, [$2];", sums));
        f.ptx("@$1 st.global.f32 [$2], $3;", stores, at, sum);
    });
    cj_collectives_close(f, &c);
    f.ptx("ret;");
    return ptx.finish();
}

}  // namespace

int main(int argc, char **argv) try {
    const clusterjit::device device(argc > 1 ? argv[1] : "auto");
    std::vector<float>       numbers(ROWS * COLUMNS), expected(ROWS);
    for (std::size_t i = 0; i < numbers.size(); i++) {
        numbers[i] = static_cast<float>(i * 7919 % 64);  // sums of small integers are exact in any order
        expected[i / COLUMNS] += numbers[i];
    }
    const std::string               text = write_kernel();
    const clusterjit::module        module = device.load(text);
    const clusterjit::buffer<float> x = device.copy(numbers), sums = device.allocate<float>(ROWS);
    clusterjit::launch_shape        shape;
    shape.grid = {ROWS * CLUSTER, 1, 1};
    shape.block = {2 * WARP, 1, 1};
    module.entry("row_sums").launch(shape, x, sums);
    const bool right = sums.read() == expected;
    std::printf("%s: %zu findings of check; %s\n", device.name(), clusterjit::check(text).size(), right ? "right" : "wrong");
    return right ? 0 : 1;
} catch (const clusterjit::error &failed) {
    std::fprintf(stderr, "%s: %s\n", cj_status_name(failed.status()), failed.what());
    return 1;
}
