# SPDX-License-Identifier: Apache-2.0
# Completion: 'ptxgen complete' knows commands, families, options and values; bash, zsh and fish show what it says.
source "$(dirname "$0")/../cli.bash"
here=$(cd "$(dirname "$0")" && pwd)
scripts=$(cd "$(dirname "$0")/../../../tools/ptxgen/completion" && pwd)
PATH=$(dirname "$ptxgen"):$PATH
mkdir -p "$dir/work/sub"
cd "$dir/work" || exit 1
touch kernel.ptx kernel.cu kernel.txt plot.svg plot.txt

# knows CANDIDATES WORD...: these, with blanks between, are the candidates for the last word
knows() {
    local want=$1
    shift
    gives '' complete -- "$@"
    [[ $(cut -f1 "$dir/out" | paste -sd' ') == "$want" ]] || failed "complete -- $*" "not '$want'"
}

# --- what the command says
knows 'check' ch
knows 'compare complete' com
knows 'reduce rmsnorm reducescatter' run r
knows 'reduce rmsnorm reducescatter' help emit r
knows '' run reduce sof
knows '--schedule=fixed --schedule=late --schedule=seed:' check --schedule=
knows 'fixed late seed:' check --schedule ''
knows '--dtype=f32 --dtype=f64 --dtype=f16' run reduce --dtype=f
knows 'bf16' run reduce --dtype b
knows '--cluster=' run softmax --clu
knows '' check --dtype
knows ':files ptx cu' check -x cu ''
knows ':files ptx cu' check -xcu kern
knows 'cu ptx' check -x ''
knows ':files svg png' compare reduce --plot ''
knows ':files ' run-program ''
knows ':directories' check -I ''
knows '--arch=sm_90 --arch=sm_90a' emit reduce --arch=sm_90
knows 'ls verify clear' cache ''
knows 'mbarrier' isa mb
knows ':files ptx cu' check -- --js # after -- there are no options
knows '--help --version' -
knows '' nothing ''
gives $'--cluster=\tblocks a cluster' complete -- run reduce --cl
refuses 64 'which word?' complete

# every command, and every option of every command
run help
mapfile -t commands < <(sed -nE 's/^  ([a-z-]+)  +.*/\1/p' "$dir/out")
knows "${commands[*]}" ''
for command in "${commands[@]}"; do
    run "$command" --help
    options=$(grep -oE '^(  -., |      )--[a-z-]+' "$dir/out" | sed 's/.*--//' | sort)
    [[ $command == help ]] && continue
    run complete -- "$command" --
    lacks=$(comm -23 <(echo "$options") <(cut -f1 "$dir/out" | sed 's/^--//; s/=$//' | sort))
    [[ -z $lacks ]] || failed "complete -- $command --" "not $lacks"
done

# --- bash: the words as readline splits them, at = and : too
in_bash() {
    bash --norc -c '
        source "$1/ptxgen.bash"
        COMP_LINE=$2 COMP_POINT=${#2}
        mapfile -t COMP_WORDS < <(grep -oE "[^ =:]+|[=:]+" <<<"$2")
        [[ $2 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _ptxgen
        printf "%s\n" "${COMPREPLY[@]}"' bash "$scripts" "$1"
}
# A fish or a zsh that completes the line itself.
in_fish() { HOME=$dir fish --no-config -c 'source $argv[1]/ptxgen.fish; complete -C $argv[2]' "$scripts" "$1" | cut -f1; }
in_zsh() { HOME=$dir zsh -f "$here/complete.zsh" "$scripts" "$1" "$dir/zsh"; }

# shows CANDIDATES LINE: in a shell, in any order
shows() {
    : >"$dir/err"
    "in_$shell" "$2" 2>"$dir/err" | sort | paste -sd' ' >"$dir/out"
    [[ $(<"$dir/out") == "$(tr ' ' '\n' <<<"$1" | sort | paste -sd' ')" ]] || failed "$2<TAB> in $shell" "not '$1'"
}

shell=bash
shows 'f32 f64 f16' 'ptxgen run reduce --dtype=f' # the word that bash completes begins after the =
shows 'plot.svg' 'ptxgen compare reduce --plot=pl'
shell=fish
if command -v fish >"$dir/which"; then shows '--plot=plot.svg' 'ptxgen compare reduce --plot=pl'; fi
for shell in bash fish zsh; do
    command -v $shell >"$dir/which" || { echo "not tried: $shell, which is not there"; continue; }
    shows check 'ptxgen chec'
    shows 'compare complete' 'ptxgen com'
    shows 'reduce reducescatter rmsnorm' 'ptxgen run r'
    shows 'bf16' 'ptxgen run reduce --dtype b'
    shows 'ls verify clear' 'ptxgen cache '
    shows '--dependent= --device= --dtype=' 'ptxgen run reduce --d'
    shows 'kernel.cu kernel.ptx' 'ptxgen check kern'
    shows 'plot.svg' 'ptxgen compare reduce --plot pl'
    shows '' 'ptxgen nothing x'
done
finish
