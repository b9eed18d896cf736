// SPDX-License-Identifier: Apache-2.0
// clusterjit.hpp, every class of it, on the CPU device.
#include <algorithm>
#include <atomic>
#include <clusterjit/clusterjit.hpp>
#include <cstdio>
#include <cstring>
#include <memory_resource>
#include <numeric>
#include <type_traits>
#include <vector>

using clusterjit::buffer;
using clusterjit::device;
using clusterjit::error;

namespace {

int failures;

void expect(bool holds, const char *what) {
    if (holds) return;
    std::printf("FAIL: %s\n", what);
    failures++;
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__)

// The error that `work` throws; one of status OK where it throws none.
template <class Work> error error_of(Work &&work) {
    try {
        work();
    } catch (const error &thrown) { return thrown; }
    return error(cj_error{});
}

const device &cpu() {
    static const device one("cpu");
    return one;
}

void errors_carry_status_rule_message_and_hint() {
    const error unknown = error_of([] { device("nonsense"); });
    EXPECT(unknown.status() == CJ_INVALID_ARGUMENT);
    EXPECT(std::strstr(unknown.message(), "nonsense") != nullptr);
    cj_reduce_desc desc{};
    const error    empty = error_of([&] { clusterjit::reduce(cpu(), desc); });
    EXPECT(empty.status() == CJ_INVALID_ARGUMENT);
    EXPECT(std::string(empty.what()).find(empty.message()) == 0);
    const error rule = error_of([] { clusterjit::builder("sm_90").entry("e").ptx("st.global.f32 [0], 1;;"); });
    EXPECT(rule.status() == CJ_OK);  // a builder's error waits for finish()
}

void buffers_own_their_memory() {
    static_assert(!std::is_copy_constructible_v<buffer<int>>);
    std::vector<int> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 0);
    buffer<int> a = cpu().copy(numbers), b;
    EXPECT(a.size() == 100 && a.read() == numbers);
    b = std::move(a);
    EXPECT(b.read() == numbers && b.size() == 100);
    int two[2];
    b.read(two, 2, 98);
    EXPECT(two[0] == 98 && two[1] == 99);
    bool thrown = false;
    try {
        b.read(two, 2, 99);
    } catch (const std::out_of_range &) { thrown = true; }
    EXPECT(thrown);
    b.fill(0);
    EXPECT(b.read() == std::vector<int>(100, 0));
    {
        buffer<int> own = cpu().wrap(numbers.data(), numbers.size());
        EXPECT(own.address() == reinterpret_cast<cj_ptr>(numbers.data()));
    }
    EXPECT(numbers[99] == 99);
    EXPECT(error_of([] { cpu().allocate<char>(0); }).status() == CJ_INVALID_ARGUMENT);
}

void memory_keeps_its_device_open() {
    buffer<float> left;
    {
        const device short_lived("cpu");
        left = short_lived.copy(std::vector<float>{1, 2, 3});
    }
    EXPECT(left.read()[2] == 3.0f);
}
void multicast_objects_span_devices() {
    const std::vector<device> members{device("cpu"), device("cpu")};
    buffer<int>               x = members[0].copy(std::vector<int>(4, 1)), y = members[1].copy(std::vector<int>(4, 2));
    clusterjit::multicast     all(members, 16);
    all.bind(0, 0, x.address(), 16);
    all.bind(1, 0, y.address(), 16);
    EXPECT(error_of([&] { all.bind(1, 0, y.address(), 16); }).status() == CJ_INVALID_ARGUMENT);
    const clusterjit::module module = members[0].load(".version 8.1\n.target sm_90\n.address_size 64\n"
                                                      ".visible .entry kernel(.param .u64 x)\n{\n.reg .u64 %x;\n"
                                                      "ld.param.u64 %x, [x];\nmultimem.red.add.u32 [%x], 5;\nret;\n}\n");
    clusterjit::launch_shape shape;
    shape.block = {1, 1, 1};
    module.entry("kernel").launch(shape, all.address());
    EXPECT(x.read()[0] == 6 && y.read()[0] == 7);
    all.unbind(0, 0, 16);
    EXPECT(error_of([&] { module.entry("kernel").launch(shape, all.address()); }).status() == CJ_HAZARD);
}


const char *const CUDA = "__device__ int offset = 5;\n"
                         "template <int N> __global__ void add(int *x) { x[threadIdx.x] += N + offset; }\n"
                         "__global__ void race(int *x) { *x = threadIdx.x; }\n";

void modules_come_from_cuda() {
    int major = 0, minor = 0;
    if (cj_nvrtc_find(&major, &minor, nullptr, 0, nullptr) == CJ_UNSUPPORTED) {
        std::puts("(no NVRTC: CUDA C++ is left out)");
        return;
    }
    const char    *names[] = {"add<7>"};
    cj_cuda_source source{};
    source.text = CUDA;
    source.name = "add.cu";
    source.names = names;
    source.name_count = 1;
    const clusterjit::module   module = cpu().load(source);
    buffer<int>                x = cpu().copy(std::vector<int>(32, 1));
    clusterjit::launch_shape   shape;
    const clusterjit::function add = module.entry("add<7>");
    shape.block = {32, 1, 1};
    add.launch(shape, x);
    EXPECT(x.read() == std::vector<int>(32, 13));
    EXPECT(module.variable("offset").bytes == sizeof(int));
    EXPECT(module.entries().size() == 2);
    EXPECT(add.info().static_shared == 0);
    EXPECT(error_of([&] { add.launch(shape, x, 1); }).status() == CJ_INVALID_ARGUMENT);
    EXPECT(error_of([&] { module.entry("none"); }).status() == CJ_INVALID_ARGUMENT);
    EXPECT(error_of([] { cpu().load_cuda("__global__ void f() { wrong(); }", "f.cu"); }).status() == CJ_COMPILER);

    cj_cpu_options watched{};
    watched.hazards = true;
    const device careful("cpu");
    careful.configure(watched);
    const clusterjit::module again = careful.load_cuda(CUDA, "race.cu");
    buffer<int>              y = careful.copy(std::vector<int>(1));
    EXPECT(error_of([&] { again.entry("race").launch(shape, y); }).status() == CJ_HAZARD);
    EXPECT(careful.hazards().size() == 1 && careful.notes().empty());
    EXPECT(careful.stats().thread_instructions > 0);

    const std::string            ptx = clusterjit::compile(source);
    const clusterjit::source_map map(ptx);
    unsigned                     found = 0;
    for (unsigned at = 1; at < 200; at++) found += map.find(at) != nullptr;
    EXPECT(found > 0);
}

const char *const TEXELS = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 image, .param .u64 canvas) {
    .reg .u32 %x, %at, %t<4>;
    .reg .u64 %image, %canvas;
    ld.param.u64 %image, [image];
    ld.param.u64 %canvas, [canvas];
    mov.u32 %x, %tid.x;
    shl.b32 %at, %x, 2;
    tex.1d.v4.u32.s32 {%t0, %t1, %t2, %t3}, [%image, {%x}];
    sust.b.1d.b32.trap [%canvas, {%at}], {%t0};
    ret;
})";

void textures_and_surfaces_destroy_themselves() {
    const std::vector<std::uint32_t> texels{3, 1, 4, 1};
    const buffer<std::uint32_t>      from = cpu().copy(texels), to = cpu().copy(std::vector<std::uint32_t>(4));
    cj_image                         image{};
    image.address = from, image.format = CJ_TEXEL_U32, image.channels = 1, image.width = 4;
    cj_image canvas = image;
    canvas.address = to;
    cj_sampler sampler{};
    sampler.as_integer = true;
    const clusterjit::module module = cpu().load(TEXELS);
    clusterjit::texture      read(cpu(), image, sampler);
    const auto               moved = std::move(read);
    clusterjit::launch_shape shape;
    shape.block = {4, 1, 1};
    module.entry("copy").launch(shape, moved, clusterjit::surface(cpu(), canvas));
    EXPECT(to.read() == texels);
    image.channels = 3;
    EXPECT(error_of([&] { clusterjit::texture(cpu(), image, sampler); }).status() == CJ_INVALID_ARGUMENT);
    EXPECT(error_of([&] { clusterjit::surface(cpu(), image); }).status() == CJ_INVALID_ARGUMENT);
}

const std::size_t rows = 3, columns = 100;

std::vector<float> numbers() {
    std::vector<float> x(rows * columns);
    for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>((i * 7919) % 101);
    return x;
}

void reductions_and_rows_run() {
    const std::vector<float> x = numbers();
    const buffer<float>      in = cpu().copy(x), out = cpu().allocate<float>(x.size());

    cj_reduce_desc sum{};
    sum.n = x.size();
    clusterjit::reduce::launch(cpu(), sum, in, out);
    EXPECT(out.read()[0] == std::accumulate(x.begin(), x.end(), 0.0f));
    EXPECT(std::strstr(clusterjit::reduce(cpu(), sum).ptx(), ".entry") != nullptr);

    cj_softmax_desc soft{};
    soft.shape.rows = rows;
    soft.shape.columns = columns;
    cj_softmax_arrays arrays{};
    arrays.x = in;
    arrays.y = out;
    clusterjit::softmax(cpu(), soft).run(arrays);
    const std::vector<float> y = out.read();
    EXPECT(std::abs(std::accumulate(y.begin(), y.begin() + columns, 0.0f) - 1) < 1e-5f);

    cj_topk_desc top{};
    top.rows = rows;
    top.columns = columns;
    top.k = 2;
    const buffer<float>         best = cpu().allocate<float>(rows * 2);
    const buffer<std::uint64_t> at = cpu().allocate<std::uint64_t>(rows * 2);
    clusterjit::topk(cpu(), top).run(in, best, at);
    EXPECT(best.read()[0] == *std::max_element(x.begin(), x.begin() + columns));
}

void sorts_run() {
    const std::vector<float> x = numbers();
    const buffer<float>      in = cpu().copy(x);

    cj_sort_desc order{};
    order.rows = 1;
    order.columns = 32;
    const buffer<float>         sorted = cpu().allocate<float>(32);
    const buffer<std::uint64_t> from = cpu().allocate<std::uint64_t>(32);
    clusterjit::sort(cpu(), order).run(in, sorted, from);
    EXPECT(sorted.read()[0] == *std::min_element(x.begin(), x.begin() + 32));

    const buffer<std::int32_t> offsets = cpu().copy(std::vector<std::int32_t>{0, 3, 32});
    order.rows = 2;
    order.offsets = CJ_I32;
    clusterjit::sort(cpu(), order).run_segmented(in, offsets, sorted, from);
    EXPECT(sorted.read()[0] == *std::min_element(x.begin(), x.begin() + 3) && from.read()[3] < 29);

    std::vector<std::uint16_t> numbered(32);
    std::iota(numbered.begin(), numbered.end(), std::uint16_t{0});
    const buffer<std::uint16_t> payload = cpu().copy(numbered), follows = cpu().allocate<std::uint16_t>(32);
    cj_sort_arrays              pairs{};
    pairs.x = in;
    pairs.offsets = offsets;
    pairs.payload = payload;
    pairs.values = sorted;
    pairs.sorted_payload = follows;
    order.payload_bytes = 2;
    order.values_only = true;
    clusterjit::sort(cpu(), order).run_pairs(pairs);
    EXPECT(sorted.read()[0] == x[follows.read()[0]] && sorted.read()[3] == x[follows.read()[3]]);
    clusterjit::sort::launch_pairs(cpu(), order, pairs);
    EXPECT(sorted.read()[31] == x[follows.read()[31]]);
}

void samples_run() {
    const std::vector<float> x = numbers();
    const buffer<float>      in = cpu().copy(x);

    cj_sample_desc draw{};
    draw.columns = columns;
    draw.top_k = true;
    cj_sample_arrays           filters{};
    const buffer<std::int32_t> token = cpu().allocate<std::int32_t>(1);
    filters.logits = in, filters.tokens = token, filters.top_k = 1, filters.temperature = 1;
    const auto greatest = std::max_element(x.begin(), x.begin() + columns) - x.begin();
    clusterjit::sample(cpu(), draw).run(filters);
    EXPECT(token.read()[0] == greatest);
    filters.temperature = 0;
    clusterjit::sample::launch(cpu(), draw, filters);
    EXPECT(token.read()[0] == greatest);
}

void scans_and_histograms_run() {
    const std::vector<float> x = numbers();
    const buffer<float>      in = cpu().copy(x), out = cpu().allocate<float>(x.size());

    cj_scan_desc running{};
    running.rows = 1;
    running.columns = x.size();
    clusterjit::scan(cpu(), running).run(in, out);
    EXPECT(out.read().back() == std::accumulate(x.begin(), x.end(), 0.0f));

    cj_histogram_desc bins{};
    bins.n = x.size();
    bins.bins = 128;
    bins.dtype = CJ_F32;
    bins.upper = 128;
    const buffer<std::uint32_t> counts = cpu().allocate<std::uint32_t>(128);
    const clusterjit::histogram histogram(cpu(), bins);
    histogram.run(in, counts);
    histogram.add(in, counts);
    const std::vector<std::uint32_t> counted = counts.read();
    EXPECT(std::accumulate(counted.begin(), counted.end(), 0u) == 2 * x.size());
}

void any_family_runs_by_its_parameters() {
    const clusterjit::parameters chosen("reduce", {{"n", "1000"}, {"op", "max"}, {"dtype", "f32"}});
    std::vector<float>           x(1000);
    std::iota(x.begin(), x.end(), 0.0f);
    const buffer<float>      in = cpu().copy(x), out = cpu().allocate<float>(1);
    const clusterjit::kernel kernel(cpu(), chosen);
    kernel.launch(nullptr, in, out, std::uint64_t{1000});
    EXPECT(out.read()[0] == 999.0f);
    EXPECT(clusterjit::emit(chosen.plan("sm_90")).find(".target sm_90") != std::string::npos);
    EXPECT(error_of([] { clusterjit::parameters("reduce", {{"m", "1"}}); }).status() == CJ_INVALID_ARGUMENT);
    EXPECT(error_of([] { clusterjit::parameters("reductoin", {}); }).hint()[0] != '\0');
}

void texts_are_checked_and_printed() {
    const std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry e()\n{\n  mov.u33 %r1, 0;\n}\n";
    const std::vector<clusterjit::diagnostic> found = clusterjit::check(text);
    EXPECT(!found.empty() && found[0].line == 6 && found[0].severity == CJ_SEVERITY_ERROR);
    EXPECT(clusterjit::check("", "sm_90").size() >= 1);
    EXPECT(error_of([] { clusterjit::check("", "sm_0"); }).status() == CJ_INVALID_ARGUMENT);
    EXPECT(clusterjit::format(".version 8.0\n.target sm_90\n.address_size 64\n.entry e()\n{ ret; }\n").find("ret;") !=
           std::string::npos);
    const cj_limits   h200 = clusterjit::limits_of("h200");
    cj_contract_query query{};
    query.limits = &h200;
    query.shape.grid = {15, 1, 1};
    query.shape.block = {256, 1, 1};
    query.shape.cluster = {4, 1, 1};
    const std::vector<clusterjit::violation> broken = clusterjit::check_launch(query);
    EXPECT(broken.size() == 1 && broken[0].rule == "cluster-grid-multiple");
}

// Every method of the writer once: out[i] = i < 4 ? 2 i : 100 + i, for 8 threads; then the count of turns of its loops.
std::string write_all_there_is() {
    clusterjit::builder ptx("sm_90");
    ptx.head("every call of the writer");
    const clusterjit::function_writer f = ptx.entry("all");
    const cj_var                      out = f.param("u64", "out", "u32 *out [9]");
    f.block(8);
    const cj_reg base = f.let("u64", "base", "ld.param.u64 $1, [$2];", out);
    const cj_reg i = f.mov("u32", "i", "%tid.x"), result = f.reg("u32", "result");
    f.when_else(
        f.lt("small", i, 4), "large", "chosen", [&] { f.set(result, f.shl("twice", i, 1)); },
        [&] { f.set(result, f.add("shifted", i, 100)); });
    f.ptx("st.global.u32 [$1], $2;", f.mad_wide("at", i, 4, base), result);
    const cj_reg turns = f.mov("u32", "turns", 0);
    f.loop_from("u32", "j", 0, 10, 3, [&](cj_reg) { f.update(turns, "add", 1); });  // 4 turns
    const cj_reg left = f.mov("u32", "left", 5);
    f.do_while("again", [&] {  // 5 turns
        f.update(turns, "add", 1);
        f.update(left, "sub", 1);
        return f.ne("more", left, 0);
    });
    f.loop("next", "left_loop", [&](const cj_body &loop) {  // leaves at 11
        f.update(turns, "add", 1);
        cj_leave(&loop, f.ge("enough", turns, 11));
    });
    f.unless(f.eq("other", i, 1), "skipped", [&] { f.set_if(f.gt("never", i, 100), turns, 0); });
    const cj_reg wide = f.cvt("u64", "wide", turns), narrow = f.cvt("u32", "narrow", wide);
    const cj_reg kept = f.select("u32", "kept", f.le("few", narrow, 11), narrow, 0);
    f.when(f.eq("first", i, 0), "stored", [&] { f.ptx("st.global.u32 [$1 + 32], $2;", base, kept); });
    f.ptx("ret;");
    return ptx.finish();
}

void kernels_are_written_in_lambdas() {
    const std::string           text = write_all_there_is();
    const buffer<std::uint32_t> out = cpu().allocate<std::uint32_t>(9);
    clusterjit::launch_shape    shape;
    shape.block = {8, 1, 1};
    const clusterjit::module module = cpu().load(text);
    module.entry("all").launch(shape, out);
    EXPECT(out.read() == std::vector<std::uint32_t>{0, 2, 4, 6, 104, 105, 106, 107, 11});
    EXPECT(clusterjit::check(text).empty());
}

void a_builders_error_names_the_line_of_the_program() {
    clusterjit::builder               ptx("sm_90");
    const clusterjit::function_writer f = ptx.entry("wrong");
    const int                         here = __LINE__ + 1;
    f.ptx("mov.u32 $1, 1;", f.reg("f32", "x"));
    const error found = error_of([&] { ptx.finish(); });
    EXPECT(found.status() == CJ_INVALID_KERNEL);
    EXPECT(std::string(found.what()).find("test_hpp.cpp:" + std::to_string(here)) != std::string::npos);
}

// Host memory of the whole program's library, counted.
class counting_resource : public std::pmr::memory_resource {
  public:
    std::atomic<long> taken{0}, given{0};

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        taken++;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void *memory, std::size_t bytes, std::size_t alignment) override {
        given++;
        std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    }
    bool do_is_equal(const memory_resource &other) const noexcept override { return this == &other; }
};
counting_resource host_memory;

void host_memory_is_from_a_resource() {
    EXPECT(host_memory.taken == 0);
    clusterjit::set_host_memory(host_memory);
    EXPECT(clusterjit::check(".version 8.0\n.target sm_90\n.address_size 64\n").empty());
    EXPECT(host_memory.taken > 0 && host_memory.given == host_memory.taken);
    EXPECT(error_of([] { clusterjit::set_host_memory(host_memory); }).status() == CJ_INVALID_ARGUMENT);
}

// Pieces of one buffer.
struct pool {
    buffer<char> memory = cpu().allocate<char>(1 << 16);
    std::size_t  used = 0;
    int          out = 0;
    bool         is_empty = false;

    cj_ptr allocate(std::size_t bytes, cj_stream) {
        if (is_empty) throw std::bad_alloc();
        const cj_ptr piece = memory.address() + used;
        used += (bytes + 255) / 256 * 256;
        out++;
        return piece;
    }
    void deallocate(cj_ptr, std::size_t, cj_stream) noexcept { out--; }
};

void workspaces_are_from_a_pool() {
    pool pieces;
    clusterjit::set_workspaces(cpu(), pieces);
    cj_reduce_desc desc{};
    desc.n = 1000;
    desc.cluster = 2;
    desc.grid = 4;
    {
        const clusterjit::reduce     sum(cpu(), desc);
        const std::vector<float>     ones(desc.n, 1);
        const buffer<float>          x = cpu().copy(ones), out = cpu().allocate<float>(2);
        sum.run(x, out);
        EXPECT(out.read()[0] == 1000 && pieces.out == 1 && pieces.used > 0);
        pieces.is_empty = true;
        EXPECT(error_of([&] { clusterjit::reduce(cpu(), desc); }).status() == CJ_OUT_OF_MEMORY);
        clusterjit::set_workspaces(cpu(), nullptr);
        EXPECT(error_of([&] { clusterjit::reduce(cpu(), desc); }).status() == CJ_OK);
    }
    EXPECT(pieces.out == 0);  // where it came from, though the device has another source now
}

// An earlier version's structure has no later fields; C++ sets the size by itself.
void structures_say_their_size() {
    cj_reduce_desc desc{};
    EXPECT(desc.struct_size == sizeof desc);
    desc.n = 10;
    desc.struct_size = 0;
    EXPECT(error_of([&] { clusterjit::reduce(cpu(), desc); }).status() == CJ_INVALID_ARGUMENT);
    static_assert(std::is_trivially_copyable_v<cj_reduce_desc> && std::is_standard_layout_v<cj_reduce_desc>);
}

void rows_are_divided_for_the_mail() {
    const clusterjit::gpus both({device("cpu"), device("cpu")});
    const auto             rows_of = [](const cj_params &of) { return cj_params_get(&of, "rows"); };
    const cj_params        large = *clusterjit::parameters("shardedsoftmax", {{"rows", "300000"}, {"columns", "64"}, {"gpus", "2"}}).get();
    const cj_params        piece = both.divide(large), same = both.divide(piece);
    EXPECT(rows_of(large) == 300000 && rows_of(piece) > 1 && rows_of(piece) < 300000 && rows_of(same) == rows_of(piece));
    EXPECT(cj_params_get(&piece, "mail") == 8 << 20);
    EXPECT(error_of([&] { both.divide(*clusterjit::parameters("softmax", {}).get()); }).status() == CJ_INVALID_ARGUMENT);
}

void several_devices_work_as_one() {
    const clusterjit::gpus            both({device("cpu"), device("cpu")});
    const clusterjit::gpus::pointers  x = both.allocate(1024), y = both.allocate(1024), sum = both.allocate(1024);
    const std::vector<float>          ones(32, 1);
    std::vector<float>                found(32);
    cj_gpus_desc                      all{};
    cj_gpus_norm_desc                 norm{};
    cj_gpus_norm_arrays               arrays{};
    cj_gpus_softmax_desc              softmax{};
    cj_gpus_crossentropy_desc         loss{};
    cj_reduce_desc                    total{};
    cj_histogram_desc                 counts{};
    const auto first = [&](const clusterjit::gpus::pointers &from) {
        clusterjit::call(cj_mem_read, cj_gpus_device(both.get(), 1), found.data(), from[1], 4 * found.size(), nullptr);
        return found[0];
    };
    for (std::uint32_t r = 0; r < both.count(); r++)
        clusterjit::call(cj_mem_write, cj_gpus_device(both.get(), r), x[r], ones.data(), 4 * ones.size(), nullptr);
    all.count = norm.columns = softmax.columns = loss.columns = total.n = counts.n = 32;
    norm.rows = softmax.rows = loss.rows = 1;
    both.run(all, x, y);
    EXPECT(first(y) == 2);
    EXPECT(both.about(all).way == CJ_GPUS_BY_MAIL && both.about(all).reach[1] == CJ_GPUS_REACH_PEER);
    all.memory = CJ_GPUS_MEMORY_REGISTERED;
    EXPECT(error_of([&] { both.run(all, x, y); }).status() == CJ_INVALID_ARGUMENT);
    both.register_memory(x, 1024), both.register_memory(y, 1024);
    both.run(all, x, y);
    EXPECT(first(y) == 2 && both.about(all).way == CJ_GPUS_BY_MEMORY);
    both.unregister_memory(y), both.unregister_memory(x);
    arrays.x = x.data(), arrays.y = y.data(), arrays.sum = sum.data();
    both.norm(norm, arrays);
    EXPECT(first(sum) == 2 && first(y) > 0.999f && first(y) < 1.001f);
    both.softmax(softmax, x, y);
    EXPECT(first(y) == 1.0f / 64);
    EXPECT(error_of([&] { both.crossentropy(loss, cj_gpus_crossentropy_arrays{}); }).status() == CJ_INVALID_ARGUMENT);
    both.reduce(total, x, y);
    EXPECT(first(y) == 64);
    both.histogram(counts, x, y);  // 1 is above the last bin
    EXPECT(first(y) == 0);
    cj_gpus_gemm_desc product{};  // of ones: tf32 is f32 in memory
    product.m = 2, product.n = product.k = 4, product.dtype = CJ_TF32, product.b = CJ_GEMM_COLUMN;
    both.gemm_reduce_scatter(product, x, x, y);
    EXPECT(first(y) == 8);
    both.all_gather_gemm(product, x, x, y);
    EXPECT(first(y) == 4);
    both.check();
    both.free(x), both.free(y), both.free(sum);
}

void ranks_need_others_that_answer() {
    cj_gpus_exchange nobody{};
    nobody.size = 2;
    nobody.all_gather = [](void *, const void *, void *, std::size_t, cj_error *) { return CJ_DRIVER; };
    EXPECT(error_of([&] { clusterjit::gpus::by_exchange(device("cpu"), nobody); }).status() == CJ_INVALID_ARGUMENT);
    EXPECT(error_of([&] { clusterjit::gpus::by_env(device("cpu")); }).status() == CJ_INVALID_ARGUMENT);
    EXPECT(error_of([&] { clusterjit::gpus::by_nccl(device("cpu"), nullptr); }).status() == CJ_INVALID_ARGUMENT);
}

void what_work_throws_comes_out_of_time() {
    EXPECT(cpu().time([] {}) >= 0);
    bool thrown = false;
    try {
        cpu().time([] { throw std::runtime_error("mine"); });
    } catch (const std::runtime_error &mine) { thrown = std::string(mine.what()) == "mine"; }
    EXPECT(thrown);
    const error inner = error_of([] { cpu().time([] { device("nonsense"); }); });
    EXPECT(inner.status() == CJ_INVALID_ARGUMENT);
}

}  // namespace

int main() {
    host_memory_is_from_a_resource();  // before anything else
    workspaces_are_from_a_pool();
    structures_say_their_size();
    errors_carry_status_rule_message_and_hint();
    buffers_own_their_memory();
    memory_keeps_its_device_open();
    modules_come_from_cuda();
    multicast_objects_span_devices();
    textures_and_surfaces_destroy_themselves();
    reductions_and_rows_run();
    sorts_run();
    samples_run();
    scans_and_histograms_run();
    any_family_runs_by_its_parameters();
    texts_are_checked_and_printed();
    kernels_are_written_in_lambdas();
    a_builders_error_names_the_line_of_the_program();
    several_devices_work_as_one();
    rows_are_divided_for_the_mail();
    ranks_need_others_that_answer();
    what_work_throws_comes_out_of_time();
    std::printf("%d failed\n", failures);
    return failures != 0;
}
