# SPDX-License-Identifier: Apache-2.0
"""declarations.py COMPILER INCLUDE OUTPUT.py: the public headers as a module of cffi, which needs no compiler when it is used."""
import re
import subprocess
import sys
import warnings

from cffi import FFI

INLINE = re.compile(r"^static inline [^{]*\{(?:[^\n]*\}|.*?^\})$", re.MULTILINE | re.DOTALL)  # cffi takes declarations alone


def declarations(compiler, include):
    command = [compiler, "-E", "-P", "-I", include, "-D__attribute__(x)=", "-x", "c", "-"]
    text = subprocess.run(command, input="#include <clusterjit/clusterjit.h>\n", capture_output=True, text=True, check=True).stdout
    text = text[text.index("typedef enum cj_status"):]  # what stands before it is the system's, which cffi knows
    return INLINE.sub("", text)


def main(compiler, include, output):
    ffi = FFI()
    warnings.filterwarnings("ignore", "String literal found in cdef")  # of static assertions
    ffi.cdef(declarations(compiler, include))
    ffi.set_source("clusterjit._declarations", None)
    ffi.emit_python_code(output)


main(*sys.argv[1:])
