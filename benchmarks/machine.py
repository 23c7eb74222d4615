"""The processor and the BLAS kernels of a benchmark, and the options that benchmarks share.

OPENBLAS_CORETYPE makes OpenBLAS use the kernels of another, often older, processor, which halves
its speed on some machines. OPENBLAS_L2_SIZE overrides the size of the L2 cache that it assumes for
its blocks. A library reads both when it is loaded, so a benchmark begins with

    if __name__ == "__main__":
        restart_clean()
        main()

All processes that it starts inherit the environment. --coretype NAME forces the kernels of one type
on purpose. Nothing is recorded then.
"""

import argparse
import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

CORETYPE = "OPENBLAS_CORETYPE"
FORCING = (CORETYPE, "OPENBLAS_L2_SIZE")


def clean(environment, coretype=None):
    """Return the environment without the two variables, or with one core type forced."""
    free = {name: value for name, value in environment.items() if name not in FORCING}
    return free | {CORETYPE: coretype} if coretype else free


def restart_clean():
    """Restart the program if the environment forces other kernels than its --coretype."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--coretype")
    known, _ = parser.parse_known_args()
    wanted = clean(os.environ, known.coretype)
    if wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], wanted)


# ---- options -------------------------------------------------------------------------------------


def parser_of(text, rounds=None, threads=None):
    """Return a parser with --coretype, and with --rounds and --threads if a default is given."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    if rounds:
        parser.add_argument("--rounds", type=at_least_one, default=rounds,
                            help=f"number of rounds ({rounds})")
    if threads:
        parser.add_argument("--threads", type=at_least_one, default=threads,
                            help=f"number of threads ({threads})")
    parser.add_argument("--coretype", metavar="NAME",
                        help="force OpenBLAS kernels, such as Haswell; results are not recorded")
    return parser


def at_least_one(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} must be at least 1")
    return number


def names_in(text, known, what, error):
    """Split a comma-separated text. Call error(message) if one of the names is unknown."""
    names = text.split(",") if text else []
    for name in names:
        if name not in known:
            error(f"unknown {what} {name!r}: expected {', '.join(known)}")
    return names


def check_recordable(path, error):
    """Call error(message) if figures would be recorded in a file while kernels are forced."""
    forced = [f"{name}={os.environ[name]}" for name in FORCING if name in os.environ]
    if path and forced:
        error(f"BLAS kernels are forced ({', '.join(forced)}), so these figures cannot be recorded "
              f"in {path}: unset the variables and leave out --coretype, or only print the figures")


def record(path, *lines):
    """Append dicts to a file of JSON lines, if a path is given."""
    if path:
        with open(path, "a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


# ---- the machine ---------------------------------------------------------------------------------


def machine(threads, *libraries):
    """Describe the processor, the threads, the BLAS kernels, and the libraries if installed."""
    from importlib.metadata import version
    versions = [f"{name} {version(name)}" for name in ("numpy", "numba", *libraries)
                if find_spec(name)]
    return "\n".join([f"{os.cpu_count()} processors, {processor_name()}; threads: {threads}",
                      ", ".join(versions), *kernels(libraries)])


def processor_name():
    """Return the name of the processor, and the one that numba compiles for."""
    from numpy_attention.experiments.runs.provenance import processor
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return ", ".join([*names[:1], processor()])


def kernels(libraries):
    """Yield lines about the BLAS kernels of NumPy and of these libraries."""
    from threadpoolctl import threadpool_info
    import_module("numpy")
    if "torch" in libraries and find_spec("torch"):
        torch = import_module("torch")
        # threadpoolctl does not detect a library that is linked statically
        blas = "MKL" if torch.backends.mkl.is_available() else "no MKL"
        yield f"kernels of torch: {blas}, {torch.backends.cpu.get_cpu_capability()}"
    for one in threadpool_info():
        if one["user_api"] == "blas":
            path = Path(one["filepath"])
            yield (f"kernels of {path.parent.name}/{path.name}: {one['internal_api']} "
                   f"{one['version']}, {one.get('architecture', 'architecture unknown')}")
