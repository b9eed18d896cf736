# SPDX-License-Identifier: Apache-2.0
"""The operators of clusterjit.torch give torch's values and gradients, and torch.compile keeps them in its graph."""
import os
import random

import pytest

torch = pytest.importorskip("torch")

import clusterjit  # noqa: E402
import clusterjit.torch as cjt  # noqa: E402

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(params=DEVICES)
def draw(request):
    """Makes tensors of normal values that want gradients, from a seed that a failure shows."""
    seed = int(os.environ.get("CJ_SEED", random.randrange(2**31)))
    print(f"CJ_SEED={seed}")
    source = torch.Generator().manual_seed(seed)

    def make(*shape, dtype=torch.float32, grad=True):
        return torch.randn(*shape, generator=source).to(request.param, dtype).requires_grad_(grad)

    make.random = random.Random(seed)
    make.labels = lambda rows, classes: torch.randint(classes, (rows,), generator=source).to(request.param)
    return make


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


F = torch.nn.functional
OFFSETS = torch.tensor([3, 10, 10, 29, 30, 45])
CASES = {
    "softmax": (lambda x: cjt.softmax(x, 0.5), lambda x: torch.softmax(0.5 * x, -1), [(3, 5, 33)]),
    "log_softmax": (cjt.log_softmax, lambda x: torch.log_softmax(x, -1), [(4, 33)]),
    "rms_norm": (cjt.rms_norm, lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-5), [(3, 5, 64), (64,)]),
    "rms_norm alone": (cjt.rms_norm, lambda x: F.rms_norm(x, x.shape[-1:], None, 1e-5), [(6, 64)]),
    "layer_norm": (cjt.layer_norm, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), [(3, 5, 64), (64,), (64,)]),
    "layer_norm alone": (cjt.layer_norm, lambda x: F.layer_norm(x, x.shape[-1:]), [(6, 64)]),
    "linear": (cjt.linear, F.linear, [(3, 4, 32), (16, 32), (16,)]),
    "linear relu": (lambda x, w: cjt.linear(x, w, activation="relu"), lambda x, w: F.relu(F.linear(x, w)), [(8, 32), (16, 32)]),
    "linear gelu": (lambda x, w, b: cjt.linear(x, w, b, "gelu"), lambda x, w, b: gelu(F.linear(x, w, b)), [(8, 32), (16, 32), (16,)]),
    "linear silu": (lambda x, w, b: cjt.linear(x, w, b, "silu"), lambda x, w, b: F.silu(F.linear(x, w, b)), [(8, 32), (16, 32), (16,)]),
    "cumsum": (cjt.cumsum, lambda x: torch.cumsum(x, -1), [(3, 50)]),
    "cumsum reverse": (lambda x: cjt.cumsum(x, reverse=True, exclusive=True), lambda x: x.flip(-1).cumsum(-1).flip(-1) - x, [(3, 50)]),
    "topk": (lambda x: cjt.topk(x, 5)[0], lambda x: torch.topk(x, 5)[0], [(3, 50)]),
    "sort": (lambda x: cjt.sort(x, descending=True)[0], lambda x: torch.sort(x, -1, descending=True)[0], [(3, 50)]),
    "sort values": (lambda x: cjt.sort(x, return_indices=False), lambda x: torch.sort(x, -1)[0], [(3, 50)]),
    "sort segments": (lambda x: cjt.sort(x, offsets=OFFSETS.to(x.device), longest=19)[0][3:45],
                      lambda x: torch.cat([torch.sort(part)[0] for part in x[3:45].split([7, 0, 19, 1, 15])]), [(50,)]),
    "kept softmax of a slice": (lambda x: cjt.softmax(x[:, ::2]), lambda x: torch.softmax(x[:, ::2], -1), [(4, 50)]),
}


def both(case, inputs):
    """Our result and gradients, and torch's in f64."""
    ours, theirs, _ = CASES[case]
    y = ours(*inputs)
    dy = torch.rand_like(y)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    wanted = theirs(*exact)
    return [y, *torch.autograd.grad(y, inputs, dy)], [wanted, *torch.autograd.grad(wanted, exact, dy.double())]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_and_gradients(draw, case, dtype):
    tolerance = 4e-2 if dtype == torch.bfloat16 else 2e-2 if "linear" in case else 1e-4
    inputs = [draw(*shape, dtype=dtype) for shape in CASES[case][2]]
    if case == "topk" or "sort" in case:  # of equal elements either may be taken, and get the gradient: these are all distinct
        inputs = [x.detach().argsort(-1).to(dtype).requires_grad_() for x in inputs]
    for found, wanted in zip(*both(case, inputs)):
        assert found.dtype == dtype and found.shape == wanted.shape
        torch.testing.assert_close(found.double(), wanted, rtol=tolerance, atol=tolerance * max(1, float(wanted.detach().abs().max()) / 4))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(draw, reduction):
    x, labels = draw(7, 33), draw.labels(7, 33)
    labels[3] = -100
    loss = cjt.cross_entropy(x, labels, label_smoothing=0.1, reduction=reduction)
    wanted = F.cross_entropy(x.double(), labels, label_smoothing=0.1, reduction=reduction)
    torch.testing.assert_close(loss.double(), wanted, rtol=1e-5, atol=1e-5)
    weights = torch.rand_like(loss)
    for ours, theirs in zip(torch.autograd.grad(loss, x, weights), torch.autograd.grad(wanted, x, weights.double())):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    with pytest.raises(clusterjit.InvalidArgument, match="reduction"):
        cjt.cross_entropy(x, labels, reduction="median")


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.skipif(
    DEVICES == ["cpu"], reason="minutes of g++ without a GPU"))])
def test_torch_compile_keeps_the_operators_in_one_graph(draw, backend):
    graphs = []

    def keep(graph, inputs):
        graphs.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
        return torch._dynamo.lookup_backend(backend)(graph, inputs)

    def model(x, w, gain, labels):
        return cjt.cross_entropy(cjt.linear(cjt.rms_norm(x, gain), w, activation="silu"), labels)

    inputs = draw(8, 64), draw(16, 64), draw(64)
    labels = draw.labels(8, 16)
    found = torch.compile(model, backend=keep, fullgraph=True)(*inputs, labels)
    wanted = model(*inputs, labels)
    torch.testing.assert_close(found, wanted)
    for ours, theirs in zip(torch.autograd.grad(found, inputs), torch.autograd.grad(wanted, inputs)):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert len(graphs) == 1
    for name in ("norm", "linear", "cross_entropy"):
        assert any(target.startswith(f"clusterjit.{name}") for target in graphs[0]), graphs


@pytest.mark.parametrize("name", ["softmax", "norm", "cross_entropy", "linear", "cumsum", "topk", "sort", "sort_values", "argsort"])
def test_torch_accepts_schema_fake_and_gradient(draw, name):
    x = draw(8, 32)
    arguments = {"softmax": (x, 1.0), "norm": (x, draw(32), None, 1e-5, True), "cross_entropy": (x, draw.labels(8, 32), -100, 0.0),
                 "linear": (x, draw(16, 32), draw(16), "gelu"), "cumsum": (x, False, False), "topk": (x, 3, True, True), "sort": (x, True), "sort_values": (x.detach(), True), "argsort": (x.detach(), True)}[name]
    torch.library.opcheck(getattr(torch.ops.clusterjit, name).default, arguments)
    if "sort" in name:
        offsets = torch.tensor([0, 9, 9, 256], dtype=torch.int32, device=x.device)
        torch.library.opcheck(getattr(torch.ops.clusterjit, name).default, (arguments[0].detach().flatten(), False, offsets, 250))


def sampled(logits, told, rows):
    """Arguments of sample: with all that is told, and with values of each row, or neither."""
    count, columns = logits.shape
    words = {"temperature": 0.8, "top_k": 12, "seed": 5, "min_p": 0.01}
    if told:
        words.update(log_probability=True, top=3, distribution=True, draft_tokens=logits.argmax(-1).int(),
                     draft_probabilities=torch.full_like(logits, 1 / columns))
    if rows:
        words.update(temperature=torch.rand(count, device=logits.device), top_k=torch.arange(count, dtype=torch.int32, device=logits.device),
                     seed=torch.arange(count, device=logits.device), presence=0.5, counts=torch.ones_like(logits).int(), offset=7)
    return words


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("rows", [False, True])
def test_sample_is_that_of_the_arrays(draw, told, rows):
    logits = draw(6, 40)
    words = sampled(logits.detach(), told, rows)
    found, wanted = cjt.sample(logits, **words), clusterjit.sample(logits.detach(), **words)
    compiled = torch.compile(lambda x: cjt.sample(x, **words), backend="aot_eager", fullgraph=True)(logits)
    for one in (found, compiled):
        for a, b in zip(*([x] if isinstance(x, torch.Tensor) else x for x in (one, wanted))):
            assert a is b is None or (a.dtype == b.dtype and not a.requires_grad and torch.equal(a.long() if a.dtype == torch.uint32 else a,
                                                                                                 b.long() if b.dtype == torch.uint32 else b))
    keys = ("temperature", "top_k", "top_p", "min_p", "repetition", "frequency", "presence", "seed", "offset")
    pairs = [pair for key in keys for pair in ((None, words[key]) if isinstance(words.get(key), torch.Tensor) else (words.get(key), None))]
    more = [words.get(key) for key in ("mask", "counts", "draft_tokens", "draft_probabilities")]
    flags = (told, 3 * told, told)
    pairs[0:2] = pairs[0:2] if rows or told else (1.0, None)
    pairs[16:18] = (0, None) if pairs[16] is None else pairs[16:18]
    torch.library.opcheck(torch.ops.clusterjit.sample.default, (logits.detach(), *pairs, *more, *flags))


def test_a_seed_that_changes_compiles_once_more_at_most(draw):
    logits, graphs = draw(500, 40, grad=False), []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph

    compiled = torch.compile(lambda x, seed: cjt.sample(x, seed=seed), backend=keep, fullgraph=True)
    found = [compiled(logits, seed) for seed in range(2, 9)]
    assert len(graphs) <= 2
    assert all(torch.equal(one, clusterjit.sample(logits, seed=seed)) for seed, one in zip(range(2, 9), found))
    with pytest.raises(clusterjit.InvalidArgument, match="seed: -1 is outside 0 to"):
        cjt.sample(logits, seed=-1)


def test_argsort_and_sorts_in_one_graph(draw):
    x = draw(60)
    offsets = torch.tensor([0, 20, 60], device=x.device)

    def model(x):
        return cjt.argsort(x), cjt.argsort(x, offsets=offsets, longest=40), cjt.sort(x, return_indices=False), cjt.sort(x, descending=True)[0]

    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    for found in (model(x), compiled(x)):
        assert torch.equal(found[0], torch.argsort(x, stable=True)) and torch.equal(found[2], torch.sort(x)[0])
        assert torch.equal(found[1], torch.cat([torch.argsort(part, stable=True) for part in (x[:20], x[20:])]))
        gradient, = torch.autograd.grad(found[2][3] + found[3][0], x)
        assert gradient.sum() == 2 and not found[0].requires_grad
    with torch.no_grad():
        assert torch.equal(compiled(x)[2], torch.sort(x)[0])


def test_functions_take_tensors_without_a_copy(draw):
    x = draw(4, 33, grad=False)
    out = torch.zeros(4, 33, device=x.device)
    assert clusterjit.softmax(x, out=out) is out
    torch.testing.assert_close(out, torch.softmax(x, -1))
    assert int(clusterjit.argmax(x)) == int(x.argmax())
    with pytest.raises(clusterjit.UnsupportedType, match="meta is neither on the CPU nor"):
        clusterjit.softmax(x.to("meta"))


LIKE = {  # of a contiguous (4, 8) tensor of f32, and of a plan that was made for it: whether the plan takes it
    "another one": (lambda x: x.clone(), True),
    "a parameter": (lambda x: torch.nn.Parameter(x.clone()), True),
    "aligned to 4 bytes": (lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(4, 8), None),
    "rows at a distance": (lambda x: torch.cat([x, x], 1)[:, :8], False),
    "fewer rows": (lambda x: x[:2], False),
    "another dtype": (lambda x: x.half(), False),
    "one that was resized": (lambda x: x.clone().resize_(2, 8), False),
}


@pytest.mark.parametrize("name", LIKE)
def test_a_tensor_that_is_not_as_before_is_noticed(draw, name):
    make, taken = LIKE[name]
    x = draw(4, 8, grad=False)
    other, out = make(x), torch.empty_like(x)
    plan = clusterjit.softmax.plan(x)
    for _ in range(4):  # from the third call on torch's own test is asked
        clusterjit.softmax(x, out=out)
        torch.testing.assert_close(plan(x), plan(x, out=out))
    torch.testing.assert_close(clusterjit.softmax(other), torch.softmax(other.detach(), -1))
    if taken:
        torch.testing.assert_close(plan(other), torch.softmax(other.detach(), -1))
    elif taken is False:
        for call in (lambda: plan(other), lambda: plan(other, out=out), lambda: plan(x, out=other)):
            with pytest.raises(clusterjit.InvalidArgument):
                call()
    torch.testing.assert_close(plan(x, out=out), clusterjit.softmax(x))


def test_calls_that_repeat_and_change_are_right(draw):
    x = draw(4, 8, grad=False)
    inputs = [make(x) for make, _ in LIKE.values()]
    for _ in range(100):
        x, given = draw.random.choice(inputs), draw.random.choice([False, True])
        for _ in range(draw.random.randint(1, 4)):
            out = {"out": torch.empty(x.shape, dtype=x.dtype, device=x.device)} if given else {}
            with torch.inference_mode(draw.random.choice([False, True])):
                torch.testing.assert_close(clusterjit.softmax(x, **out), torch.softmax(x.detach(), -1))
    kept = inputs[0].clone()
    for _ in range(3):  # after that the call is known, and takes another way
        with torch.no_grad(), pytest.raises(clusterjit.InvalidArgument, match="overlap"):
            clusterjit.softmax(kept, out=kept)
