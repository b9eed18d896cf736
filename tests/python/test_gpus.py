# SPDX-License-Identifier: Apache-2.0
"""Several GPUs: collectives of CPU devices in one process against NumPy, and the exchange of a process group, which is a fake."""
import threading

import numpy
import pytest

import clusterjit
from clusterjit import gpus
from clusterjit._library import ffi, lib

RANKS = 3


class FakeGroup:
    """torch.distributed's calls, for ranks that are threads."""

    def __init__(self, size):
        self.size, self.parts, self.here = size, [None] * size, threading.local()
        self.barrier = threading.Barrier(size)

    def get_rank(self, group):
        return self.here.rank

    def get_world_size(self, group):
        return self.size

    def all_gather_object(self, parts, mine, group):
        self.parts[self.here.rank] = mine
        self.barrier.wait(10)
        parts[:] = self.parts
        self.barrier.wait(10)


@pytest.fixture
def three():
    with gpus.Gpus.of(["cpu"] * RANKS) as found:
        yield found


def draw(rng, *shape):
    return [rng.standard_normal(shape).astype(numpy.float32) for _ in range(RANKS)]


def test_collectives_are_numpys(three, rng):
    x = draw(rng, RANKS, 5)
    total = numpy.sum(x, axis=0, dtype=numpy.float64)
    for rank, found in enumerate(three.all_reduce(x)):
        numpy.testing.assert_allclose(found, total, rtol=1e-5, atol=1e-5)
        numpy.testing.assert_array_equal(three.all_reduce(x, "max")[rank], numpy.max(x, axis=0))
        numpy.testing.assert_allclose(three.reduce_scatter(x)[rank], total[rank], rtol=1e-5, atol=1e-5)
        numpy.testing.assert_array_equal(three.all_gather(x)[rank], numpy.stack(x))
        numpy.testing.assert_array_equal(three.all_to_all(x)[rank], numpy.stack([of[rank] for of in x]))
        numpy.testing.assert_array_equal(three.broadcast(x, 2)[rank], x[2])
    three.check()
    assert three.info == gpus.Info(0, RANKS, ("own", "peer", "peer"), "", RANKS, 0, 8 << 20)


def test_the_way_of_a_collective_is_told(rng):
    long, short = draw(rng, RANKS, 400), draw(rng, RANKS, 4)
    with gpus.Gpus.of(["cpu"] * RANKS, mail_bytes=2048) as small:
        info = small.info
        assert (info.mail_bytes, info.way, info.launches, info.why) == (2048, "", 0, "")
        for name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"):
            found = small.about(name, short)
            assert found[:7] == info[:7] and (found.way, found.launches) == ("mail", 1) and found.why, name
        found = small.about("all_reduce", long, "max", ordered=True)
        assert found.way == "pieces" and found.launches > 1
        found = small.about("all_reduce", long, registered=True)
        assert (found.way, found.launches) == ("memory", 1)
        with pytest.raises(clusterjit.InvalidArgument, match="root: 3"):
            small.about("broadcast", short, root=3)
        with pytest.raises(clusterjit.InvalidArgument, match="function: 'gather' is none of all_reduce, "):
            small.about("gather", short)
    with pytest.raises(clusterjit.Closed):
        small.about("all_reduce", short)


def test_fused_calls_in_several_launches_give_the_bits_of_one(three, rng):
    x, residual = draw(rng, 133, 40), [rng.standard_normal((133, 40)).astype(numpy.float32)] * RANKS
    label = [rng.integers(0, 40 * RANKS, 133)] * RANKS
    with gpus.Gpus.of(["cpu"] * RANKS, mail_bytes=4096) as small:  # room for fewer rows of each
        for name, arguments, keywords in (("norm", (x,), {"residual": residual}), ("softmax", (x,), {}), ("topk", (x, 7), {}),
                                          ("cross_entropy", (x, label), {"gradient": True})):
            for mine, wanted in zip(flat(getattr(small, name)(*arguments, **keywords)), flat(getattr(three, name)(*arguments, **keywords))):
                numpy.testing.assert_array_equal(mine, wanted, err_msg=name)
        with pytest.raises(clusterjit.InvalidArgument, match="mail"):
            small.norm(draw(rng, 1, 8192))
        small.check()


def test_a_norm_of_the_sum_is_numpys(three, rng):
    x, residual = draw(rng, 4, 40), [rng.standard_normal((4, 40)).astype(numpy.float32)] * RANKS
    weight = [rng.standard_normal(40).astype(numpy.float32)] * RANKS
    total = numpy.sum(x, axis=0) + residual[0]
    norm = total / numpy.sqrt((total ** 2).mean(-1, keepdims=True) + 1e-5) * weight[0]
    for found in three.norm(x, residual=residual, weight=weight):
        numpy.testing.assert_allclose(found[0], total, rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(found[1], norm, rtol=1e-4, atol=1e-4)
    centred = numpy.sum(x, axis=0) - numpy.sum(x, axis=0).mean(-1, keepdims=True)
    found = three.norm(x, kind="layer", epsilon=0.5)[0][1]
    numpy.testing.assert_allclose(found, centred / numpy.sqrt((centred ** 2).mean(-1, keepdims=True) + 0.5), rtol=1e-4, atol=1e-4)
    with pytest.raises(clusterjit.InvalidArgument, match="weight"):
        three.norm(x, weight=[one[:5] for one in weight])
    with pytest.raises(clusterjit.InvalidArgument, match="kind: 'batch'"):
        three.norm(x, kind="batch")


def test_sharded_rows_are_whole_rows(three, rng):
    x = draw(rng, 2, 3, 50)
    whole = numpy.concatenate(x, -1).astype(numpy.float64)
    label = rng.integers(0, 50 * RANKS, (2, 3))
    lse = numpy.log(numpy.exp(whole).sum(-1))
    softmax = numpy.exp(whole - lse[..., None])
    hit = numpy.eye(50 * RANKS)[label]
    loss = lse - (whole * hit).sum(-1)
    for rank, found in enumerate(three.cross_entropy(x, [label] * RANKS, gradient=True, scale=0.5)):
        own = slice(50 * rank, 50 * rank + 50)
        numpy.testing.assert_allclose(found[0], loss, rtol=1e-4, atol=1e-4)
        numpy.testing.assert_allclose(found[1], lse, rtol=1e-5, atol=1e-5)
        numpy.testing.assert_allclose(found[2], (0.5 * (softmax - hit))[..., own], rtol=1e-4, atol=1e-5)
        numpy.testing.assert_allclose(three.softmax(x)[rank], softmax[..., own], rtol=1e-4, atol=1e-6)
        numpy.testing.assert_allclose(three.softmax(x, log=True)[rank], numpy.log(softmax[..., own]), rtol=1e-4, atol=1e-4)
    with pytest.raises(clusterjit.UnsupportedType, match="label: its dtype is f32"):
        three.cross_entropy(x, [one[..., 0].copy() for one in x])
    three.check()


def test_topk_and_argmax_are_of_all_columns(three, rng):
    x = [rng.integers(0, 40, (3, 60)).astype(numpy.float32) for _ in range(RANKS)]
    whole = numpy.concatenate(x, -1)
    order = numpy.argsort(-whole, -1, kind="stable")
    for rank, (values, indices) in enumerate(three.topk(x, 9)):
        numpy.testing.assert_array_equal(indices, order[:, :9])
        numpy.testing.assert_array_equal(values, numpy.take_along_axis(whole, order[:, :9], -1))
        numpy.testing.assert_array_equal(three.argmax(x)[rank], whole.argmax(-1))
        least = three.topk(x, 5, largest=False, index_dtype="uint32")[rank][1]
        numpy.testing.assert_array_equal(least, numpy.argsort(whole, -1, kind="stable")[:, :5])
    with pytest.raises(clusterjit.InvalidArgument, match="k: 61 is more than the 60 columns"):
        three.topk(x, 61)


def test_data_of_all_ranks_are_reduced_and_counted(three, rng):
    x = [rng.integers(0, 30, 500).astype(numpy.int32) for _ in range(RANKS)]
    three.barrier()
    assert [int(total) for total in three.reduce(x)] == [int(numpy.sum(x))] * RANKS
    assert [int(most) for most in three.reduce(x, "max")] == [29] * RANKS
    for counts in three.histogram([one.astype(numpy.uint32) for one in x], 20):
        numpy.testing.assert_array_equal(counts, numpy.bincount(numpy.concatenate(x), minlength=20)[:20])
    with pytest.raises(clusterjit.InvalidArgument, match="op: 'mean'"):
        three.reduce(x, "mean")


def calls_of(x, a, b, label):
    """Each call that gives results, of arrays of all ranks."""
    return {
        "all_reduce": (x,), "reduce_scatter": (x,), "all_gather": (x,), "all_to_all": (x,), "broadcast": (x,), "norm": (x,),
        "cross_entropy": (a, label), "softmax": (a,), "topk": (a, 2), "argmax": (a,), "reduce": (x,), "histogram": (a, 4),
        "matmul_reduce_scatter": (b, [one.T.copy() for one in b]), "all_gather_matmul": (b, [one.T.copy() for one in b])}


def flat(results):
    return [part for one in results for part in (one if isinstance(one, tuple) else (one,))]


def test_each_call_writes_to_out_on_a_stream(three, rng):
    x, a = draw(rng, RANKS, 8), draw(rng, 6, 8)
    b = [one.astype(numpy.float16) for one in draw(rng, 16 * RANKS, 64)]
    for name, arguments in calls_of(x, a, b, [numpy.arange(6)] * RANKS).items():
        call = getattr(three, name)
        wanted = call(*arguments)
        out = [tuple(map(numpy.zeros_like, one)) if isinstance(one, tuple) else numpy.zeros_like(one) for one in wanted]
        found = call(*arguments, out=out, stream=[0] * RANKS)
        assert all(mine is given for mine, given in zip(flat(found), flat(out))), name
        for mine, theirs in zip(flat(out), flat(wanted)):
            numpy.testing.assert_array_equal(mine, theirs, err_msg=name)
    public = {name for name in vars(gpus.Gpus) if not name.startswith(("_", "from_"))}
    assert public - calls_of(x, a, b, a).keys() == {"of", "info", "about", "register", "unregister", "barrier", "check", "close"}


def test_outs_and_streams_are_refused_by_name(three, rng):
    x = draw(rng, 4, 8)
    for call, message in ((lambda: three.softmax(x, out=x[:2]), "out: 2 arrays are given, and this process has 3 ranks"),
                          (lambda: three.topk(x, 2, out=x), "out: 1 arrays were given; this call writes 2: values, indices"),
                          (lambda: three.norm(x, out=[(one, one[:2]) for one in x]), r"out: its shape is \(2, 8\)"),
                          (lambda: three.softmax(x, out=[one.astype(int) for one in x]), "out: its dtype is i64; the result is f32"),
                          (lambda: three.all_reduce(x, stream=[0]), "stream: 1 streams are given, and this process has 3 ranks"),
                          (lambda: three.reduce(x, stream="default"), "stream: a str is no stream")):
        with pytest.raises(clusterjit.InvalidArgument, match=message):
            call()


def test_registered_arrays_are_written_by_their_peers(three, rng):
    x, out = draw(rng, RANKS, 6000), [numpy.zeros((RANKS, 6000), numpy.float32) for _ in range(RANKS)]
    three.register(x)
    three.register(out)
    total = numpy.sum(x, axis=0, dtype=numpy.float64)
    assert three.all_reduce(x, out=out)[1] is out[1]
    for found in out:
        numpy.testing.assert_allclose(found, total, rtol=1e-5, atol=1e-5)
    three.all_to_all(x, out=out)
    for rank, found in enumerate(out):
        numpy.testing.assert_array_equal(found, numpy.stack([of[rank] for of in x]))
    three.all_gather([one[1] for one in x], out=out)
    numpy.testing.assert_array_equal(out[2], numpy.stack([one[1] for one in x]))
    three.all_reduce(x, out=x)
    numpy.testing.assert_allclose(x[2], total, rtol=1e-5, atol=1e-5)
    with pytest.raises(clusterjit.InvalidArgument, match="is registered already"):
        three.register([one[0] for one in x])
    three.unregister(out)
    with pytest.raises(clusterjit.InvalidArgument, match="is not where registered memory begins"):
        three.unregister(out)
    with pytest.raises(clusterjit.InvalidArgument, match="its shape is"):
        three.all_reduce(x, out=[one[0] for one in out])
    three.all_reduce(x, out=out)
    three.check()


def test_products_are_scattered_and_gathered(three, rng):
    a = [(rng.integers(-8, 9, (12, 16)) / 8).astype(numpy.float16) for _ in range(RANKS)]
    b = [(rng.integers(-8, 9, (16, 24)) / 8).astype(numpy.float16) for _ in range(RANKS)]
    total = sum(one.astype(numpy.float64) @ other.astype(numpy.float64) for one, other in zip(a, b))
    turned = [numpy.ascontiguousarray(one.T).T for one in b]
    for rank in range(RANKS):
        own = slice(4 * rank, 4 * rank + 4)
        numpy.testing.assert_allclose(three.matmul_reduce_scatter(a, b, chunks=2)[rank], total[own], rtol=3e-3, atol=2e-2)
        numpy.testing.assert_allclose(three.matmul_reduce_scatter(a, turned)[rank], total[own], rtol=3e-3, atol=2e-2)
        whole = numpy.concatenate(a).astype(numpy.float64) @ b[rank].astype(numpy.float64)
        numpy.testing.assert_allclose(three.all_gather_matmul(a, b, chunks=3)[rank], whole, rtol=1e-3, atol=1e-2)
    with pytest.raises(clusterjit.InvalidArgument, match="chunks: 3 do not divide"):
        three.matmul_reduce_scatter(a, b, chunks=3)
    with pytest.raises(clusterjit.InvalidArgument, match="and b is"):
        three.matmul_reduce_scatter(a, [one[:8] for one in b])
    with pytest.raises(clusterjit.InvalidArgument, match="its 11 rows are no multiple of the 3 ranks"):
        three.matmul_reduce_scatter([one[:11] for one in a], b)
    with pytest.raises(clusterjit.UnsupportedType, match="it must be f16 or bf16"):
        three.all_gather_matmul([one.astype(numpy.float64) for one in a], [one.astype(numpy.float64) for one in b])
    three.check()


def test_what_does_not_fit_is_refused_by_name(three, rng):
    x = draw(rng, 4)
    with pytest.raises(clusterjit.InvalidArgument, match="2 arrays are given, and this process has 3 ranks"):
        three.all_reduce(x[:2])
    with pytest.raises(clusterjit.InvalidArgument, match="different shapes"):
        three.all_reduce([x[0], x[1], x[2][:3]])
    with pytest.raises(clusterjit.InvalidArgument, match="its first axis must be 3"):
        three.reduce_scatter(x)
    with pytest.raises(clusterjit.InvalidArgument, match="op: 'mean'"):
        three.all_reduce(x, "mean")
    with pytest.raises(clusterjit.InvalidArgument, match="root"):
        three.broadcast(x, 3)
    with pytest.raises(clusterjit.InvalidArgument, match="dtype"):
        three.all_reduce([one.astype(numpy.float64) for one in x])
    three.close()
    with pytest.raises(clusterjit.Closed):
        three.all_reduce(x)


def test_a_norms_arrays_of_other_types_are_refused_by_name(three, rng):
    x = draw(rng, 4, 8)
    for name, shape in (("residual", (4, 8)), ("weight", (8,)), ("bias", (8,))):
        with pytest.raises(clusterjit.UnsupportedType, match=f"^{name}: its dtype is f16; that of x is f32"):
            three.norm(x, **{name: [numpy.ones(shape, numpy.float16)] * RANKS})


def test_numbers_are_refused_with_their_limits(three, rng):
    x, label = draw(rng, 4, 4), [numpy.zeros(4, numpy.int64)] * RANKS
    for call, field, value, limit in (
            (lambda: three.topk(x, 0), "k", "0", "is below 1: there is nothing to choose"),
            (lambda: three.topk(x, -1), "k", "-1", "is outside 0 to 4294967295"),
            (lambda: three.topk(x, 1.5), "k", "1.5", "is no whole number"),
            (lambda: three.histogram(x, 0), "bins", "0", "is below 1"),
            (lambda: three.histogram(x, -1), "bins", "-1", "is below 1"),
            (lambda: three.broadcast(x, -1), "root", "-1", "is outside 0 to 4294967295"),
            (lambda: three.all_reduce(x, ordered=5), "ordered", "5", "is neither True nor False"),
            (lambda: three.all_reduce(x, ordered="no"), "ordered", "no", "is neither True nor False"),
            (lambda: three.all_reduce(x, multicast="no"), "multicast", "no", "is neither True nor False"),
            (lambda: three.topk(x, 1, largest="no"), "largest", "no", "is neither True nor False"),
            (lambda: three.histogram(x, 4, (0, float("inf"))), "range", "(0, inf)", "is not finite: bins have equal widths"),
            (lambda: three.argmax(x, out=[numpy.zeros(3, numpy.int64)] * RANKS), "out", "(3,)", "the result's is (4,)"),
            (lambda: three.argmax(x, out=[1] * RANKS), "out", "int", "is no array"),
            (lambda: three.matmul_reduce_scatter(x, [[1, 2], [3], [4]]), "b", "list", "is no array"),
            (lambda: three.cross_entropy(x, label, ignore=2**40), "ignore", "1099511627776", "is outside -2147483648 to 2147483647"),
            (lambda: three.cross_entropy(x, label, smoothing="a"), "smoothing", "a", "is no number"),
            (lambda: gpus.Gpus.of(["cpu"] * 2, mail_bytes=-1), "mail_bytes", "-1", "is outside 0 to 18446744073709551615"),
            (lambda: three.all_reduce([one[:0] for one in x]), "x", "(0, 4)", "has no elements; at least one is needed"),
            (lambda: three.softmax([one[:, :0].copy() for one in x]), "x", "(4, 0)", "has no elements; at least one is needed")):
        with pytest.raises(clusterjit.InvalidArgument) as caught:
            call()
        assert (caught.value.field, caught.value.value, caught.value.limit) == (field, value, limit)
        assert caught.value.hint or field == "out"
    assert (three.histogram(x, 4, [0, 8])[0] == three.histogram(x, 4, (0, 8))[0]).all()  # as the function of one array takes both
    with pytest.raises(clusterjit.UnsupportedType) as caught:
        three.cross_entropy(x, [one.astype(numpy.int16) for one in label])
    assert caught.value.hint == "convert it: label.astype(numpy.int64), label.to(torch.int64)"


def test_arrays_that_overlap_are_refused_but_in_place(three, rng):
    long = draw(rng, 5, 4)
    first, second = [one[:4] for one in long], [one[1:] for one in long]
    for call, message in ((lambda: three.all_reduce(first, out=second), "x: 64 bytes of rank 0 at .* overlap out of rank 0"),
                          (lambda: three.softmax(first, out=second), "x: 64 bytes of rank 0 at .* overlap y of rank 0"),
                          (lambda: three.softmax(first, out=[first[0]] * RANKS), "x: .* of rank 0 at .* overlap y of rank 1"),
                          (lambda: three.norm(first, out=[(one, one) for one in first]), "sum: .* of rank 0 at .* overlap y of rank 0"),
                          (lambda: three.all_reduce(first, out=[long[0][:4]] * RANKS), "out: .* of rank 0 .* and of rank 1 .* overlap")):
        with pytest.raises(clusterjit.InvalidArgument, match=message) as caught:
            call()
        assert "cj_" not in caught.value.hint
    softmax = three.softmax(first)
    three.softmax(first, out=first)
    numpy.testing.assert_array_equal(first, softmax)
    parts = draw(rng, RANKS, 5)
    wanted = numpy.stack([parts[rank][rank] for rank in range(RANKS)])
    three.all_gather([parts[rank][rank] for rank in range(RANKS)], out=parts)
    numpy.testing.assert_array_equal(parts, [wanted] * RANKS)
    three.reduce_scatter(parts, out=[parts[rank][rank] for rank in range(RANKS)])
    for rank in range(RANKS):
        numpy.testing.assert_allclose(parts[rank][rank], RANKS * wanted[rank], rtol=1e-5)
    three.register([one[1:4] for one in long])
    for rows in (slice(0, 2), slice(3, 5)):  # which begin before it, and end after it
        with pytest.raises(clusterjit.InvalidArgument, match="are wrapped") as caught:
            three.softmax([one[rows] for one in long])
        assert "unregister" in caught.value.hint
    three.softmax([one[2:4] for one in long], out=[one[2:4] for one in long])


def gather_all(group, rank, found):
    group.here.rank = rank

    def gather(mine):
        parts = [None] * RANKS
        group.all_gather_object(parts, mine, None)
        return parts

    exchange = gpus.Exchange(rank, RANKS, gather)
    everything = ffi.new("char[]", 4 * RANKS)
    status = exchange.structure.all_gather(ffi.NULL, b"abc" + bytes([48 + rank]), everything, 4, ffi.NULL)
    found[rank] = status, ffi.buffer(everything)[:]


def test_a_group_carries_what_ranks_give():
    group, found = FakeGroup(RANKS), [None] * RANKS
    threads = [threading.Thread(target=gather_all, args=(group, rank, found)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(0, b"abc0abc1abc2")] * RANKS


def test_what_a_group_raises_is_kept_and_told():
    error = ffi.new("cj_error *")
    exchange = gpus.Exchange(0, 2, lambda mine: 1 / 0)
    assert exchange.structure.all_gather(ffi.NULL, b"a", ffi.new("char[2]"), 1, error) == lib.CJ_DRIVER
    assert isinstance(exchange.raised, ZeroDivisionError) and ffi.string(error.message) == b"division by zero"
    exchange = gpus.Exchange(0, 2, lambda mine: [mine, mine, mine])
    assert exchange.structure.all_gather(ffi.NULL, b"a", ffi.new("char[2]"), 1, error) == lib.CJ_DRIVER
    assert "not 1 of each of 2 ranks" in str(exchange.raised)


def test_cpu_devices_are_no_ranks_of_processes(cpu):
    group = FakeGroup(2)
    group.here.rank = 1
    with pytest.raises(clusterjit.InvalidArgument, match="whose memory other processes do not reach"):
        gpus.Gpus.from_group(None, cpu, distributed=group)


def test_no_launcher_is_told(monkeypatch, cpu):
    for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(clusterjit.InvalidArgument, match="no launcher has started this process"):
        gpus.Gpus.from_env(cpu)


def test_a_missing_nccl_is_named(monkeypatch, cpu):
    monkeypatch.setenv("CLUSTERJIT_NCCL", "/nowhere/libnccl.so.2")
    with pytest.raises(clusterjit.Unsupported, match="CLUSTERJIT_NCCL=/nowhere/libnccl.so.2"):
        gpus.Gpus.from_nccl(4096, cpu)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float16, numpy.int32])
def test_all_reduce_and_reduce_scatter_over_multicast(rng, dtype):
    x = [rng.integers(-50, 50, (RANKS, 40)).astype(dtype) for _ in range(RANKS)]
    want = sum(one.astype(numpy.int64) for one in x)
    with gpus.Gpus.of(["cpu"] * RANKS, multicast=True) as found:
        found.register(x)
        parts = found.reduce_scatter(x, multicast=True)
        for rank, part in enumerate(parts):
            assert (part == want[rank]).all()
        for result in found.all_reduce(x, multicast=True, out=x):
            assert (result == want).all()
        with pytest.raises(clusterjit.InvalidArgument, match="multicast"):  # arrays that are not registered
            found.all_reduce([one.copy() for one in x], multicast=True)
    with gpus.Gpus.of(["cpu"] * RANKS) as found, pytest.raises(clusterjit.InvalidArgument, match="multicast"):
        found.all_reduce(x, multicast=True, out=x)
