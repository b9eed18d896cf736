# SPDX-License-Identifier: Apache-2.0
"""What rows.py and gemm.py share: our side of a comparison, which is `ptxgen bench`, and the options that choose it."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

LIMIT = 300  # seconds for a call of ptxgen
BUILT = pathlib.Path(__file__).resolve().parents[3] / "build/release/bin/ptxgen"
ROUNDS_MAX = 300


def progress(text=""):
    if sys.stderr.isatty():
        print("\r\033[K" + text, end="", file=sys.stderr, flush=True)


def say(text):
    progress()
    print(f"{pathlib.Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def die(text, code=1):
    say(text)
    sys.exit(code)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)


def bench(ptxgen, family, rounds, **parameters):
    """The JSON of `ptxgen bench`; parameters without a value are left open."""
    words = [word for name, value in parameters.items() if value for word in ("--" + name, str(value))]
    done = run(ptxgen, "bench", family, "--device", "gpu", *words, "--rounds", str(rounds), "--json")
    if done.returncode:
        die(f"'{' '.join(done.args)}' failed with exit code {done.returncode}:\n{done.stderr.rstrip()}")
    return json.loads(done.stdout)


def new_file(text):
    """The type of --json: a file that cannot be written is found before anything is measured."""
    path = pathlib.Path(text)
    try:
        path.touch()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}; name a file in a folder that is there") from None
    return path


def add_options(parser, rounds):
    parser.add_argument("--rounds", type=int, default=rounds, metavar="N", help=f"of both sides, 1 to {ROUNDS_MAX} ({rounds})")
    parser.add_argument("--json", type=new_file, metavar="FILE", help="where all figures go")
    parser.add_argument("--ptxgen", metavar="PATH", help="ours (build/release/bin/ptxgen, else the one in PATH)",
                        default=str(BUILT) if BUILT.exists() else shutil.which("ptxgen"))


def parse(parser):
    options = parser.parse_args()
    if not 1 <= options.rounds <= ROUNDS_MAX:
        parser.error(f"--rounds is {options.rounds}; it is 1 to {ROUNDS_MAX}")
    return options


def require(options):
    """Ends the program where there is nothing to measure with."""
    if not options.ptxgen:
        die(f"there is no '{BUILT}', and no ptxgen in PATH\nhint: tools/bench/run builds it, or name one with --ptxgen", 77)
    info = run(options.ptxgen, "info", "--device", "gpu")
    if info.returncode:
        die(f"ptxgen finds no GPU to measure on:\n{info.stderr.rstrip()}", 77)


def guard(main):
    try:
        main()
    except (OSError, subprocess.TimeoutExpired) as error:
        die(str(error))
