"""How large is a run's page, how fast is it, and does it write what Python writes?

    python benchmarks/page_in_browser.py runs/first [--count 300]
    python benchmarks/page_in_browser.py RUN --corpus bible-en-es --max-length 8

A page of each precision is opened in headless Chromium, which must be installed (playwright, of
the extra test, drives it), and asked for sentences of the test text, of the valid text where
there is no test. Printed for a translator, greedy and with a beam of 5: the page's size,
translations equal to Python's in float32, BLEU, the mean time a sentence; for a language model,
which reads the sentences: the largest difference of log p, perplexity, the mean time a word. Of
both, of a page with three of the sentences typed letter by letter: the time from a letter to all
that is drawn anew, laid out, the median and the largest but a tenth.
"""

import argparse
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from numpy_attention import metrics
from numpy_attention.cli.shared import part_of
from numpy_attention.data.batching import TextBatch
from numpy_attention.data.selection import selected
from numpy_attention.data.vocabulary import EOS
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.trained import kind_of
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.page.export import exported, megabytes
from numpy_attention.page.write import write_page
from numpy_attention.registry import PRECISIONS

BEAM = 5
ARGUMENTS = ("--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
             "--disable-background-networking --disable-component-update").split()
READY = """() => {
  const data = JSON.parse(document.getElementById("models").textContent);
  window.asked = load(data.models[0]);
}"""
TRANSLATE = """([sentences, size]) => {
  const began = performance.now();
  const words = sentences.map((one) => {
    const memory = asked.read(one);
    return size === 1 ? asked.greedy(memory).words : asked.beam(memory, size).hypotheses[0].words;
  });
  return [words, performance.now() - began];
}"""
READ = """(sentences) => {
  const began = performance.now();
  const logs = sentences.map((words) => {
    const { ids, steps } = asked.readText(words);
    return words.map((_, t) => steps[t].logP[ids[t + 1]]);
  });
  return [logs, performance.now() - began];
}"""
TYPED = 3           # sentences
# a page put off its drawing while somebody types is waited for
TYPE = """async (sentences) => {
  const took = [];
  const { show } = Page.prototype;
  Page.prototype.show = function () {
    const began = performance.now();
    show.call(this);
    document.body.getBoundingClientRect();
    took.push(performance.now() - began);
  };
  const field = document.querySelector("#source, #text");
  for (const text of sentences) {
    for (let letters = 1; letters <= text.length; letters++) {
      field.value = text.slice(0, letters);
      field.dispatchEvent(new Event("input"));
      await new Promise((done) => setTimeout(done, 150));
    }
  }
  return took;
}"""


@contextmanager
def tabs():
    """→ a function that opens a page's file in a tab, with its first model ready."""
    from playwright.sync_api import sync_playwright
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=ARGUMENTS)

        def tab(path):
            opened = browser.new_page()
            opened.goto(path.as_uri())
            opened.evaluate(READY)
            return opened

        yield tab
        browser.close()


def translator_s(translator, pairs, tab):
    """Lines about a translator's page, given the tab that it is open in, None for Python's own."""
    references = [pair.target for pair in pairs]
    sentences = [list(pair.source) for pair in pairs]
    for size in (1, BEAM):
        own = [one.target for one in translator.translate(sentences, size)]
        how = "greedy" if size == 1 else f"beam {size}"
        if tab is None:
            yield f"{how}: BLEU {metrics.bleu(own, references).score:.2f}"
            continue
        found, milliseconds = tab.evaluate(TRANSLATE, [sentences, size])
        equal = sum(one == other for one, other in zip(found, own))
        yield (f"{how}: {equal} of {len(pairs)} as Python, BLEU "
               f"{metrics.bleu(found, references).score:.2f}, "
               f"{milliseconds / len(pairs):.1f} ms a sentence")


def writer_s(writer, sentences, tab):
    """Lines about a language model's page, likewise."""
    own = []
    for words in sentences:
        ids = np.array([EOS, *writer.vocabulary.encode(words)])[:, None]
        losses, _ = writer.model.losses(TextBatch(ids[:-1], ids[1:], np.arange(1)))
        own.append(-losses[:, 0])
    own = np.concatenate(own)
    if tab is None:
        yield f"perplexity of {len(own):,} words {np.exp(-own.mean()):.2f}"
        return
    found, milliseconds = tab.evaluate(READ, sentences)
    found = np.concatenate(found)
    yield (f"log p within {np.abs(found - own).max():.1e} of Python's, perplexity "
           f"{np.exp(-found.mean()):.2f}, {milliseconds / len(own):.2f} ms a word")


def keystrokes(tab, texts):
    """A line about the time from a letter to what is drawn."""
    took = tab.evaluate(TYPE, texts)
    return (f"{np.median(took):.0f} ms a keystroke, nine of ten within "
            f"{np.quantile(took, 0.9):.0f} ms ({len(took)} letters)")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--corpus", help="a corpus by name, of a run that does not say its own")
    parser.add_argument("--max-length", type=int)
    options = parser.parse_args(arguments)
    translates = kind_of(options.run) == "translator"
    trained = (Translator if translates else LanguageModelRun).load(options.run)
    corpus = trained.corpus
    if options.corpus:
        corpus = {"name": options.corpus, "max_length": options.max_length}
    selection = selected({name: value for name, value in corpus.items() if value is not None})
    text, split = part_of(selection)
    examples = text[:options.count] if translates else text.sentences[:options.count]
    lines = translator_s if translates else writer_s
    print(f"{options.run}: {trained.name}, {trained.model.size:,} parameters; {len(examples)} "
          f"sentences of {selection.label}, {split}")
    for line in lines(trained, examples, None):
        print(f"  Python             {line}", flush=True)
    with tempfile.TemporaryDirectory() as folder, tabs() as opened:
        for precision in PRECISIONS:
            path = Path(folder) / f"{precision}.html"
            size = write_page(path, [exported(trained, "a page", selection.form(), precision)],
                              "a page")
            tab = opened(path)
            texts = [" ".join(one.source if translates else one) for one in examples[:TYPED]]
            for line in [*lines(trained, examples, tab), keystrokes(tab, texts)]:
                print(f"  {precision:<8} {megabytes(size):>8}  {line}", flush=True)
            tab.close()


if __name__ == "__main__":
    main()
