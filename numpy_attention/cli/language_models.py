"""What is done with language models: train lm, generate, evaluate, heatmap."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import plotting
from numpy_attention.attention.readout_config import ReadoutConfig
from numpy_attention.cli.figures import show_writers
from numpy_attention.cli.custom_code import brief_name, with_own, code_option
from numpy_attention.cli.shared import (
    END, check_named, example_of, fit, nothing_to_learn_from, part_of, refuse, report, run_folder,
    runs_of, say_next, training_of, voices, warn_of_unknown_words)
from numpy_attention.cli.training_options import LANGUAGE_MODEL, SIZE
from numpy_attention.data import running_text
from numpy_attention.data.user_text import UserText
from numpy_attention.data.running_text import Text
from numpy_attention.data.selection import Selection, selected
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models import registry
from numpy_attention.models.budget import within_budget
from numpy_attention.module import Array
from numpy_attention.registry import accepted_kwargs
from numpy_attention.custom.kinds import CELL, SCORE
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.provenance import provenance
from numpy_attention.experiments.runs.trained import kind_of
from numpy_attention.experiments.runs.writer import Word, LanguageModelRun, LanguageModelTraining
from numpy_attention.training.distributed.ranks import world
from numpy_attention.training.threads import Threads, available

# ---- train lm -----------------------------------------------------------------------------------


def train(options: Namespace) -> None:
    selection = text_to_train_on(options)
    learn, valid = selection.load("train", "valid")
    training = training_for(options, learn)
    name, settings = model_of(options, learn, training)
    writer = LanguageModelRun.create(learn, name, settings, training, selection.saved())
    check_lengths(writer, learn, valid)
    default = brief_name(settings.get("attention", settings["cell"]))
    size = sum(map(len, learn.sentences))
    folder = run_folder(
        options, writer, f"{selection.label}-{default}",
        f"{what_it_is(writer)}; {size:,} {learn.unit} of {selection.label}, "
        f"{len(writer.vocabulary):,} in the vocabulary",
        how_state_goes(writer, options.batch_size))
    fit(writer, learn, valid, folder, options.threads, how_state_goes(writer, 1))
    for split in selection.splits[1:]:
        text = valid if split == "valid" else part_of(selection, split)[0]
        show_writers(measure(writer, text, writer.threads or 1) | {"split": split})
    say_next("generate", str(folder), "--prompt", prompt_from(valid, selection.form()),
             *code_option(writer))


def text_to_train_on(options: Namespace) -> Selection:
    """The corpus of --corpus, or the text of --text."""
    if options.corpus:
        check_named(options, "text", options.text, options.valid_text)
        characters = {"characters": True} if options.characters else {}
        return selected({"name": options.corpus} | characters)
    if not options.text:
        raise nothing_to_learn_from("--text FILE")
    return UserText(options.text, options.valid_text, characters=options.characters,
                   lowercase=options.lowercase, tokenize=options.tokenize)


def training_for(options: Namespace, text: Text) -> LanguageModelTraining:
    """The training on a text, whose letters, or own <unk>, leave no word to be counted as rare."""
    prepared = text.unit == "characters" or any("<unk>" in sentence for sentence in text.sentences)
    min_count = options.min_count or (1 if prepared else 2)
    return training_of(LanguageModelTraining, options, min_count=min_count, unit=text.unit)


def check_lengths(writer: LanguageModelRun, learn: Text, valid: Text) -> None:
    """ValueError: a text that cannot be cut into batches, told before a folder is made."""
    writer.batches(learn)
    try:
        writer.batches(valid)
    except ValueError as error:
        raise ValueError(f"the text to validate on: {error}") from None


def model_of(options: Namespace, text: Text,
             training: LanguageModelTraining) -> tuple[str, dict[str, Any]]:
    """→ the model's name, its settings for `Writer.create`. ValueError: sizes that do not fit."""
    others = ("hidden", "embedding", "parameters")
    asked = {option.name: getattr(options, option.name) for option in LANGUAGE_MODEL
             if option.name not in others}
    asked = with_own(asked, attention=SCORE, cell=CELL)
    settings = {name: value for name, value in asked.items() if value is not None}
    attention = settings.pop("attention")
    if attention == "none":
        attention = None
    if attention == "ngram" and options.carried:
        settings["carried"] = options.order - 2         # all that it looks back to
    if options.parameters:
        words = Vocabulary.build(text.sentences, training.max_vocabulary, training.min_count)
        sizes, _ = within_budget(options.parameters, len(words), attention, **settings)
    else:
        sizes = sizes_of(options, parts_of(attention, settings))
    if attention is None:
        return "language-model", settings | sizes
    return "attentive-language-model", settings | sizes | {"attention": attention}


def parts_of(attention: str | type | None, settings: Mapping[str, Any]) -> int:
    """Into how many parts a state is divided."""
    if attention is None:
        return 1
    return ReadoutConfig(attention, **accepted_kwargs(ReadoutConfig, **settings)).roles


def sizes_of(options: Namespace, parts: int) -> dict[str, int]:
    """{"hidden": …, "embedding": …} of the options, for a state of so many parts."""
    hidden = options.hidden
    if hidden and hidden % parts:
        raise ValueError(f"--hidden {hidden}: --attention {options.attention} divides a state into "
                         f"{parts} equal parts, give a multiple of {parts}, such as "
                         f"{-(-hidden // parts) * parts}")
    embedding = options.embedding or (hidden // parts if hidden else SIZE)
    hidden = hidden or parts * embedding
    if options.attention == "none" and options.tied and hidden != embedding:
        raise ValueError(f"--hidden {hidden} and --embedding {embedding}: with tied weights both "
                         "are the same, give one of them, or --no-tied")
    return {"hidden": hidden, "embedding": embedding}


def prompt_from(text: Text, form: TextForm) -> str:
    """How a text begins: three words, or the letters of a line, 20 at most."""
    first = next((sentence for sentence in text.sentences if sentence), [])
    if form.tokenizer == "characters":
        return form.text(first[:20]).split("\n")[0]
    return form.text(first[:3])


# ---- evaluate -----------------------------------------------------------------------------------


def evaluate(options: Namespace) -> None:
    writer = runs_of(LanguageModelRun, options)
    text, name, split = text_to_measure_on(options, writer)
    how = writer.training
    threads = options.threads or (1 if how.state == "carried" else available(world()))
    about = {"run": str(options.run), "corpus": name, "split": split, "state": how.state,
             "steps": None if how.state == "sentence" else how.steps,
             "carried": settings_of(writer).get("carried", 0)}
    figures = about | measure(writer, text, threads)
    figures["depends_on"] = provenance(writer, text.sentences, threads * world().count)
    what = voices(options) + what_it_is(writer)
    report(options, writer, what, how_state_goes(writer, 1), figures, show_writers)


def text_to_measure_on(options: Namespace, writer: LanguageModelRun) -> tuple[Text, str, str | None]:
    """→ the text of --text, --corpus or the run's own, its name, its split.

    ValueError: words for a model of characters, or the other way round.
    """
    own = writer.corpus
    if options.text:
        if options.corpus or options.split:
            raise ValueError("--text is given: leave --corpus and --split out")
        text = running_text.read(options.text, selected(own).form())
        return replace(text, has_articles=True), Path(options.text).name, None  # a file is one article
    if options.corpus and options.corpus != own.get("name"):
        characters = {"characters": True} if writer.training.unit == "characters" else {}
        own = {"name": options.corpus} | characters
    selection = selected(own, "text")
    text, split = part_of(selection, options.split)
    unit = writer.training.unit
    if text.unit != unit:
        raise ValueError(f"{selection.label} is a text of {text.unit}, and this run's model reads "
                         f"{unit}: choose another")
    return text, selection.label, split


def measure(writer: LanguageModelRun, text: Text, threads: int) -> dict[str, Any]:
    """What `Writer.measure` finds, and the share of words that the vocabulary does not know."""
    unknown = writer.vocabulary.unknown_share(text.sentences)
    rng = confidence.draws(writer.training.seed)
    return writer.measure(text, threads, world(), rng) | {"unknown": unknown}


def settings_of(writer: LanguageModelRun) -> dict[str, Any]:
    """All settings of a writer's model: its own, and the defaults of the others."""
    return registry.settings_of(writer.name) | writer.settings


def what_it_is(writer: LanguageModelRun) -> str:
    """The model in a line: cells, sizes, attention, parameters."""
    settings = settings_of(writer)
    line = f"{settings['cell']} of {settings['layers']} × {settings['hidden']}"
    if "attention" in settings:
        line += f" with {settings['attention']}"
    if settings.get("window"):
        line += f", window {settings['window']}"
    if settings.get("attention") == "ngram":
        line += f", order {settings['order']}"
    return f"{line}, {writer.model.size:,} parameters"


def how_state_goes(writer: LanguageModelRun, streams: int) -> str:
    """Whether state and memory are carried, and how the text is read."""
    how = writer.training
    settings = settings_of(writer)
    if how.state == "sentence":
        return "state reset at every sentence"
    memory = ""
    if "attention" in settings:
        memory = f"; memory empty every {how.steps} {how.unit}"
        if settings["carried"]:
            memory = f"; memory of {settings['carried']} states carried on"
    steps = f"{how.steps} {how.unit} at a time{memory}"
    if how.state == "carried":
        return f"state carried through the text, {streams} stream{'s' * (streams > 1)}, {steps}"
    return f"state reset at every {how.state}, {steps}"


# ---- generate -----------------------------------------------------------------------------------


def generate(options: Namespace) -> None:
    if kind_of(options.run) == "translator":
        raise ValueError(f"{options.run} holds a translator, which does not write on: "
                         f'numpy-attention translate {options.run} "a sentence"')
    writer = runs_of(LanguageModelRun, options)
    if options.heatmap:
        writer.check_attention()
    if writer.training.unit == "characters":
        refuse(options, "a model of characters writes no ends of sentences, --length alone ends "
               "its text", "sentences")
    form = selected(writer.corpus).form(options.lowercase)
    prompt = form.tokens(options.prompt or "")
    warn_of_unknown_words(writer.vocabulary, [prompt])
    words = write(writer, prompt, form, options)
    if options.heatmap:
        plotting.save(heatmap_of([END, *prompt], words), options.heatmap)
        print(f"saved {options.heatmap}", file=sys.stderr)


def write(writer: LanguageModelRun, prompt: list[str], form: TextForm, options: Namespace) -> list[Word]:
    """Print the prompt and each word as it is chosen; → the words written."""
    print(form.text(prompt), end="", flush=True)
    between = "" if form.tokenizer == "characters" else " "
    words = []
    fresh = not prompt                              # whether a line begins
    with Threads(1):
        for word in writer.generate(
                np.random.default_rng(options.seed), prompt, options.length, options.sentences,
                options.temperature, options.top_k, options.top_p, options.unknown):
            ends = word.token == END
            token = "\n" if ends else ("" if fresh else between) + word.token
            print(token, end="", flush=True)
            words.append(word)
            fresh = ends
    if not fresh:
        print(flush=True)
    return words


# ---- heatmaps -----------------------------------------------------------------------------------


def heatmap_of(before: Sequence[str], words: Sequence[Word]) -> Any:
    """Axes: what each word written looked at, a row each; before: what was read before."""
    read = [*before, *(word.token for word in words[:-1])]
    weights = np.full((len(words), len(read)), np.nan)
    for row, word in zip(weights, words):
        if word.weights is not None:
            row[:len(word.weights)] = word.weights
    return history(weights, read, [word.token for word in words])


def history(weights: Array, tokens: Sequence[str], predicted: Sequence[str]) -> Any:
    """`plotting.history_heatmap` of weights with NaN, even where nothing at all is visible."""
    return plotting.history_heatmap(np.nan_to_num(weights), tokens, predicted, ~np.isnan(weights))


def heatmap(options: Namespace) -> None:
    writer = LanguageModelRun.load(options.run, options.code)
    writer.check_attention()
    form = selected(writer.corpus).form()
    tokens = sentence_given(options, writer) if options.sentences else sentence_of(options, writer)
    if options.gradients:
        from numpy_attention.cli.tracing import draw_gradients
        draw_gradients(writer, [tokens], options.output)
    else:
        axes = history(writer.attend(tokens), [END, *tokens], [*tokens, END])
        plotting.save(axes, options.output)
    print(f"{form.text(tokens)}\nsaved {options.output}")


def sentence_given(options: Namespace, writer: LanguageModelRun) -> list[str]:
    """The sentence of the command line."""
    if len(options.sentences) != 1 or "index" in options.given or options.split:
        raise ValueError(f"{len(options.sentences)} sentence(s) given: a language model looks at "
                         "one, without --index and --split, or at none")
    tokens = selected(writer.corpus).form().tokens(options.sentences[0])
    warn_of_unknown_words(writer.vocabulary, [tokens])
    return tokens


def sentence_of(options: Namespace, writer: LanguageModelRun) -> list[str]:
    """The sentence of --split and --index in the text that the run learnt from."""
    text, split = part_of(selected(writer.corpus), options.split)
    if text.unit == "characters":
        raise ValueError("a text of characters has no sentences to choose from: give one of your "
                         "own")
    sentences = [sentence for sentence in text.sentences if sentence]
    return example_of(options.index, sentences, split, "sentences")
