# SPDX-License-Identifier: Apache-2.0
# The examples that --help shows: every command has one, its options and values are read without complaint, and those that measure
# nothing and need no device do what they say.
source "$(dirname "$0")/../cli.bash"
export CLUSTERJIT_CACHE_DIR=$dir/cache
PATH=$(dirname "$ptxgen"):$PATH
mkdir "$dir/work" && cd "$dir/work" || exit 1
"$ptxgen" emit reduce --cluster 4 >kernel.ptx || exit 1

count=0
run help
while read -r command; do
    [[ $command == help ]] && { gives 'Usage: ptxgen run reduce' help run reduce; continue; }
    run "$command" --help
    mapfile -t examples < <(sed -n '/^Examples:$/,$s/^  //p' "$dir/out")
    ((${#examples[@]})) || failed "$command --help" "no example"
    for example in "${examples[@]}"; do
        count=$((count + 1))
        [[ $example == "ptxgen $command"* ]] || failed "$command --help" "an example of another command: $example"
        case $command in
        bench | compare | exec | man | probe | run | run-program | tune) # reads all, then shows the help
            line=${example%%|*}
            if [[ $command == run-program ]]; then line=${line%% ./*}; fi
            bash -c "$line --help" >"$dir/out" 2>"$dir/err" || failed "$example" "its words are refused"
            ;;
        *) bash -c "$example" >"$dir/out" 2>"$dir/err" || failed "$example" "exit code $?" ;;
        esac
    done
done < <(sed -nE 's/^  ([a-z-]+)  +.*/\1/p' "$dir/out")
((count > 20)) || failed help "only $count examples"
[[ -s gemm.ptx && -s findings.sarif ]] || failed examples "they leave no files"
finish
