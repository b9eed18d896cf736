# SPDX-License-Identifier: Apache-2.0
# ptxgen compare on a GPU: a verdict follows from the rows shown, rows without clusters have none, each family has a baseline, and
# it takes seconds.
source "$(dirname "$0")/../cli/cli.bash"
needs_gpu

# verdict_of ARGUMENT...: as above. What is best without clusters is not slower than the plan's own choice, if that has none.
verdict_of() {
    local begin=$SECONDS
    gives '"rows": [' compare "$@" --device gpu --json
    json 'all((r["plan"]["cluster"][0] == 0) == (r["cluster"] == 0) for r in o["rows"] if "refused" not in r)'
    json 'all(any(r["cluster"] == 0 and r.get("blocks", 0) == v.get("blocks", 0) and "refused" not in r for r in o["rows"]) for v in o.get("verdicts", [o.get("verdict")]))'
    json 'all("pays" in v for v in o.get("verdicts", [o.get("verdict")]))'
    json 'all(v["pays"] == "no difference" or (v["pays"] == "yes") == (v["speedup"] > 1) for v in o.get("verdicts", [o.get("verdict")]))'
    json 'all(abs(v["speedup"] - min(r["time_ms"] for r in o["rows"] if "refused" not in r and r["cluster"] == 0 and r.get("blocks", 0) == v.get("blocks", 0)) / min(r["time_ms"] for r in o["rows"] if "refused" not in r and r["cluster"] > 1 and r.get("blocks", 0) == v.get("blocks", 0))) < 1e-9 for v in o.get("verdicts", [o.get("verdict")]))'
    json 'all(r["active_clusters"] > 0 and r["waves"] > 0 for r in o["rows"] if "refused" not in r)'
    ((SECONDS - begin < 120)) || failed "compare $*" "it took $((SECONDS - begin)) s"
}

verdict_of rmsnorm --rows 16 --columns 262144
verdict_of softmax --rows 1024 --columns 262144 --dtype bf16
verdict_of scan --rows 64 --columns 65536
verdict_of exchange --pattern all-to-all --n 4096
verdict_of collective
verdict_of stencil --dim 1 --nx 4096 --steps 256
verdict_of stencil --nx 512 --ny 512 --batch 15 --steps 256
verdict_of histogram --n 2^24 --bins 2^17
finish
