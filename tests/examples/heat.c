// SPDX-License-Identifier: Apache-2.0
// Heat that spreads over a plate whose ends are joined, as frames that gnuplot draws:
//   example_heat [DEVICE [FRAMES.svg]]
// Between two frames all time steps are one launch: the plate stays in a cluster's shared memory. No heat is lost.
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "example.h"

enum { EDGE = 64, FRAMES = 4, STEPS = 40 };

static double heat_of(const float *plate) {
    double sum = 0;
    for (int i = 0; i < EDGE * EDGE; i++) sum += (double)plate[i];
    return sum;
}

static void draw(FILE *gnuplot, int frame, const float *plate) {
    fprintf(gnuplot, "set title 'step %d'\nplot '-' matrix with image notitle\n", frame * STEPS);
    for (int y = 0; y < EDGE; y++) {
        for (int x = 0; x < EDGE; x++) fprintf(gnuplot, "%g ", (double)plate[y * EDGE + x]);
        fputc('\n', gnuplot);
    }
    fputs("e\n", gnuplot);
}

// NULL: nothing is to be drawn.
static FILE *start_gnuplot(const char *file) {
    FILE *gnuplot = file ? popen("gnuplot", "w") : NULL;
    if (!gnuplot) return NULL;
    fprintf(gnuplot, "set terminal svg size 1000, 280\nset output '%s'\nset multiplot layout 1, %d\n", file, FRAMES);
    fputs("set size square\nset cbrange [0:1]\nunset colorbox\nunset tics\n", gnuplot);
    fprintf(gnuplot, "set xrange [-0.5:%d.5]\nset yrange [-0.5:%d.5]\n", EDGE - 1, EDGE - 1);
    return gnuplot;
}

int main(int argc, char **argv) {
    static float plate[EDGE * EDGE];
    cj_error     error;
    cj_ptr       now, next;
    cj_device   *device = open_device(argc, argv);
    FILE        *gnuplot = start_gnuplot(argc > 2 ? argv[2] : NULL);
    for (int y = 0; y < EDGE; y++)
        for (int x = 0; x < EDGE; x++) plate[y * EDGE + x] = hypot(x - 20, y - 26) < 9 || (x > 44 && y > 50) ? 1 : 0;

    const double          before = heat_of(plate);
    const cj_stencil_desc desc = {CJ_INIT(desc), .dim = 2, .extent = {EDGE, EDGE}, .steps = STEPS,
                                  .boundary = CJ_STENCIL_PERIODIC};
    must(cj_mem_alloc(device, sizeof plate, &now, &error), &error);
    must(cj_mem_alloc(device, sizeof plate, &next, &error), &error);
    must(cj_mem_write(device, now, plate, sizeof plate, NULL, &error), &error);
    for (int frame = 0; frame < FRAMES; frame++) {
        must(cj_mem_read(device, plate, now, sizeof plate, NULL, &error), &error);
        printf("step %3d: heat %.3f\n", frame * STEPS, heat_of(plate));
        if (gnuplot) draw(gnuplot, frame, plate);
        must(cj_stencil_launch(device, &desc, now, next, NULL, &error), &error);
        const cj_ptr last = now;
        now = next, next = last;
    }
    cj_mem_free(device, now);
    cj_mem_free(device, next);
    cj_device_close(device);
    if (gnuplot && pclose(gnuplot) != 0) return verdict(0);
    return verdict(fabs(heat_of(plate) - before) < 1e-3 * before);
}
