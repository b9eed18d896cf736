# SPDX-License-Identifier: Apache-2.0
# The README's C program compiles without a warning and runs, and the commands of the README and of docs/ print what these
# show.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
library=$(dirname "$(dirname "$CJ_PTXGEN")")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/README.md" >"$dir/example.c"
grep -q cj_reduce_run "$dir/example.c" || { echo "the README has no C program"; exit 1; }
read -ra flags <<<"${CJ_CFLAGS:-}"
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -I"$root/include" "$dir/example.c" -o "$dir/example" \
    -L"$library" -lclusterjit -Wl,-rpath,"$library" -pthread -ldl -lm
"$dir/example"

# So does the C++ of its section on C++, in a main.
if command -v "${CXX:-c++}" >/dev/null; then
    {
        echo '#include <clusterjit/clusterjit.hpp>'
        echo 'int main() {'
        awk '/^## From C\+\+$/ { section = 1 } section && /^```$/ { exit } on; section && /^```c\+\+$/ { on = 1 }' \
            "$root/README.md" | sed 's/clusterjit::device device;/clusterjit::device device("cpu");/'
        echo '    return sum == 524288.0f ? 0 : 1; }'
    } >"$dir/example.cpp"
    "${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -I"$root/include" "$dir/example.cpp" \
        -o "$dir/example_cxx" -L"$library" -lclusterjit -Wl,-rpath,"$library" -pthread -ldl -lm
    "$dir/example_cxx"
fi

# All but the device and the time, which differ from machine to machine.
awk '/^SIZE: /, /^Error bound/' "$root/README.md" >"$dir/want"
"$CJ_PTXGEN" run reduce --block 256 --cluster 4 --device cpu | sed -n 1,6p >"$dir/got"
diff "$dir/want" "$dir/got"

# The parts of the blocks that docs/command.md says of a command.
grep -o 'run reduce .* # .*: .*' "$root/docs/command.md" | grep -- '--weight' >"$dir/weighted"
[[ $(wc -l <"$dir/weighted") == 2 ]] || { echo "docs/command.md has not two weighted reductions"; exit 1; }
while read -r line; do
    read -ra command <<<"${line%%#*}"
    parts=$("$CJ_PTXGEN" "${command[@]}" --device cpu | sed -n 's/^Parts of the blocks: //p')
    [[ -n $parts && $line == *"$parts"* ]] || { echo "$line"; echo "it gives: $parts"; exit 1; }
done <"$dir/weighted"

awk '/^error: grid 15/, /says more$/' "$root/docs/why_did_my_launch_fail.md" >"$dir/want"
"$CJ_PTXGEN" emit reduce --cluster 4 >"$dir/reduce.ptx"
"$CJ_PTXGEN" contract "$dir/reduce.ptx" --grid 15 --block 256 --cluster 4 --target h200 >"$dir/got" 2>&1 || code=$?
[[ ${code:-0} == 1 ]] || { echo "contract: exit code ${code:-0}, not 1"; exit 1; }
diff "$dir/want" "$dir/got"

# Each row of docs/features.md has a command that works; the first one's launch is refused, as it says.
count=0
while read -r number command; do
    count=$((count + 1)) want=0 code=0
    if [[ $number == 1 ]]; then want=1; fi
    (cd "$dir" && bash -c "${command//tools\/run/$CJ_PTXGEN}") >"$dir/got" 2>&1 || code=$?
    [[ $code == "$want" ]] || { cat "$dir/got"; echo "row $number: exit code $code, not $want: $command"; exit 1; }
done < <(sed -nE 's/^\| ([0-9]+) \|.*\| `(tools\/run [^`]*)`.*/\1 \2/p' "$root/docs/features.md" | sed 's/\\|/|/g')
((count > 10)) || { echo "the table has $count commands"; exit 1; }
echo "all passed"
