// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "assembler.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jitlink.h"
#include "message.h"

extern char **environ;

enum { ARCH_SIZE = 24 };

int assembler_find(assembler *a) {
    a->library = NULL;
    if (toolchain_program(&a->tool, "ptxas")) return CODE_OK;
    a->library = toolchain_library(&a->tool, "nvJitLink", "nvJitLink");
    if (a->library) return CODE_OK;
    return message_error(CJ_COMPILER, "--ptxas needs ptxas or libnvJitLink.so, and neither was found\n"
                                      "install the CUDA toolkit, or point CUDA_HOME at it");
}

// Skips blanks and comments.
static const char *skip_blank(const char *at) {
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (strncmp(at, "//", 2) == 0) {
            at += strcspn(at, "\n");
        } else if (strncmp(at, "/*", 2) == 0) {
            const char *close = strstr(at + 2, "*/");
            at = close ? close + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

// The document's own target; for a file without one, which is refused for that, any target.
static void find_target(const document *d, char arch[ARCH_SIZE]) {
    static const char directive[] = ".target";
    snprintf(arch, ARCH_SIZE, "sm_90");
    for (const char *at = skip_blank(d->text); *at; at = skip_blank(at + 1)) {
        if (strncmp(at, directive, sizeof directive - 1)) continue;
        at = skip_blank(at + sizeof directive - 1);
        snprintf(arch, ARCH_SIZE, "%.*s", (int)strcspn(at, ", \t\r\n/"), at);
        return;
    }
}

// Reads all of a file as text, owned by the caller; NULL if that fails.
static char *read_back(FILE *file) {
    if (fseek(file, 0, SEEK_END)) return NULL;
    long length = ftell(file);
    rewind(file);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!text) return NULL;
    text[fread(text, 1, (size_t)length, file)] = '\0';
    return text;
}

// Starts ptxas without a shell, with `source` as its input and `log` as its output, and waits for it. Returns 0 or an
// errno value.
static int run_ptxas(const char *path, const char *arch, FILE *source, FILE *log, int *status) {
    char name[] = "ptxas", option[] = "-arch", input[] = "/dev/stdin", to[] = "-o", output[] = "/dev/null";
    char target[ARCH_SIZE];
    snprintf(target, sizeof target, "%s", arch);
    char *const                words[] = {name, option, target, input, to, output, NULL};
    posix_spawn_file_actions_t actions;
    pid_t                      child;
    int                        failure = posix_spawn_file_actions_init(&actions);
    if (failure) return failure;
    // In this order no descriptor is overwritten before it is used, whichever of 0 to 2 were closed.
    failure = posix_spawn_file_actions_adddup2(&actions, fileno(source), STDIN_FILENO);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, fileno(log), STDOUT_FILENO);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!failure) failure = posix_spawn(&child, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure) return failure;
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR) return errno;
    return 0;
}

// The text goes through unnamed files, so that none is left if the process ends early.
static int ask_ptxas(const char *path, const document *d, const char *arch, char **log, verdict *answer) {
    int   status = 0, failure = 0;
    FILE *source = tmpfile(), *words = tmpfile();
    if (!source || !words || fwrite(d->text, 1, d->length, source) != d->length || fflush(source)) failure = errno;
    if (!failure) rewind(source);
    if (!failure) failure = run_ptxas(path, arch, source, words, &status);
    if (!failure && !(*log = read_back(words))) failure = ENOMEM;
    if (source) fclose(source);
    if (words) fclose(words);
    if (failure) return message_error(CJ_COMPILER, "cannot run '%s': %s", path, strerror(failure));
    if (WIFSIGNALED(status)) return message_error(CJ_COMPILER, "'%s' was ended by signal %d", path, WTERMSIG(status));
    *answer = strstr(*log, "is not defined for option 'gpu-name'") ? UNKNOWN_TARGET
              : WEXITSTATUS(status)                                ? REFUSED
                                                                   : ACCEPTED;
    return CODE_OK;
}

// Reads "ptxas FILE, line 8; error   : message", or without the place; nvJitLink sometimes leaves out "ptxas". Cuts
// `line` into pieces; false if it is no message about the document.
static bool parse_message(char *line, cj_diagnostic *what) {
    static const struct {
        const char *word;
        cj_severity severity;
    } words[] = {{"error", CJ_SEVERITY_ERROR}, {"fatal", CJ_SEVERITY_ERROR}, {"warning", CJ_SEVERITY_WARNING}};
    static const char program[] = "ptxas ", place[] = ", line ";

    *what = (cj_diagnostic){.rule = "ptxas", .hint = ""};
    char *at = strncmp(line, program, sizeof program - 1) == 0 ? line + sizeof program - 1 : line;
    char *number = strstr(at, place), *end = NULL;
    if (number) what->line = (unsigned)strtoul(number + sizeof place - 1, &end, 10);
    if (end && end[0] == ';' && end[1] == ' ') at = end + 2;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].word), blanks = 0;
        if (strncmp(at, words[i].word, length)) continue;
        while (at[length + blanks] == ' ') blanks++;
        if (at[length + blanks] != ':') continue;
        what->severity = words[i].severity;
        what->message = at + length + blanks + 1 + strspn(at + length + blanks + 1, " ");
        return strcmp(what->message, "Ptx assembly aborted due to errors") != 0;
    }
    return false;
}

static int read_log(char *log, findings *to) {
    int code = CODE_OK;
    for (char *line = log; *line && !code;) {
        size_t length = strcspn(line, "\n");
        char  *next = line + length + (line[length] == '\n');
        line[length] = '\0';
        cj_diagnostic what;
        if (parse_message(line, &what)) code = findings_add(to, &(finding){.what = what});
        line = next;
    }
    return code;
}

int assembler_run(const assembler *a, const document *d, const char *arch, assembly *result, findings *to) {
    char    target[ARCH_SIZE];
    verdict answer = ACCEPTED;
    size_t  errors = to->errors;
    *result = (assembly){0};
    if (!arch) {
        find_target(d, target);
        arch = target;
    }
    int code = a->library ? jitlink_ask(a->library, d, arch, &result->log, &answer)
                          : ask_ptxas(a->tool.path, d, arch, &result->log, &answer);
    if (!code && answer == UNKNOWN_TARGET)
        code = message_error(CJ_COMPILER,
                             "%s does not know the target '%s'\n"
                             "--arch names another, and 'ptxgen info' shows which release this is",
                             a->tool.name, arch);
    if (!code) code = read_log(result->log, to);
    if (code || answer == ACCEPTED || to->errors > errors) return code;
    return findings_add(to, &(finding){.what = {.severity = CJ_SEVERITY_ERROR,
                                                .rule = "ptxas",
                                                .message = "refused without a message",
                                                .hint = ""}});
}

void assembly_free(assembly *result) { free(result->log); }
