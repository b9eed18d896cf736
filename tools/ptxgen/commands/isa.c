// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/check.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "form.h"
#include "message.h"
#include "output.h"

typedef struct isa_options {
    const char *prefix;
    bool        json;
} isa_options;

enum { KEY_JSON = ARGS_LONG_ONLY };

static const args_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {0},
};

static int set(void *user, int key, char *value) {
    isa_options *o = user;
    (void)value;
    if (key == KEY_JSON) o->json = true;
    return CODE_OK;
}

static int take(void *user, char *word) {
    isa_options *o = user;
    if (o->prefix[0]) return message_error(CJ_INVALID_ARGUMENT, "'%s' is one prefix too many; one is taken", word);
    o->prefix = word;
    return CODE_OK;
}

const args_spec isa_spec = {
    .doc = "Lists the instructions that are known: each form with its operands, the least PTX version and target that "
           "have it, and what it does. With PREFIX, those that begin with it.",
    .options = options,
    .set = set,
    .words = "[PREFIX]",
    .take = take,
    .examples = "ptxgen isa mbarrier",
};

// The languages of the two columns that are not plain words; ptxgen/rows/table.h explains them in full.
static const char legend[] =
    "Forms:     {.a|.b} one of these or none, .(a|b) one of these, $SET the words of a set, which stand at the end.\n"
    "Operands:  d destination, s source, D and S the same or a vector, U and P a vector, q and p a predicate,\n"
    "           m memory, t a tensor and coordinates, _ the sink, i constant, a address, v variable,\n"
    "           x special register, l label, f function; ? optional, ?WORD there with that word alone;\n"
    "           a number is a vector's length, n what a word like x4, 3d or m64n128k16 says;\n"
    "           after the colon the type; T is the form's type.\n\n";

enum { FORM_COLUMN = 15, SET_COLUMN = 18 };

// How many bytes of a form fit on one line: it breaks before a dot or a brace that begins a part.
static size_t form_piece(const char *form) {
    size_t length = strlen(form), piece = 0, width = output_width() - FORM_COLUMN;
    int    depth = 0;
    if (length <= width) return length;
    for (size_t i = 0; i < width; i++) {
        if (depth == 0 && i && (form[i] == '{' || form[i] == '.')) piece = i;
        depth += (form[i] == '{' || form[i] == '(') - (form[i] == '}' || form[i] == ')');
    }
    return piece ? piece : width;
}

static void print_form(const char *form) {
    for (size_t piece; *form; form += piece) {
        piece = form_piece(form);
        printf("%.*s\n", (int)piece, form);
        if (form[piece]) printf("%*s", FORM_COLUMN, "");
    }
}

typedef struct needs {
    char version[16], target[16];
} needs;

static needs row_needs(const cj_isa_row *row) {
    needs n = {.target = "any"};
    snprintf(n.version, sizeof n.version, "%u.%u", row->ptx_version / 10, row->ptx_version % 10);
    if (row->target) {
        char suffix[] = {row->suffix, '\0'};
        snprintf(n.target, sizeof n.target, "sm_%u%s", row->target, suffix);
    }
    return n;
}

static void print_row(const cj_isa_row *row) {
    needs n = row_needs(row);
    printf("%-4s  %-7s  ", n.version, n.target);
    print_form(row->syntax);
    if (!row->operands[0] && !row->effects[0]) return;
    printf("%*s", FORM_COLUMN + 4, "");
    const size_t operands = strlen(row->operands), effects = strlen(row->effects);
    const bool   fits = FORM_COLUMN + 4 + operands + effects + 5 <= (size_t)output_width();
    printf("%s", row->operands);
    if (operands && effects && !fits)
        printf("\n%*s", FORM_COLUMN + 4, "");
    else if (operands && effects)
        printf("   ");
    if (effects) printf("(%s)", row->effects);
    putchar('\n');
}

static json_t *row_json(const cj_isa_row *row) {
    needs n = row_needs(row);
    return json_pack("{s:s, s:o, s:s, s:s, s:o, s:s}", "form", row->syntax, "operands",
                     output_json_words(row->operands), "version", n.version, "target", n.target, "effects",
                     output_json_words(row->effects), "sample", row->sample);
}

// Prints the sets that these forms name, or all sets.
static void print_sets(const char *prefix) {
    const cj_isa_set *set;
    const char       *title = "\nSets:\n";
    for (size_t i = 0; (set = cj_isa_set_at(i)); i++) {
        bool used = false;
        for (size_t k = 0; k < cj_isa_count() && !used; k++) {
            const char *syntax = cj_isa_at(k)->syntax;
            used = form_begins(syntax, prefix) && form_uses(syntax, set->name);
        }
        if (!used) continue;
        printf("%s$%-*s", title, SET_COLUMN - 1, set->name);
        title = "";
        form_print_words(set->words, SET_COLUMN);
    }
}

static json_t *sets_json(void) {
    json_t           *object = json_object();
    const cj_isa_set *set;
    for (size_t i = 0; (set = cj_isa_set_at(i)); i++) json_object_set_new(object, set->name, json_string(set->words));
    return object;
}

int cmd_isa(int argc, char **argv) {
    isa_options o = {.prefix = ""};
    args_parse(&isa_spec, argc, argv, &o, NULL);
    json_t *array = o.json ? json_array() : NULL;
    size_t  found = 0;
    for (size_t i = 0; i < cj_isa_count(); i++) {
        const cj_isa_row *row = cj_isa_at(i);
        if (!form_begins(row->syntax, o.prefix)) continue;
        if (array)
            json_array_append_new(array, row_json(row));
        else if (found == 0)
            printf("%sPTX   target   form, operands (effects)\n", legend);
        if (!array) print_row(row);
        found++;
    }
    if (found && array) return output_json(json_pack("{s:o, s:o}", "forms", array, "sets", sets_json()));
    json_decref(array);
    if (!found)
        return message_error(CJ_INVALID_ARGUMENT,
                             "no instruction that is known begins with '%s'\n'ptxgen isa' lists all", o.prefix);
    print_sets(o.prefix);
    return CODE_OK;
}
