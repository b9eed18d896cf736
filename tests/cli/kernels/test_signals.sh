# SPDX-License-Identifier: Apache-2.0
# Whatever a command is doing when a signal ends it: no temporary file stays, in TMPDIR, in the cache directory or beside
# what it writes, and what it had written before is whole.
source "$(dirname "$0")/../cli.bash"
export TMPDIR=$dir/tmp CLUSTERJIT_CACHE_DIR=$dir/cache CLUSTERJIT_DUMP_DIR=$dir/dumps
mkdir "$TMPDIR" "$CLUSTERJIT_DUMP_DIR" "$dir/here"

[[ $(stat -f -c %T "$dir") != nfs ]] || { echo 'skipped: a file system without files without names'; exit 77; }

"$ptxgen" emit reduce --cluster 4 >"$dir/reduce.ptx" || exit 1
whole=$(wc -c <"$dir/reduce.ptx")

# Commands that write something, each ended after this and that many milliseconds. Whoever started the test may ignore SIGINT, as
# shells do for what runs in the background; the commands do not.
commands=("emit reduce --cluster 4 --output $dir/here/out.ptx"
    "run reduce --device cpu --op-expr a+b --identity 0 --n 2^16"
    "tune topk --dry-run --device cpu --rows 3 --columns 200 --k 5"
    "compare reduce --device cpu --rounds 1 --n 2^14 --plot $dir/here/plot.svg"
    "exec $dir/reduce.ptx --grid 4 --block 256 --cluster 4 --arg f32[2^20]=iota --arg f32[4]=zeros --dump 0=$dir/here/dump"
    "run reduce --device cpu --n 2^16 --op min"
    "check $dir/reduce.ptx --ptxas")
for command in "${commands[@]}"; do
    for signal in INT TERM HUP; do
        for milliseconds in 003 007 015 030 060 120; do
            env --default-signal timeout -s $signal 0.$milliseconds "$ptxgen" $command >"$dir/out" 2>"$dir/err"
        done
    done
    left=$(find "$TMPDIR" "$dir/cache" "$dir/dumps" "$dir/here" -type f ! -name '*.cj' ! -name '*.lock' ! -path "$dir/here/out.ptx" \
        ! -path "$dir/here/plot.svg" ! -path "$dir/here/dump" ! -name '*.ptx' ! -name '*.sh' 2>"$dir/find")
    [[ -z $left ]] || failed "$command" "it left $left"
    [[ ! -e $dir/here/out.ptx || $(wc -c <"$dir/here/out.ptx") == "$whole" ]] || failed "$command" 'it left half of the text'
    [[ ! -e $dir/here/dump || $(wc -c <"$dir/here/dump") == 4194304 ]] || failed "$command" 'it left half of the buffer'
done
if command -v python3 >"$dir/which"; then
    gives 'all whole' cache verify
fi

# What is saved is replaced whole, a link stays a link, and the mode is the file's own.
echo old >"$dir/here/old"
chmod 640 "$dir/here/old"
ln -s old "$dir/here/link"
gives '' emit reduce --cluster 4 --output "$dir/here/link"
[[ -L $dir/here/link && $(wc -c <"$dir/here/old") == "$whole" && $(stat -c %a "$dir/here/old") == 640 ]] ||
    failed 'emit --output' 'the link, the text or the mode is gone'

finish
