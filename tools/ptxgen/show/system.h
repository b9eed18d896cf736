// SPDX-License-Identifier: Apache-2.0
// What systems call differently: glibc, musl, macOS. Included before every other header of its file.
#ifndef PTXGEN_SYSTEM_H
#define PTXGEN_SYSTEM_H

#define _GNU_SOURCE 1       // O_TMPFILE, struct winsize, pipe2, dladdr
#define _DARWIN_C_SOURCE 1  // the same of macOS, and sysconf's names of the machine's size

#include <fcntl.h>

// The flags that open a file without a name in a directory for writing; open fails where the system or the file system has none.
#ifdef O_TMPFILE
enum { UNNAMED_FILE = O_WRONLY | O_TMPFILE | O_CLOEXEC };
#else
enum { UNNAMED_FILE = O_WRONLY | O_DIRECTORY | O_CLOEXEC };  // open refuses to write to a directory (EISDIR)
#endif

#endif
