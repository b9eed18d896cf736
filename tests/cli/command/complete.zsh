# SPDX-License-Identifier: Apache-2.0
# complete.zsh SCRIPTS LINE FILE: writes what an interactive zsh, in a pseudo terminal, offers for LINE to FILE, one
# candidate a line.
zmodload zsh/zpty
typeset scripts=$1 line=$2 file=$3 setup=$3.setup ready=$3.ready
rm -f $file $ready
cat >$setup <<'END_OF_SETUP'
PS1= PS2=
fpath=($scripts $fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
# Notes each match that is added; -O, -A and -D ask for matches without adding them.
compadd() {
    local -a found
    if [[ " ${@[1,(i)(-|--)]} " != *' -'[OAD]' '* ]]; then
        builtin compadd -A found "$@"
        (( $#found )) && print -rl -- $found >>$file.part
    fi
    builtin compadd "$@"
}
finish_here() { touch $file.part; mv $file.part $file; exit }
comppostfuncs=(finish_here)
touch $ready
END_OF_SETUP
# wait_for FILE: up to ten seconds
wait_for() { repeat 500; do [[ -e $1 ]] && return; sleep 0.02; done; return 1 }
zpty shell zsh -f -i
zpty -w shell "scripts=${(q)scripts} file=${(q)file} ready=${(q)ready}; source ${(q)setup}"
wait_for $ready || { print -u2 "zsh does not begin"; exit 1 }
zpty -w -n shell "$line"$'\t'
wait_for $file || { print -u2 "zsh does not complete"; exit 1 }
cat $file
