# SPDX-License-Identifier: Apache-2.0
# What the users of the table of planted faults share: tests/faults/faults.txt describes its columns.
faults_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# trim TEXT: leaves it in $trimmed, without blanks at both ends.
trim() {
    trimmed=${1#"${1%%[![:space:]]*}"}
    trimmed=${trimmed%"${trimmed##*[![:space:]]}"}
}

# each_fault COMMAND: calls it for each row, with name, rule, result, what is seen on a GPU, the mistake; $launch holds the options.
# Leaves all names in $fault_names.
each_fault() {
    local command=$1 name rule how result seen mistake
    fault_names=()
    while IFS='|' read -r name rule how result seen mistake; do
        [[ $name && $name != '#'* ]] || continue
        local field fields=()
        for field in "$name" "$rule" "$result" "$seen" "$mistake"; do
            trim "$field"
            fields+=("$trimmed")
        done
        read -ra launch <<<"$how"
        fault_names+=("${fields[0]}")
        "$command" "${fields[@]}" </dev/null
    done <"$faults_dir/faults.txt"
}

# faulty FILE, twin FILE: the two kernels of a file; lines keep their numbers.
faulty() { sed 's/.*!fix.*//' "$1"; }
twin() { sed 's/.*!fault.*//' "$1"; }

# found_lines FILE: the numbers of the lines at which a fault may be reported, blank separated, with a blank at both ends.
found_lines() { sed -n '/!found/=' "$1" | tr '\n' ' ' | sed 's/^/ /'; }

# expand RESULT: the numbers that it stands for: VALUE, FIRST..LAST, FIRST..LAST/STEP, VALUExCOUNT.
expand() {
    local item range i numbers=()
    for item in $1; do
        case $item in
        *..*)
            [[ $item == */* ]] || item+=/1
            range=${item%/*}
            for ((i = ${range%..*}; i <= ${range#*..}; i += ${item#*/})); do numbers+=("$i"); done
            ;;
        *x*) for ((i = 0; i < ${item#*x}; i++)); do numbers+=("${item%x*}"); done ;;
        *) numbers+=("$item") ;;
        esac
    done
    echo "${numbers[*]}"
}
