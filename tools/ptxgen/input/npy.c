// SPDX-License-Identifier: Apache-2.0
#include "npy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "message.h"

enum { HEADER_MAX = 65536, DESCR_MAX = 32 };

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (1024,), }
typedef struct reader {
    const char *at;
    char        descr[DESCR_MAX];
    uint64_t    count, extent[NPY_DIMS];
    unsigned    dims;
    bool        fortran;
    bool        has_descr, has_order, has_shape;
} reader;

static void skip_blanks(reader *r) { r->at += strspn(r->at, " \t\r\n"); }

static bool take(reader *r, const char *token) {
    skip_blanks(r);
    size_t length = strlen(token);
    if (strncmp(r->at, token, length)) return false;
    r->at += length;
    return true;
}

static bool take_string(reader *r, char *buffer, size_t size) {
    skip_blanks(r);
    char quote = *r->at;
    if (quote != '\'' && quote != '"') return false;
    const char *end = strchr(r->at + 1, quote);
    if (!end || (size_t)(end - r->at) > size) return false;
    size_t length = (size_t)(end - r->at) - 1;
    memcpy(buffer, r->at + 1, length);
    buffer[length] = '\0';
    r->at = end + 1;
    return true;
}

static bool take_descr(reader *r) {
    r->has_descr = take_string(r, r->descr, sizeof r->descr);
    return r->has_descr;
}

static bool take_order(reader *r) {
    r->fortran = take(r, "True");
    r->has_order = r->fortran || take(r, "False");
    return r->has_order;
}

static bool take_shape(reader *r) {
    if (!take(r, "(")) return false;
    r->count = 1;
    r->has_shape = true;
    while (!take(r, ")")) {
        skip_blanks(r);
        char    *end;
        uint64_t extent = strtoull(r->at, &end, 10);
        if (*r->at < '0' || *r->at > '9' || (extent && r->count > INT64_MAX / extent)) return false;
        r->at = end;
        r->count *= extent;
        if (r->dims < NPY_DIMS) r->extent[r->dims] = extent;
        r->dims++;
        take(r, "L");  // Python 2 wrote an L after long integers
        if (!take(r, ",")) return take(r, ")");
    }
    return true;
}

static const struct {
    const char *key;
    bool (*take)(reader *r);
} fields[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};

static bool take_field(reader *r) {
    char key[DESCR_MAX];
    if (!take_string(r, key, sizeof key) || !take(r, ":")) return false;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcmp(key, fields[i].key) == 0) return fields[i].take(r);
    return false;
}

static bool take_dictionary(reader *r) {
    if (!take(r, "{")) return false;
    do {
        if (take(r, "}")) return true;
        if (!take_field(r)) return false;
    } while (take(r, ","));
    return take(r, "}");
}

// Reads '<f4' and the like: byte order, kind, bytes.
static int type_of(const char *name, const char *descr, cj_dtype *type) {
    char ours[16] = "";
    if (strlen(descr) == 3 && strchr("<>|", descr[0]))
        snprintf(ours, sizeof ours, "%c%d", descr[1], 8 * (descr[2] - '0'));
    if (!element_type(ours, type))
        return message_error(CJ_FILE,
                             "'%s' holds elements of type '%s'; f16, f32, f64 and integers of 8 to 64 bits can be read\n"
                             "in numpy: array.astype('<f4')",
                             name, descr);
    if (descr[0] == '>')
        return message_error(CJ_FILE,
                             "'%s' is big-endian ('%s'); only little-endian files can be read\n"
                             "in numpy: array.astype('<%s')",
                             name, descr, descr + 1);
    return CODE_OK;
}

static int parse_header(const char *text, const char *name, npy *header) {
    reader r = {.at = text};
    if (!take_dictionary(&r) || !r.has_descr || !r.has_order || !r.has_shape) {
        if (strstr(text, "'descr': ["))
            return message_error(CJ_FILE, "'%s' holds structures; only plain numbers can be read", name);
        return message_error(CJ_FILE, "'%s' has a damaged .npy header: byte %td of its dictionary", name, r.at - text);
    }
    header->count = r.count;
    header->dims = r.dims;
    header->fortran = r.fortran;
    memcpy(header->extent, r.extent, sizeof r.extent);
    return type_of(name, r.descr, &header->type);
}

static int truncated(const char *name) {
    return message_error(CJ_FILE, "'%s' is truncated: it ends inside the .npy header", name);
}

// Format 1.0 has a length of 2 bytes, later ones of 4. Returns the number of bytes read, 0 at the file's end.
static uint64_t read_length(FILE *file, int major, uint64_t *length) {
    unsigned char bytes[4] = {0};
    size_t        size = major == 1 ? 2 : 4;
    if (fread(bytes, 1, size, file) != size) return 0;
    *length = bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 24;
    return size;
}

int npy_read_header(FILE *file, const char *name, npy *header) {
    unsigned char prefix[NPY_MAGIC_SIZE + 2];
    size_t        got = fread(prefix, 1, sizeof prefix, file);
    if (memcmp(prefix, NPY_MAGIC, got < NPY_MAGIC_SIZE ? got : NPY_MAGIC_SIZE) || !got)
        return message_error(CJ_FILE,
                             "'%s' is no .npy file: it does not begin with \\x93NUMPY\n"
                             "raw little-endian numbers are read from files named .f32, .f64, .i32, …",
                             name);
    if (got < sizeof prefix) return truncated(name);
    int major = prefix[NPY_MAGIC_SIZE], minor = prefix[NPY_MAGIC_SIZE + 1];
    if (major < 1 || major > 3)
        return message_error(CJ_FILE, "'%s' has .npy format %d.%d; 1.0, 2.0 and 3.0 can be read", name, major, minor);

    uint64_t length, bytes = read_length(file, major, &length);
    if (!bytes) return truncated(name);
    if (length >= HEADER_MAX)
        return message_error(CJ_FILE,
                             "'%s' has a .npy header of %llu bytes; more than %d cannot describe plain numbers", name,
                             (unsigned long long)length, HEADER_MAX);
    char *text = calloc(1, (size_t)length + 1);
    if (!text) return message_error(CJ_OUT_OF_MEMORY, "no memory for the header of '%s'", name);
    int code = fread(text, 1, (size_t)length, file) == length ? parse_header(text, name, header) : truncated(name);
    header->start = sizeof prefix + bytes + length;
    free(text);
    return code;
}

// ---- writing

cj_dtype npy_type(cj_dtype type) {
    switch (type) {
    case CJ_BF16:
    case CJ_TF32:
    case CJ_E4M3:
    case CJ_E5M2: return CJ_F32;
    default: return type;
    }
}

enum { NPY_ALIGN = 64, NPY_PREFIX = 10 };  // alignment of the data in bytes; magic, version and length

static size_t append(char *to, size_t used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    used += (size_t)vsnprintf(to + used, NPY_HEADER - used, format, arguments);
    va_end(arguments);
    return used;
}

size_t npy_write_header(cj_dtype type, unsigned dims, const uint64_t *extent, char to[NPY_HEADER]) {
    const size_t bytes = cj_dtype_size(type);
    size_t       used = NPY_PREFIX;
    used = append(to, used, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", bytes == 1 ? '|' : '<',
                  cj_dtype_name(type)[0], bytes);
    for (unsigned i = 0; i < dims; i++) used = append(to, used, i ? " %" PRIu64 "," : "%" PRIu64 ",", extent[i]);
    if (dims > 1) used--;  // (3,) but (3, 4)
    used = append(to, used, "), }");
    while ((used + 1) % NPY_ALIGN) to[used++] = ' ';
    to[used++] = '\n';
    memcpy(to, NPY_MAGIC "\1\0", NPY_MAGIC_SIZE + 2);
    to[NPY_MAGIC_SIZE + 2] = (char)(used - NPY_PREFIX);
    to[NPY_MAGIC_SIZE + 3] = (char)((used - NPY_PREFIX) >> 8);
    return used;
}
