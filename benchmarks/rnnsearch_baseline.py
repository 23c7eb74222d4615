"""Train the baseline of the recipe rnnsearch-bible: the same model and batches in PyTorch eager.

    python benchmarks/rnnsearch_baseline.py [--epochs 5] [--threads 2] [--log FILE]

It uses the recipe's data, vocabulary, sizes, dropout, Adam and clipping. Initial values are those
of PyTorch (v_a: U(−0.1, 0.1)). After each epoch, a line is appended to the log with the minutes of
training, the perplexity on the validation clauses and the greedy BLEU on the test clauses. Run it
at the same time as `numpy-attention reproduce rnnsearch-bible`, or right after it, with the same
number of threads.
"""

import json
import time
from pathlib import Path

import numpy as np
import torch
from machine import check_recordable, machine, parser_of, record, restart_clean
from pytorch.torch_decoding import RNNSearcher, greedy
from pytorch.torch_rnnsearch import TorchRNNSearch

from numpy_attention import metrics
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.experiments.recipes import find_recipe
from numpy_attention.experiments.runs.translator import Translator

ROOT = Path(__file__).resolve().parents[1]
RECIPE = find_recipe("rnnsearch-bible")


class Baseline:
    """A Translator in PyTorch: the same batches, Adam and clipping, and greedy search."""

    def __init__(self, translator, seed):
        torch.manual_seed(seed)
        settings = translator.settings
        H = settings["hidden"]
        self.translator = translator
        self.model = TorchRNNSearch(
            len(translator.source_vocabulary), len(translator.target_vocabulary),
            settings["embedding"], H, alignment=H, maxout=H // 2, dropout=settings["dropout"])
        torch.nn.init.uniform_(self.model.v_a, -0.1, 0.1)
        training = translator.training
        self.clip = training.clip
        self.optimizer = torch.optim.Adam(self.model.parameters(), training.learning_rate)

    def epoch(self, batches, rng):
        self.model.train()
        for place in batches.order(rng):
            batch = batches.batch(place)
            self.optimizer.zero_grad(set_to_none=True)
            (self._loss(batch) / batch.size).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()

    def _loss(self, batch):
        arrays = (batch.source, batch.target_in, batch.target_out)
        return self.model.loss(*map(torch.as_tensor, arrays))

    @torch.no_grad()
    def perplexity(self, batches):
        self.model.eval()
        loss = 0.0
        tokens = 0
        for place in batches.order():
            batch = batches.batch(place)
            loss += self._loss(batch).item()
            tokens += batch.tokens
        return float(np.exp(loss / tokens))

    @torch.no_grad()
    def translate(self, batches):
        """Return greedy translations as lists of words, in the order of the pairs."""
        self.model.eval()
        searcher = RNNSearcher(self.model)
        vocabulary = self.translator.target_vocabulary
        found = [None] * len(batches.sources)
        for indices in batches.order():
            ids = greedy(searcher, torch.as_tensor(batches.batch(indices).source))
            for i, one in zip(indices, ids):
                found[i] = vocabulary.decode(one)
        return found


def main(arguments=None):
    parser = parser_of(__doc__, threads=2)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=ROOT / "runs" / "rnnsearch-baseline.jsonl")
    options = parser.parse_args(arguments)
    check_recordable(options.log, parser.error)
    options.log.parent.mkdir(exist_ok=True)
    print(machine(options.threads, "torch"))
    torch.set_num_threads(options.threads)
    pairs = {split: load_parallel(split=split, **RECIPE.corpus)
             for split in ("train", "valid", "test")}
    translator = Translator.create(
        pairs["train"], RECIPE.model, RECIPE.settings, RECIPE.training, RECIPE.corpus)
    batches = {split: translator.batches(some) for split, some in pairs.items()}
    references = [pair.target for pair in pairs["test"]]
    baseline = Baseline(translator, options.seed)
    size = sum(parameter.numel() for parameter in baseline.model.parameters())
    print(f"{size:,} parameters")
    minutes = 0.0
    for epoch in range(options.epochs):
        start = time.perf_counter()
        baseline.epoch(batches["train"], np.random.default_rng([options.seed, epoch]))
        minutes += (time.perf_counter() - start) / 60
        words = baseline.translate(batches["test"])
        line = {
            "system": "pytorch",
            "epoch": epoch + 1,
            "minutes": round(minutes, 2),
            "threads": options.threads,
            "valid_perplexity": round(baseline.perplexity(batches["valid"]), 3),
            "bleu_greedy": round(metrics.bleu(words, references).score, 2),
        }
        print(json.dumps(line), flush=True)
        record(options.log, line)


if __name__ == "__main__":
    restart_clean()
    main()
