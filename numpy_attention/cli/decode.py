"""Commands that use a trained model: translate, generate."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence

import numpy as np

from numpy_attention import plotting
from numpy_attention.cli.shared import END, load_run, path_word, warn_of_unknown_words
from numpy_attention.data.encoding import check_not_markup, lines_of
from numpy_attention.data.text_form import TextForm
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun, Word
from numpy_attention.experiments.runs.translator import Translation, Translator
from numpy_attention.training.threads import Threads

# ---- translate ----------------------------------------------------------------------------------


def translate(options: Namespace) -> None:
    translator = load_run(options)
    form = translator.selection().form(options.lowercase)
    lines = [form.tokens(text) for text in options.sentence or lines_of_input()]
    sentences = lines if options.sentence else [tokens for tokens in lines if tokens]
    if not sentences:
        run = shlex.quote(path_word(options.run))
        raise ValueError("no sentence to translate; pass one, as in `numpy-attention translate "
                         f'{run} "a sentence"`, or one per line on standard input')
    if options.heatmap and len(sentences) > 1:
        raise ValueError(f"got {len(sentences)} sentences; --heatmap plots only one sentence")
    if options.replace_unknown and translator.name == "encoder-decoder":
        raise ValueError("--replace-unknown copies the word with the largest attention weight, but "
                         "this run's model has no attention; omit --replace-unknown")
    warn_of_unknown_words(translator.source_vocabulary, sentences)
    found = translations_of(translator, sentences, options)
    if options.heatmap:
        plotting.save(found[0][0].heatmap(), options.heatmap)
    rest = iter(found)
    for n, tokens in enumerate(lines):
        if options.all and n:
            print()                                 # between the lists of two sentences
        if not tokens and not options.sentence:
            print()                                 # an empty line for an empty line
            continue
        for one in next(rest):
            if options.all:
                print(f"{one.score:8.3f}  log p {one.log_probability:8.3f}  {len(one.target):3d} "
                      f"words{'' if one.finished else ', cut off'}  ", end="")
            print(form.text(one.unknown_replaced() if options.replace_unknown else one.target))
    if options.heatmap:
        print(f"saved {options.heatmap}", file=sys.stderr)


def translations_of(translator: Translator, sentences: Sequence[list[str]],
                    options: Namespace) -> list[list[Translation]]:
    """Return for each sentence a list: the best translation, all hypotheses, or a random one."""
    search = options.beam, options.length_penalty
    if not options.sample and not options.all:
        return [[one] for one in translator.translate(sentences, *search)]
    with Threads(1):
        if options.all:
            return [translator.hypotheses(sentence, *search) for sentence in sentences]
        rng = np.random.default_rng(options.seed)
        how = options.temperature, options.top_k, options.top_p
        return [[translator.sample(sentence, rng, *how)] for sentence in sentences]


def lines_of_input() -> list[str]:
    """Read the lines of the standard input. Raises ValueError unless they are plain UTF-8 text."""
    if sys.stdin.isatty():
        print("numpy-attention: enter one sentence per line; end with Ctrl-D", file=sys.stderr)
    lines = lines_of(sys.stdin.buffer.read(), "the standard input")
    check_not_markup(lines, "the standard input")
    return lines


# ---- generate -----------------------------------------------------------------------------------


def generate(options: Namespace) -> None:
    run = load_run(options)
    if options.heatmap:
        run.check_attention()
    form = run.selection().form(options.lowercase)
    prompt = form.tokens(options.prompt or "")
    warn_of_unknown_words(run.vocabulary, [prompt])
    words = write(run, prompt, form, options)
    if options.heatmap:
        read = [END, *prompt, *(word.token for word in words[:-1])]
        weights = np.full((len(words), len(read)), np.nan)
        for row, word in zip(weights, words):
            if word.weights is not None:
                row[:len(word.weights)] = word.weights
        axes = plotting.history_heatmap(np.nan_to_num(weights), read,
                                        [word.token for word in words], ~np.isnan(weights))
        plotting.save(axes, options.heatmap)
        print(f"saved {options.heatmap}", file=sys.stderr)


def write(run: LanguageModelRun, prompt: list[str], form: TextForm,
          options: Namespace) -> list[Word]:
    """Print the prompt, and each word as soon as it is generated. Return the generated words."""
    chosen = run.generate(
        np.random.default_rng(options.seed), prompt, options.length, options.sentences,
        options.temperature, options.top_k, options.top_p, options.unknown)
    between = "" if form.tokenizer == "characters" else " "
    print(form.text(prompt), end="", flush=True)
    words = []
    at_start = not prompt                           # of a line
    with Threads(1):
        for word in chosen:
            words.append(word)
            space = "" if at_start else between
            at_start = word.token == END
            print("\n" if at_start else space + word.token, end="", flush=True)
    if not at_start:
        print(flush=True)
    return words
