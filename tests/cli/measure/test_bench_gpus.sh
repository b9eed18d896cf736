# SPDX-License-Identifier: Apache-2.0
# tools/bench/gpus.py without GPUs: its help, its exit codes, and its captures and steps on a torch that is played.
source "$(dirname "$0")/../cli.bash"
: >"$dir/err"
here=$(cd "$(dirname "$0")" && pwd)
bench=$here/../../../tools/bench
export PYTHONDONTWRITEBYTECODE=1 CUDA_VISIBLE_DEVICES=
command -v python3 >"$dir/which" || { echo "skipped: there is no python3"; exit 77; }

# expect CODE TEXT ARGUMENT...
expect() {
    local want=$1 text=$2 code
    shift 2
    python3 "$bench/gpus.py" "$@" >"$dir/out" 2>"$dir/err"
    code=$?
    [[ $code == "$want" ]] || failed "gpus.py $*" "exit code $code, not $want"
    [[ $(cat "$dir/out" "$dir/err") == *"$text"* ]] || failed "gpus.py $*" "it does not say '$text'"
}

expect 0 'Several GPUs: our collectives' --help
expect 2 'no such family: scans' --only scans
expect 2 '--rounds is at least 1' --rounds 0
expect 77 'torch'
expect 77 'torch' --again
python3 "$here/gpus_planted.py" "$bench" >"$dir/out" 2>"$dir/err" || failed gpus.py 'a capture or a step that fails is not mended'
finish
