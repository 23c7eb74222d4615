"""What is done with translators: train, translate, evaluate, heatmap."""

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.cli.figures import show_translators
from numpy_attention.cli.options import LIMITS
from numpy_attention.cli.custom_code import brief_name, with_own, code_option
from numpy_attention.cli.run_options import BEAM
from numpy_attention.cli.shared import (
    END, check_named, example_of, fit, nothing_to_learn_from, part_of, report, run_folder, runs_of,
    say_next, training_of, voices, warn_of_unknown_words)
from numpy_attention.cli.training_options import TRANSLATOR
from numpy_attention.data.user_text import UserPairs
from numpy_attention.data.pairs import Pair, limited
from numpy_attention.data.protocols import AnyVocabulary
from numpy_attention.data.selection import Selection, selected
from numpy_attention.registry import SMALL_MODEL_DEFAULTS, SCORES, accepted_kwargs, resolve
from numpy_attention.custom.kinds import ATTENTION, CELL
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.provenance import provenance
from numpy_attention.experiments.runs.trained import kind_of
from numpy_attention.experiments.runs.translator import (
    Translation, Translator, TranslatorTraining, vocabularies_of)
from numpy_attention.training.distributed.ranks import world
from numpy_attention.training.threads import Threads, available

Sentence = list[str]

# ---- train --------------------------------------------------------------------------------------


def train(options: Namespace) -> None:
    selection = text_to_train_on(options)
    if options.subwords and selection.form().tokenizer == "characters":
        raise ValueError(f"--subwords cuts words, and {selection.label} consists of characters: "
                         "leave it out")
    training = training_of(TranslatorTraining, options)
    parts = selection.load(*selection.splits)
    learn, valid = parts[:2]
    vocabularies = vocabularies_of(learn, training)
    settings = with_longest(settings_of(options), vocabularies[0], parts)
    translator = Translator.create(learn, options.model, settings, training, selection.saved(),
                                   vocabularies)
    name = name_of(options.model, settings)
    folder = run_folder(
        options, translator, f"{selection.label.split()[0]}-{name}",
        f"{name}, {translator.model.size:,} parameters; {len(learn):,} pairs of {selection.label}, "
        f"{len(translator.source_vocabulary):,} source and "
        f"{len(translator.target_vocabulary):,} target {unit_of(translator)}")
    pairs = parts[-1]
    fit(translator, learn, valid, folder, options.threads,
        f"measures {len(pairs):,} pairs ({selection.splits[-1]})")
    show_translators(measure(translator, pairs, BEAM.default, translator.threads))
    say_next("translate", str(folder), selection.form().text(pairs[0].source),
             *code_option(translator))


def text_to_train_on(options: Namespace) -> Selection:
    """The corpus of --corpus, or the pairs of --source and --target."""
    files = (options.source, options.target, options.valid_source, options.valid_target)
    if options.corpus:
        check_named(options, "parallel", *files)
        part = {"part": options.part} if options.part else {}
        return selected({"name": options.corpus} | part | limits_of(options))
    if not (options.source and options.target):
        raise nothing_to_learn_from("--source FILE and --target FILE")
    if options.part:
        raise ValueError("--part belongs to --corpus, and files are given: leave it out")
    return UserPairs(*files, options.seed, **limits_of(options), lowercase=options.lowercase,
                    tokenize=options.tokenize)


def limits_of(options: Namespace) -> dict[str, Any]:
    """--max-length and --pairs, by the names of arguments, where they are given."""
    return {option.argument or option.name: getattr(options, option.name) for option in LIMITS
            if option.name in options.given}


def settings_of(options: Namespace) -> dict[str, Any]:
    """The settings of the model that the options describe. ValueError: sizes that do not fit."""
    given = {option.called.get(options.model, option.name): getattr(options, option.name)
             for option in TRANSLATOR if option.name in options.given and option.name != "model"}
    settings = with_own(SMALL_MODEL_DEFAULTS[options.model] | given, attention=ATTENTION, cell=CELL)
    check_heads(options.model, settings)
    if settings.get("window") == "local-m" and options.reverse_source:
        settings["backwards"] = True
    return settings


def with_longest(settings: dict[str, Any], vocabulary: AnyVocabulary,
                 parts: Sequence[Sequence[Pair]]) -> dict[str, Any]:
    """The settings, with how many ids the longest source has where the score asks for it."""
    if "attention" not in settings:
        return settings
    score = resolve("attention", settings["attention"], SCORES)
    if not accepted_kwargs(score.create, longest=None):
        return settings
    longest = max(len(vocabulary.encode(pair.source)) for pairs in parts for pair in pairs)
    return settings | {"longest": longest + 1}          # and its </s>


def check_heads(model: str, settings: Mapping[str, Any]) -> None:
    """ValueError: the heads of a model do not divide its states."""
    size = settings.get("size", settings.get("hidden"))
    heads = settings.get("heads")
    given = f"--hidden {size} and --heads {heads}: expected"
    if model == "transformer" and (size % 2 or size % heads):
        raise ValueError(f"{given} an even --hidden that --heads divides")
    if settings.get("attention") == "multi-head" and size % heads:
        raise ValueError(f"{given} a --hidden that --heads divides")


def name_of(model: str, settings: Mapping[str, Any]) -> str:
    """A model with its attention and its window; RNNsearch's own, and a global one, go unsaid."""
    parts = [model]
    if "attention" in settings and (model, settings["attention"]) != ("rnnsearch", "concat"):
        parts.append(brief_name(settings["attention"]))
    if settings.get("window", "global") != "global":
        parts.append(settings["window"])
    return "-".join(parts)


# ---- translate ----------------------------------------------------------------------------------


def translate(options: Namespace) -> None:
    if kind_of(options.run) == "writer":
        raise ValueError(f"{options.run} holds a language model, which does not translate: "
                         f'numpy-attention generate {options.run} --prompt "…"')
    translator = runs_of(Translator, options)
    form = selected(translator.corpus).form(options.lowercase)
    lines = [form.tokens(text) for text in options.sentence or lines_of_input()]
    sentences = lines if options.sentence else [tokens for tokens in lines if tokens]
    if not sentences:
        raise ValueError(f'no sentence to translate: numpy-attention translate {options.run} "a '
                         'sentence", or one a line on the standard input')
    if options.heatmap and len(sentences) > 1:
        raise ValueError(f"--heatmap draws one sentence, {len(sentences)} are given: translate it "
                         "alone")
    warn_of_unknown_words(translator.source_vocabulary, sentences)
    found = translations_of(translator, sentences, options)
    if options.heatmap:
        draw(found[0][0], options.heatmap)
    rest = iter(found)
    for n, tokens in enumerate(lines):
        if options.all and n:
            print()                                 # between the sentences' lists
        if not tokens and not options.sentence:
            print()                                 # an empty line out for an empty line in
        else:
            write(next(rest), form.text, options)
    if options.heatmap:
        print(f"saved {options.heatmap}", file=sys.stderr)


def write(translations: Sequence[Translation], text: Callable[[Sentence], str],
          options: Namespace) -> None:
    """A line for each translation of a sentence, with --all after what search found of it."""
    for one in translations:
        if options.all:
            cut = "" if one.finished else ", cut off"
            print(f"{one.score:8.3f}  log p {one.log_probability:8.3f}  "
                  f"{len(one.target):3d} words{cut}  ", end="")
        print(text(one.unknown_replaced() if options.replace_unknown else one.target))


def draw(translation: Translation, path: str) -> None:
    """The attention weights of a translation; a row for </s> too, where it came."""
    target = translation.target + [END] * (len(translation.weights) - len(translation.target))
    axes = plotting.attention_heatmap(translation.weights, translation.source + [END], target)
    plotting.save(axes, path)


def translations_of(translator: Translator, sentences: Sequence[Sentence],
                    options: Namespace) -> list[list[Translation]]:
    """Translations of each sentence, best first.

    The one that search finds, or all of them, or one drawn at random.
    """
    if options.replace_unknown and translator.name == "encoder-decoder":
        raise ValueError("--replace-unknown copies the word that attention looks at, and this "
                         "run's model has no attention: leave it out")
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
    """The lines of the standard input; only a line end ends one. ValueError: it is no UTF-8."""
    if sys.stdin.isatty():
        print("numpy-attention: reads one sentence a line; end with Ctrl-D", file=sys.stderr)
    try:
        text = sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"the standard input is not UTF-8 text (byte {error.start + 1}): convert "
                         "it, for instance with: iconv -f ISO-8859-1 -t UTF-8") from None
    return text.removesuffix("\n").split("\n") if text else []


# ---- evaluate -----------------------------------------------------------------------------------


def evaluate(options: Namespace) -> None:
    translator = runs_of(Translator, options)
    pairs, name, split = text_to_measure_on(options, translator)
    about = {"run": str(options.run), "corpus": name, "split": split}
    threads = options.threads or available(world())
    figures = about | measure(translator, pairs, options.beam, threads)
    if options.known:
        figures["known"] = evaluate_without_unk(translator, pairs, options.beam, threads)
    figures["depends_on"] = provenance(translator, translator.sentences(pairs),
                                          threads * world().count)
    what = f"{voices(options)}{translator.name}, {translator.model.size:,} parameters"
    report(options, translator, what, f"{len(pairs):,} pairs", figures, show_translators)


def text_to_measure_on(options: Namespace,
                       translator: Translator) -> tuple[list[Pair], str, str | None]:
    """→ the pairs of --source and --target, --corpus or the run's own, their name, their split."""
    if not (options.source or options.target):
        selection = selected(corpus_to_measure_on(options, translator.corpus), "parallel")
        pairs, split = part_of(selection, options.split)
        return pairs, selection.label, split
    alone = not (options.corpus or options.part or options.split)
    if not (options.source and options.target and alone):
        raise ValueError("give --source and --target, both and without --corpus, --part or --split")
    name = Path(options.source).name
    pairs = selected(translator.corpus).form().pairs(options.source, options.target)
    return limited(pairs, name, **limits_of(options)), name, None


def corpus_to_measure_on(options: Namespace, own: dict[str, Any]) -> dict[str, Any]:
    """The run's own corpus, or what --corpus, --part, --max-length and --pairs make of it."""
    given = limits_of(options)
    part = {"part": options.part} if options.part else {}
    if options.corpus and options.corpus != own.get("name"):
        return {"name": options.corpus} | part | given
    if options.part and options.part != own.get("part"):
        if "source" in own:
            raise ValueError("--part belongs to a corpus, and this run learnt from files: leave it "
                             "out, or add --corpus")
        return {"name": own["name"]} | part | given     # another part has lengths of its own
    return own | given


def measure(translator: Translator, pairs: Sequence[Pair], beam: int,
            threads: int | None) -> dict[str, Any]:
    """What `Translator.measure` finds, with the number of pairs and sacreBLEU's signatures."""
    rng = confidence.draws(translator.training.seed)
    found = translator.measure(pairs, beam, threads, ranks=world(), rng=rng)
    about = {"beam": beam, "pairs": len(pairs), "unit": unit_of(translator)}
    return about | found | {"bleu_signature": metrics.signature(metrics.bleu),
                            "chrf_signature": metrics.signature(metrics.chrf)}


def evaluate_without_unk(translator: Translator, pairs: Sequence[Pair], beam: int,
                  threads: int) -> dict[str, Any]:
    """What `Translator.evaluate_without_unk` finds, told as `measure` does."""
    rng = confidence.draws(translator.training.seed)
    found = translator.evaluate_without_unk(pairs, beam, threads, world(), rng)
    return {"beam": beam, "unit": unit_of(translator)} | found | {
        "bleu_signature": metrics.signature(metrics.bleu),
        "chrf_signature": metrics.signature(metrics.chrf)}


def unit_of(translator: Translator) -> str:
    return "pieces" if translator.training.subwords else "words"


# ---- heatmap ------------------------------------------------------------------------------------


def heatmap(options: Namespace) -> None:
    translator = Translator.load(options.run, options.code)
    selection = selected(translator.corpus)
    form = selection.form()
    if options.sentences:
        pair = pair_given(options, translator)
    else:
        pairs, split = part_of(selection, options.split)
        pair = example_of(options.index, pairs, split, "pairs")
    if options.gradients:
        from numpy_attention.cli.tracing import draw_gradients
        draw_gradients(translator, [pair.source, pair.target], options.output)
    else:
        weights = translator.attend([pair])[0]
        axes = plotting.attention_heatmap(weights, [*pair.source, END], [*pair.target, END],
                                          pair.sure, pair.possible)
        plotting.save(axes, options.output)
    print(f"{form.text(pair.source)}\n{form.text(pair.target)}\nsaved {options.output}")


def pair_given(options: Namespace, translator: Translator) -> Pair:
    """The source and the target sentence of the command line."""
    if len(options.sentences) != 2 or "index" in options.given or options.split:
        raise ValueError(f"{len(options.sentences)} sentence(s) given: expected a source and a "
                         "target sentence without --index and --split, or none")
    form = selected(translator.corpus).form()
    source, target = options.sentences
    pair = Pair(tuple(form.tokens(source)), tuple(form.tokens(target)))
    if not (pair.source and pair.target):
        raise ValueError("an empty sentence: expected at least one token in both")
    warn_of_unknown_words(translator.source_vocabulary, [pair.source])
    warn_of_unknown_words(translator.target_vocabulary, [pair.target])
    return pair
