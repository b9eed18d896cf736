// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "repeat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"

// Options that are replaced, or left out.
static const struct {
    const char *name;
    bool        has_value, of_launch;
} replaced[] = {{"--schedule", true, false}, {"--minimize", false, false}, {"--entry", true, true},
                {"--grid", true, true},      {"--block", true, true},      {"--cluster", true, true},
                {"--threads", true, true}};

// How many words, from argv[i] on, are an option that is replaced; 0: it is another word.
static int replaced_words(const repeat *r, int i, bool with_launch) {
    for (size_t k = 0; k < sizeof replaced / sizeof *replaced; k++) {
        const size_t length = strlen(replaced[k].name);
        if ((replaced[k].of_launch && !with_launch) || strncmp(r->argv[i], replaced[k].name, length)) continue;
        if (r->argv[i][length] == '=') return 1;
        if (!r->argv[i][length]) return replaced[k].has_value && i + 1 < r->argc ? 2 : 1;
    }
    return 0;
}

char *repeat_text(const repeat *r, const machine_options *machine, const char *entry, const launch_options *launch) {
    char   schedule[MACHINE_SCHEDULE_TEXT], *text = NULL;
    size_t size;
    FILE  *to = open_memstream(&text, &size);
    if (!to) return NULL;
    fputs("ptxgen", to);
    for (int i = 0, skip; i < r->argc; i += skip ? skip : 1) {
        skip = replaced_words(r, i, launch != NULL);
        if (skip) continue;
        putc(' ', to);
        shell_put(to, r->argv[i]);
    }
    if (launch) {
        fputs(" --entry ", to);
        shell_put(to, entry);
        launch_put_shape(to, launch);
    }
    fprintf(to, " --schedule %s", machine_schedule(machine, schedule));
    if (launch && !machine->cpu.random_schedule) fputs(" --threads 1", to);  // a seed's launch has one by itself
    if (!fclose(to)) return text;
    free(text);
    return NULL;
}
