# SPDX-License-Identifier: Apache-2.0
# tests/gpu/faults prints a row for each fault. Its GPU is the CPU device here, and its compute-sanitizer finds what that finds, or
# nothing: so each word of a row is seen.
source "$(dirname "$0")/../cli/cli.bash"
runner=$(cd "$(dirname "$0")/../gpu" && pwd)/faults
mkdir "$dir/bin"
cat >"$dir/bin/gpu" <<END
#!/bin/bash
for a; do [[ \$a == gpu ]] && a=cpu; args+=("\$a"); done
exec "$ptxgen" "\${args[@]}"
END
cat >"$dir/bin/compute-sanitizer" <<'END'
#!/bin/bash
tool=$2
shift 4
[[ $tool != racecheck ]] || set -- "$@" --hazards on
"$@"
code=$?
[[ $tool != racecheck || $code == 0 ]] || exit 9
exit $code
END
chmod +x "$dir"/bin/*
PATH=$dir/bin:$PATH "$runner" "$dir/bin/gpu" exit_before_peer_reads shared_memory_not_initialized flag_never_set stack_overflow \
    >"$dir/out" 2>"$dir/err"
code=$?
cat >"$dir/want" <<'END'
name|alone|memcheck|racecheck|synccheck|initcheck|cpu device
exit_before_peer_reads|error|driver|found|driver|driver|peer-exited
flag_never_set|hangs|hangs|hangs|hangs|hangs|livelock
shared_memory_not_initialized|wrong|-|found|-|-|uninitialized
stack_overflow|error|driver|found|driver|driver|stack-overflow
END
sed 's/ *| */|/g' "$dir/out" >"$dir/got"
[[ $code == 0 ]] && diff "$dir/want" "$dir/got" || failed tests/gpu/faults "exit code $code, or other rows"
"$runner" >"$dir/out" 2>"$dir/err"
[[ $? == 64 && $(<"$dir/err") == usage:* ]] || failed tests/gpu/faults "no usage without arguments"
"$runner" --write "$dir/bin/gpu" flag_never_set >"$dir/out" 2>"$dir/err"
[[ $? == 64 && $(<"$dir/err") == *'takes all faults'* ]] || failed tests/gpu/faults "--write of some faults"
finish
