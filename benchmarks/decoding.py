"""Compare translation with PyTorch: greedy search and a beam of 5, the same weights and sentences.

    python benchmarks/decoding.py [--models rnnsearch,luong] [--beams 1,5] [--rounds 7]
    python benchmarks/decoding.py --quick           a quick test; its times are meaningless

First, a model is trained for --steps steps on bible-en-es, so that its translations have different
lengths. RNNsearch and Luong's dot attention have the sizes of (c) and (d) in sides.py. Then
--sentences sentences of the test text, the same for both models, are translated from words to
words, 64 sentences of similar length at a time: by Translator.translate, and in PyTorch by the
loops of pytorch/torch_decoding.py. Only ours returns the attention weights of each word. A third
side computes only our matrix products (floor.py). The sides take turns (turns.py). A ratio is ours
/ PyTorch's in one round; the median and quartiles over all rounds are printed. The shares of matrix
products in our time and in PyTorch's are medians.

Both must give the same translations, except for ties: words whose log p under our model differs by
less than 0.001, for a beam over the whole translation, for greedy search at the first word that
differs. Other differences come from earlier ties within the beam. If there are more than 1 in 200
of them, that is an error.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from floor import search_floor
from machine import check_recordable, machine, names_in, parser_of, record, restart_clean
from sides import MODELS
from turns import TUNED, Side, measure, ratio

from numpy_attention.data.batching import padded
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.vocabulary import BOS, EOS
from numpy_attention.experiments.runs.translator import (
    Translator,
    TranslatorTraining,
    vocabularies_of,
)

CORPUS = {"name": "bible-en-es", "max_length": 15}
MIN_COUNT = 3       # least count of a word in the vocabulary
BATCH = 64
TIE = 1e-3          # nats
PARTED = 1 / 200    # largest share of translations that may differ
SIZES = ("embedding", "hidden", "alignment", "maxout")
SETTINGS = {
    "rnnsearch": {name: MODELS["c"][name] for name in SIZES}
    | {"readout": "current", "reset": "after", "update": "old", "init": "modern"},
    "luong": {name: MODELS["d"][name] for name in SIZES[:2]}
    | {"layers": 1, "attention": "dot", "init": "modern"},
}

# ---- the sides, in separate processes; a step translates all sentences ---------------------------


def ours(size, threads, built):
    translator, sentences = loaded(size, built)
    return writing(size, "ours", lambda: [
        found.target for found in translator.translate(sentences, size["beam"], threads=threads)])


def theirs(size, threads, built):
    import torch
    torch.set_num_threads(threads)
    translator, sentences = loaded(size, built)
    search = their_search(translator, size["beam"])
    return writing(size, "theirs", lambda: search(sentences))


def products(size, threads, built):
    """The matrix products of `ours` alone."""
    translator, sentences = loaded(size, built)
    return search_floor(translator, sentences, size["beam"], threads)


def loaded(size, built):
    run = Path(size["run"])
    sentences = json.loads((run / "sentences.json").read_text())
    translator = Translator.load(run)
    built()
    return translator, sentences


def writing(size, side, translate):
    """Return a step that translates and returns the number of words; the first saves them."""
    path = Path(size["run"]) / f"{side}-{size['beam']}.json"

    def step():
        translations = translate()
        if not path.exists():
            path.write_text(json.dumps(translations))
        return sum(map(len, translations))
    return step


def their_search(translator, beam):
    """Return a function that translates sentences with a PyTorch model of the same weights."""
    import torch
    from pytorch import torch_luong, torch_rnnsearch
    from pytorch.torch_decoding import LuongSearcher, RNNSearcher, beam_search, greedy
    settings = translator.settings
    E, H = settings["embedding"], settings["hidden"]
    source, target = translator.source_vocabulary, translator.target_vocabulary
    if translator.name == "rnnsearch":
        model = torch_rnnsearch.TorchRNNSearch(
            len(source), len(target), E, H, settings["alignment"], settings["maxout"])
        searcher = RNNSearcher(torch_rnnsearch.copy_weights(translator.model, model).eval())
    else:
        model = torch_luong.TorchLuong(len(source), len(target), E, H)
        searcher = LuongSearcher(torch_luong.copy_weights(translator.model, model).eval())

    def translate(sentences):
        ids = [source.encode(sentence) + [EOS] for sentence in sentences]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        found = [None] * len(ids)
        for k in range(0, len(order), BATCH):
            group = order[k:k + BATCH]
            batch = torch.from_numpy(padded([ids[i] for i in group]))
            if beam == 1:
                hypotheses = greedy(searcher, batch)
            else:
                hypotheses = beam_search(searcher, batch, beam)
            for i, hypothesis in zip(group, hypotheses):
                found[i] = target.decode(hypothesis)
        return found
    return translate


# ---- comparison ----------------------------------------------------------------------------------


def trained(name, options, run):
    """Train a translator for some steps. Save it and the sentences to translate in `run`."""
    rng = np.random.default_rng(0)
    pairs = load_parallel(split="train", **CORPUS)
    how = TranslatorTraining(epochs=1, batch_size=BATCH, learning_rate=3e-3, min_count=MIN_COUNT)
    few = [pairs[i] for i in rng.choice(len(pairs), options.steps * BATCH, replace=False)]
    settings = SETTINGS[name]
    if options.quick:
        settings = settings | {"embedding": 32, "hidden": 32}
        pairs = few
    translator = Translator.create(few, name, settings, how,
                                   vocabularies=vocabularies_of(pairs, how))
    translator.trainer(few, folder=run, threads=options.threads, progress=False).fit(1)
    sentences = [pair.source for pair in load_parallel(split="test", **CORPUS)]
    (run / "sentences.json").write_text(json.dumps(sentences[:options.sentences]))
    return translator


def compare_words(translator, run, beam):
    """Count translations that are equal, ties or neither. Also return the mean length of ours."""
    sentences = json.loads((run / "sentences.json").read_text())
    sides = [json.loads((run / f"{side}-{beam}.json").read_text()) for side in ("ours", "theirs")]
    counts = {"equal": 0, "ties": 0, "parted": 0}
    for sentence, one, other in zip(sentences, *sides):
        if one == other:
            counts["equal"] += 1
        else:
            difference = difference_of(translator, sentence, one, other, beam)
            counts["ties" if difference < TIE else "parted"] += 1
    return counts, float(np.mean([len(words) for words in sides[0]]))


def difference_of(translator, sentence, one, other, beam):
    """Return the difference of two translations in the log p that a search compares."""
    first = next((i for i, words in enumerate(zip(one, other)) if words[0] != words[1]),
                 min(len(one), len(other)))
    each = [log_probabilities(translator, sentence, words) for words in (one, other)]
    if beam == 1:
        scores = [log_p[first] for log_p in each]
    else:
        scores = [sum(log_p) / ((5 + len(log_p)) / 6) for log_p in each]
    return abs(scores[0] - scores[1])


def log_probabilities(translator, sentence, words):
    """Return log p of each word of a translation and of its </s> in our model."""
    source = np.array(translator.source_vocabulary.encode(sentence) + [EOS])[:, None]
    state = translator.model.start(source, source != 0)
    before = BOS
    found = []
    for word in translator.target_vocabulary.encode(words) + [EOS]:
        log_p, _, state = translator.model.next(np.array([before]), state)
        found.append(float(log_p[0, word]))
        before = word
    return found


def compare(translator, run, beam, options):
    """Time one beam width and print the result. Raises RuntimeError for other translations."""
    sides = [Side("ours", "decoding.ours"), Side("theirs", "decoding.theirs", environment=TUNED),
             Side("products", "decoding.products")]
    size = {"run": str(run), "beam": beam}
    _, seconds = measure(sides, size, options.rounds, options.threads)
    low, median, high = ratio(seconds["ours"], seconds["theirs"])
    floors = {name: ratio(seconds["products"], seconds[name])[1] for name in ("ours", "theirs")}
    counts, length = compare_words(translator, run, beam)
    how = f"beam {beam}" if beam > 1 else "greedy"
    medians = [f"{name} {np.median(times):.2f} s" for name, times in seconds.items()]
    shares = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    print(f"{translator.name}, {how}: {', '.join(medians)}; ours / theirs {median:.3f} "
          f"({low:.3f}–{high:.3f}); products / ours {floors['ours']:.2f}, / theirs "
          f"{floors['theirs']:.2f}; translations of {length:.1f} words: {shares}", flush=True)
    if counts["parted"] > PARTED * sum(counts.values()):
        raise RuntimeError(f"{counts['parted']} translations differ by more than rounding")
    return {"model": translator.name, "beam": beam, "ratio": median, "ratio_low": low,
            "ratio_high": high, "products_of_ours": floors["ours"],
            "products_of_theirs": floors["theirs"], "words": length} | counts


def main(arguments=None):
    parser = parser_of(__doc__, rounds=7, threads=2)
    parser.add_argument("--models", default="rnnsearch,luong")
    parser.add_argument("--beams", default="1,5", help="comma-separated; 1 is greedy search")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=400, help="training steps (400)")
    parser.add_argument("--quick", action="store_true", help="tiny models, few sentences")
    parser.add_argument("--json", help="append one JSON line per model and beam to this file")
    options = parser.parse_args(arguments)
    names = names_in(options.models, SETTINGS, "model", parser.error)
    if options.quick:
        options.sentences, options.steps, options.rounds = 40, 20, 2
    check_recordable(options.json, parser.error)
    print(machine(options.threads, "torch"))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            translator = trained(name, options, Path(folder))
            sizes = f"V {len(translator.source_vocabulary):,} and "
            sizes += f"{len(translator.target_vocabulary):,}"
            print(f"{name}: {translator.model.size:,} parameters, {sizes}, {options.steps} steps; "
                  f"{options.sentences:,} sentences, {options.threads} threads", flush=True)
            for beam in map(int, options.beams.split(",")):
                record(options.json, compare(translator, Path(folder), beam, options))


if __name__ == "__main__":
    restart_clean()
    main()
