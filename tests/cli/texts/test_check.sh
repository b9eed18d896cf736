# SPDX-License-Identifier: Apache-2.0
# check, fmt, rules and isa: what they show, what they refuse, and with which exit code.
source "$(dirname "$0")/../cli.bash"

# What stands on standard error, without the hint that names `ptxgen explain`.
summary() { sed "/^hint: 'ptxgen explain [a-z -]*' says more$/d" "$dir/err"; }
export LC_ALL=C.UTF-8 # so that bash counts characters

# kernel LINE...: PTX with these lines in its body, the first of them in line 8.
kernel() {
    printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' '.visible .entry k(.param .u64 p)' '{' \
        $'\t.reg .u32 %r<8>;' $'\t.reg .u64 %x<8>;' "$@" $'\tret;' '}'
}

# points_at WORD: the caret in the third line of the output stands below the beginning of WORD in the second.
points_at() {
    local line before
    line=$(sed -n 2p "$dir/out")
    before=$(sed -n 3p "$dir/out")
    before=${before%^}
    [[ $before =~ ^\ *$ && ${line:${#before}} == "$1"* ]] || failed check "the caret does not stand below '$1'"
}

# only RULE: leaves the first finding of that rule in the output: its line, the line of the text, the caret.
only() {
    grep -m1 -A2 "\[$1\]\$" "$dir/out" >"$dir/one"
    mv "$dir/one" "$dir/out"
}

# --- our own kernels are clean, and say nothing
for arguments in '' '--cluster 8 --dtype f64' '--cluster 1' '--arch sm_80' '--arch sm_100a' '--weight block'; do
    # shellcheck disable=SC2086
    "$ptxgen" emit reduce $arguments >"$dir/reduce.ptx" 2>"$dir/note"
    gives '' check "$dir/reduce.ptx"
    [[ ! -s $dir/out && ! -s $dir/err ]] || failed "check of emit reduce $arguments" "it has something to say"
done

# --- an error: place, rule, line, caret, summary
bad=$dir/bad.ptx
kernel 'add.u32 %r1, %r2, %r3;' '    frob.u32 %r1, %r2;' >"$bad"
finds 1 "$bad:9:5: error: " check "$bad"
[[ $(sed -n 1p "$dir/out") == *" [mnemonic]" ]] || failed check "no rule after the message"
[[ $(sed -n 2p "$dir/out") == '    frob.u32 %r1, %r2;' ]] || failed check "the line is not shown"
points_at frob
[[ $(summary) == '1 error' ]] || failed check "not the summary '1 error'"
[[ $(<"$dir/out") != *$'\033'* ]] || failed check "colour in a file"
finds 1 '<stdin>:9:5: error: ' check - <"$bad"

# --- the caret below tabs, beyond letters of several bytes, in long lines, in lines that end in CR LF
kernel $'\tadd.u32\t%r1, %q2, %r3;' >"$dir/caret.ptx"
finds 1 ":8:15: error: " check "$dir/caret.ptx"
[[ $(sed -n 2p "$dir/out") == '        add.u32 %r1, %q2, %r3;' ]] || failed check "tabs are not blanks up to a stop"
points_at %q2
kernel $'/* \u20ac\u20ac \xff\xfe */\tadd.u32 %r1, %q2, %r3; // \u20ac' >"$dir/caret.ptx"
finds 1 $'/* \u20ac\u20ac ?? */' check "$dir/caret.ptx"
grep -q ':8:4: error: byte 0xe2 is not ASCII' "$dir/out" || failed check "letters that ptxas refuses pass"
only name-undefined
points_at %q2
kernel "$(printf '/* %0900d */ add.u32 %%r1, %%q2, %%r3; // %0900d' 0 0 | sed $'s/0/\u20ac/g')" >"$dir/caret.ptx"
finds 1 $'\u20ac...' check "$dir/caret.ptx"
only name-undefined
points_at %q2
[[ $(sed -n 2p "$dir/out" | wc -m) -le 128 ]] || failed check "a long line is not cut"
[[ $(sed -n 2p "$dir/out") == $'...\u20ac'* ]] || failed check "a long line is not cut before the caret"
kernel 'add.u32 %r1, %q2, %r3;' | sed 's/$/\r/' >"$dir/caret.ptx"
finds 1 ":8:14: error: " check "$dir/caret.ptx"
[[ $(sed -n 2p "$dir/out") == 'add.u32 %r1, %q2, %r3;' ]] || failed check "CR is shown"

# --- warnings alone are no failure; hints; the summary counts over all files
printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' '.visible .entry k() .minnctapersm 2 { ret; }' \
    >"$dir/warning.ptx"
finds 0 ': warning: ' check "$dir/warning.ptx"
grep -q '^hint: ' "$dir/out" || failed check "no hint"
[[ $(summary) == '1 warning' ]] || failed check "not the summary '1 warning'"
finds 1 'bad.ptx' check "$bad" "$dir/warning.ptx" - <"$bad"
[[ $(summary) == '2 errors, 1 warning' ]] || failed check "not the summary '2 errors, 1 warning'"

# --- --arch
"$ptxgen" emit reduce --cluster 4 >"$dir/reduce.ptx"
finds 1 '[target-least]' check --arch sm_80 "$dir/reduce.ptx"
gives '' check "$dir/reduce.ptx" --arch sm_90a
refuses 64 "arch 'sm_9o'" check --arch sm_9o "$dir/reduce.ptx"
refuses 64 "arch 'sm_9o'" check --arch sm_9o "$dir/reduce.ptx" --json

# --- what is no PTX: one finding
head -c 4000 "$ptxgen" >"$dir/binary.ptx"
finds 1 'this is an ELF file' check "$dir/binary.ptx"
for text in '\0' '.version 8.0\n// \0' 'ab\001' '\033[31m' '\xfe\xff\0a' '\xff\xff' '' '\n' '}' '/*' '"'; do
    # shellcheck disable=SC2059
    printf "$text" >"$dir/binary.ptx"
    finds 1 "$dir/binary.ptx:" check "$dir/binary.ptx"
    [[ $(summary) == '1 error' ]] || failed "check of '$text'" "not one finding"
    [[ $(<"$dir/out") != *$'\033'* ]] || failed "check of '$text'" "it sends the terminal an escape"
    run check --json "$dir/binary.ptx"
    [[ $code == 1 ]] || failed "check --json of '$text'" "exit code $code"
    json 'o["errors"] == 1'
done

# --- JSON
finds 0 '"warnings": 0' check --json "$dir/reduce.ptx"
json 'o == {"schema": 1, "findings": [], "errors": 0, "warnings": 0}'
finds 1 '"errors": 1' check --json "$bad" "$dir/warning.ptx"
json '[f["severity"] for f in o["findings"]] == ["error", "warning"] and o["warnings"] == 1'
json 'all(sorted(f) == ["column", "file", "hint", "line", "message", "other", "repeat", "rule", "severity", "source", "variable"] for f in o["findings"])'
json '(o["findings"][0]["line"], o["findings"][0]["column"], o["findings"][0]["rule"]) == (9, 5, "mnemonic")'
json "o['findings'][0]['file'] == '$bad'"
[[ ! -s $dir/err ]] || failed "check --json" "a summary beside the JSON"

# --- file trouble and usage; the other files are still checked
refuses 2 "nowhere.ptx': No such file" check "$dir/nowhere.ptx"
refuses 2 'Is a directory' check "$dir"
refuses 2 "cannot read '<stdin>'" check - <&-
finds 2 'bad.ptx:9:5: error: ' check "$dir/nowhere.ptx" "$bad"
refuses 64 'which file' check
refuses 64 "unknown option '--frob'" check --frob
refuses 64 "option '--arch' needs a value" check --arch
gives 'Usage: ptxgen check [OPTION...] FILE...' help check

# --- colour where there is a terminal, and where NO_COLOR is not set
if command -v script >"$dir/which"; then
    NO_COLOR='' script -qec "'$ptxgen' check '$bad'" "$dir/out" >"$dir/which"
    [[ $(<"$dir/out") == *$'\033[1;31merror:\033[0m'* ]] || failed check "no colour on a terminal"
    NO_COLOR=1 script -qec "'$ptxgen' check '$bad'" "$dir/out" >"$dir/which"
    [[ $(<"$dir/out") != *$'\033[1;31m'* ]] || failed check "colour in spite of NO_COLOR"
fi

# --- --ptxas: a stand-in, whatever is installed here
export CUDA_HOME=$dir/cuda
mkdir -p "$CUDA_HOME/bin" "$CUDA_HOME/lib64"
# ptxas SCRIPT: what the stand-in does.
ptxas() {
    printf '#!/bin/sh\n%s\n' "$1" >"$CUDA_HOME/bin/ptxas"
    chmod +x "$CUDA_HOME/bin/ptxas"
}
ptxas 'echo "$@" >&2; cat >"'"$dir"'/read"; for line in \
    "/dev/stdin, line 10; error   : third" "/dev/stdin, line 9; fatal   : second" "/dev/stdin, line 9; warning : also" \
    "error   : first" "fatal   : Ptx assembly aborted due to errors" "info    : 0 bytes gmem"
    do echo "ptxas $line"; done; exit 255'
finds 1 "$bad: error: first [ptxas]" check --ptxas "$bad"
[[ $(grep -o ' [a-z]* \[ptxas\]\| \[mnemonic\]' "$dir/out" | tr -d '\n') == \
    ' first [ptxas] [mnemonic] second [ptxas] also [ptxas] third [ptxas]' ]] || failed "check --ptxas" "not in order of line"
[[ $(summary) == '4 errors, 1 warning' ]] || failed "check --ptxas" "the summary"
cmp -s "$bad" "$dir/read" || failed "check --ptxas" "ptxas was given another text"
finds 1 '"rule": "ptxas"' check --ptxas --json "$bad"
json '[f["line"] for f in o["findings"]] == [0, 9, 9, 9, 10]'
# shellcheck disable=SC2016
ptxas '[ "$2" = sm_80 ] || { echo "ptxas error   : asked for $2"; exit 1; }'
"$ptxgen" emit reduce --arch sm_80 2>"$dir/note" >"$dir/other.ptx"
gives '' check --ptxas "$dir/other.ptx"
finds 1 'asked for sm_90a ' check --ptxas --arch sm_90a "$dir/other.ptx"
printf '// .target sm_70\n/* .target sm_75 */ .version 8.0\n.target /* ! */ sm_80, debug\n' >"$dir/target.ptx"
finds 0 '' check --ptxas "$dir/target.ptx"
finds 1 'asked for sm_90 ' check --ptxas "$dir/reduce.ptx"
ptxas "echo \"ptxas fatal   : Value 'sm_90' is not defined for option 'gpu-name'\"; exit 255"
refuses 3 "ptxas does not know the target 'sm_90'" check --ptxas "$dir/reduce.ptx"
ptxas 'exit 3'
finds 1 'refused without a message [ptxas]' check --ptxas "$dir/reduce.ptx"
ptxas 'kill -9 $$'
refuses 3 'was ended by signal 9' check --ptxas "$dir/reduce.ptx"
ptxas 'exit 0'
gives '' check --ptxas "$dir/reduce.ptx"
printf 'no program' >"$CUDA_HOME/bin/ptxas"
refuses 3 "cannot run '$CUDA_HOME/bin/ptxas'" check --ptxas "$dir/reduce.ptx"
rm "$CUDA_HOME/bin/ptxas"

# --- without ptxas: nvJitLink, here one that has only the names with a release in them
without_ptxas=$(dirname "$(command -v env)")
[[ ! -x $without_ptxas/ptxas ]] || without_ptxas=/nowhere
cat >"$dir/jitlink.c" <<'END'
#include <stddef.h>
#include <string.h>
static const char error_log[] = "ptxas application ptx input, line 9; error   : jit says no\nERROR NVJITLINK_ERROR_PTX_COMPILE";
int __nvJitLinkCreate_13_1(void **h, unsigned n, const char **o) { return *h = h, n != 1 || strcmp(*o, "-arch=sm_90"); }
int __nvJitLinkDestroy_13_1(void **h) { return !*h; }
int __nvJitLinkAddData_13_1(void *h, int kind, const void *text, size_t size, const char *name) {
    return !h || kind != 2 || memcmp(text, ".version", 8) || !size || !name ? 1 : 4;
}
int __nvJitLinkComplete_13_1(void *h) { return !h; }
int __nvJitLinkGetErrorLogSize_13_1(void *h, size_t *size) { return *size = sizeof error_log, !h; }
int __nvJitLinkGetErrorLog_13_1(void *h, char *log) { return memcpy(log, error_log, sizeof error_log), !h; }
int __nvJitLinkGetInfoLogSize_13_1(void *h, size_t *size) { return *size = 0, !h; }
int __nvJitLinkGetInfoLog_13_1(void *h, char *log) { return !h || !log; }
END
if ${CC:-cc} -shared -fPIC -w "$dir/jitlink.c" -o "$CUDA_HOME/lib64/libnvJitLink.so" 2>"$dir/err"; then
    PATH=$without_ptxas finds 1 "$bad:9: error: jit says no [ptxas]" check --ptxas "$bad"
else
    failed "the stand-in for nvJitLink" "it does not compile"
fi

# --- with neither. What cannot be loaded hides what could be.
for suffix in '' .13 .12; do printf 'no library' >"$CUDA_HOME/lib64/libnvJitLink.so$suffix"; done
LD_LIBRARY_PATH=$CUDA_HOME/lib64 PATH=$without_ptxas refuses 3 'needs ptxas or libnvJitLink.so' check --ptxas "$bad"
unset CUDA_HOME

# --- the real ones
real=$("$ptxgen" info --device cpu | sed -n 's/^ptxas .*(\(\/.*\))$/\1/p')
if [[ -n $real ]]; then
    kernel 'add.u32 %r1, %x1, 3;' 'mov.u32 %r1, %nothing;' >"$dir/both.ptx"
    finds 1 'both.ptx:9: error: Unknown symbol' check --ptxas "$dir/both.ptx"
    finds 1 'both.ptx:9:14: error: ' check --ptxas "$dir/both.ptx"
    gives '' check --ptxas "$dir/reduce.ptx"
    PATH=$without_ptxas CUDA_HOME=/nowhere run check --ptxas "$dir/both.ptx"
    [[ $code == 3 || $(<"$dir/out") == *'both.ptx:9: error: Unknown symbol'* ]] || failed "nvJitLink" "no such finding"
    PATH=$without_ptxas CUDA_HOME=/nowhere run check --ptxas "$dir/reduce.ptx"
    [[ $code == 3 || $code == 0 ]] || failed "nvJitLink" "it refuses our kernel"
    printf '.version 7.0\n.target sm_50\n' >"$dir/old.ptx"
    for tools in "$PATH" "$without_ptxas"; do
        # nvJitLink loses a few bytes of its own here.
        PATH=$tools CUDA_HOME=/nowhere ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 run check --ptxas "$dir/old.ptx"
        [[ $code == 3 && $(<"$dir/err") == "ptxgen: error: "* ]] || failed "check --ptxas" "sm_50: exit code $code"
    done
fi

# --- fmt: a fixed point, the same code, in place
"$ptxgen" fmt "$dir/reduce.ptx" >"$dir/once.ptx" || failed fmt "it refuses our kernel"
gives '' fmt - -o "$dir/twice.ptx" <"$dir/once.ptx"
cmp -s "$dir/once.ptx" "$dir/twice.ptx" || failed fmt "formatted twice it is another text"
gives '' check "$dir/once.ptx"
if [[ -n $real ]]; then
    "$real" -arch=sm_90 "$dir/reduce.ptx" -o "$dir/reduce.cubin" && "$real" -arch=sm_90 "$dir/once.ptx" -o "$dir/once.cubin"
    cmp -s "$dir/reduce.cubin" "$dir/once.cubin" || failed fmt "ptxas makes another cubin of it"
fi
cp "$dir/reduce.ptx" "$dir/place.ptx"
gives '' fmt "$dir/place.ptx" -o "$dir/place.ptx"
[[ ! -s $dir/out ]] || failed "fmt -o" "it wrote standard output too"
cmp -s "$dir/once.ptx" "$dir/place.ptx" || failed "fmt -o" "the file and standard output differ"
cp "$bad" "$dir/place.ptx"
run fmt "$dir/place.ptx" -o "$dir/place.ptx"
[[ $code == 1 && ! -s $dir/out ]] || failed fmt "of a mistake: exit code $code"
[[ $(<"$dir/err") == "$dir/place.ptx:9:5: error: "*'[mnemonic]'*$'\n    ^'* ]] || failed fmt "not shown as check does"
cmp -s "$bad" "$dir/place.ptx" || failed fmt "it touched a file that it refused"
run fmt "$dir/binary.ptx"
[[ $code == 1 && ! -s $dir/out ]] || failed fmt "of what is no PTX: exit code $code"
refuses 2 "/nowhere/x.ptx': No such file" fmt "$dir/once.ptx" -o /nowhere/x.ptx
refuses 2 "nowhere.ptx': No such file" fmt "$dir/nowhere.ptx"
refuses 64 'which file' fmt
refuses 64 'one file too many' fmt "$dir/once.ptx" "$dir/twice.ptx"

# --- rules
gives 'mnemonic (error)' rules
gives 'syntax (error)' rules syntax
[[ $(<"$dir/out") != *mnemonic* ]] || failed "rules syntax" "it shows others too"
refuses 64 "did you mean 'mnemonic'" rules mnemnic
refuses 64 "unknown rule 'xyzzy'" rules xyzzy
gives '' rules --json
json 'all(sorted(r) == ["example", "id", "sentence", "severity"] for r in o["rules"]) and len(o["rules"]) > 20'
gives '' rules --json number syntax
json '[r["id"] for r in o["rules"]] == ["number", "syntax"]'

# --- isa
gives $'\n7.8   sm_90    mapa' isa
[[ $(wc -L <"$dir/out") -le 120 ]] || failed isa "lines longer than 120 columns"
gives 'barrier.cluster.arrive.(release|relaxed){.aligned}' isa barrier.cluster
[[ $(<"$dir/out") != *bar.sync* ]] || failed "isa barrier.cluster" "it shows others too"
gives '(const|local|$SHARED)' isa ld.shared::cta.u32
gives $'\n$SHARED ' isa ld.shared
refuses 64 "begins with 'ld.gloabl'" isa ld.gloabl
refuses 64 'one prefix too many' isa ld st
gives '' isa mapa.shared --json
json 'all(f["form"].startswith("mapa") and f["target"] == "sm_90" and f["version"] == "7.8" for f in o["forms"])'
json 'o["forms"][0]["operands"] == ["d:T", "a:T", "s:u32"] and "cluster" in o["forms"][0]["effects"]'

finish
