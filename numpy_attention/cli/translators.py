"""What `numpy-attention` does with translators' runs: train, translate, evaluate, heatmap; and all commands by name.

The options come from `cli.py`; `commands_text.py` is for language models.
"""

import json
import shlex
import sys
from pathlib import Path

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.cli import catalogue
from numpy_attention.cli import language_models as commands_text
from numpy_attention.cli import compare as comparison
from numpy_attention.cli.translator_options import settings_of
from numpy_attention.cli.shared import refuse, run_folder, save_curves, training_settings, warn_of_unknown_words
from numpy_attention.data.corpora import find_corpus
from numpy_attention.data.own_text import OwnPairs
from numpy_attention.data.pairs import Pair, limited
from numpy_attention.data.selection import selected
from numpy_attention.training.threads import Threads
from numpy_attention.runs.trained import kind_of
from numpy_attention.runs.translator import Translator, TranslatorTraining, vocabularies_of

EOS = ["</s>"]
LIMITS = {"max_length": "max_length", "pairs": "count"}        # option → argument of load_parallel


# ---- train ----------------------------------------------------------------------------------------------------------


def train(options):
    corpus = corpus_to_train_on(options)
    selection = selected(corpus)
    if options.subwords:
        refuse(options, "subwords spell every word", "min_count")
        if selection.form().cut == "characters":
            raise ValueError(f"--subwords cuts words, and {corpus['name']} consists of characters: leave it out")
    training = TranslatorTraining(**training_settings(options), min_count=options.min_count or 2,
                                  reverse_source=options.reverse_source, subwords=options.subwords)
    splits = selection.splits
    learn, valid, *_ = parts = selection.load(*splits)
    vocabularies = vocabularies_of(learn, training)
    settings = settings_of(options, lambda: max(len(vocabularies[0].encode(pair.source)) for pairs in parts for pair in pairs))
    translator = Translator.create(learn, options.model, settings, training, corpus, vocabularies)
    mechanism = [settings[key] for key in ("attention", "window") if settings.get(key, "global") != "global"]
    name = "-".join([options.model] + mechanism)
    folder, resumes = run_folder(options, translator, f"{selection.label.split()[0]}-{name}")
    print(f"{name}, {translator.model.size:,} parameters; {len(learn):,} pairs of {selection.label}, "
          f"{len(translator.source_vocabulary):,} source and {len(translator.target_vocabulary):,} target "
          f"{unit_of(translator)}")
    print(f"{'resumes the run in' if resumes else 'saves to'} {folder}", flush=True)
    translator.fit(learn, valid, folder, options.threads)
    save_curves(translator.history, folder)
    split, pairs = splits[-1], parts[-1]
    print(f"trained for {len(translator.history)} epochs, {translator.history[-1]['seconds'] / 60:.1f} minutes; "
          f"measures {len(pairs):,} pairs ({split})", flush=True)
    show_figures(measure(translator, pairs, 5, translator.threads))
    example = selection.form().text(pairs[0].source)
    print(f"next: numpy-attention translate {shlex.quote(str(folder))} {shlex.quote(example)}")


def corpus_to_train_on(options):
    """The corpus dict of --corpus or of --source and --target."""
    limits = {key: getattr(options, name) for name, key in LIMITS.items() if getattr(options, name)}
    files = [options.source, options.target, options.valid_source, options.valid_target]
    if options.corpus and any(files):
        raise ValueError("--corpus and files are given: choose one of them")
    if options.corpus:
        if options.lowercase or options.tokenize:
            raise ValueError(f"--lowercase and --tokenize are for your own text, {options.corpus} is prepared already: "
                             "leave them out")
        find_corpus(options.corpus, "parallel")
        return {"name": options.corpus} | ({"part": options.part} if options.part else {}) | limits
    if not (options.source and options.target):
        raise ValueError("nothing to learn from: give --corpus NAME (numpy-attention corpora list), or --source FILE "
                         "and --target FILE")
    if options.part:
        raise ValueError("--part belongs to --corpus, and files are given: leave it out")
    return OwnPairs(*files, options.seed, **limits, lowercase=options.lowercase, tokenize=options.tokenize).saved()


# ---- translate ------------------------------------------------------------------------------------------------------


def translate(options):
    if kind_of(options.run) == "writer":
        raise ValueError(f'{options.run} holds a language model, which does not translate: numpy-attention generate '
                         f'{options.run} --prompt "…"')
    translator = Translator.load(options.run)
    form = selected(translator.corpus).form(options.lowercase)
    lines = [form.tokens(text) for text in options.sentence or lines_of_input()]
    sentences = lines if options.sentence else [tokens for tokens in lines if tokens]
    if not sentences:
        raise ValueError(f'no sentence to translate: numpy-attention translate {options.run} "a sentence", or one a '
                         "line on the standard input")
    if options.heatmap and len(sentences) > 1:
        raise ValueError(f"--heatmap draws one sentence, {len(sentences)} are given: translate it alone")
    warn_of_unknown_words(translator.source_vocabulary, sentences)
    found = translations_of(translator, sentences, options)
    if options.heatmap:
        best = found[0][0]
        target = best.target + EOS * (len(best.weights) - len(best.target))
        plotting.save(plotting.attention_heatmap(best.weights, best.source + EOS, target), options.heatmap)
    found = iter(found)
    for n, tokens in enumerate(lines):
        if options.all and n:
            print()                                                     # between the sentences' lists
        if not tokens and not options.sentence:
            print()                                                     # an empty line out for an empty line in
            continue
        for one in next(found):
            if options.all:
                print(f"{one.score:8.3f}  log p {one.log_probability:8.3f}  {len(one.target):3d} words"
                      f"{'' if one.finished else ', cut off'}  ", end="")
            print(form.text(one.unknown_replaced() if options.replace_unknown else one.target))
    if options.heatmap:
        print(f"saved {options.heatmap}", file=sys.stderr)


def translations_of(translator, sentences, options):
    """Translations of each sentence, best first: the one that search finds, or all of them, or one drawn at random."""
    if options.replace_unknown and translator.name == "encoder-decoder":
        raise ValueError("--replace-unknown copies the word that attention looks at, and this run's model has no attention: "
                         "leave it out")
    if not options.sample:
        refuse(options, "it belongs to --sample", "temperature", "top_k", "top_p", "seed")
        if options.beam == 1:
            refuse(options, "--beam 1 compares no lengths", "length_penalty")
        penalty = 1.0 if options.length_penalty is None else options.length_penalty
        if options.all:
            with Threads(1):
                return [translator.hypotheses(sentence, options.beam or 5, penalty) for sentence in sentences]
        return [[one] for one in translator.translate(sentences, options.beam or 5, penalty)]
    refuse(options, "--sample does not search", "beam", "all", "length_penalty")
    refuse(options, "--sample never draws <unk>", "replace_unknown")
    rng = np.random.default_rng(options.seed or 0)
    temperature = 1.0 if options.temperature is None else options.temperature
    with Threads(1):
        return [[translator.sample(sentence, rng, temperature, options.top_k, options.top_p)] for sentence in sentences]


def lines_of_input():
    """The lines of the standard input."""
    if sys.stdin.isatty():
        print("numpy-attention: reads one sentence a line; end with Ctrl-D", file=sys.stderr)
    return sys.stdin.read().splitlines()


# ---- evaluate -------------------------------------------------------------------------------------------------------


def evaluate(options):
    if kind_of(options.run) == "writer":
        return commands_text.evaluate(options)
    refuse(options, "a translator's run is measured on sentence pairs, give --source and --target", "text")
    translator = Translator.load(options.run)
    form = selected(translator.corpus).form()
    if options.source or options.target:
        if not (options.source and options.target) or options.corpus or options.part or options.split:
            raise ValueError("give --source and --target, both and without --corpus, --part or --split")
        split, name = None, Path(options.source).name
        pairs = limited(form.pairs(options.source, options.target), name, None, options.max_length, options.pairs)
    else:
        corpus = corpus_to_measure_on(options, translator.corpus)
        pairs, split = pairs_of(corpus, options.split)
        name = selected(corpus).label
    figures = {"run": str(options.run), "corpus": name, "split": split,
               **measure(translator, pairs, options.beam or 5, options.threads)}
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{options.run}: {translator.name}, {translator.model.size:,} parameters, {len(translator.history)} epochs")
    print(f"{name}{', ' + split if split else ''}: {len(pairs):,} pairs")
    show_figures(figures)


def corpus_to_measure_on(options, own):
    """The run's own corpus dict, or what --corpus, --part, --max-length and --pairs make of it."""
    given = {key: getattr(options, name) for name, key in LIMITS.items() if getattr(options, name)}
    if options.corpus and options.corpus != own.get("name"):
        return {"name": options.corpus} | ({"part": options.part} if options.part else {}) | given
    if options.part and options.part != own.get("part"):
        if "source" in own:
            raise ValueError("--part belongs to a corpus, and this run learnt from files: leave it out, or add "
                             "--corpus")
        own = {"name": own["name"], "part": options.part}           # another part has lengths of its own
    return own | given


def pairs_of(corpus, split=None):
    """→ (pairs, split) of a run's corpus; None: test, or valid where there is no test split."""
    if not corpus:
        raise ValueError("the run does not say what it learnt from: name a text with --corpus, or --source and "
                         "--target")
    selection = selected(corpus, "parallel")
    split = split or selection.splits[-1]
    return selection.load(split)[0], split


def measure(translator, pairs, beam, threads):
    """What `Translator.measure` finds, with the number of pairs and tokens and sacreBLEU's signatures."""
    found = translator.measure(pairs, beam, threads)
    probe = [["a"]], [["a"]]
    return {"beam": beam, "pairs": len(pairs), "unit": unit_of(translator), **found,
            "bleu_signature": metrics.bleu(*probe).signature, "chrf_signature": metrics.chrf(*probe).signature}


def unit_of(translator):
    return "pieces" if translator.training.subwords else "words"


def show_figures(figures):
    what, per_word = "tokens", ""
    if figures["unit"] == "pieces":
        what, per_word = "pieces of words", f"; {figures['perplexity_word']:.2f} per word"
    print(f"  perplexity  {figures['perplexity']:8.2f}   over {figures['tokens']:,} {what}, ends of sentence included"
          f"{per_word}")
    print(f"  BLEU        {figures['bleu']:8.2f}   beam {figures['beam']}, {figures['bleu_greedy']:.2f} greedy; "
          f"{figures['bleu_signature']}")
    print(f"  BLEU 13a    {figures['bleu_13a']:8.2f}   the same, cut by sacreBLEU's own tokeniser")
    print(f"  chrF        {figures['chrf']:8.2f}   {figures['chrf_signature']}")
    print(f"  exact       {figures['exact']:8.3f}   of the greedy translations equal the reference")
    if "pointing" in figures:
        print(f"  pointing    {figures['pointing']:8.3f}   of the sure links, {figures['near']:.3f} within one word; "
              f"diagonal {figures['diagonal']:.3f}")
        print(f"  AER         {figures['aer']:8.3f}   alignment error rate")


# ---- heatmap --------------------------------------------------------------------------------------------------------


def heatmap(options):
    if kind_of(options.run) == "writer":
        return commands_text.heatmap(options)
    translator = Translator.load(options.run)
    form = selected(translator.corpus).form()
    if options.sentences:
        if len(options.sentences) != 2 or options.index is not None or options.split:
            raise ValueError(f"{len(options.sentences)} sentence(s) given: expected a source and a target sentence "
                             "without --index and --split, or none")
        pair = Pair(*map(form.tokens, options.sentences))
        if not (pair.source and pair.target):
            raise ValueError("an empty sentence: expected at least one token in both")
        warn_of_unknown_words(translator.source_vocabulary, [pair.source])
        warn_of_unknown_words(translator.target_vocabulary, [pair.target])
    else:
        pairs, split = pairs_of(translator.corpus, options.split)
        index = options.index or 0
        if index >= len(pairs):
            raise ValueError(f"--index {index}: {split} has {len(pairs):,} pairs, numbered from 0")
        pair = pairs[index]
    weights = translator.attend([pair])[0]
    axes = plotting.attention_heatmap(weights, list(pair.source) + EOS, list(pair.target) + EOS, pair.sure,
                                      pair.possible)
    plotting.save(axes, options.output)
    print(f"{form.text(pair.source)}\n{form.text(pair.target)}\nsaved {options.output}")


COMMANDS = {"train": train, "train lm": commands_text.train, "translate": translate, "generate": commands_text.generate,
            "evaluate": evaluate, "heatmap": heatmap, "gradcheck": catalogue.gradcheck,
            "corpora": catalogue.corpora_command, "reproduce": catalogue.reproduce,
            "compare": comparison.compare}
