# SPDX-License-Identifier: Apache-2.0
# The manual pages: each command has one, with all that --help shows; the library's has every call and variable; and the
# programs that read manual pages have nothing to say of them.
source "$(dirname "$0")/../cli.bash"
root=$(cd "$(dirname "$0")/../../.." && pwd)
man=$dir/man
mkdir "$man"

export SOURCE_DATE_EPOCH=86400
gives '' man --headers "$root/include/clusterjit" --output "$man"
run help
mapfile -t commands < <(sed -nE 's/^  ([a-z-]+)  +.*/\1/p' "$dir/out")
((${#commands[@]} > 15)) || failed help "only ${#commands[@]} commands"
for command in "${commands[@]}"; do
    page=$man/man1/ptxgen-$command.1
    [[ -s $page ]] || failed "man --output" "no page of $command"
    grep -q '1970-01-02' "$page" || failed "man --output" "the day is not that of SOURCE_DATE_EPOCH"
    [[ $(grep -c "ptxgen\\\\-${command//-/\\\\-}" "$man/man1/ptxgen.1") -gt 0 ]] || failed "man --output" "ptxgen.1 has no $command"
    gives '' man "$command"
    cmp -s "$dir/out" "$page" || failed "man $command" "another page than --output writes"
    tr -d '\\' <"$page" >"$dir/page"
    [[ $command == help ]] && continue
    run "$command" --help
    while read -r option; do
        grep -q -- "^fB--${option}fR\|, fB--${option}fR" "$dir/page" || failed "man $command" "no --$option"
    done < <(grep -oE '^(  -., |      )--[a-z-]+' "$dir/out" | sed 's/.*--//')
done
run man list
for parameter in op-expr dtype columns; do
    grep -q "$parameter" <(tr -d '\\' <"$dir/out") || failed "man list" "no parameter $parameter"
done

tr -d '\\' <"$man/man3/clusterjit.3" >"$dir/page"
count=0
while read -r call; do
    count=$((count + 1))
    grep -q "[ *]$call(" "$dir/page" || failed "man --headers" "no $call"
done < <(grep -hoE '^CJ_API [^(]*\bcj_[a-z0-9_]+\(' "$root"/include/clusterjit/*.h | grep -oE 'cj_[a-z0-9_]+\($' | tr -d '(')
((count > 200)) || failed "man --headers" "only $count calls"
while read -r variable; do
    grep -q "$variable" "$dir/page" || failed "man --headers" "no $variable"
    grep -q "$variable" <(tr -d '\\' <"$man/man1/ptxgen.1") || failed "man" "no $variable"
done < <(grep -oE '^\| `CLUSTERJIT_[A-Z_]+' "$root/docs/environment.md" | grep -oE 'CLUSTERJIT_[A-Z_]+')

refuses 64 "unknown command 'nothing'" man nothing
refuses 2 "cannot make the directory" man --output "$dir/none"
refuses 2 "has no headers" man --headers "$man"
refuses 2 "cannot read the directory" man --headers "$dir/none"

readers=0
# silent COMMAND...: reads every page, and has nothing to say
silent() {
    command -v "$1" >"$dir/which" || { echo "not held against $1, which is not there"; return; }
    readers=$((readers + 1))
    for page in "$man"/man?/*; do
        "$@" "$page" >"$dir/out" 2>"$dir/err" || failed "man" "$* $page fails"
        [[ ! -s $dir/err && $1 != mandoc || ! -s $dir/out ]] || failed "man" "$* has something to say of $page"
    done
}
silent groff -ww -man -Tutf8
silent mandoc -Tlint
silent man -l
((readers > 0)) || { echo "skipped: neither groff nor mandoc nor man is there"; finish; exit 77; }
finish
