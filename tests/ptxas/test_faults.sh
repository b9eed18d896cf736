# SPDX-License-Identifier: Apache-2.0
# ptxas accepts the planted faults of tests/faults and their twins: a GPU runs what the CPU device judges.
set -u
here=$(dirname "$0")
. "$here/nvcc.bash"
need ptxas
. "$here/../faults/faults.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# add NAME TEXT: the text's kernel and functions under names of their own.
add() { sed -E "/^\.(version|target|address_size)/d; s/\b(kernel|depth)\b/\1_$1/g" <<<"$2" >>"$dir/all.ptx"; }

both() {
    add "$1_fault" "$(faulty "$faults_dir/$1.ptx")"
    add "$1_twin" "$(twin "$faults_dir/$1.ptx")"
}

printf '.version 8.3\n.target sm_90a\n.address_size 64\n' >"$dir/all.ptx"
each_fault both
ptxas -arch sm_90a -o "$dir/all.cubin" "$dir/all.ptx" || exit 1
echo "${#fault_names[@]} faults and their twins assemble"
