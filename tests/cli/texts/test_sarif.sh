# SPDX-License-Identifier: Apache-2.0
# --sarif: SARIF 2.1.0 of what check and exec find, with what code hosts ask of it; and the workflow of docs/ci, whose commands run.
source "$(dirname "$0")/../cli.bash"
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$dir" || exit 1
export CLUSTERJIT_CACHE_DIR=$dir/cache
mkdir -m 700 cache

# valid FILE [EXPRESSION]: the file is a SARIF log with all that is needed, and the expression is true of its run, `r`.
valid() {
    command -v python3 >which || return 0
    python3 - "$1" "${2:-True}" <<'END' 2>json || failed "--sarif $1" "not so: $(tail -3 json)"
import json, sys, urllib.parse
log = json.load(open(sys.argv[1], encoding="utf-8"))
assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json") and list(log) == ["$schema", "version", "runs"]
(r,) = log["runs"]
driver = r["tool"]["driver"]
assert driver["name"] == "ptxgen" and driver["version"]
for rule in driver["rules"]:
    assert rule["id"] and rule["shortDescription"]["text"] and rule["help"]["text"]
    assert rule["defaultConfiguration"]["level"] in ("error", "warning")
assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])


def place(location):
    uri = location["physicalLocation"]["artifactLocation"]["uri"]
    assert uri and uri.isascii() and " " not in uri and urllib.parse.urlparse(uri).scheme in ("", "file"), uri
    region = location["physicalLocation"].get("region", {"startLine": 1})
    assert region["startLine"] >= 1 and region.get("startColumn", 1) >= 1


for result in r["results"]:
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in ("error", "warning") and result["message"]["text"]
    (location,) = result["locations"]
    place(location)
    for location in result["relatedLocations"]:
        assert location["message"]["text"]
        if "physicalLocation" in location:
            place(location)
(invocation,) = r["invocations"]
assert isinstance(invocation["executionSuccessful"], bool)


def at(result):
    physical = result["locations"][0]["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


assert eval(f"({sys.argv[2]})"), sys.argv[2]
END
}

# --- PTX without lines of a source
printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' '.entry k() .minnctapersm 2' '{' 'frob %r1;' 'ret;' '}' >'a b%.ptx'
finds 1 '[mnemonic]' check 'a b%.ptx' --sarif out.sarif
valid out.sarif '[(at(x), x["ruleId"], x["level"]) for x in r["results"]] == [(("a%20b%25.ptx", 4), "directive-ignored", "warning"),
    (("a%20b%25.ptx", 6), "mnemonic", "error")] and r["results"][1]["relatedLocations"] == []'
valid out.sarif '"no instruction" in r["results"][1]["message"]["text"] and r["invocations"][0]["executionSuccessful"]'
finds 1 '"version": "2.1.0"' check 'a b%.ptx' --sarif -
[[ $(<out) != *'.ptx:6:'* ]] || failed 'check --sarif -' 'findings as text beside it'
valid out
printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' '.entry k() { ret; }' >right.ptx
gives '' check right.ptx --sarif out.sarif
valid out.sarif 'r["results"] == [] and r["tool"]["driver"]["rules"] == []'
finds 1 '' exec 'a b%.ptx' --sarif out.sarif
valid out.sarif 'len(r["results"]) == 1 and r["results"][0]["ruleId"] == "mnemonic"'
finds 1 '' check - --sarif out.sarif <'a b%.ptx'
valid out.sarif 'at(r["results"][0])[0] == "%3Cstdin%3E"'

# --- hazards: the source's place, the PTX's and the other access as related locations
printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' '.entry k()' '{' '.reg .b32 %r<4>;' '.shared .align 4 .b8 s[256];' \
    '.loc 1 3 5' 'mov.u32 %r0, %tid.x;' 'shl.b32 %r1, %r0, 2;' 'mov.u32 %r2, s;' 'add.u32 %r1, %r2, %r1;' 'st.shared.u32 [%r1], %r0;' \
    '.loc 1 7 9' '.loc 1 2 3, function_name $n, inlined_at 1 7 9' 'xor.b32 %r1, %r1, 128;' 'ld.shared.u32 %r3, [%r1];' 'ret;' '}' \
    ".file 1 \"$PWD/sub/k.cu\"" >race.ptx
for command in "exec race.ptx --block 64 --hazards on" "check --run race.ptx --block 64"; do
    # shellcheck disable=SC2086
    finds 1 '' $command --sarif out.sarif
    valid out.sarif '[x["ruleId"] for x in r["results"] if at(x) == ("sub/k.cu", 3)].count("race-block") == 1'
    valid out.sarif '[l["message"]["text"] for x in r["results"] if at(x) == ("sub/k.cu", 2) and x["ruleId"] == "race-block"
        for l in x["relatedLocations"]] == ["inlined here", "PTX line 17: ld.shared.u32 %r3, [%r1];", "the other one, st.shared.u32",
        "PTX line 13: st.shared.u32 [%r1], %r0;"]'
    valid out.sarif 'all(r["tool"]["driver"]["rules"][-1]["help"][k].startswith("Two threads of a block") for k in ("text", "markdown"))'
done

# --- where it goes, and what else does
refuses 64 '--sarif - takes standard output alone' check right.ptx --sarif - --json
refuses 64 '--sarif - takes standard output alone' exec right.ptx --sarif - --arg 'u32[1]=zeros' --print 0
refuses 2 'cannot write' check right.ptx --sarif /nowhere/out.sarif
refuses 2 'cannot write' exec right.ptx --sarif "$dir"
gives '"findings"' check right.ptx --sarif out.sarif --json
valid out.sarif
refuses 2 'cannot read' check none.ptx --sarif out.sarif
valid out.sarif 'not r["invocations"][0]["executionSuccessful"] and "none.ptx" in
    r["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]'

# --- the workflow's commands, on a kernel with a fault and without
mkdir kernels
run check -x cu - <<<'__global__ void k() {}'
if [[ $(<err) == *'needs NVRTC'* ]]; then
    ((failures)) || { echo 'skipped: there is no NVRTC for the rest'; exit 77; }
    finish
fi
grep -E '^ +(ptxgen|mkdir) ' "$root/docs/ci/github-actions.yml" | sed 's/^ *//' >commands
[[ $(grep -c ptxgen commands) == 2 ]] || failed workflow "it has not two commands: $(<commands)"
while read -r line; do
    [[ $(<"$root/docs/ci.md") == *"${line%% --sarif*}"* || $line == mkdir* ]] || failed workflow "docs/ci.md does not have '$line'"
done <commands
workflow() { (PATH=$(dirname "$ptxgen"):$PATH && set -e && source ./commands) >out 2>err; code=$?; }
cat >kernels/pairs.cu <<'EOF'
__global__ void pairs(int *x) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();  // !fix
    x[threadIdx.x] = s[threadIdx.x ^ 32];
}
EOF
workflow
[[ $code == 0 ]] || failed workflow "exit code $code"
valid sarif/check.sarif 'r["results"] == []'
valid sarif/pairs.sarif 'r["results"] == []'
sed -i '/!fix/d' kernels/pairs.cu
workflow
[[ $code == 1 ]] || failed workflow "exit code $code of a kernel with a race"
valid sarif/pairs.sarif '{at(x) for x in r["results"] if x["ruleId"] == "race-block"} == {("kernels/pairs.cu", 3), ("kernels/pairs.cu", 4)}'
echo '?' >kernels/pairs.cu
refuses 3 'does not compile' check kernels/pairs.cu --sarif out.sarif
valid out.sarif 'not r["invocations"][0]["executionSuccessful"]'
finish
