"""Makes the model that ships with lesson 06: the lesson's own, trained longer than the lesson does.

    python tools/lesson_checkpoint.py                       some three minutes of one core
    python tools/lesson_checkpoint.py --epochs 2 --out F    a short trial, in another folder

It writes FOLDER/lesson-06/checkpoint.npz, a run's folder like any other (numpy-attention translate
FOLDER/lesson-06 "…" reads it), without the optimizer's state, and FOLDER/SHA256SUMS.
"""

import argparse
import sys
import tempfile
from pathlib import Path

LESSONS = Path(__file__).resolve().parents[1] / "lessons"
sys.path.append(str(LESSONS))

from translator_parts import (  # noqa: E402
    LONGEST, SHIPPED, bible_clauses, digest, trained_translator)

from numpy_attention.experiments.runs.saved import CHECKPOINT  # noqa: E402
from numpy_attention.training import checkpoint  # noqa: E402

SETTINGS = {"embedding": 48, "hidden": 64, "dropout": 0.3}
RATE = 4e-3
NAME = "lesson-06"
# the clauses among which its own are; what is measured, or drawn, on a run's corpus has them all
CORPUS = {"name": "bible-en-es", "part": "clauses", "max_length": LONGEST}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=Path, default=SHIPPED, metavar="FOLDER")
    options = parser.parse_args(arguments)
    pairs, _ = bible_clauses()
    file = make(pairs, options.epochs, options.out)
    print(f"{file}: {file.stat().st_size:,} bytes, sha256 {digest(file)}")
    return 0


def make(pairs, epochs, out):
    """Train on these pairs; → the file written, beside which SHA256SUMS names it."""
    with tempfile.TemporaryDirectory() as folder:
        trained_translator(pairs, "rnnsearch", SETTINGS, epochs, RATE, folder=Path(folder),
                           look=told)
        arrays, told_of = checkpoint.load(Path(folder) / CHECKPOINT)
    kept = {name: array for name, array in arrays.items() if name.startswith("parameters/")}
    file = out / NAME / CHECKPOINT
    told_of["about"]["corpus"] = CORPUS
    checkpoint.save(file, kept, told_of)
    text = f"{digest(file)}  {NAME}/{CHECKPOINT}\n"
    (out / "SHA256SUMS").write_text(text, encoding="utf-8")
    return file


def told(translator, step):
    print(f"  step {step:,}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
