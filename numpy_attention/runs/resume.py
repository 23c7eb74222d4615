"""What a run's folder stands for: the corpus it learnt from, how its raw text is cut, and when it may go on.

A run's corpus is a dict that JSON can hold, kept in its checkpoint. A translator's is either arguments of `load_parallel`,

    {"name": "bible-en-es", "part": "clauses", "max_length": 7}

or the reader's own text, of which a share is held out (see `own_text`):

    {"source": "/…/en.txt", "target": "/…/es.txt", "lowercase": true, "tokenize": true, "held_out_seed": 0, …}

A language model's is in `running_text.py`.
"""

import dataclasses
import hashlib
import inspect
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.pairs import Pair, read_lines, read_pairs, word_tokens
from numpy_attention.models.registry import MODELS
from numpy_attention.runs.saved import CHECKPOINT, understood, upgraded
from numpy_attention.training import checkpoint
from numpy_attention.training.settings import Training

HELD_OUT = 0.05
FILES = ("source", "target", "valid_source", "valid_target")
TEXTS = ("text", "valid_text")
CHANGEABLE = {"epochs", "minutes", "save_steps", "keep"}      # these leave every step as it was


@dataclass(frozen=True)
class TextForm:
    """How a corpus cuts raw text: "words" (with `word_tokens`), at "spaces", or into "characters"."""

    cut: str
    lowercase: bool

    def tokens(self, text):
        """The tokens of a raw sentence, without its line end."""
        text = text.lower() if self.lowercase else text
        return {"words": word_tokens, "spaces": str.split, "characters": list}[self.cut](text)

    def text(self, tokens):
        """Tokens as one line of text."""
        return ("" if self.cut == "characters" else " ").join(tokens)

    def pairs(self, source, target):
        """Pairs of two files of raw text; errors as `read_pairs` raises them."""
        pairs = read_pairs(source, target, self.lowercase, self.cut == "words")
        if self.cut == "characters":
            pairs = [Pair(self.tokens(a), self.tokens(b)) for a, b in zip(read_lines(source), read_lines(target))]
        return pairs


def text_form(corpus, lowercase=None):
    """The TextForm that a run's corpus was prepared with; lowercase None: as the corpus is."""
    name = corpus.get("name")
    if name is None and "lowercase" in corpus:
        cut, low = "words" if corpus["tokenize"] else "spaces", corpus["lowercase"]
    else:
        cut = "spaces" if name in ("copy", "reverse", "ptb", "wikitext-2") else "words"
        # Multi30k's raw part and these are text as written; all other words are lowercase
        low = corpus.get("part") != "raw" and name not in ("dates", "ptb", "wikitext-2", "tinyshakespeare")
    if corpus.get("characters") or name in ("dates", "tinyshakespeare"):
        cut = "characters"
    return TextForm(cut, low if lowercase is None else lowercase)


def own_text(source, target, valid_source=None, valid_target=None, lowercase=False, tokenize=False, seed=0, **limits):
    """The corpus dict of two files, line k of one beside line k of the other, and of two more to validate on, or None.

    limits: max_length (of both sides) and count (pairs of a split), where given. Paths are kept absolute, and with them a
    digest of the text: `load` refuses files that have changed since. FileNotFoundError: a missing file; ValueError: one
    validation file without the other.
    """
    if (valid_source is None) != (valid_target is None):
        raise ValueError("a validation file is given for one side only: give --valid-source and --valid-target, or "
                         "neither, and a share of the pairs is held out")
    corpus = paths_of(zip(FILES, (source, target, valid_source, valid_target)))
    corpus |= {"lowercase": lowercase, "tokenize": tokenize, "held_out_seed": seed, **limits}
    return corpus | {"digest": digest_of(corpus)}


def paths_of(files):
    """{name: absolute path} of (name, path or None). FileNotFoundError: a missing file."""
    paths = {name: str(Path(path).resolve()) for name, path in files if path is not None}
    for path in paths.values():
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path} does not exist, or is no file: check the spelling")
    return paths


def splits_of(corpus):
    """Names of the splits that `load` knows for a corpus."""
    return ("train", "valid") if "source" in corpus or "text" in corpus else ("train", "valid", "test")


def load(corpus, *splits):
    """One list of Pairs for each split named. ValueError: an unknown split, changed files, or no pair left."""
    if "source" not in corpus:
        return [load_parallel(split=split, **corpus) for split in splits]
    check_own(corpus, splits)
    form = text_form(corpus)
    texts = [form.pairs(corpus["source"], corpus["target"])]
    if "valid_source" in corpus:
        texts.append(form.pairs(corpus["valid_source"], corpus["valid_target"]))
    else:                           # before any limit: whatever is measured later, no pair of one part is in the other
        texts = hold_out(texts[0], np.random.default_rng(corpus["held_out_seed"]))
    parts = dict(zip(splits_of(corpus), texts))
    return [limited(parts[split], f"{label(corpus)} ({split})", corpus.get("max_length"), corpus.get("count"))
            for split in splits]


def limited(pairs, name, max_length=None, count=None):
    """The first `count` of the pairs with at most max_length tokens on both sides. ValueError: none of `name` is left."""
    longest = max_length or math.inf
    pairs = [pair for pair in pairs if max(len(pair.source), len(pair.target)) <= longest][:count]
    if not pairs:
        raise ValueError(f"no pair of {name} has at most {longest} tokens on both sides: allow more with --max-length, or "
                         "bring more text")
    return pairs


def check_own(corpus, splits):
    """ValueError: a split that the reader's own text does not have, or files that have changed since the run began."""
    path = corpus.get("source") or corpus["text"]
    for split in splits:
        if split not in splits_of(corpus):
            raise ValueError(f"there is no {split!r} split of {path}, only train and valid: choose one of them, or give "
                             f"other files with {'--source and --target' if 'source' in corpus else '--text'}")
    if digest_of(corpus) != corpus["digest"]:
        raise ValueError(f"the text of {path} or its companions has changed since this run began: bring the old files "
                         "back, or train anew in another folder with --run")


def hold_out(pairs, rng, share=HELD_OUT):
    """→ (the rest, about `share` of the pairs, at least 1); pairs with the same source sentence stay together."""
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    if len(sources) < 2:
        raise ValueError(f"{len(pairs)} pair(s) with {len(sources)} different source sentence(s): expected at least 2, "
                         "one of them to be held out; bring more text, or give --valid-source and --valid-target")
    counts = {source: 0 for source in sources}
    for pair in pairs:
        counts[pair.source] += 1
    held, number = set(), 0
    for i in rng.permutation(len(sources))[:-1]:
        held.add(sources[i])
        number += counts[sources[i]]
        if number >= share * len(pairs):
            break
    return [pair for pair in pairs if pair.source not in held], [pair for pair in pairs if pair.source in held]


def label(corpus):
    """A corpus in a few words: its name or its source file's, and its part."""
    file = corpus.get("source") or corpus.get("text")
    if file:
        return Path(file).stem
    return " ".join(filter(None, (corpus.get("name", "unknown text"), corpus.get("part"))))


def check_same(folder: str | Path, trained: Any, threads: int | None = None) -> bool:
    """Whether `folder` holds a run that this Translator or Writer may resume.

    ValueError: it is a run of another kind, has other settings, and says which, or is of a version
    that this one does not understand.
    """
    path = Path(folder) / CHECKPOINT
    if not path.exists():
        return False
    about = checkpoint.load_about(path)
    saved = about.get("about", {})
    if saved.get("kind") != trained.KIND:
        kind = saved.get("kind", "plain model")
        refuse(folder, f"{kind} there, {trained.KIND} now")
    with understood(path, about):
        before = flat(upgraded(saved), trained.TRAINING)
    now = flat(json.loads(json.dumps(trained.configuration())), trained.TRAINING)
    if threads is not None:
        before["threads"] = about.get("trainer", {}).get("threads")
        now["threads"] = threads
    found = differences(before, now)
    if found:
        refuse(folder, "; ".join(found))
    return True


def refuse(folder: str | Path, what: str) -> NoReturn:
    raise ValueError(f"{folder} holds a run with other settings: {what}. Give the same settings to "
                     "resume it, or remove this folder, or choose another")


def flat(configuration: dict[str, Any], training: type[Training]) -> dict[str, Any]:
    """A configuration on one level: model, settings, training, corpus and vocabularies.

    A setting that it does not have, for it is newer than the run, or was not given, has its default.
    """
    about = {name: value for name, value in configuration.items() if not isinstance(value, dict)}
    model = about.pop("name")
    corpus = {f"corpus {name}": value for name, value in configuration["corpus"].items()}
    how = dataclasses.asdict(training(**configuration["training"]))
    return {"model": model, **about, **defaults_of(model), **configuration["settings"], **how, **corpus}


def defaults_of(model: str) -> dict[str, Any]:
    """The settings that a model has unless they are given, those that JSON can hold."""
    if model not in MODELS:
        return {}
    parameters = inspect.signature(MODELS[model].create).parameters.values()
    return {one.name: one.default for one in parameters
            if one.default is None or isinstance(one.default, (bool, int, float, str))}


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What keeps a run from going on, each in words."""
    fixed = (before.keys() | now.keys()) - CHANGEABLE
    if now.get("schedule") == "linear":         # its rate at each step depends on the last epoch
        fixed |= {"epochs"}
    return [difference(name, before.get(name), now.get(name)) for name in sorted(fixed)
            if before.get(name) != now.get(name)]


def difference(name: str, before: Any, now: Any) -> str:
    long = any(isinstance(value, list) or len(str(value)) > 200 for value in (before, now))
    return f"other words in the {name}" if long else f"{name} {before} there, {now} now"


def digest_of(corpus):
    """The start of the sha256 of the files' bytes."""
    digest = hashlib.sha256()
    for name in FILES + TEXTS:
        if name in corpus:
            digest.update(Path(corpus[name]).read_bytes() + b"\0")
    return digest.hexdigest()[:16]
