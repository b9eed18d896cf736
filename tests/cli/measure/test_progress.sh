# SPDX-License-Identifier: Apache-2.0
# A long run shows on a terminal how it goes, and then removes all of that; in a pipe it says nothing.
source "$(dirname "$0")/../cli.bash"
[[ -n $(type -P script) ]] || { echo "skipped: there is no script, which plays a terminal"; exit 77; }

# Clusters that count down, each as often as its index plus one times n.
cat >"$dir/long.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry long(.param .u32 n) .reqntid 256
{
    .reg .b32  %n, %i;
    .reg .pred %p;
    ld.param.u32 %n, [n];
    mov.u32      %i, %ctaid.x;
    mad.lo.u32   %n, %n, %i, %n;
again:
    sub.u32      %n, %n, 1;
    setp.ne.u32  %p, %n, 0;
    @%p bra      again;
    ret;
}
END

# on_terminal ARGUMENT...: runs ptxgen with a terminal of its own for everything; what it wrote is in $dir/screen.
on_terminal() {
    script -qefc "'$ptxgen' $*" "$dir/screen" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    sed -i '1d; $d' "$dir/screen" # what script itself says
}

# long enough to be asked a few times, on any machine: twice as long until it is
for ((n = 250000; ; n *= 2)); do
    on_terminal exec "$dir/long.ptx" --grid 4 --block 256 --threads 1 --arg u32=$n
    [[ $code == 0 ]] || failed "a long run" "exit code $code"
    (($(grep -o 'thread instructions a second' "$dir/screen" | wc -l) < 2 && n < 1000000000)) || break
done
screen=$(<"$dir/screen")
[[ $screen =~ ^[0-3]\ of\ 4\ clusters,\ [1-9][0-9]*\ million\ thread\ instructions\ a\ second ]] ||
    failed "a long run" "no progress: $(head -c 200 "$dir/screen" | cat -v)"
# every line begins where the last one did, and at the end there is none
[[ $screen != *$'\n'* ]] || failed "a long run" "it leaves lines"
[[ $screen == *$'\r\033[K' ]] || failed "a long run" "the line is not taken away: $(tail -c 100 "$dir/screen" | cat -v)"

# one cluster: none is done before all are, so that the time so far is all that is known
for ((m = n; ; m *= 2)); do
    on_terminal exec "$dir/long.ptx" --grid 1 --block 256 --threads 1 --arg u32=$((m * 4))
    [[ $(<"$dir/screen") != *"s so far"* && $m -lt 1000000000 ]] || break
done
[[ $(<"$dir/screen") =~ ^0\ of\ 1\ clusters.*,\ [1-9][0-9]*\ s\ so\ far && $(<"$dir/screen") != *left* ]] ||
    failed "one long cluster" "no time so far: $(head -c 200 "$dir/screen" | cat -v)"

# stopped by a hazard, nearly as late as that: the line is gone before the finding
on_terminal exec "$dir/long.ptx" --grid 4 --block 256 --threads 1 --arg u32=0 --limit $((n * 256 * 3 / 1000000 * 9))
[[ $code == 1 && $(<"$dir/screen") == *$'\r\033[K'*livelock* ]] || failed "a livelock" "$(tail -c 300 "$dir/screen" | cat -v)"

# no terminal, no progress
gives '' exec "$dir/long.ptx" --grid 4 --block 256 --threads 1 --arg u32=$n
[[ ! -s $dir/err ]] || failed "a long run in a pipe" "it has something to say"
finish
