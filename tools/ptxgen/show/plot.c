// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "plot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message.h"
#include "output.h"

extern char **environ;

// The start of every plot: colours that everyone can distinguish.
static const char head[] =
    "set linetype 1 lc rgb '#0072b2'\nset linetype 2 lc rgb '#d55e00'\nset linetype 3 lc rgb '#009e73'\n"
    "set border 3\nset xtics nomirror\nset ytics nomirror\nset grid ytics lc rgb '#dddddd'\n";

// Which of gnuplot's terminals writes a file, by the end of its name.
static const struct { const char *suffix, *terminal; } terminals[] = {{".svg", "svg"}, {".png", "pngcairo"}};

static int find_terminal(plot *p) {
    const char *suffix = strrchr(p->path, '.');
    for (size_t i = 0; suffix && i < sizeof terminals / sizeof *terminals; i++)
        if (!strcmp(suffix, terminals[i].suffix)) p->terminal = terminals[i].terminal;
    if (p->terminal) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "--plot is '%s'; a plot is SVG or PNG\nname it FILE.svg or FILE.png",
                         p->path);
}

static int find_gnuplot(plot *p) {
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t length = strcspn(at, ":");
        int    wrote = snprintf(p->gnuplot, sizeof p->gnuplot, "%.*s/gnuplot", (int)length, at);
        if (wrote > 0 && (size_t)wrote < sizeof p->gnuplot && access(p->gnuplot, X_OK) == 0) return CODE_OK;
        at += length + (at[length] == ':');
    }
    return message_error(CJ_FILE,
                         "--plot needs gnuplot, which is not in PATH\ninstall it: on Debian, apt install gnuplot-nox");
}

static int find_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    char       *directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int         failure = !directory ? ENOMEM : access(directory, W_OK) ? errno : 0;
    free(directory);
    return failure ? message_error(CJ_FILE, "cannot write '%s': %s", path, strerror(failure)) : CODE_OK;
}

int plot_open(plot *p, const char *path) {
    *p = (plot){.path = path};
    int code = find_terminal(p);
    if (!code) code = find_directory(path);
    if (!code) code = find_gnuplot(p);
    if (code) return code;
    p->script = tmpfile();
    if (!p->script) return message_error(CJ_FILE, "cannot make a temporary file: %s", strerror(errno));
    plot_size(p, 900, 520);
    fputs(head, p->script);
    return CODE_OK;
}

// Texts have no markup.
void plot_size(plot *p, unsigned width, unsigned height) {
    fprintf(p->script, "set terminal %s size %u,%u background '#ffffff' font 'sans-serif,14' noenhanced\n", p->terminal,
            width, height);
}

void plot_close(plot *p) {
    if (p->script) fclose(p->script);
    p->script = NULL;
}

void plot_string(plot *p, const char *text) {
    putc('\'', p->script);
    for (; *text; text++) fputs(*text == '\'' ? "''" : (const char[]){*text, '\0'}, p->script);
    putc('\'', p->script);
}

// Starts gnuplot without a shell, with the script as its input and `picture` as its output, and waits for it. Returns 0
// or an errno value.
static int run_gnuplot(plot *p, FILE *picture, int *status) {
    char                       name[] = "gnuplot";
    char *const                words[] = {name, NULL};
    pid_t                      child;
    posix_spawn_file_actions_t actions;
    int                        failure = posix_spawn_file_actions_init(&actions);
    if (failure) return failure;
    failure = posix_spawn_file_actions_adddup2(&actions, fileno(p->script), STDIN_FILENO);
    if (!failure) failure = posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
    if (!failure) failure = posix_spawn(&child, p->gnuplot, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure) return failure;
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR) return errno;
    return 0;
}

static int save(FILE *picture, const char *path) {
    long  length = fseek(picture, 0, SEEK_END) ? -1 : ftell(picture);
    char *text = length > 0 ? malloc((size_t)length) : NULL;
    rewind(picture);
    int code = text && fread(text, 1, (size_t)length, picture) == (size_t)length
                   ? output_save(path, text, (size_t)length)
                   : message_error(CJ_FILE, "cannot read back what gnuplot drew");
    free(text);
    return code;
}

int plot_finish(plot *p) {
    int   status = 0, failure = 0, code = CODE_OK;
    FILE *picture = tmpfile();
    if (!picture || fflush(p->script)) failure = errno;
    if (!failure) {
        rewind(p->script);
        failure = run_gnuplot(p, picture, &status);
    }
    if (failure)
        code = message_error(CJ_FILE, "cannot run '%s': %s", p->gnuplot, strerror(failure));
    else if (status)
        code = message_error(CJ_FILE, "'%s' failed on the plot", p->gnuplot);
    else
        code = save(picture, p->path);
    if (picture) fclose(picture);
    return code;
}
