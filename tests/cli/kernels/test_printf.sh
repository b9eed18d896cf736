# SPDX-License-Identifier: Apache-2.0
# What a kernel prints goes to standard output, before the buffers that --print names; beside a JSON text or a report, to standard
# error.
. "$(dirname "$0")/../cli.bash"

cat >"$dir/hello.ptx" <<'EOF'
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry greet(.param .u64 out) .reqntid 1
{
    .reg .b64 %l<4>;
    .reg .b32 %r<4>;
    mov.u64 %l0, hello;
    cvta.global.u64 %l0, %l0;
    {
        .param .b64 format;
        .param .b64 arguments;
        .param .b32 count;
        st.param.b64 [format], %l0;
        st.param.b64 [arguments], 0;
        call (count), vprintf, (format, arguments);
        ld.param.b32 %r0, [count];
    }
    ld.param.u64 %l1, [out];
    st.global.u32 [%l1], %r0;
    ret;
}
EOF
exec=(exec "$dir/hello.ptx" --arg 'u32[2]=const:7' --print 0 --hazards on)
gives 'hello
0 7' "${exec[@]}"
run "${exec[@]}" --json
[[ $code == 0 && $(<"$dir/out") == '{'* && $(<"$dir/out") != *hello$'\n'* ]] || failed 'exec --json' 'its output is not one JSON text'
[[ $(<"$dir/err") == hello ]] || failed 'exec --json' "the kernel's text is not on standard error"
run check --run "$dir/hello.ptx"
[[ $code == 0 && $(<"$dir/out") != *hello ]] || failed 'check --run' "the kernel's text is among the findings, or there are some"
[[ $(<"$dir/err") == *hello* ]] || failed 'check --run' "the kernel's text is not on standard error"

finish
