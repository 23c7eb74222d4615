"""Right calls of training, runs and recipes, and of what kind each argument is."""

import math

import numpy as np
from hostility.kinds import (Kind, function, generator, made, number, one_of, sentences, tokens,
                             whole)
from hostility.uses_data import IDS, PAIRS, is_empty_dict, some_pairs, text
from hostility.uses_models import (BATCH, READ, SAMPLING, SMALL, generated, pair_batch_kind, rng,
                                   rnnsearch, translator, translator_kind, twin, writer,
                                   writer_kind)

from numpy_attention import checks
from numpy_attention.data.batching import PairBatches, TextBatches
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.names import (AVERAGES, KEPT, OPTIMIZERS, SCHEDULES, STATES, TRANSLATORS)
from numpy_attention.recipes import find_recipe, results
from numpy_attention.runs.resume import check_same
from numpy_attention.runs.trained import kind_of
from numpy_attention.runs.translator import Translator, vocabularies_of
from numpy_attention.runs.writer import Writer
from numpy_attention.training import diagnosis, schedules
from numpy_attention.training.evaluation import Evaluation, evaluate
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.settings import Training, TranslatorTraining, WriterTraining
from numpy_attention.training.threads import Threads
from numpy_attention.training.trainer import Trainer

BATCHES = PairBatches(IDS, IDS, 2)


def trained(model, optimizer, train, valid, rng, schedule, average, clip, patience, save_steps,
            about, threads, path, epochs, minutes):
    """A training of one epoch."""
    trainer = Trainer(model, optimizer, train, valid, rng, schedule, average, clip, patience,
                      path, save_steps, about, threads, progress=False)
    trainer.fit(epochs, minutes)
    return model.vector


def fresh():
    return RNNSearch.create(rng(), 8, 8, **SMALL, init="modern")


def schedule():
    rates = {"nan": math.nan, "text": "1", "None": None, "-1": -1.0, "inf": math.inf}
    return function(schedules.Constant(), {
        f"a rate of {name}": lambda folder, rate=rate: lambda step, epoch: rate
        for name, rate in rates.items()})


def batches():
    others = {"batches of text": lambda folder: TextBatches(range(2, 8), 2, 2),
              "ids that are too large": lambda folder: PairBatches([[9]], [[9]])}
    return made(lambda: BATCHES, BATCH, PairBatches, IDS, others=others)


def texts():
    return made(lambda: TextBatches([2, 4, 5, 6, 4, 5, 6, 7, 4], 2, 3), READ, TextBatches, IDS,
                others={"batches of pairs": lambda folder: BATCHES})


def fitted(train, valid, threads, folder):
    one = Translator.create(PAIRS, "rnnsearch", SMALL, TranslatorTraining(epochs=1, batch_size=2))
    return one.fit(train, valid, folder, threads, progress=False).model.vector


def is_x(value):
    """Whether it is the name of a file that is not there."""
    return isinstance(value, str) and value == "x"


def run_folder():
    """Where a run may be written, or None."""
    def occupied(folder):
        path = folder / "file"
        path.write_text("x")
        return path

    def damaged(folder):
        path = folder / "damaged"
        path.mkdir()
        (path / "checkpoint.npz").write_text("x")
        return path

    return Kind(lambda folder: folder / "run", lambda value: value is None or is_x(value),
                {"a file": occupied, "a damaged run": damaged,
                 "a name that is too long": lambda folder: folder / ("x" * 300)}, {})


def a_file():
    """Where a checkpoint may be written, or None."""
    kind = run_folder()
    return kind._replace(wrong={"a folder": lambda folder: folder} | {
        name: make for name, make in kind.wrong.items() if name != "a file"})


def a_run():
    """A folder with a run."""
    def saved(folder):
        translator().trainer(PAIRS, folder=folder / "run", progress=False, threads=1).save()
        return folder / "run"

    return Kind(saved, lambda value: False,
                {"missing": lambda folder: folder / "x", "empty": lambda folder: folder,
                 "a name that is too long": lambda folder: folder / ("x" * 300)}, {})


def training(right):
    return made(lambda: right, Training, {"epochs": 3}, optional=True)


def settings_kind():
    bad = [{"hidden": 0}, {"nope": 1}, {"hidden": "4"}, {"attention": ["dot"]}, {5: 6},
           {"hidden": 3.5}, {"hidden": None}, {"dropout": 2}, {"dtype": "int32"}, {"rng": 3},
           {"init": None}, {"dropout": "0.1"}, {"hidden": 10**20}, {"target_vocabulary": 7}]
    return made(lambda: dict(SMALL), *bad, optional=True, fits=is_empty_dict)


def line():
    right = {"recipe": "r", "settings": "0", "seed": 0, "metric": "bleu", "split": "test",
             "value": 1.5, "parameters": 7, "minutes": 0.1, "threads": 1}
    bad = [right | {"value": math.nan}, right | {"seed": True}, right | {"more": 1},
           right | {"recipe": 5}]
    return right, bad


LINE, BAD_LINES = line()
ONE_LINE = made(lambda: dict(LINE), *BAD_LINES)
SOME_LINES = made(lambda: [LINE], *[[one] for one in BAD_LINES],
                  fits=lambda value: hasattr(value, "__next__") or isinstance(
                      value, (list, tuple)) and not len(value))


def appended(lines, name, folder):
    return results.append(folder / name, lines)


def check_of(name, rng):
    return checks.check(name, rng).errors


def training_of(kind):
    def call(**settings):
        return kind(**settings)
    return call


# as many as asked for: so large a number is right, and takes for ever
FEW_EPOCHS = whole(1, 0)._replace(avoid=("100000000000000000000",))
CATALOGUE = {
    "Training": (training_of(Training), {
        "epochs": whole(3), "minutes": number(0.5, 1e-300, optional=True), "batch_size": whole(5),
        "optimizer": one_of("adam", *OPTIMIZERS), "learning_rate": number(0.1, 1e-300),
        "schedule": one_of("constant", *SCHEDULES), "full_epochs": whole(2, 0),
        "divisor": number(2.0, 1), "warmup": whole(5), "clip": number(1.0, 1e-300, without=()),
        "average": one_of("sentence", *AVERAGES), "patience": whole(2, optional=True),
        "keep": one_of("best", *KEPT), "save_steps": whole(2, optional=True),
        "min_count": whole(1), "seed": whole(1, 0)}),
    "TranslatorTraining": (training_of(TranslatorTraining), {
        "subwords": whole(20, 5, optional=True), "batch_size": whole(5)}),
    "WriterTraining": (training_of(WriterTraining), {
        "steps": whole(5), "state": one_of("carried", *STATES),
        "max_vocabulary": whole(9, 5, optional=True), "unit": one_of("words", "characters")}),
    "Decay": (schedules.Decay, {"full_epochs": whole(2, 0), "divisor": number(2.0, 1)}),
    "LinearDecay": (schedules.LinearDecay, {"steps": whole(5), "last": number(0.5, 0, 1)}),
    "Warmup": (schedules.Warmup, {"steps": whole(5)}),
    **{f"{kind.__name__} called": (lambda step, epoch, made=made: made(step, epoch), {
        "step": whole(3), "epoch": whole(1, 0)})
       for made, kind in ((schedules.Decay(1, 2.0), schedules.Decay),
                          (schedules.LinearDecay(5), schedules.LinearDecay),
                          (schedules.Warmup(5), schedules.Warmup))},
    "Threads": (lambda count: Threads(count).count, {"count": whole(2)}),
    "Evaluation": (lambda loss, tokens: Evaluation(loss, tokens).perplexity, {
        "loss": number(2.5)._replace(
            fits=lambda value: isinstance(value, (int, float)) and math.isfinite(value)),
        "tokens": whole(5)}),
    "evaluate": (lambda model, batches, threads: evaluate(model, batches, threads).loss, {
        "model": translator_kind(), "batches": batches(), "threads": whole(1, 1, 50)}),
    "evaluate a writer": (lambda model, batches, threads: evaluate(model, batches, threads).loss, {
        "model": writer_kind(), "batches": texts(), "threads": whole(2, 1, 50)}),
    "first_bad": (diagnosis.first_bad, {
        "model": translator_kind(), "batch": pair_batch_kind(), "grad": twin(rnnsearch)}),
    "Trainer": (trained, {
        "model": made(fresh, RNNSearch), "optimizer": made(lambda: Adam(0.01), Adam, "adam"),
        "train": batches(), "valid": made(lambda: None, BATCH, IDS, optional=True),
        "rng": generator(), "schedule": schedule(), "average": one_of("token", *AVERAGES),
        "clip": number(1.0, 1e-300, without=()), "patience": whole(2, optional=True),
        "save_steps": whole(1, optional=True),
        "about": made(dict, {"a": object}, {"a": {1, 2}},
                      fits=lambda value: isinstance(value, dict)),
        "threads": whole(1, 1, 50, optional=True), "path": a_file(), "epochs": FEW_EPOCHS,
        "minutes": number(1.0, 0, optional=True, without=())}),
    "Translator.create": (
        lambda **given: dict(Translator.create(**given).model.named_parameters()), {
            "pairs": some_pairs(), "name": one_of("luong", *TRANSLATORS),
            "settings": settings_kind(), "training": training(TranslatorTraining()),
            "vocabularies": made(lambda: None, [1, 2], optional=True)}),
    "vocabularies_of": (vocabularies_of, {
        "pairs": some_pairs(), "training": training(TranslatorTraining())._replace(
            fits=lambda value: False)}),
    "Translator.translate": (
        lambda **given: [one.target for one in translator().translate(**given)], {
            "sentences": sentences(["a", "b"], ["q"], empty=True), "beam": whole(2),
            "length_penalty": number(1.0), "batch_size": whole(2), "threads": whole(1, 1, 50)}),
    "Translator.hypotheses": (
        lambda **given: [one.target for one in translator().hypotheses(**given)], {
            "sentence": tokens("a", "b"), "beam": whole(2), "length_penalty": number(1.0)}),
    "Translator.sample": (lambda **given: translator().sample(**given).target, {
        "sentence": tokens("a", "b"), "rng": generator(),
        "temperature": SAMPLING["temperature"], "top_k": SAMPLING["top_k"],
        "top_p": SAMPLING["top_p"]}),
    "Translator.attend": (lambda pairs: translator().attend(pairs), {"pairs": some_pairs()}),
    "Translator.measure": (lambda **given: translator().measure(**given), {
        "pairs": some_pairs(), "beam": whole(2), "threads": whole(1, 1, 50, optional=True)}),
    "Translator.batches": (lambda **given: len(translator().batches(**given)), {
        "pairs": some_pairs(), "batch_size": whole(2, optional=True)}),
    "Translator.fit": (fitted, {
        "train": some_pairs(), "valid": some_pairs(empty=True)._replace(
            fits=lambda value: value is None or isinstance(value, (list, tuple, range)) and not len(
                value) or isinstance(value, np.ndarray) and value.ndim and not len(value)),
        "threads": whole(1, 1, 50, optional=True), "folder": run_folder()}),
    "Writer.create": (lambda **given: dict(Writer.create(**given).model.named_parameters()), {
        "text": text(), "name": one_of("language-model", "attentive-language-model"),
        "settings": made(lambda: {"hidden": 4}, {"hidden": 0}, {"nope": 1}, {"cell": ["gru"]},
                         optional=True, fits=is_empty_dict),
        "training": training(WriterTraining())}),
    "Writer.batches": (lambda **given: len(writer().batches(**given)), {
        "text": text(), "streams": whole(2, 1, 7, optional=True)}),
    "Writer.measure": (lambda **given: writer().measure(**given), {
        "text": text(), "threads": whole(1, 1, 50)}),
    "Writer.generate": (generated, {
        "rng": generator(), "prompt": tokens("a", "b", least=0)} | SAMPLING),
    "Writer.attend": (lambda tokens: writer().attend(tokens), {"tokens": tokens("a", "b")}),
    "kind_of": (kind_of, {"folder": a_run()}),
    "Translator.load": (lambda folder: Translator.load(folder).name, {"folder": a_run()}),
    "check_same": (check_same, {"folder": run_folder()._replace(fits=is_x),
                                "trained": made(translator, Translator)}),
    "find_recipe": (lambda name: find_recipe(name).name, {"name": one_of("dates")}),
    "results.check": (results.check, {"line": ONE_LINE}),
    "results.tables": (results.tables, {"lines": SOME_LINES}),
    "gradient check": (check_of, {"name": one_of("Linear"), "rng": generator()}),
}
