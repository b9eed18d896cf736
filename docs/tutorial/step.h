// SPDX-License-Identifier: Apache-2.0
// What the ten programs share: a device, the kernel's text, memory, a launch, and the report of what went wrong.
//
//     PROGRAM             writes the kernel, runs it on the CPU device with hazards on, checks its result
//     PROGRAM mistake     the same kernel with one mistake, and what the hazard report says of it
//     PROGRAM ptx         prints the kernel
//     PROGRAM gpu         runs the kernel on a GPU
#ifndef CJ_TUTORIAL_STEP_H
#define CJ_TUTORIAL_STEP_H

#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct step {
    cj_device  *device;
    cj_builder *builder;
    bool        mistake, ptx;
    char       *text;  // of the kernel
    cj_module  *module;
    cj_ptr      memory[4];
    unsigned    count;  // of memory
    cj_error    error;
} step;

static inline void must(step *s, cj_status status) {
    if (!status) return;
    fprintf(stderr, "%s: %s\n%s\n", cj_status_name(status), s->error.message, s->error.hint);
    exit(1);
}

// Opens the device; on the CPU device every access is watched. `target` is the kernel's: "sm_90" runs on later GPUs, too.
static inline step step_begin(int argc, char **argv, const char *target) {
    step              s = {0};
    const char       *word = argc > 1 ? argv[1] : "cpu";
    const bool        gpu = strcmp(word, "gpu") == 0;
    cj_device_options options = {CJ_INIT(options), .spec = gpu ? "gpu" : "cpu"};
    cj_cpu_options    cpu = {CJ_INIT(cpu), .hazards = true};
    s.mistake = strcmp(word, "mistake") == 0;
    s.ptx = strcmp(word, "ptx") == 0;
    s.builder = cj_builder_create(target);
    must(&s, cj_device_open(&options, &s.device, &s.error));
    if (!gpu) must(&s, cj_cpu_configure(s.device, &cpu, &s.error));
    return s;
}

// Memory of the device that holds `bytes` bytes of `from`, or zeros.
static inline cj_ptr step_memory(step *s, const void *from, size_t bytes) {
    cj_ptr *memory = &s->memory[s->count++];
    must(s, cj_mem_alloc(s->device, bytes, memory, &s->error));
    if (from)
        must(s, cj_mem_write(s->device, *memory, from, bytes, NULL, &s->error));
    else
        must(s, cj_mem_fill(s->device, *memory, 0, bytes, NULL, &s->error));
    return *memory;
}

// Prints line `number` of the kernel, without the blanks before it.
static inline void step_print_line(const char *text, unsigned number) {
    for (unsigned i = 1; i < number; i++) text = strchr(text, '\n') + 1;
    text += strspn(text, " ");
    printf("  PTX line %u: %.*s\n", number, (int)strcspn(text, "\n"), text);
}

// What the CPU device found: the first two of its findings.
static inline void step_report(const step *s) {
    const size_t count = cj_cpu_hazard_count(s->device);
    for (size_t i = 0; i < count && i < 2; i++) {
        const cj_hazard *hazard = cj_cpu_hazard_at(s->device, i);
        const unsigned   first = hazard->first.line, second = hazard->second.line;
        printf("%s: %s\n", hazard->rule, hazard->message);
        if (second) step_print_line(s->text, second);
        if (first && first != second) step_print_line(s->text, first);
        if (*hazard->hint) printf("  hint: %s\n", hazard->hint);
    }
    if (count > 2) printf("and %zu more\n", count - 2);
}

// Checks the text, loads it and launches its entry "kernel". A hazard ends the program: with 0 if it is the mistake that was
// asked for.
#define step_launch(s, ...) step_launch_as((s), (cj_launch_config){CJ_INIT(cj_launch_config), __VA_ARGS__})
static inline void step_launch_as(step *s, cj_launch_config config) {
    must(s, cj_builder_finish(s->builder, &s->text, NULL, &s->error));
    if (s->ptx) exit(fputs(s->text, stdout) == EOF);
    must(s, cj_module_from_ptx(s->device, s->text, strlen(s->text), &s->module, &s->error));
    must(s, cj_module_function(s->module, "kernel", &config.function, &s->error));
    const cj_status status = cj_launch(s->device, &config, &s->error);
    if (status == CJ_HAZARD) {
        step_report(s);
        exit(!s->mistake);
    }
    must(s, status);
    if (!s->mistake) return;
    puts("the mistake was not found");
    exit(1);
}

static inline void step_read(step *s, void *to, cj_ptr from, size_t bytes) {
    must(s, cj_mem_read(s->device, to, from, bytes, NULL, &s->error));
}

static inline int step_end(step *s, bool right) {
    for (unsigned i = 0; i < s->count; i++) cj_mem_free(s->device, s->memory[i]);
    cj_module_unload(s->module);
    cj_text_free(s->text);
    cj_builder_destroy(s->builder);
    cj_device_close(s->device);
    puts(right ? "right" : "WRONG");
    return !right;
}

// In a kernel: the address of element `index`, of 4 bytes, of the array that parameter `array` points to; and the same of an
// array in shared memory.
static inline cj_reg element(cj_func *f, cj_var array, cj_reg index) {
    cj_reg base = cj_let(f, "u64", "base", "ld.param.u64 $1, [$2];", array);
    return cj_mad_wide(f, "at", index, 4, base);
}

static inline cj_reg shared_element(cj_func *f, cj_var array, cj_reg index) {
    return cj_mad(f, "slot", index, 4, cj_shared_address(f, array));
}

#endif
