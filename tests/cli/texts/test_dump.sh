# SPDX-License-Identifier: Apache-2.0
# What CLUSTERJIT_DUMP_DIR keeps of a failure repeats that failure, from any directory.
source "$(dirname "$0")/../cli.bash"
faults=$(cd "$(dirname "$0")/../../faults" && pwd)
kept=$dir/kept
bin=$dir/bin
mkdir "$kept" "$bin"
ln -s "$(realpath "$ptxgen")" "$bin/ptxgen"
export PATH=$bin:$PATH CLUSTERJIT_DUMP_DIR=$kept

# keeps WORD ARGUMENT...: ptxgen fails and says WORD; so does the script that it leaves, and nothing more is kept.
keeps() {
    local word=$1 count
    shift
    rm -f "$kept"/*
    run "$@"
    [[ $code != 0 && $(<"$dir/err") == *"$word"* ]] || failed "$*" "exit code $code, no '$word' in its message"
    count=$(find "$kept" -type f | wc -l)
    [[ $count == 2 ]] || failed "$*" "$count files are kept, not 2"
    local first=$code
    (cd / && sh "$kept"/*.sh) >"$dir/out" 2>"$dir/err"
    code=$?
    [[ $code == "$first" && $(cat "$dir/out" "$dir/err") == *"$word"* ]] ||  # check's findings are its output
        failed "$*" "the script ends with $code, not $first, or without '$word'"
    [[ $(find "$kept" -type f | wc -l) == 2 ]] || failed "$*" "what it repeats is kept once more"
}

sed '/!fix/d' "$faults/exit_before_peer_reads.ptx" >"$dir/fault.ptx"
keeps '[peer-exited]' exec "$dir/fault.ptx" --grid 2 --block 32 --cluster 2 --arg 'u64[1048576]=zeros' --hazards on
keeps '[cluster-grid-multiple]' exec "$faults/exit_before_peer_reads.ptx" --grid 3 --block 32 --cluster 2 --arg 'u64[1048576]=zeros'
echo 'no PTX' >"$dir/bad.ptx"
keeps 'error: ' exec "$dir/bad.ptx"

rm -f "$kept"/*
run exec "$faults/exit_before_peer_reads.ptx" --grid 2 --block 32 --cluster 2 --arg 'u64[1048576]=zeros'
[[ $code == 0 && ! $(ls "$kept") ]] || failed "exec" "exit code $code, or something is kept though nothing failed"

# in a directory that a shell must not split, of a text and an entry of such names; what is said of it can be pasted
kept=$dir/$'it\'s "kept" here'
mkdir "$kept"
export CLUSTERJIT_DUMP_DIR=$kept
sed 's/\.entry [a-z_]*/.entry k$x/' "$dir/fault.ptx" >"$kept.ptx"
CLUSTERJIT_LOG=info keeps '[peer-exited]' \
    exec "$kept.ptx" --grid 2 --block 32 --cluster 2 --arg 'u64[1048576]=zeros' --hazards on
[[ $(<"$kept"/*.sh) == *"--entry 'k\$x' "* ]] || failed exec "the script names another entry"
rm -f "$kept"/*
CLUSTERJIT_LOG=info run exec "$kept.ptx" --grid 2 --block 32 --cluster 2 --arg 'u64[1048576]=zeros' --hazards on
again=$(sed -n 's/.*; to run it again: //p' "$dir/err")
(eval "$again") >"$dir/out" 2>"$dir/err"
code=$?
[[ $code == 1 && $(<"$dir/err") == *'[peer-exited]'* ]] || failed "$again" "exit code $code, or another failure"

CLUSTERJIT_DUMP_DIR=$dir/none CLUSTERJIT_LOG=warn run exec "$dir/fault.ptx" --grid 3 --block 32 --cluster 2 --arg 'u8[8]=zeros'
[[ $(<"$dir/err") == *"warning: CLUSTERJIT_DUMP_DIR is '$dir/none': "* &&
    $(<"$dir/err") == *'[cluster-grid-multiple]'* ]] || failed exec "no warning, or not the error itself"
finish
