# SPDX-License-Identifier: Apache-2.0
# A fault planted in a Triton kernel is reported at its line of Python, in less than a second once its PTX is there. Triton compiles
# without a GPU; CJ_PYTHON names a Python that has it.
source "$(dirname "$0")/../cli.bash"
python=${CJ_PYTHON:-python3}
"$python" -c 'import triton' 2>"$dir/err" || { echo "skipped: $python has no triton (CJ_PYTHON names a Python that has it)"; exit 77; }
cd "$dir" || exit 1
export TRITON_CACHE_DIR=$dir/triton

# compiled MASK: the PTX of add.py, whose store has that mask.
compiled() {
    cat >add.py <<END
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total$1)


signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
source = ASTSource(fn=add, signature=signature, constexprs={"BLOCK": 256})
print(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"])
END
    "$python" add.py >"$2" 2>log || { cat log; failed add.py 'it does not compile'; finish; }
}

# The pointers that this Triton passes besides the kernel's own parameters are 0.
arguments() {
    local count
    count=$(grep -c '_param_[0-9]*,\?$' "$1")
    how=(--grid 4 --block 128 --arg 'f32[1000]=iota' --arg 'f32[1000]=iota' --arg 'f32[1000]=zeros' --arg u32=1000 --hazards on)
    for ((; count > 4; count--)); do how+=(--arg u64=0); done
}

compiled ', mask=inside' right.ptx
compiled '' wrong.ptx
arguments right.ptx
gives '0.0 2.0 4.0 6.0' exec right.ptx "${how[@]}" --print 2:4
[[ ! -s err ]] || failed 'exec right.ptx' 'the right kernel is reported'
started=$(date +%s%N)
run exec wrong.ptx "${how[@]}"
took=$((($(date +%s%N) - started) / 1000000))
[[ $code == 1 && $(<err) == *'add.py:12:5: error: add.py:12 '*'[out-of-bounds]'*'tl.store(out + at, total)'* ]] ||
    failed 'exec wrong.ptx' 'the line of Python is not named'
((took < 1000)) || failed 'exec wrong.ptx' "it took $took ms"
finish
