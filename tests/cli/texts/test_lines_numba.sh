# SPDX-License-Identifier: Apache-2.0
# A race planted in a Numba kernel is reported at its lines of Python. Numba compiles without a GPU; CJ_PYTHON names a Python that
# has numba-cuda.
source "$(dirname "$0")/../cli.bash"
python=${CJ_PYTHON:-python3}
"$python" -c 'import numba.cuda' 2>"$dir/err" ||
    { echo "skipped: $python has no numba.cuda (CJ_PYTHON names a Python that has it)"; exit 77; }
cd "$dir" || exit 1

# compiled LINE FILE: the PTX of sums.py with that line between the store and the load.
compiled() {
    cat >sums.py <<END
from numba import cuda, float32


def sums(x, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    $1
    out[i] = tile[i ^ 32]


print(cuda.compile_ptx(sums, (float32[::1], float32[::1]), cc=(9, 0), lineinfo=True)[0])
END
    "$python" sums.py >"$2" 2>log || { cat log; failed sums.py 'it does not compile'; finish; }
}

# An array is seven parameters: two of the host's, elements, bytes of one, address, shape, stride.
array() { how+=(--arg u64=0 --arg u64=0 --arg u64=64 --arg u64=4 --arg "f32[64]=$1" --arg u64=64 --arg u64=4); }
how=(--block 64 --hazards on)
array iota
array zeros

compiled 'cuda.syncthreads()' right.ptx
compiled 'pass' wrong.ptx
gives '32.0 33.0 34.0' exec right.ptx "${how[@]}" --print 11:3
[[ ! -s err ]] || failed 'exec right.ptx' 'the right kernel is reported'
finds 1 '' exec wrong.ptx "${how[@]}"
[[ $(<err) == *'sums.py:9:'*'sums.py:7 '*'[race-block]'*'tile[i] = x[i]'* ]] || failed 'exec wrong.ptx' 'the lines of Python are not named'
finish
