#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the .cu files beside it from the headers of cuda::ptx: one line for each overload of each function, and for
each value of its tags. Run it when a new CUDA toolkit brings new functions:  generate.py [INCLUDE_DIRECTORY]"""
import glob
import itertools
import os
import re
import sys
import textwrap

INCLUDE = sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda/include/cccl"

# Which headers share a file; what only sm_100a has of them goes to blackwell.cu, and what pairs of blocks do with their
# tensor cores to tcgen05_pairs.cu: ptxas lets no program do both that and the same alone.
FILES = {
    "cluster": r"barrier_cluster|getctarank|fence.*|st_async|red_async|st_bulk|clusterlaunchcontrol",
    "mbarrier": r"mbarrier_.*|cp_async_mbarrier_.*",
    "copies": r"cp_async_bulk(_commit_group|_wait_group|_multicast)?|cp_reduce_async_bulk(_b?f16)?",
    "tensor": r"cp_(async|reduce_async)_bulk_tensor.*|tensormap_.*",
    "multimem": r"multimem_.*",
    "loads": r"ld",
    "stores": r"st",
    "scalar": r"bfind|bmsk|exit|get_sreg|prmt|shl|shr|trap",
    "tcgen05": r"tcgen05_(alloc|commit|cp|fence|shift|wait)",
    "tcgen05_ld": r"tcgen05_ld",
    "tcgen05_st": r"tcgen05_st",
    "tcgen05_mma": r"tcgen05_mma",
    "tcgen05_mma_ws": r"tcgen05_mma_ws",
}
TYPES = {"_B8": ["uint8_t"], "_B16": ["uint16_t"], "_B32": ["uint32_t"], "_B64": ["uint64_t"], "_B128": ["longlong2"],
         "_Type": ["uint32_t", "uint64_t"]}
WIDTH = 120
NUMBERS = {"size": 128, "initval": 0}  # of an n32_t<N> by its parameter's name; 1 for others

FUNCTION = re.compile(r"^template <(?P<template>.*?)>\n_CCCL_DEVICE static inline (?P<result>[\w:]+)\s(?P<name>\w+)"
                      r"\((?P<parameters>.*?)\)\n\{\n(?P<body>.*?)^\}", re.S | re.M)


def split(text):
    """At the commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<([") - (c in ">)]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(part.split()) for part in parts if part.strip()]


def parameter(text):
    """A parameter's type without its name, and the name."""
    array = re.fullmatch(r"(.*\(&)__(\w+)(\)\[\d+\])", text)
    if array:
        return array[1] + array[3], array[2]
    named = re.fullmatch(r"(.*[\s*&])__(\w+)", text)
    return (named[1].strip(), named[2]) if named else (text, "")


def values(function, name, kind):
    """What a template's parameter may be: all values of its tag that the function's assertion names."""
    if kind == "int":
        numbered = re.search(r"n32_t<%s>\s+__(\w+)" % name, function["parameters"])
        return [str(NUMBERS.get(numbered[1], 1))]
    if kind == "typename":
        return TYPES.get(name, [""])
    tag = kind.removeprefix("dot_")
    allowed = re.search(r"static_assert\(\s*(__%s == [^;]*),\s*\"\"\);" % tag, function["body"], re.S)
    return re.findall(r"== %s_(\w+)" % tag, allowed[1])


def wrapped(line):
    """Broken after commas alone."""
    whole = re.sub(r"(?<!,) ", "\0", line)
    lines = textwrap.wrap(whole, WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 9, break_long_words=False)
    return "\n".join(lines).replace("\0", " ")


def forms(function):
    parameters = []
    for item in split(function["template"]):
        declared = re.match(r"(typename|int|dot_\w+) (_\w+)", item)
        if declared:
            parameters.append((declared[2], declared[1], values(function, declared[2], declared[1])))
    for choice in itertools.product(*(p[2] for p in parameters)):
        text = function["result"] + "(" + ", ".join(parameter(p)[0] for p in split(function["parameters"])) + ")"
        for (name, kind, _), value in zip(parameters, choice):
            if kind.startswith("dot_"):
                text = re.sub(r"\w+_t<%s>" % name, "%s_%s_t" % (kind.removeprefix("dot_"), value), text)
            else:
                text = re.sub(r"\b%s\b" % name, value, text)
        line = "form<%s>(ptx::%s);" % (text.replace("_CUDA_VSTD::", ""), function["name"])
        yield wrapped(line)


def needs_sm_100(function):
    condition = re.search(r"#\s+if _CCCL_CUDA_COMPILER\(NVHPC\) \|\|(.*?)\n(?!\s+\|\|)", function["body"], re.S)
    return bool(condition) and not re.search(r"SM90_ALL|__CUDA_ARCH__ >= [1-9]\d\d\b", condition[1])


def functions(path):
    text = re.sub(r"/\*\n.*?\*/\n", "", open(path).read(), flags=re.S)
    return [m.groupdict() for m in FUNCTION.finditer(text)]


HEAD = """// SPDX-License-Identifier: Apache-2.0
// Every function of cuda::ptx in %s, with every value of its tags. generate.py wrote it.
#include <cuda/ptx>
using namespace cuda::ptx;
namespace ptx = cuda::ptx;

__device__ void *volatile kept;

template <typename F>
__device__ void form(F *function) {
    kept = reinterpret_cast<void *>(function);
}

__global__ void forms() {
"""


def main():
    text, named = {}, {}
    for path in sorted(glob.glob(INCLUDE + "/cuda/__ptx/instructions/generated/*.h")):
        header = os.path.basename(path).removesuffix(".h")
        group = next((name for name, pattern in FILES.items() if re.fullmatch(pattern, header)), None)
        if not group:
            sys.exit("%s: add it to FILES" % header)
        for function in functions(path):
            for form in forms(function):
                name = group
                if group.startswith("tcgen05"):
                    name = "tcgen05_pairs" if "cta_group_2" in form else group
                elif needs_sm_100(function):
                    name = "blackwell"
                if header not in named.setdefault(name, []):
                    named[name].append(header)
                    text[name] = text.get(name, "") + "    // %s.h\n" % header
                text[name] += form + "\n"
    for name, body in text.items():
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".cu"), "w") as out:
            out.write(HEAD % ("the headers named below" if len(named[name]) > 1 else named[name][0] + ".h"))
            out.write(body + "}\n")


main()
