"""Build the site: the lessons with their output, the API, mechanisms, results, a glossary.

    python tools/build_site.py OUT                      everything
    python tools/build_site.py OUT --lessons 00 01      run only these lessons
    python tools/build_site.py OUT --lessons            run no lesson
    python tools/build_site.py OUT --catalogue          the gettext catalogue, .pot files, instead

Warnings are errors. The output of lessons is cached in the folder --cache. A lesson is run again
when its code, the package, or anything that it uses has changed. OUT is replaced only after a
complete build. This needs pip install -e ".[site]"; docs/site.md explains how it works.
"""

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
SETTINGS = ROOT / "docs" / "site"
CONVERTERS = (SETTINGS / "conf.py", *(ROOT / "tools" / "site_pages" / name for name in
              ("docstrings.py", "mathml.py", "sources.py")))
MARK = ".numpy_attention-site"          # a folder that has it may be replaced


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to create or replace")
    parser.add_argument("--lessons", nargs="*", metavar="NN",
                        help="run only lessons with these numbers (default: all)")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", default=ROOT / "build" / "cache",
                        help="cache kept between builds (default: build/cache)")
    parser.add_argument("--logs", type=Path, metavar="FOLDER",
                        help="folder for the output of each lesson, NN.log")
    parser.add_argument("--catalogue", action="store_true",
                        help="write the catalogues for translators instead of the site")
    options = parser.parse_args(arguments)
    try:
        build(options)
    except (ImportError, OSError, ValueError, BuildError) as error:
        print(f"build_site: {error}", file=sys.stderr)
        return 1 if isinstance(error, BuildError) else 2
    return 0


class BuildError(Exception):
    """A lesson failed, a link is dead, or Sphinx warned."""


def build(options):
    """Build the site. Raises BuildError, or ValueError and OSError for unsuitable options."""
    try:
        import furo  # noqa: F401
        import myst_nb  # noqa: F401
    except ImportError as error:
        raise ImportError(f'{error.name} is missing: pip install -e ".[site]"') from None
    from site_pages import lessons, sources, staging
    from site_pages.links import DeadLink
    check_replaceable(options.out)
    start = time.perf_counter()
    chosen = [] if options.catalogue else lessons.chosen(options.lessons)
    given = dict.fromkeys(path.name[:2] for path in lessons.files())
    try:
        given |= lessons.all_outputs(chosen, options.cache, options.logs and created(options.logs))
        work = workplace(options.cache, "catalogue" if options.catalogue else "html")
        living = None if options.catalogue else living_page(work / "living")
        gone, requested = staging.stage(work / "stage", given, living)
        if gone:
            shutil.rmtree(work / "doctrees", ignore_errors=True)
            shutil.rmtree(work / "built", ignore_errors=True)
    except (lessons.LessonError, DeadLink) as error:
        raise BuildError(error) from None
    run_sphinx(work, "gettext" if options.catalogue else "html")
    with tempfile.TemporaryDirectory(dir=created(options.out.absolute().parent)) as scratch:
        whole = Path(scratch) / "site"
        shutil.copytree(work / "built", whole, ignore=shutil.ignore_patterns(".buildinfo*"))
        if not options.catalogue:
            sources.write(whole, requested)
            staging.downloads(whole)
            if living:
                shutil.copytree(living, whole / "living")
        (whole / MARK).write_text("made by tools/build_site.py, which may replace this folder\n")
        if options.out.exists():
            shutil.rmtree(options.out)
        os.replace(whole, options.out)
    pages = len(list(options.out.rglob("*.pot" if options.catalogue else "*.html")))
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    times = os.times()
    print(f"{options.out}: {pages} {'catalogues' if options.catalogue else 'pages'}, "
          f"{size / 1e6:.1f} MB, in {time.perf_counter() - start:.0f} s, "
          f"{sum(times[:4]):.0f} s of processor time")


def check_replaceable(out):
    """Raise ValueError if OUT exists, is not empty, and was not made by this command."""
    if out.exists() and not (out.is_dir() and ((out / MARK).is_file() or not any(out.iterdir()))):
        raise ValueError(f"{out} is there, and is not a site that this command made: name a new "
                         "folder, or remove it first")


def created(folder):
    """Create a folder if it is missing, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def workplace(cache, kind):
    """Return a folder for Sphinx, a new one if the code that converts texts has changed.

    Older folders are removed.
    """
    digest = hashlib.sha256()
    for path in CONVERTERS:
        digest.update(path.read_bytes())
    for name in ("sphinx", "myst-nb", "furo"):
        digest.update(f"{name} {metadata.version(name)}".encode())
    work = cache / f"{kind}-{digest.hexdigest()[:12]}"
    for old in cache.glob(f"{kind}-*"):
        if old != work:
            shutil.rmtree(old)
    return created(work)


def run_sphinx(work, builder):
    """Build work/stage into work/built. Raises BuildError for an error or a warning."""
    from sphinx.cmd.build import main as sphinx
    words = ["-b", builder, "-c", str(SETTINGS), "-d", str(work / "doctrees"), "-W", "--keep-going",
             "-q", str(work / "stage"), str(work / "built")]
    if sphinx(words):
        shutil.rmtree(work / "doctrees", ignore_errors=True)    # a second run would not warn
        raise BuildError("Sphinx warned: see its messages above")


def living_page(folder):
    """Return the folder with the page of lesson 06's shipped model; None without that command."""
    from importlib.util import find_spec
    if find_spec("numpy_attention.page") is None:
        return None
    from numpy_attention.cli.main import main as command
    created(folder)
    run = ROOT / "lessons" / "checkpoints" / "lesson-06"
    words = ["page", str(run), "--corpus", "bible-en-es", "-o", str(folder / "06.html")]
    if command(words):
        raise BuildError("numpy-attention page failed for lesson 06's model")
    return folder


if __name__ == "__main__":
    sys.exit(main())
