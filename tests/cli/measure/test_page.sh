# SPDX-License-Identifier: Apache-2.0
# tools/bench/page: one HTML file of what compare and sweep measured, well formed, that loads nothing, with every shape in it.
source "$(dirname "$0")/../cli.bash"
: >"$dir/err"
page=$(cd "$(dirname "$0")/../../../tools/bench" && pwd)/page
export PYTHONDONTWRITEBYTECODE=1
command -v python3 >"$dir/which" || { echo "skipped: there is no python3"; exit 77; }

cat >"$dir/look.py" <<'END_OF_LOOK'
import html.parser, pathlib, sys
class Look(html.parser.HTMLParser):
    empty, open, words = {"meta"}, [], []
    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe"), tag
        assert all(key not in ("src", "href", "style") for key, _ in attributes), attributes
        if tag not in self.empty: self.open.append(tag)
    def handle_endtag(self, tag): assert self.open.pop() == tag, tag
    def handle_data(self, data): self.words.append(data)
text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
look = Look(convert_charrefs=True)
look.feed(text)
assert not look.open and "url(" not in text and "@import" not in text
said = " ".join(look.words)
for words in sys.argv[2:]: assert words in said, words
END_OF_LOOK

# shows WORDS… :: FILE.json…: the page of these files says the words
shows() {
    local words=()
    while [[ $1 != :: ]]; do words+=("$1"); shift; done
    shift
    python3 "$page" "$@" >"$dir/page.html" 2>"$dir/err" || failed "page $*" "it fails"
    python3 "$dir/look.py" "$dir/page.html" "${words[@]}" 2>"$dir/err" || failed "page $*" "not so: $(tail -1 "$dir/err")"
}

real=$ptxgen
ptxgen=$CJ_PTXGEN_MADE_UP_TIMES
CJ_MADE_UP_FAST='block=256:2 cluster=8:0.4 blocks=8:0.4' run compare reduce --device cpu --n 4096 --json
cp "$dir/out" "$dir/compare.json"
CJ_MADE_UP_FAST='' run compare exchange --device cpu --size 8 --n 64 --json
cp "$dir/out" "$dir/exchange.json"
ptxgen=$real
shows 'reduce: does a cluster pay?' 'A cluster pays: with 8 blocks' "(the plan's choice)" 'clusters of 16' :: "$dir/compare.json"
shows '8 blocks: A cluster makes no difference' '8 blocks, without clusters' :: "$dir/exchange.json"

cat >"$dir/sweep.json" <<'END_OF_SWEEP'
{"seed": 7, "device": "a GPU", "torch": "2.11", "ceilings": {"read": 4.5, "copy": 4.2, "product": 700}, "rows": [
 {"family": "softmax", "label": "softmax bf16 3 x 5", "bytes": 60, "failures": {"quack": "<none> & more"}, "plan": "form=stream", "note": "",
  "sides": {"ours": {"turns": 4, "alone": 4}, "compile": {"turns": 3, "alone": 3}}, "share": 0.5, "bound": "launch",
  "turns": {"best": "compile", "ratio": 0.75}, "alone": {"best": "compile", "ratio": 0.75}, "ratio": 0.75},
 {"family": "argmax", "label": "argmax f32 <7>", "bytes": 28, "failures": {"ours": "off by 3"}, "wrong": "off by 3", "sides": {}}]}
END_OF_SWEEP
shows 'softmax bf16 3 x 5' 'argmax f32 <7>' '<none> & more' 'off by 3' '0.75' 'seed 7; 2 shapes' 'The 1 worst' '2 failures' :: "$dir/sweep.json"
shows 'reduce: does a cluster pay?' 'Random shapes' :: "$dir/compare.json" "$dir/sweep.json"
echo '{"seed": 1, "device": "libclusterjit.so", "rows": [{"family": "scan", "label": "scan 1 x 2", "bytes": 8, "refused": "too short"}]}' >"$dir/cpu.json"
shows 'scan 1 x 2' 'too short' '1 failures or refusals' :: "$dir/cpu.json"

python3 "$page" --output "$dir/other.html" "$dir/compare.json" || failed 'page --output' 'it fails'
[[ -s $dir/other.html ]] || failed 'page --output' 'no file'
for file in "$dir/look.py" "$dir/none.json"; do
    python3 "$page" "$file" >"$dir/out" 2>"$dir/err" && failed "page $file" 'it is no report'
    [[ $(<"$dir/err") == *"$file"* && ! -s $dir/out ]] || failed "page $file" 'it does not name the file'
done
echo '{"rows": []}' | python3 "$page" - >"$dir/out" 2>"$dir/err" && failed 'page -' 'it is no report'
[[ $(<"$dir/err") == *"neither of 'ptxgen compare --json' nor of 'sweep --json'"* ]] || failed 'page -' 'it does not say what it takes'
finish
