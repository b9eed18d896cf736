# SPDX-License-Identifier: Apache-2.0
"""run --input FILE.npy --output FILE.npy in every family: what stands in the files is what the family makes of its input, by
definitions of this script's own. Usage: run_files.py PTXGEN DIRECTORY"""
import ast
import math
import random
import struct
import subprocess
import sys

PTXGEN, DIR = sys.argv[1:]
IN, OUT = DIR + "/in.npy", DIR + "/out.npy"
LETTERS = {"<f4": "f", "<f8": "d", "<f2": "e", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q", "|u1": "B", "|i1": "b"}
random.seed(20)


def load(path):
    data = open(path, "rb").read()
    length = 10 + (data[8] | data[9] << 8)
    assert data[:8] == b"\x93NUMPY\1\0" and length % 64 == 0 and data[length - 1:length] == b"\n", "the header"
    header = ast.literal_eval(data[10:length].decode())
    assert header["fortran_order"] is False
    letter, shape = LETTERS[header["descr"]], header["shape"]
    assert len(data) - length == math.prod(shape) * struct.calcsize(letter), "as many elements as the shape says"
    return shape, header["descr"], struct.unpack("<%d%s" % (math.prod(shape), letter), data[length:])


def save(shape, values, descr="<f4", fortran=False):
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(IN, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack("<%d%s" % (len(values), LETTERS[descr]), *values))


def rounded(letter, values):
    return list(struct.unpack("<%d%s" % (len(values), letter), struct.pack("<%d%s" % (len(values), letter), *values)))


def run(family, *options, code=0, says="", output=True):
    files = ["--input", IN] + (["--output", OUT] if output else [])
    ran = subprocess.run([PTXGEN, "run", family, "--device", "cpu", *files, *options], capture_output=True, text=True)
    words = ran.stdout + ran.stderr
    assert ran.returncode == code and says in words, f"{family} {options}: exit code {ran.returncode}\n{words}"
    return load(OUT) if code == 0 and output else None


def near(found, wanted, bound=1e-5):
    assert len(found) == len(wanted), (len(found), len(wanted))
    for i, (f, w) in enumerate(zip(found, wanted)):
        assert abs(f - w) <= bound * (1 + abs(w)), f"element {i} is {f}, not {w}"


ROWS, COLUMNS = 3, 50
x = rounded("f", [random.uniform(-2, 2) for _ in range(ROWS * COLUMNS)])
rows = [x[i * COLUMNS:(i + 1) * COLUMNS] for i in range(ROWS)]


def softmax(row):
    e = [math.exp(v - max(row)) for v in row]
    return [v / sum(e) for v in e]


def running(row):
    return [math.fsum(row[:i + 1]) for i in range(len(row))]


def flat(lists):
    return [v for one in lists for v in one]


def rows_of_matrices():
    shape, descr, found = run("softmax")
    assert shape == (ROWS, COLUMNS) and descr == "<f4"
    near(found, flat(map(softmax, rows)))
    near(run("logsoftmax", "--out-stride", "64")[2], [math.log(v) for v in flat(map(softmax, rows))])
    near(run("softmax", "--out", "bf16")[2], flat(map(softmax, rows)), 1e-2)  # told as f32
    assert run("softmax", "--out", "f16")[1] == "<f2"
    means = [math.fsum(row) / COLUMNS for row in rows]
    deviations = [math.sqrt(math.fsum((v - m) ** 2 for v in row) / COLUMNS + 1e-5) for row, m in zip(rows, means)]
    found = run("layernorm", "--weight", "no", "--stats", "yes", "--epsilon", "1e-5")[2]
    near(found, flat([(v - m) / d for v in row] for row, m, d in zip(rows, means, deviations)), 1e-4)
    near(load(DIR + "/out.mean.npy")[2], means)
    near(load(DIR + "/out.rstd.npy")[2], [1 / d for d in deviations], 1e-4)
    norms = [math.sqrt(math.fsum(v * v for v in row) / COLUMNS) for row in rows]
    near(run("rmsnorm", "--weight", "no")[2], flat([v / n for v in row] for row, n in zip(rows, norms)), 1e-3)
    run("rmsnorm", "--pass", "backward", "--weight-gradient", "yes")
    assert load(DIR + "/out.dw.npy")[0] == (COLUMNS,)
    assert run("crossentropy")[0] == (ROWS,)
    near(load(DIR + "/out.lse.npy")[2], [math.log(math.fsum(map(math.exp, row))) for row in rows])
    near(run("scan")[2], flat(map(running, rows)))
    values, indices = run("topk", "--k", "5", "--index", "u32"), load(DIR + "/out.indices.npy")
    best = [sorted(range(COLUMNS), key=lambda i, row=row: -row[i])[:5] for row in rows]
    assert indices[1] == "<u4" and list(indices[2]) == flat(best) and values[0] == (ROWS, 5)
    assert list(values[2]) == flat([row[i] for i in order] for row, order in zip(rows, best))


def sorts():
    shape, _, found = run("sort", "--payload", "b32")
    assert shape == (ROWS, COLUMNS) and list(found) == flat(map(sorted, rows))
    assert load(DIR + "/out.indices.npy")[:2] == ((ROWS, COLUMNS), "<i8")
    assert load(DIR + "/out.sorted_payload.npy")[:2] == ((ROWS, COLUMNS), "<u4")
    shape, _, found = run("sort", "--segments", "i32")  # one array, of which the first segment has all columns
    assert shape == (1, len(found)) and COLUMNS <= len(found) <= len(x) and list(found[:COLUMNS]) == sorted(rows[0])
    assert load(DIR + "/out.indices.npy")[0] == shape


def arrays():
    shape, descr, found = run("reduce")
    assert shape == () and descr == "<f4"
    near(found, [math.fsum(x)])
    near(run("reduce", "--cluster", "4")[2], [math.fsum(x)])  # its parts are shown, not written
    near(run("reduce", "--cluster", "2", "--result", "block")[2], [math.fsum(x[:75]), math.fsum(x[75:])])
    near(run("reduce", "--cluster", "2", "--result", "both")[2], [math.fsum(x), math.fsum(x[:75]), math.fsum(x[75:])])
    assert list(run("reduce", "--op", "argmax")[2]) == [max(x)]
    assert load(DIR + "/out.index.npy")[1:] == ("<u8", (x.index(max(x)),))
    mean = math.fsum(x) / len(x)
    near(run("reduce", "--op", "meanvar")[2], [mean, math.fsum((v - mean) ** 2 for v in x) / len(x)])
    near(run("reduce", "--dtype", "bf16")[2], [math.fsum(x)], 0.05)  # bf16 has no .npy type: f32 is rounded to it
    counts = [sum(low <= v < low + 1 for v in x) for low in range(-2, 2)]
    for strategy in ("owner", "remote"):
        found = run("histogram", "--dtype", "f32", "--lower", "-2", "--upper", "2", "--bins", "4", "--cluster", "2",
                    "--strategy", strategy, "--counts", "u64")
        assert found == ((4,), "<u8", tuple(counts)), found


def grids():
    shape, _, found = run("stencil", "--dim", "1", "--steps", "1", "--weights", "0.25,0.5,0.25")
    assert shape == (ROWS, COLUMNS)  # rows in front of one dimension are a batch
    near(found, flat([0.25 * a + 0.5 * b + 0.25 * c for a, b, c in zip([0] + row, row, row[1:] + [0])] for row in rows))
    assert run("stencil", "--steps", "1")[0] == (ROWS, COLUMNS)
    save((2, 3, 5, 4), rounded("f", [random.random() for _ in range(120)]))
    assert run("stencil", "--dim", "3", "--steps", "2")[0] == (2, 3, 5, 4)
    run("stencil", "--dim", "3", "--nx", "5", code=64, says="nx is 5, but the array")
    save((ROWS, COLUMNS), x)


def clusters():
    ring = run("exchange", "--pattern", "ring", "--cluster", "3", "--n", "50", "--dtype", "f32", "--align", "4")
    assert ring[0] == (3, 50) and list(ring[2]) == rows[1] + rows[2] + rows[0]
    run("exchange", "--cluster", "4", "--n", "64", "--dtype", "f32", code=64, says="holds chunks of 50 elements")
    shape, _, found = run("collective", "--op", "allgather", "--cluster", "3", "--count", "50", "--dtype", "f32")
    assert shape == (1, 9, 50) and list(found) == 3 * x


def products():
    m, n, k = 20, 24, 32
    for dtype, letter, bound in (("tf32", "f", 2e-2), ("bf16", "f", 2e-1), ("f16", "e", 2e-2)):
        a, b = (rounded(letter, [random.uniform(-1, 1) for _ in range(count)]) for count in (m * k, k * n))
        save((m * k + k * n,), a + b, "<f2" if letter == "e" else "<f4")
        wanted = [math.fsum(a[i * k + t] * b[j * k + t] for t in range(k)) for i in range(m) for j in range(n)]
        for order in ("row", "column"):
            shape, descr, found = run("gemm", "--dtype", dtype, "--m", "20", "--n", "24", "--k", "32", "--b", "column", "--d", order)
            assert shape == (m, n) and descr == ("<f2" if dtype == "f16" else "<f4")
            near(found, wanted, bound)
    save((100,), [1.0] * 100)
    run("gemm", "--m", "20", "--n", "24", "--k", "32", code=64, says="holds only 100 elements of 1408")
    save((ROWS, COLUMNS), x)


def infinities():
    """`run` holds what it gets against its own result: that must be infinite, or NaN, where the kernel's is, also by rounding."""
    for value in (math.inf, -math.inf, math.nan):
        save((ROWS, COLUMNS), [value if i == 57 else v for i, v in enumerate(x)])
        for op in ("sum", "min", "max", "argmin", "argmax", "mean", "meanvar"):
            run("reduce", "--op", op)
        for family in ("scan", "rmsnorm", "layernorm"):
            run(family)
    save((ROWS, COLUMNS), [-math.inf if i % COLUMNS % 2 else v for i, v in enumerate(x)])
    run("crossentropy", "--gradient", "yes")
    save((ROWS, COLUMNS), [1e4 + v for v in x], "<f2")  # the gradients are beyond 65504
    assert -math.inf in run("rmsnorm", "--pass", "backward", "--dtype", "f16")[2]
    save((ROWS, COLUMNS), x)


FAMILIES = ("softmax", "logsoftmax", "rmsnorm", "layernorm", "crossentropy", "scan", "topk", "stencil", "reduce")


def refusals():
    for family in FAMILIES:
        run(family, "--output", "/nowhere/out.npy", code=2, says="cannot write '/nowhere/out.npy'", output=False)
        run(family, "--output", DIR, code=64, says="does not end in .npy", output=False)
        run(family, "--fill", "zeros", code=64, says="exclude each other")
    save((ROWS, COLUMNS), [0] * len(x), "<i8")
    for family in FAMILIES + ("histogram", "exchange", "collective", "gemm"):
        run(family, code=2, says="holds i64, but the kernel reads ")
    save((ROWS, COLUMNS), x)
    for family in ("softmax", "rmsnorm", "crossentropy", "scan", "topk"):
        run(family, "--rows", "4", code=64, says="rows is 4, but the array")
        run(family, "--columns", "49", code=64, says="columns is 49, but the array")
    save((ROWS, COLUMNS), x, fortran=True)
    for family in ("softmax", "scan", "topk", "stencil"):
        run(family, code=2, says="by columns (fortran_order)")
    save((ROWS * COLUMNS,), x)
    assert run("softmax")[0] == (1, ROWS * COLUMNS) and run("softmax", "--rows", "3")[0] == (3, COLUMNS)
    run("softmax", "--rows", "4", code=64, says="do not make 4 rows of one length")
    run("softmax", "--rows", "4", "--columns", "50", code=64, says="holds only 150")
    save((0, 5), [])
    run("softmax", code=2, says="holds no elements")


for part in (rows_of_matrices, sorts, arrays, grids, clusters, products, infinities, refusals):
    save((ROWS, COLUMNS), x)
    part()
print("all passed")
