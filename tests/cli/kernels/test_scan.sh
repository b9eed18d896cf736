# SPDX-License-Identifier: Apache-2.0
# Scans and top-k from the command line: every run is checked against running values, or a search, of the host.
source "$(dirname "$0")/../cli.bash"

on_cpu() { gives 'Error bound: ' run "$@" --device cpu --hazards on; }

# --- segments, by flags and by offsets; results in any order
on_cpu scan --rows 9 --columns 1000 --heads flags --exclusive yes
on_cpu scan --columns 20000 --heads i32 --segments 300 --reverse yes --dtype bf16
on_cpu scan --columns 20000 --heads i64 --segments 3 --op max --dtype i64
on_cpu scan --columns 1000 --op product
on_cpu scan --columns 1000 --op product --dtype f16
on_cpu scan --rows 2 --columns 100 --fill const:nan --op min
on_cpu scan --rows 2 --columns 100 --fill const:inf
on_cpu scan --rows 2 --columns 100 --fill const:1e38
on_cpu topk --rows 3 --columns 3000 --k 70 --result any
on_cpu topk --rows 2 --columns 3000 --k 70 --result any --cluster 4 --dtype u32 --order smallest

# --- what makes no sense
refuses 64 'segments: 0 is below 1' run scan --columns 100 --heads i32 --device cpu
refuses 64 'segments: 5 has no effect with heads=flags' run scan --columns 100 --heads flags --segments 5 --device cpu
refuses 64 'offsets are of one array' run scan --columns 100 --rows 2 --heads i64 --segments 5 --device cpu
refuses 64 'larger than any memory' run scan --rows 2^22+1 --columns 10 --stride 2^40 --device cpu
refuses 64 'larger than any memory' run scan --rows 2^22+1 --columns 10 --out-stride 2^40 --device cpu
refuses 64 'larger than any memory' run topk --rows 2^30+16385 --columns 10 --stride 4294901761 --k 1 --device cpu
refuses 64 "'f64' is none of" run topk --dtype f64 --device cpu

finish
