# SPDX-License-Identifier: Apache-2.0
# ptxgen explain: its examples in CUDA C++, as test_explain.sh has those in PTX.
source "$(dirname "$0")/../cli.bash"
root=$(cd "$(dirname "$0")/../../.." && pwd)
command -v python3 >"$dir/which" || { echo "skipped: there is no python3"; exit 77; }
echo 'extern "C" __global__ void kernel() {}' >"$dir/kernel.cu"
run check "$dir/kernel.cu"
[[ $code == 0 ]] || { echo "skipped: there is no NVRTC"; exit 77; }
python3 "$(dirname "$0")/explain.py" "$ptxgen" "$root" cuda >"$dir/out" 2>"$dir/err" || failed explain.py "examples in CUDA C++"
cat "$dir/out"
finish
