# SPDX-License-Identifier: Apache-2.0
# run --input FILE.npy, --fill SPEC and --output FILE.npy in every family.
source "$(dirname "$0")/../cli.bash"
command -v python3 >"$dir/which" || { echo "skipped: no python3, which reads and writes the files"; exit 77; }

mkdir "$dir/files"
python3 "$(dirname "$0")/run_files.py" "$ptxgen" "$dir/files" || failures=$((failures + 1))

# --- fills, where families made up their own
for family in softmax logsoftmax rmsnorm layernorm crossentropy; do
    gives 'Checked: 3 rows' run $family --device cpu --rows 3 --columns 100 --fill rand:5
done
gives '[0]: 0.01 0.01 0.01 0.01' run softmax --device cpu --rows 3 --columns 100 --fill const:2
gives 'Block 0 has: 3 4 5' run exchange --device cpu --cluster 2 --n 3 --align 4 --dtype u32 --fill iota --pattern pair

# --- a directory that others alone may write to; an output is there whole or not at all
mkdir "$dir/locked"
chmod 555 "$dir/locked"
if [[ ! -w $dir/locked ]]; then
    refuses 2 "cannot write '$dir/locked/y.npy': Permission denied" run reduce --device cpu --output "$dir/locked/y.npy"
fi
echo kept >"$dir/y.npy"
refuses 64 'rows: 0' run softmax --device cpu --rows 0 --output "$dir/y.npy"
[[ $(<"$dir/y.npy") == kept ]] || failed '--output' 'a refused run has touched the file'
finish
