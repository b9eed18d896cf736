// SPDX-License-Identifier: Apache-2.0
// Plots: a gnuplot script that contains its data becomes a picture, SVG or PNG as its name ends.
#ifndef PTXGEN_PLOT_H
#define PTXGEN_PLOT_H

#include <stdio.h>

typedef struct plot {
    const char *path;      // of the picture; NULL: no plot is wanted
    const char *terminal;  // gnuplot's
    FILE       *script;
    char        gnuplot[1024];
} plot;

// Before anything is measured: finds gnuplot, checks that the file can be written, and begins the script. Returns an
// exit code.
int plot_open(plot *p, const char *path);

// Pixels; 900 x 520 unless it is called before the drawing.
void plot_size(plot *p, unsigned width, unsigned height);

// Runs the script in p->script, and saves the picture; the file appears whole or not at all. Returns an exit code.
int plot_finish(plot *p);

void plot_close(plot *p);

// Writes `text` as a string constant of gnuplot.
void plot_string(plot *p, const char *text);

#endif
