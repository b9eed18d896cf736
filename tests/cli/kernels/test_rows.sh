# SPDX-License-Identifier: Apache-2.0
# Families of rows from the command line: every run is checked against the definition in f64.
source "$(dirname "$0")/../cli.bash"

on_cpu() { gives 'Error bound: ' run "$@" --device cpu --hazards on; }

# --- what each family can do
on_cpu softmax --rows 9 --columns 1000 --mask yes --scale 0.125
on_cpu softmax --rows 24 --columns 64 --mask yes --mask-rows 8 --dtype bf16
on_cpu logsoftmax --rows 9 --columns 1000 --pass backward
on_cpu rmsnorm --rows 9 --columns 512 --residual yes --dtype f16 --out f32
on_cpu layernorm --rows 9 --columns 512 --bias yes --stats yes
on_cpu crossentropy --rows 20 --columns 300 --gradient yes --smoothing 0.1 --label i32

# --- gradients of weights and bias: rows that warps, blocks and clusters hold, and longer ones
on_cpu rmsnorm --pass backward --weight-gradient yes --rows 100 --columns 128
on_cpu layernorm --pass backward --weight-gradient yes --bias-gradient yes --rows 50 --columns 2000 --dtype bf16
on_cpu layernorm --pass backward --weight-gradient yes --bias-gradient yes --rows 9 --columns 4096 --cluster 4 --grid 8
on_cpu rmsnorm --pass backward --bias-gradient yes --weight no --rows 9 --columns 5001 --pieces 3 --grid 10
gives '"error_bound": ' run layernorm --pass backward --weight-gradient yes --rows 30 --columns 60 --device cpu --json

# --- what makes no sense
refuses 64 'weight-gradient: yes has no effect with pass=forward' run layernorm --weight-gradient yes --device cpu
refuses 64 'blocks of warps=25 have fewer' emit rmsnorm --columns 3499 --blocks 3 --warps 25 --pieces 4 --pass backward --weight no --arch sm_80
refuses 64 'mask-rows: 4 without a mask' run softmax --mask-rows 4 --device cpu
refuses 64 "--fill 'nothing' makes no sense for f32" run softmax --fill nothing --device cpu
refuses 2 'No such file' run layernorm --input "$dir/nothing.f32" --device cpu

finish
