// SPDX-License-Identifier: Apache-2.0
// ptxgen/print: the layout that people read. What was printed prints to itself, and nothing is lost on the way.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "print.h"

static char *printed(const char *text) {
    cj_ir_module *module = NULL;
    cj_error      error = {0};
    cj_status     status = cj__ir_parse(text, strlen(text), &module, &error);
    if (status) print_error("%u:%u of\n%s\n", error.line, error.column, text);
    cj_test_ok(status, &error);
    cj_text out = {0};
    cj__ir_print(module, &out);
    assert_false(out.failed);
    cj__ir_free(module);
    return out.data;
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define BODY(...) HEAD ".entry k()\n{\n" __VA_ARGS__ "}\n"

// As written, and as printed.
static const struct {
    const char *text, *printed;
} layouts[] = {
    // the head
    {".target sm_90a, debug .version 8.3", ".version 8.3\n.target sm_90a, debug\n.address_size 64\n"},
    {"// one\n// two\n\n\n\n" HEAD, "// one\n// two\n\n" HEAD},
    {".version 8.0 // which\n.target sm_90 // what\n", HEAD "// which\n// what\n"},
    {HEAD "\n\n\n.global .u32 x;\n\n.file 1 \"a.cu\"\n", HEAD "\n.global .u32 x;\n\n.file 1 \"a.cu\"\n"},
    {HEAD ".global .u32 x,y[2];", HEAD ".global .u32 x;\n.global .u32 y[2];\n"},
    {HEAD ".global .u32 x[2]={1,// one\n  /* and */ 2};", HEAD ".global .u32 x[2] = {1, 2};\n// one\n// and\n"},
    {HEAD ".section .debug { .b8 0\n }", HEAD ".section .debug { .b8 0\n }\n"},
    // functions
    {HEAD ".visible .entry k(.param .u64 x,.param .u32 n) { ret; }",
     HEAD ".visible .entry k(\n    .param .u64 x,\n    .param .u32 n\n)\n{\n    ret;\n}\n"},
    {HEAD ".entry k(\n// before\n.param .u64 x, // after /* it */\n.param .u32 n /* last\n one */) { ret; }",
     HEAD ".entry k(\n    .param .u64 x,                      // before  after /* it */\n"
          "    .param .u32 n                       // last  one\n)\n{\n    ret;\n}\n"},
    {HEAD ".entry k() .maxnreg 32 .reqntid 64, 2 // two rows\n{ // open\n ret; } // close\n// end\n",
     HEAD ".entry k()\n.reqntid 64, 2\n.maxnreg 32\n{\n    // two rows\n    // open\n    ret;\n}\n"
          "// close\n// end\n"},
    {HEAD ".extern .func f;", HEAD ".extern .func f();\n"},
    // statements
    {BODY("ret ;"), BODY("    ret;\n")},
    {BODY(".reg .pred %p; .reg .u32 %a,%b<4> ,\n // why\n %c; @ ! %p bra x; x:ret;"),
     BODY("    .reg .pred %p;\n    .reg .u32 %a, %b<4>, %c;\n    // why\n    @!%p bra                   x;\n"
          "x:\n    ret;\n")},
    {BODY(".reg .u32 %a; add.u32 %a,%a, - 1; /* one */ /* two */ ret; // three\n"),
     BODY("    .reg .u32 %a;\n    add.u32                    %a, %a, - 1;"
          "                             // one\n    // two\n    ret;                                        "
          "                        // three\n")},
    {BODY(".reg .u32 %a; mov.u32 %a, -/* minus */5;\n"),
     BODY("    .reg .u32 %a;\n    mov.u32                    %a, - 5;                                 // minus\n")},
    {BODY("/* a\n * b\n */\n\n\nret;"), BODY("    // a\n    // * b\n    //\n\n    ret;\n")},
    {BODY("\n\n  ret;\n\n\n"), BODY("\n    ret;\n\n")},
    {BODY("{ { ret; } }"), BODY("    {\n        {\n            ret;\n        }\n    }\n")},
    {BODY(".reg .u32 %a; ld.global.u32 %a, [ 16 ]; ld.global.u32 %a, [%a+-4]; ld.global.u32 %a, [%a+0];"),
     BODY("    .reg .u32 %a;\n    ld.global.u32              %a, [16];\n    ld.global.u32              %a, [%a + -4];\n"
          "    ld.global.u32              %a, [%a + 0];\n")},
    {BODY("l: .branchtargets\n l; ret; // which\n"),
     BODY("l:\n    .branchtargets l;\n    ret;                               "
          "                                 // which\n")},
};

static void layouts_are_as_shown(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(layouts); i++) {
        char *once = printed(layouts[i].text), *twice = printed(once);
        assert_string_equal(once, layouts[i].printed);
        assert_string_equal(twice, once);
        free(once);
        free(twice);
    }
}

static void everything_prints_to_itself(void **state) {
    (void)state;
    char *sample = cj_test_read(CJ_TEST_DIR "/unit/text/sample.ptx"), *once = printed(sample);
    assert_string_equal(once, sample);
    free(sample);
    free(once);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_as_shown),
        cmocka_unit_test(everything_prints_to_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
