# SPDX-License-Identifier: Apache-2.0
"""channel.py ROOT WORK: makes a channel of this machine's tools and libraries in WORK, and builds packaging/conda/recipe.yaml with it.

The packages have conda-forge's names, its environment of a compiler (flags, CMAKE_ARGS) and its run_exports. See `try`.
"""
import json
import os
import pathlib
import subprocess
import sys

import rattler_build

root, work = (pathlib.Path(word) for word in sys.argv[1:])
channel = work / "channel"
CUDA = os.environ.get("CUDA_HOME", "/usr/local/cuda")

# What conda-forge's gcc_linux-64 sets. A header or a library that is not in $PREFIX is not found by CMake.
ACTIVATE = r"""
export CC=/usr/bin/gcc
export CFLAGS="-march=nocona -mtune=haswell -ftree-vectorize -fPIC -fstack-protector-strong -fno-plt -O2 -ffunction-sections -pipe -isystem $PREFIX/include"
export CPPFLAGS="-DNDEBUG -D_FORTIFY_SOURCE=2 -O2 -isystem $PREFIX/include"
export LDFLAGS="-Wl,-O2 -Wl,--sort-common -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,--disable-new-dtags -Wl,--gc-sections -Wl,-rpath,$PREFIX/lib -L$PREFIX/lib"
export CMAKE_ARGS="-DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$PREFIX -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_FIND_ROOT_PATH=$PREFIX \
    -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY"
"""


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def tool(name, command, environment=""):
    """A package with a command that stands for another one."""
    lines = ["mkdir -p $PREFIX/bin", f"cat > $PREFIX/bin/{name} <<'end'", "#!/bin/sh", environment, f'exec {command} "$@"', "end",
             f"chmod +x $PREFIX/bin/{name}"]
    return {"script": "\n".join(lines)}


def library(name, package, *headers):
    """The system's, as pkg-config finds it: what is built with it needs it."""
    described, version = run("pkg-config", "--variable=pcfiledir", name), run("pkg-config", "--modversion", name)
    file = name if name.startswith("lib") else "lib" + name
    lines = ["mkdir -p $PREFIX/include $PREFIX/lib/pkgconfig", f"cd /usr/include; cp {' '.join(headers)} $PREFIX/include",
             f"cp -P {described}/../{file}.so* $PREFIX/lib",
             f"sed -e s,^prefix=.*,prefix=$PREFIX, -e s,^libdir=.*,libdir=$PREFIX/lib, -e s,^includedir=.*,includedir=$PREFIX/include, "
             f"{described}/{name}.pc > $PREFIX/lib/pkgconfig/{name}.pc"]
    return {"script": "\n".join(lines), "weak": ['${{ pin_subpackage("%s", upper_bound="x") }}' % package], "version": version}


def cuda(*files):
    """Files of a toolkit's include and lib64, in the folders of conda-forge."""
    lines = ["at=$PREFIX/targets/x86_64-linux; mkdir -p $at/include $at/lib", f"cd {CUDA}"]
    lines += [f"cp -rL {file} $at/{'lib' if file.startswith('lib') else 'include'}/" for file in files]
    return {"script": "\n".join(lines), "version": "13.0"}


PACKAGES = {
    "gcc_linux-64": {"script": f"mkdir -p $PREFIX/etc/conda/activate.d; cat > $PREFIX/etc/conda/activate.d/gcc.sh <<'end'{ACTIVATE}end\n"},
    "sysroot_linux-64": {"script": "mkdir -p $PREFIX/etc; touch $PREFIX/etc/sysroot", "version": "2.28", "strong": ["__glibc >=2.28,<3.0.a0"]},
    "cmake": tool("cmake", work / "venv/bin/cmake") | {"version": run(work / "venv/bin/cmake", "--version").split()[2]},
    "ninja": tool("ninja", work / "venv/bin/ninja"),
    "pkg-config": tool("pkg-config", "/usr/bin/pkg-config", "export PKG_CONFIG_LIBDIR=$PREFIX/lib/pkgconfig"),
    "jansson": library("jansson", "jansson", "jansson*.h"),
    "xxhash": library("libxxhash", "xxhash", "xxhash.h", "xxh3.h"),
    "lz4-c": library("liblz4", "lz4-c", "lz4*.h"),
    "zstd": library("libzstd", "zstd", "zstd*.h"),
    "cuda-cudart-dev": cuda("include/cuda*.h", "include/*types.h", "include/crt", "include/*_functions.h", "include/builtin_types.h",
                            "include/*_descriptor.h", "lib64/libcudart.so*"),
    "cuda-profiler-api": cuda("include/cudaProfiler*.h"),
    "cuda-version": {"script": "mkdir -p $PREFIX/etc; touch $PREFIX/etc/cuda-version", "version": "13.0"},
}


class Log:
    """What rattler-build says; shown where it fails."""

    def __init__(self):
        self.lines = []

    def on_log(self, event):
        self.lines.append(event.message)


def build(recipe):
    variants, log = recipe.with_name("variants.yaml"), Log()
    try:
        rattler_build.Stage0Recipe.from_file(recipe).run_build(
            rattler_build.VariantConfig.from_file(variants) if variants.exists() else None, output_dir=channel,
            channels=[channel.as_uri()], progress_callback=log)
    except rattler_build.RattlerBuildError as error:
        sys.exit("\n".join([*log.lines[-40:], f"{recipe}: {error}"]))


def make(name, package):
    folder = work / "recipes" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "build.sh").write_text(package["script"])
    exports = {kind: package.get(kind, []) for kind in ("weak", "strong")}
    (folder / "recipe.yaml").write_text(f"""package:
  name: {name}
  version: {package.get("version", "1")}
build:
  number: 0
requirements:
  run_exports: {json.dumps(exports)}
""")
    if not list(channel.glob(f"*/{name}-{package.get('version', '1')}-*")):
        build(folder / "recipe.yaml")


channel.mkdir(parents=True, exist_ok=True)
for name, package in PACKAGES.items():
    make(name, package)
build(root / "packaging/conda/recipe.yaml")
made = max(channel.glob("*/clusterjit-*.conda"), key=lambda file: file.stat().st_mtime)
package = rattler_build.Package.from_file(made)
print(made, *package.depends, sep="\n    needs ")
wrong = 0
for result in package.run_tests(channel=[channel.as_uri()]):
    print(f"test {result.test_index}: {'passed' if result.success else 'FAILED'}", *result.output, sep="\n    ")
    wrong += not result.success
sys.exit(wrong > 0 or package.test_count == 0)
