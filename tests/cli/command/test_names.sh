# SPDX-License-Identifier: Apache-2.0
# Every option, parameter, variable of the environment and public function that a message or hint names exists.
source "$(dirname "$0")/../cli.bash"
: >"$dir/err"
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >"$dir/which" || { echo "skipped: there is no python3"; exit 77; }

# --- what names something wrong is found: sources of our own, one wrong name in each
mkdir -p "$dir/twin/src" "$dir/twin/tools/ptxgen/"{commands,manual,show} "$dir/twin/include" "$dir/twin/docs"
cp "$here/../../../docs/environment.md" "$dir/twin/docs"
table=tools/ptxgen/manual/environment.def
cp "$here/../../../$table" "$dir/twin/$table"
grep -o 'CLUSTERJIT_[A-Z_]*' "$dir/twin/$table" | sed 's/.*/const char *a = "& --device gpu, cluster=4 and so on";/' \
    >"$dir/twin/src/right.c"
python3 "$here/names.py" "$ptxgen" "$dir/twin" >"$dir/out" || failed names.py 'it finds something in what is right'
while IFS='|' read -r file what text; do
    printf 'f("%s");\n' "$text" >"$dir/twin/$file"
    python3 "$here/names.py" "$ptxgen" "$dir/twin" >"$dir/out" && failed names.py "it finds nothing in '$text'"
    [[ $(<"$dir/out") == *"$file:1: there is no $what"* ]] || failed names.py "it does not find the $what of '$text'"
    rm "$dir/twin/$file"
done <<'END'
src/wrong.c|variable 'CLUSTERJIT_CACHES'|set CLUSTERJIT_CACHES to a directory
src/wrong.c|option 'devices'|take another with --devices cpu
src/wrong.c|parameter 'ranks'|choose ranks=4 or fewer
src/wrong.c|function 'cj_free'|free it with cj_free
tools/ptxgen/commands/fmt.c|option 'grid'|give --grid X
tools/ptxgen/show/wrong.c|option 'pages'|'ptxgen help check' says what --pages does
END

# --- ours
python3 "$here/names.py" "$ptxgen" "$here/../../.." >"$dir/out" || failed names.py 'something names what there is not'
count=$(sed -n 's/^\([0-9]*\) names.*/\1/p' "$dir/out")
((count > 200)) || failed names.py "only $count names are found"
finish
