// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

// ---- the path

static bool is_program(const char *path) {
    struct stat about;
    return !stat(path, &about) && S_ISREG(about.st_mode) && !access(path, X_OK);
}

static int no_program(const char *program) {
    struct stat about;
    if (!strchr(program, '/'))
        return message_error(CJ_FILE, "there is no program '%s' in PATH\na file in this directory is ./%s", program,
                             program);
    if (stat(program, &about)) return message_error(CJ_FILE, "cannot run '%s': %s", program, strerror(errno));
    if (S_ISDIR(about.st_mode)) return message_error(CJ_FILE, "'%s' is a directory, not a program", program);
    return message_error(CJ_FILE, "'%s' is not executable\nchmod +x, or name its interpreter: python3 %s", program,
                         program);
}

static int find_path(image *i, const char *program) {
    const char *at = strchr(program, '/') ? NULL : getenv("PATH");
    if (!at) {
        const int length = snprintf(i->path, sizeof i->path, "%s", program);
        if (length < 0 || (size_t)length >= sizeof i->path || !is_program(program)) return no_program(program);
        return CODE_OK;
    }
    for (bool more = true; more;) {
        const int length = (int)strcspn(at, ":");
        const int wrote = snprintf(i->path, sizeof i->path, "%.*s%s%s", length, at, length ? "/" : "./", program);
        if (wrote > 0 && (size_t)wrote < sizeof i->path && is_program(i->path)) return CODE_OK;
        more = at[length];
        at += length + more;
    }
    return no_program(program);
}

// ---- the file

typedef struct bytes {
    const unsigned char *data;
    uint64_t             size;
} bytes;

// Copies what stands at `offset`, whose place need not be aligned; false: the file has not so many bytes.
static bool get(const bytes *b, uint64_t offset, void *to, uint64_t size) {
    if (offset > b->size || size > b->size - offset) return false;
    memcpy(to, b->data + offset, size);
    return true;
}

// A string of a string table; "" where it is not within the file.
static const char *string_at(const bytes *b, uint64_t offset) {
    const bool inside = offset < b->size && memchr(b->data + offset, '\0', b->size - offset);
    return inside ? (const char *)b->data + offset : "";
}

// The place in the file of an address; UINT64_MAX: there is none.
static uint64_t place_of(const bytes *b, const Elf64_Ehdr *head, uint64_t address) {
    Elf64_Phdr segment;
    for (unsigned k = 0; k < head->e_phnum; k++) {
        if (!get(b, head->e_phoff + k * sizeof segment, &segment, sizeof segment)) break;
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return UINT64_MAX;
}

static void take_library(image *i, const char *name) {
    static const char        runtime[] = "libcudart.so.";
    static const char *const sanitizers[] = {"libasan.so", "libtsan.so", "libclang_rt."};
    if (!strncmp(name, runtime, sizeof runtime - 1)) snprintf(i->runtime, sizeof i->runtime, "%s", name);
    for (size_t k = 0; k < sizeof sanitizers / sizeof *sanitizers; k++)
        i->sanitized |= !strncmp(name, sanitizers[k], strlen(sanitizers[k]));
}

static void take_dynamic(image *i, const bytes *b, const Elf64_Dyn *entry, uint64_t strings) {
    const char *text = string_at(b, strings + entry->d_un.d_val);
    if (entry->d_tag == DT_RPATH) snprintf(i->fixed, sizeof i->fixed, "%s", text);
    if (entry->d_tag == DT_NEEDED) take_library(i, text);
}

// The libraries that it needs, in two passes: the string table's address may come after them. With DT_RUNPATH, DT_RPATH is ignored.
static void read_dynamic(image *i, const bytes *b, const Elf64_Ehdr *head, const Elf64_Phdr *segment) {
    uint64_t  strings = UINT64_MAX;
    bool      runpath = false;
    Elf64_Dyn entry;
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t at = 0; at < segment->p_filesz; at += sizeof entry) {
            if (!get(b, segment->p_offset + at, &entry, sizeof entry) || entry.d_tag == DT_NULL) break;
            if (pass && strings != UINT64_MAX) take_dynamic(i, b, &entry, strings);
            if (entry.d_tag == DT_STRTAB) strings = place_of(b, head, entry.d_un.d_ptr);
            runpath |= entry.d_tag == DT_RUNPATH;
        }
    if (runpath) i->fixed[0] = '\0';
}

static void read_segments(image *i, const bytes *b, const Elf64_Ehdr *head) {
    Elf64_Phdr segment;
    for (unsigned k = 0; k < head->e_phnum; k++) {
        if (!get(b, head->e_phoff + k * sizeof segment, &segment, sizeof segment)) return;
        i->loads |= segment.p_type == PT_INTERP;
        if (segment.p_type == PT_DYNAMIC) read_dynamic(i, b, head, &segment);
    }
}

// nvcc keeps device code in a section of its own, whose name stays when symbols are stripped.
static void read_sections(image *i, const bytes *b, const Elf64_Ehdr *head) {
    Elf64_Shdr names, section;
    if (!get(b, head->e_shoff + (uint64_t)head->e_shstrndx * sizeof names, &names, sizeof names)) return;
    for (unsigned k = 0; k < head->e_shnum; k++) {
        if (!get(b, head->e_shoff + k * sizeof section, &section, sizeof section)) return;
        i->kernels |= !strcmp(string_at(b, names.sh_offset + section.sh_name), ".nvFatBinSegment");
    }
}

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
#error "which ELF machine is this?"
#endif

static int read_elf(image *i, const bytes *b) {
    enum { CUDA = 190 };
    Elf64_Ehdr head;
    if (!get(b, 0, &head, sizeof head) || head.e_ident[EI_CLASS] != ELFCLASS64)
        return message_error(CJ_FILE, "'%s' is no 64-bit ELF program", i->path);
    if (head.e_machine == CUDA)
        return message_error(CJ_FILE,
                             "'%s' is a cubin, not a program\n'cuobjdump -ptx' extracts its PTX, if it has "
                             "some, and 'ptxgen exec' runs that",
                             i->path);
    if (head.e_machine != MACHINE)
        return message_error(CJ_FILE, "'%s' is a program for another machine: its ELF machine is %u, this one's %u",
                             i->path, (unsigned)head.e_machine, (unsigned)MACHINE);
    if (head.e_type != ET_EXEC && head.e_type != ET_DYN)
        return message_error(CJ_FILE, "'%s' is an ELF file, but not a program: its type is %u", i->path,
                             (unsigned)head.e_type);
    read_segments(i, b, &head);
    read_sections(i, b, &head);
    i->static_runtime = i->kernels && !i->runtime[0];
    return CODE_OK;
}

static int read_bytes(image *i, const bytes *b) {
    if (b->size >= 2 && !memcmp(b->data, "#!", 2)) {
        i->script = true;
        return CODE_OK;
    }
    if (b->size >= SELFMAG && !memcmp(b->data, ELFMAG, SELFMAG)) return read_elf(i, b);
    return message_error(CJ_FILE,
                         "'%s' is no program: neither an ELF file nor a script that begins with #!\nname the "
                         "interpreter: python3 %s",
                         i->path, i->path);
}

int image_find(image *i, const char *program) {
    struct stat about;
    *i = (image){0};
    int code = find_path(i, program);
    if (code) return code;
    const int file = open(i->path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about)) {
        code = message_error(CJ_FILE, "cannot read '%s': %s", i->path, strerror(errno));
        if (file >= 0) close(file);
        return code;
    }
    const size_t size = (size_t)about.st_size;
    void        *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    close(file);
    if (data == MAP_FAILED) return message_error(CJ_FILE, "cannot read '%s': %s", i->path, strerror(errno));
    const bytes b = {data, size};
    code = read_bytes(i, &b);
    if (data) munmap(data, size);
    return code;
}
