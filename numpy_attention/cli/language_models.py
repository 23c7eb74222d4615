"""What `numpy-attention` does with language models: train lm, generate, evaluate, heatmap; the options come from `cli.py`."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from numpy_attention import plotting
from numpy_attention.cli.shared import refuse, run_folder, save_curves, training_settings, warn_of_unknown_words
from numpy_attention.data.corpora import find_corpus
from numpy_attention.data.own_text import OwnText
from numpy_attention.data.running_text import read
from numpy_attention.data.selection import selected
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.attentive_language_model import roles_of
from numpy_attention.models.budget import within_budget
from numpy_attention.runs.trained import kind_of
from numpy_attention.training.threads import Threads, available
from numpy_attention.runs.writer import Writer, WriterTraining

SIZE = 200      # of word vectors, unless an option says otherwise


# ---- train lm -------------------------------------------------------------------------------------------------------


def train(options):
    corpus = corpus_to_train_on(options)
    selection = selected(corpus)
    learn, valid = selection.load("train", "valid")
    training = training_of(options, learn)
    name, settings = model_of(options, learn, training)
    writer = Writer.create(learn, name, settings, training, corpus)
    writer.batches(learn)                       # what cannot be cut into batches is told before a folder is made
    try:
        writer.batches(valid)
    except ValueError as error:
        raise ValueError(f"the text to validate on: {error}") from None
    default = options.cell if options.attention == "none" else options.attention
    folder, resumes = run_folder(options, writer, f"{selection.label}-{default}")
    print(f"{what_it_is(writer)}; {sum(map(len, learn.sentences)):,} {learn.unit} of {selection.label}, "
          f"{len(writer.vocabulary):,} in the vocabulary")
    print(how_state_goes(writer, options.batch_size))
    print(f"{'resumes the run in' if resumes else 'saves to'} {folder}", flush=True)
    writer.fit(learn, valid, folder, options.threads)
    save_curves(writer.history, folder)
    print(f"trained for {len(writer.history)} epochs, {writer.history[-1]['seconds'] / 60:.1f} minutes; "
          f"{how_state_goes(writer, 1)}", flush=True)
    for split in selection.splits[1:]:
        text = valid if split == "valid" else selection.load(split)[0]
        show_figures(split, measure(writer, text, writer.threads))
    form, first = selection.form(), next((sentence for sentence in valid.sentences if sentence), [])
    prompt = form.text(first[:20]).split("\n")[0] if form.cut == "characters" else form.text(first[:3])
    print(f"next: numpy-attention generate {shlex.quote(str(folder))} --prompt {shlex.quote(prompt)}")


def corpus_to_train_on(options):
    """The corpus dict of --corpus or of --text."""
    if options.corpus and (options.text or options.valid_text):
        raise ValueError("--corpus and files are given: choose one of them")
    if options.corpus:
        refuse(options, f"it is for your own text, and {options.corpus} is prepared already", "lowercase", "tokenize")
        find_corpus(options.corpus, "text")
        return {"name": options.corpus} | ({"characters": True} if options.characters else {})
    if not options.text:
        raise ValueError("nothing to learn from: give --corpus NAME (numpy-attention corpora list), or --text FILE")
    return OwnText(options.text, options.valid_text, options.characters, lowercase=options.lowercase,
                   tokenize=options.tokenize).saved()


def training_of(options, text):
    """The WriterTraining of the options; min_count unless given: 1 where letters, or the text's own <unk>, leave no rest."""
    if options.state == "sentence":
        refuse(options, "a sentence is read at once where the state begins anew with it", "steps", "carried")
    prepared = text.unit == "characters" or any("<unk>" in sentence for sentence in text.sentences)
    return WriterTraining(**training_settings(options), min_count=options.min_count or (1 if prepared else 2),
                          max_vocabulary=options.max_vocabulary, state=options.state, steps=options.steps or 35,
                          unit=text.unit, frequencies=options.frequencies)


def model_of(options, text, training):
    """→ name, settings for `Writer.create`. ValueError: options that belong to another attention, sizes that do not fit."""
    attention = None if options.attention == "none" else options.attention
    settings = {name: getattr(options, name) for name in ("layers", "cell", "tied", "dropout", "init")}
    if options.cell == "lstm":
        settings["forget_bias"] = 1.0 if options.forget_bias is None else options.forget_bias
    else:
        refuse(options, f"a {options.cell} has no forget gate", "forget_bias")
    if attention is None:
        refuse(options, "a model without attention has none of it, choose one with --attention", "window", "carried")
    if attention == "ngram":
        refuse(options, "an N-gram model looks back --order − 1 states", "window")
        settings["order"] = options.order or 4
        if options.carried:
            settings["carried"] = settings["order"] - 2                 # all that it looks back to
    else:
        refuse(options, "it belongs to --attention ngram", "order")
    if attention is not None:
        settings = {name: getattr(options, name) for name in ("window", "carried") if getattr(options, name)} | settings
    parts = roles_of(attention, options.order or 4) if attention else 1
    if options.parameters:
        refuse(options, "--parameters chooses the sizes", "hidden", "embedding")
        words = Vocabulary.build(text.sentences, training.max_vocabulary, training.min_count)
        sizes, _ = within_budget(options.parameters, len(words), attention, **settings)
    else:
        sizes = sizes_of(options, parts)
    if attention is not None:
        settings["attention"] = attention
    return "language-model" if attention is None else "attentive-language-model", settings | sizes


def sizes_of(options, parts):
    """{"hidden": …, "embedding": …} of the options, for a state of so many parts."""
    hidden, embedding = options.hidden, options.embedding
    if hidden and hidden % parts:
        raise ValueError(f"--hidden {hidden}: --attention {options.attention} divides a state into {parts} equal parts, "
                         f"give a multiple of {parts}, such as {-(-hidden // parts) * parts}")
    embedding = embedding or (hidden // parts if hidden else SIZE)
    hidden = hidden or parts * embedding
    if options.attention == "none" and options.tied and hidden != embedding:
        raise ValueError(f"--hidden {hidden} and --embedding {embedding}: with tied weights both are the same, give one of "
                         "them, or --no-tied")
    return {"hidden": hidden, "embedding": embedding}


# ---- evaluate -------------------------------------------------------------------------------------------------------


def evaluate(options):
    refuse(options, "this run is a language model's", "part", "max_length", "pairs", "source", "target", "beam")
    writer = Writer.load(options.run)
    if options.text:
        if options.corpus or options.split:
            raise ValueError("--text is given: leave --corpus and --split out")
        text, split, name = read(options.text, selected(writer.corpus).form()), None, Path(options.text).name
        text = replace(text, whole=True)            # a file is one article
    else:
        corpus = writer.corpus
        if options.corpus and options.corpus != corpus.get("name"):
            corpus = {"name": options.corpus} | ({"characters": True} if writer.training.unit == "characters" else {})
        text, split = text_of(corpus, options.split)
        name = selected(corpus).label
    if text.unit != writer.training.unit:
        raise ValueError(f"{name} is a text of {text.unit}, and this run's model reads {writer.training.unit}: choose another")
    how = writer.training
    figures = {"run": str(options.run), "corpus": name, "split": split, "state": how.state,
               "steps": None if how.state == "sentence" else how.steps, "carried": writer.settings.get("carried", 0),
               **measure(writer, text, options.threads or (1 if how.state == "carried" else available()))}
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{options.run}: {what_it_is(writer)}, {len(writer.history)} epochs")
    print(f"{name}{', ' + split if split else ''}: {how_state_goes(writer, 1)}")
    show_figures(split or "", figures)


def text_of(corpus, split=None):
    """→ (Text, split) of a run's corpus; None: test, or valid where there is no test split."""
    if not corpus:
        raise ValueError("the run does not say what it learnt from: name a text with --corpus or --text")
    selection = selected(corpus, "text")
    split = split or selection.splits[-1]
    return selection.load(split)[0], split


def measure(writer, text, threads):
    """What `Writer.measure` finds, and the share of the text's words that the vocabulary does not know."""
    return writer.measure(text, threads) | {"unknown": writer.vocabulary.unknown_share(text.sentences)}


def show_figures(split, figures):
    where = f"  {split:<5}" if split else " "
    unknown = f"; {100 * figures['unknown']:.1f} % are <unk>" if figures["unknown"] else ""
    if "bits_per_character" in figures:
        print(f"{where} {figures['bits_per_character']:8.3f} bits a character   perplexity {figures['perplexity']:.3f} over "
              f"{figures['tokens']:,} characters{unknown}", flush=True)
    else:
        print(f"{where} perplexity {figures['perplexity']:8.2f}   over {figures['tokens']:,} tokens, ends of sentence "
              f"included{unknown}", flush=True)


def what_it_is(writer):
    """The model in a line: cells, sizes, attention, parameters."""
    settings = writer.settings
    cells = f"{settings.get('cell', 'lstm')} of {settings.get('layers', 2)} × {settings.get('hidden', 200)}"
    attention = f" with {settings['attention']}" if "attention" in settings else ""
    window = f", window {settings['window']}" if settings.get("window") else ""
    window += f", order {settings.get('order', 4)}" if settings.get("attention") == "ngram" else ""
    return f"{cells}{attention}{window}, {writer.model.size:,} parameters"


def how_state_goes(writer, streams):
    """Whether state and memory are carried, and how the text is read."""
    how, carried = writer.training, writer.settings.get("carried", 0)
    memory = ""
    if "attention" in writer.settings and how.state != "sentence":
        memory = f"; memory of {carried} states carried on" if carried else f"; memory empty every {how.steps} {how.unit}"
    if how.state == "carried":
        stream = "1 stream" if streams == 1 else f"{streams} streams"
        return f"state carried through the text, {stream}, {how.steps} {how.unit} at a time{memory}"
    steps = "" if how.state == "sentence" else f", {how.steps} {how.unit} at a time"
    return f"state reset at every {how.state}{steps}{memory}"


# ---- generate, heatmap ----------------------------------------------------------------------------------------------


def generate(options):
    if kind_of(options.run) == "translator":
        raise ValueError(f'{options.run} holds a translator, which does not write on: numpy-attention translate '
                         f'{options.run} "a sentence"')
    writer = Writer.load(options.run)
    if options.heatmap:
        writer.check_attention()
    if writer.training.unit == "characters":
        refuse(options, "a model of characters writes no ends of sentences, --length alone ends its text", "sentences")
    form = selected(writer.corpus).form(options.lowercase)
    prompt, between = form.tokens(options.prompt or ""), "" if form.cut == "characters" else " "
    warn_of_unknown_words(writer.vocabulary, [prompt])
    print(form.text(prompt), end="", flush=True)
    words, fresh = [], not prompt
    with Threads(1):
        temperature = 1.0 if options.temperature is None else options.temperature
        for word in writer.generate(np.random.default_rng(options.seed or 0), prompt, options.length, options.sentences,
                                    temperature, options.top_k, options.top_p, options.unknown):
            ends = word.token == "</s>"
            print("\n" if ends else ("" if fresh else between) + word.token, end="", flush=True)
            words.append(word)
            fresh = ends
    if not fresh:
        print(flush=True)
    if options.heatmap:
        plotting.save(heatmap_of(["</s>", *prompt], words), options.heatmap)
        print(f"saved {options.heatmap}", file=sys.stderr)


def heatmap_of(before, words):
    """Axes: what each of the words written looked at, a row each; before: the tokens read before the first."""
    read = before + [word.token for word in words[:-1]]
    weights = np.full((len(words), len(read)), np.nan)
    for row, word in zip(weights, words):
        row[:len(word.weights)] = word.weights
    return history(weights, read, [word.token for word in words])


def history(weights, tokens, predicted):
    """`plotting.history_heatmap` of weights with NaN, even where nothing at all is visible."""
    return plotting.history_heatmap(np.nan_to_num(weights), tokens, predicted, ~np.isnan(weights))


def heatmap(options):
    writer = Writer.load(options.run)
    writer.check_attention()
    form = selected(writer.corpus).form()
    if options.sentences:
        if len(options.sentences) != 1 or options.index is not None or options.split:
            raise ValueError(f"{len(options.sentences)} sentence(s) given: a language model looks at one, without --index "
                             "and --split, or at none")
        tokens = form.tokens(options.sentences[0])
        warn_of_unknown_words(writer.vocabulary, [tokens])
    else:
        text, split = text_of(writer.corpus, options.split)
        if text.unit == "characters":
            raise ValueError("a text of characters has no sentences to choose from: give one of your own")
        sentences, index = [sentence for sentence in text.sentences if sentence], options.index or 0
        if index >= len(sentences):
            raise ValueError(f"--index {index}: {split} has {len(sentences):,} sentences, numbered from 0")
        tokens = sentences[index]
    axes = history(writer.attend(tokens), ["</s>", *tokens], [*tokens, "</s>"])
    plotting.save(axes, options.output)
    print(f"{form.text(tokens)}\nsaved {options.output}")
