# SPDX-License-Identifier: Apache-2.0
# run-program: what it starts, what the program sees, what it shows of the report, and its exit codes. A small libcuda.so.1 that
# writes the report's lines stands for the CPU device's; tests/programs has whole programs.
source "$(dirname "$0")/../cli.bash"
cd "$dir" || exit 1
mkdir programs
export CLUSTERJIT_PROGRAMS=$dir/programs

cat >fake.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Appends a line, in which % stands for the schedule.
void fake_tell(const char *line);
void fake_tell(const char *line) {
    int file = open(getenv("CLUSTERJIT_REPORT"), O_WRONLY | O_APPEND);
    if (write(file, line, strlen(line)) < 0 || write(file, "\n", 1) < 0) abort();
    close(file);
}
END
cat >end.c <<'END'
int cuInit(unsigned);
void fake_tell(const char *line);
int cuInit(unsigned flags) {
    fake_tell("{\"kind\": \"end\", \"launches\": 2, \"copies\": 3, \"bytes\": 4096, \"seconds\": 0.25}");
    return (int)flags;
}
END
"${CC:-cc}" -shared -fPIC -Wl,-soname,libcuda.so.1 fake.c end.c -o programs/libcuda.so.1 || exit 1

# program NAME TEXT: a C program of that text, linked with the libcuda.so.1 above.
program() {
    printf '%s\n' '#include <signal.h>' '#include <stdio.h>' '#include <stdlib.h>' '#include <string.h>' \
        '#include <unistd.h>' 'int cuInit(unsigned);' 'void fake_tell(const char *line);' "$2" >"$1.c"
    "${CC:-cc}" -D_GNU_SOURCE "$1.c" programs/libcuda.so.1 -o "$1" || exit 1
}

# --- input, output, arguments, environment and exit code are the program's
program plain 'int main(int count, char **words) {
    char line[64];
    cuInit(0);
    printf("%d %s %s|%s|%s|%s|%s|%s\n", count, count > 2 ? words[2] : "", fgets(line, 64, stdin) ? line : "",
           getenv("CLUSTERJIT_HAZARDS"), getenv("CLUSTERJIT_SCHEDULE"),
           getenv("CLUSTERJIT_GPUS") ? getenv("CLUSTERJIT_GPUS") : "-",
           getenv("CLUSTERJIT_THREADS") ? getenv("CLUSTERJIT_THREADS") : "-",
           getenv("CLUSTERJIT_LIMIT") ? getenv("CLUSTERJIT_LIMIT") : "-");
    return count > 1 ? atoi(words[1]) : 0;
}'
printf hello >hello
gives '1  hello|on|fixed|-|-|-' run-program ./plain <hello
[[ $(<"$dir/err") == './plain: 2 launches, 3 copies of 4096 bytes, 0.250 s in kernels: no hazards (schedule fixed)' ]] ||
    failed 'run-program ./plain' 'another summary'
finds 7 '3 --json hello|off|seed:9|2|4|50' run-program --hazards off --schedule seed:9 --gpus 2 --threads 4 --limit 50 \
    ./plain 7 --json <hello
[[ $(<"$dir/err") == *'hazards were not watched (schedule seed:9)' ]] || failed 'run-program --hazards off' 'another summary'
PATH=$dir:$PATH gives '2' run-program -- plain 0 </dev/null
printf '#!/bin/sh\nexec ./plain "$@"\n' >script
chmod +x script
finds 3 '2  |on' run-program ./script 3 </dev/null
LD_LIBRARY_PATH=/nowhere run run-program sh -c 'echo "$LD_LIBRARY_PATH"' 
[[ $(<"$dir/out") == "$dir/programs:/nowhere" ]] || failed 'run-program sh' 'LD_LIBRARY_PATH is another'

# --- JSON and SARIF are alone on standard output
gives '"launches": 2' run-program --json ./plain </dev/null
json 'o["exit"] == {"code": 0, "signal": None} and o["program"] == "./plain" and o["findings"] == [] and o["hazards"]'
[[ $(<"$dir/err") == '1  |on'* ]] || failed 'run-program --json' "the program's output is lost"
gives '"version": "2.1.0"' run-program --sarif - ./plain </dev/null
json 'o["runs"][0]["results"] == []'

# --- hazards, faults and leaks: under the lines of the source, each once
printf '%s\n' '__global__ void k(float *x) {' '    x[0] = 1;' '    x[0] = 2;' '}' >k.cu
cat >line.py <<'END'
import json
ptx = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
\t.reg .b64 %rd<3>;
\t.loc 1 2 5
\tst.global.f32 [%rd1], 0f3F800000;
\t.loc 1 3 5
\tst.global.f32 [%rd1], 0f40000000;
\tret;
}
.file 1 "k.cu"
"""
race = {"kind": "hazard", "call": "cuLaunchKernel", "kernel": "k", "module": "1.1", "rule": "race-grid", "message": "two writes",
        "hint": "order them", "sides": [{"ptx_line": 10, "what": "st.global.f32"}, {"ptx_line": 8, "what": "st.global.f32"}]}
bare = dict(race, module="1.2")
for name, line in [("PTX", {"kind": "ptx", "module": "1.1", "text": ptx}),
                   ("BARE", {"kind": "ptx", "module": "1.2", "text": ptx.replace(".loc", "//")}),
                   ("MEMORY", {"kind": "ptx", "module": "1.1", "text": ptx.replace("k.cu", "/gone/made.cu")}),
                   ("SOURCE", {"kind": "source", "file": "/gone/made.cu", "text": "void k()\nfirst\nsecond\n"}),
                   ("OTHER", {"kind": "source", "file": "/gone/made.cu", "text": "void other()\nwrong\nwrong\n"}),
                   ("RACE", race), ("PLAIN", bare),
                   ("FAULT", {"kind": "fault", "call": "cuLaunchKernel", "kernel": "k", "message": "out of bounds",
                              "code": "CUDA_ERROR_ILLEGAL_ADDRESS"}),
                   ("LEAK", {"kind": "leak", "call": "cuMemAlloc", "message": "16 bytes were never freed", "bytes": 16}),
                   ("REFUSED", {"kind": "refused", "call": "cuMemcpy", "message": "too long", "hint": "shorter"}),
                   ("LAUNCH", {"kind": "refused", "call": "cuLaunchKernel", "message": "too many"}),
                   ("STATIC", {"kind": "unsupported", "call": "cuGetExportTable", "message": "there is none"}),
                   ("MISSING", {"kind": "unsupported", "call": "cuGreenCtxCreate", "message": "not here"})]:
    print("#define", name, json.dumps(json.dumps(line)))
END
if command -v python3 >which; then
    python3 line.py >lines.h || exit 1
    teller() { program "$1" "#include \"lines.h\"
int main(void) { const char *lines[] = {$2}; for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) fake_tell(lines[i]); ${3:-} return cuInit(0); }"; }

    teller racy 'PTX, RACE, RACE, LEAK'
    finds 1 '' run-program ./racy
    [[ $(<"$dir/err") == 'k.cu:3:5: error: two writes [race-grid]
    x[0] = 2;
    ^
note: PTX line 10: st.global.f32 [%rd1], 0f40000000;
note: the other one, st.global.f32, is at k.cu:2:5
    x[0] = 1;
    ^
note: PTX line 8: st.global.f32 [%rd1], 0f3F800000;
hint: order them
./racy: 2 launches, '*': 1 hazard (schedule fixed)
hint: '"'ptxgen explain race-grid' says more" ]] || failed 'run-program ./racy' 'the hazard is shown in another way'
    finds 1 '' run-program --leaks on ./racy
    [[ $(<"$dir/err") == *'./racy: error: 16 bytes were never freed [leak]'*'1 hazard, 1 leak (schedule'* ]] ||
        failed 'run-program --leaks on' 'the leak is not shown'
    finds 1 '' run-program --json ./racy
    json '[(f["kind"], f["count"], f["source"]["line"], f["other"]["source"]["line"]) for f in o["findings"]] == [("hazard", 2, 3, 2)]'
    finds 1 '' run-program --sarif found.sarif ./racy
    cp found.sarif "$dir/out"
    json '[(r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in o["runs"][0]["results"]] == [("race-grid", 3)]'
    finds 1 '' run-program --schedule seed:3..9 ./racy
    [[ $(<"$dir/err") == *$'note: found with --schedule seed:3\n'* ]] || failed 'run-program --schedule' 'no seed'

    teller memory 'MEMORY, SOURCE, OTHER, RACE'
    finds 1 '' run-program ./memory
    [[ $(<"$dir/err") == '/gone/made.cu:3:5: error: two writes [race-grid]
second
'* ]] || failed 'run-program ./memory' 'the text of the source that is in memory is not shown'

    teller bare 'BARE, PLAIN, FAULT'
    finds 1 '' run-program ./bare
    [[ $(<"$dir/err") == *'PTX of k:10:2: error: two writes [race-grid]'*'./bare: error: out of bounds [CUDA_ERROR_ILLEGAL_ADDRESS]'*'note: with -lineinfo'*'1 hazard, 1 fault (schedule'* ]] ||
        failed 'run-program ./bare' 'PTX without lines of a source is shown in another way'

    teller refused 'REFUSED, REFUSED, LAUNCH, MISSING'
    gives '' run-program ./refused
    [[ $(<"$dir/err") == *'warning: cuLaunchKernel: too many'*'warning: cuGreenCtxCreate: not here'*': no hazards, 1 refused call ('* ]] ||
        failed 'run-program ./refused' 'the refusals are not shown'
    gives '"count": 2' run-program --json ./refused
    json '[len(o["refused"]), len(o["unsupported"])] == [2, 1]'
    teller fails 'REFUSED, REFUSED' 'return 5;'
    finds 5 '' run-program ./fails
    [[ $(<"$dir/err") == *'warning: cuMemcpy: too long
hint: shorter'* ]] || failed 'run-program ./fails' 'a refusal is not shown, though the program failed'
    teller static 'STATIC' '__asm__(".pushsection .nvFatBinSegment, \"a\"; .long 0; .popsection"); return 1;'
    finds 2 '"failure"' run-program --json ./static
    json '"CUDA runtime" in o["failure"]["message"] and "-cudart shared" in o["failure"]["hint"]'

    # --- a program that dies tells what it found before
    teller dies 'PTX, RACE, "{\"kind\": \"haz"' 'raise(SIGSEGV);'
    finds 139 '' run-program ./dies
    [[ $(<"$dir/err") == *'two writes [race-grid]'*'ended before it could count'*': 1 hazard until then ('*"'./dies' died by signal 11 ("* ]] ||
        failed 'run-program ./dies' 'another end'
fi

# --- the compilers are loaded first, except where a sanitizer wants that
printf 'int nvrtcVersion(void) { return 7; }\n' >nvrtc.c
"${CC:-cc}" -shared -fPIC -Wl,-soname,libnvrtc.so.13 nvrtc.c -o programs/libnvrtc.so.13 || exit 1
program loaded '#include <dlfcn.h>
int main(void) { cuInit(0); return dlsym(RTLD_DEFAULT, "nvrtcVersion") ? 4 : 5; }'
finds 4 '' run-program ./loaded
if "${CC:-cc}" -fsanitize=address -D_GNU_SOURCE loaded.c programs/libcuda.so.1 -o loaded 2>"$dir/err"; then
    ASAN_OPTIONS=detect_leaks=0 finds 5 '' run-program ./loaded
fi
rm programs/libnvrtc.so.13

# --- seeds: once for each
program seeds 'int main(void) { cuInit(0); return puts(getenv("CLUSTERJIT_SCHEDULE")) < 0; }'
gives 'seed:5
seed:6
seed:7' run-program --schedule seed:5..7 ./seeds

# --- signals to the command reach the program
program waits 'static void stop(int number) { _exit(40 + number); }
int main(void) { signal(SIGUSR1, stop); cuInit(0); puts("ready"); fflush(stdout); for (;;) pause(); }'
"$ptxgen" run-program ./waits >"$dir/out" 2>"$dir/err" &
command=$!
for ((i = 0; i < 200; i++)); do
    [[ $(<"$dir/out") == ready ]] && break
    sleep 0.05
done
kill -USR1 $command
wait $command
code=$?
[[ $code == 50 ]] || failed 'run-program ./waits' "exit code $code, not that of SIGUSR1 in the program"

# --- what is no CUDA program
gives '' run-program true
[[ $(<"$dir/err") == *"note: 'true' made no CUDA call" ]] || failed 'run-program true' 'it is not told'
refuses 2 "no program 'nonesuch' in PATH" run-program nonesuch
refuses 2 "cannot run './nonesuch': No such file" run-program ./nonesuch
refuses 2 'is a directory' run-program ./programs
printf 'text\n' >text
refuses 2 'is not executable' run-program ./text
chmod +x text
refuses 2 'is no program' run-program ./text
head -c 100 plain >partial
chmod +x partial
refuses 2 'cannot run' run-program ./partial
printf '\177ELF\1' >short
chmod +x short
refuses 2 'no 64-bit ELF' run-program ./short
refuses 64 'which program' run-program
refuses 64 "unknown option '--frob'" run-program --frob ./plain
refuses 64 '--gpus' run-program --gpus 0 ./plain
refuses 64 '--leaks' run-program --leaks maybe ./plain
refuses 64 '--schedule' run-program --schedule seed:9..3 ./plain
refuses 64 'alone' run-program --json --sarif - ./plain
CLUSTERJIT_PROGRAMS=/nowhere refuses 2 "no libcuda.so.1 in '/nowhere'" run-program ./plain

finish
