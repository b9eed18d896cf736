# SPDX-License-Identifier: Apache-2.0
# Files of numbers as input: .npy of three formats, raw little-endian, standard input, and what is wrong with others.
source "$(dirname "$0")/../cli.bash"

# Bytes of 1.0 2.0 3.0 4.0 in f32, and of 1 2 3 4 in i64.
f32='\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40'
i64='\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0'

# npy VERSION LENGTH HEADER DATA: LENGTH is the header's length as printf escapes, or "" for the right one.
npy() {
    local length=$2
    if [[ -z $length ]]; then
        length=$(printf '\\x%02x\\x%02x' $((${#3} % 256)) $((${#3} / 256)))
        [[ $1 == 1 ]] || length+='\0\0'
    fi
    printf "\\x93NUMPY\\x0$1\\0$length%s$4" "$3"
}
header() { echo "{'descr': '$1', 'fortran_order': ${3:-False}, 'shape': $2, }    "; }

input="$dir/x.npy"
reads() { gives "$1" run reduce --device cpu --input "$input" "${@:2}"; }
rejects() { refuses 2 "$1" run reduce --device cpu --input "$input" "${@:2}"; }

# --- .npy that can be read
for version in 1 2 3; do
    npy $version '' "$(header '<f4' '(4,)')" "$f32" >"$input"
    reads 'result: 10.0'
done
reads 'SIZE: 4 '
reads 'result: 3.0' --n 2
npy 1 '' "$(header '<f4' '(2, 2)' True)" "$f32" >"$input"
reads 'result: 10.0'
npy 1 '' "$(header '<f4' '()')" '\0\0\x80\x3f' >"$input"
reads 'result: 1.0'
npy 1 '' "$(header '<i8' '(4L,)')" "$i64" >"$input"
reads 'result: 10' --dtype i64
npy 1 '' '{"shape":(4,),"fortran_order":False,"descr":"<f4"}' "$f32" >"$input"
reads 'result: 4.0' --op max

# --- and that cannot
npy 1 '' "$(header '>f4' '(4,)')" "$f32" >"$input"
rejects "big-endian ('>f4')"
npy 1 '' "$(header '<f8' '(2,)')" "$f32" >"$input"
rejects 'holds f64, but the kernel reads f32'
grep -q -- '^hint: use --dtype f64' "$dir/err" || failed 'wrong type' 'no hint'
for type in '|b1' '<c8' '<U4' '' '<' 'f4'; do
    npy 1 '' "$(header "$type" '(4,)')" "$f32" >"$input"
    rejects "elements of type '$type'"
done
npy 1 '' "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }" "$f32" >"$input"
rejects 'holds structures'
npy 1 '' "$(header '<f4' '(5,)')" "$f32" >"$input"
rejects 'truncated: its header says 5 elements, the file holds 4'
npy 1 '' "$(header '<f4' '(4294967296, 4294967296)')" "$f32" >"$input"
rejects 'damaged .npy header'
npy 1 '' "$(header '<f4' '(0,)')" '' >"$input"
rejects 'no elements'
for text in '' '{' "{'descr': '<f4'}" "{'shape': (4,), 'fortran_order': Maybe, 'descr': '<f4'}" \
    "{'shape': (4, 'fortran_order': False, 'descr': '<f4'}" "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}" \
    "{'colour': 3}"; do
    npy 1 '' "$text" "$f32" >"$input"
    rejects 'damaged .npy header'
done
npy 1 '\xff\xff' "$(header '<f4' '(4,)')" "$f32" >"$input"
rejects 'ends inside the .npy header'
npy 2 '\xff\xff\xff\x7f' "$(header '<f4' '(4,)')" "$f32" >"$input"
rejects '.npy header of 2147483647 bytes'
npy 9 '' "$(header '<f4' '(4,)')" "$f32" >"$input"
rejects '.npy format 9.0'
npy 1 '' "$(header '<f4' '(4,)')" "$f32" >"$dir/whole"
for size in 1 5 7 9 20; do
    head -c $size "$dir/whole" >"$input"
    rejects 'ends inside the .npy header'
done
: >"$input"
rejects 'no .npy file'
printf 'PK\3\4 this is a zip file' >"$input"
rejects 'no .npy file'
npy 1 '' "$(header '<f4' '(4,)')" "$f32" >"$input"
refuses 64 "n is 5, but '$input' holds only 4" run reduce --device cpu --n 5 --input "$input"

# --- raw numbers
input="$dir/x.f32"
printf "$f32" >"$input"
reads 'result: 10.0'
reads 'SIZE: 4 '
rejects 'holds f32, but the kernel reads f64' --dtype f64
printf 'xxx' >>"$input"
rejects 'which is no multiple of the 4 of a f32'
input="$dir/x.i64"
printf "$i64" >"$input"
reads 'result: 10' --dtype i64
for bad in "$dir/x.dat" "$dir/noextension"; do
    cp "$dir/x.i64" "$bad"
    refuses 2 'cannot tell what it holds' run reduce --device cpu --input "$bad"
done
refuses 2 "nowhere.f32': No such file" run reduce --device cpu --input "$dir/nowhere.f32"
refuses 2 'directory' run reduce --device cpu --input "$dir"
: >"$dir/secret.f32"
chmod 0 "$dir/secret.f32"
if [[ ! -r $dir/secret.f32 ]]; then refuses 2 'Permission denied' run reduce --input "$dir/secret.f32"; fi

# --- standard input and other pipes: .npy by its first bytes, else raw
input=-
reads 'result: 10.0' < <(printf "$f32")
reads 'result: 10.0' <"$dir/x.npy"
reads 'result: 3.0' --n 2 < <(printf "$f32")
rejects 'no multiple' < <(printf 'xxx')
rejects "'standard input' holds no elements" </dev/null
rejects "cannot read 'standard input'" <&-
rejects "cannot read 'standard input'" <"$dir"
gives 'result: 10.0' run reduce --device cpu --input <(printf "$f32")

finish
