# SPDX-License-Identifier: Apache-2.0
# Completion of ptxgen for bash: 'ptxgen complete' knows the candidates.

# Bash splits words at = and :, which belong to ptxgen's words: pieces without a blank between are put together again.
_ptxgen_words() {
    local rest=${COMP_LINE:0:COMP_POINT} piece index
    _ptxgen_words=()
    for ((index = 0; index <= COMP_CWORD; index++)); do
        piece=${COMP_WORDS[index]}
        ((index < COMP_CWORD)) || piece=${piece:0:${#rest}}
        if [[ ${#_ptxgen_words[@]} -gt 0 && $rest == "$piece"* && -n $piece ]]; then
            _ptxgen_words[${#_ptxgen_words[@]} - 1]+=$piece
        else
            rest=${rest#"${rest%%[![:blank:]]*}"}
            _ptxgen_words+=("$piece")
        fi
        rest=${rest#"$piece"}
    done
}

_ptxgen_files() {
    local found suffix
    compopt -o filenames 2>/dev/null
    for suffix in "$@"; do
        while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -X "!*.$suffix" -- "$current")
    done
    if (($#)); then
        while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -d -- "$current")
    else
        while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -- "$current")
    fi
}

_ptxgen() {
    local _ptxgen_words line word current before suffixes
    _ptxgen_words
    word=${_ptxgen_words[${#_ptxgen_words[@]} - 1]}
    current=${word##*[=:]}
    before=${word%"$current"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            ':files'*)
                read -ra suffixes <<<"${line#:files}"
                _ptxgen_files "${suffixes[@]}"
                ;;
            ':directories')
                compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current")
                ;;
            *)
                line=${line%%$'\t'*}
                COMPREPLY+=("${line#"$before"}")
                ;;
        esac
    done < <("${COMP_WORDS[0]}" complete -- "${_ptxgen_words[@]:1}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:] ]]; then compopt -o nospace 2>/dev/null; fi
}

complete -F _ptxgen ptxgen
