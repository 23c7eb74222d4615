"""The yardstick of the recipe rnnsearch-bible: the same model on the same batches in PyTorch eager.

    python benchmarks/yardstick.py [--epochs 5] [--threads 2] [--log runs/yardstick.jsonl]

The recipe's data, vocabulary, sizes, dropout, Adam and clipping; initial values are PyTorch's own (v_a: U(−0.1, 0.1)).
After each epoch the log gets a line with the minutes of training so far, perplexity on the validation clauses and greedy
BLEU on the test clauses. Run it at the same time as `numpy-attention reproduce rnnsearch-bible`, or right after it, on the
same threads.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "parity"))

from torch_rnnsearch import TorchRNNSearch  # noqa: E402

from numpy_attention import metrics  # noqa: E402
from numpy_attention.data.corpora import load_parallel  # noqa: E402
from numpy_attention.data.vocabulary import BOS, EOS  # noqa: E402
from numpy_attention.recipes.rnnsearch_bible import RECIPE  # noqa: E402
from numpy_attention.runs.translator import Translator  # noqa: E402


class Yardstick:
    """The PyTorch side: the same batches, Adam, clipping; greedy search."""

    def __init__(self, translator, seed):
        torch.manual_seed(seed)
        sizes = len(translator.source_vocabulary), len(translator.target_vocabulary)
        self.translator = translator
        hidden = translator.settings["hidden"]
        self.model = TorchRNNSearch(*sizes, translator.settings["embedding"], hidden, hidden, hidden // 2,
                                    translator.settings["dropout"])
        torch.nn.init.uniform_(self.model.v_a, -0.1, 0.1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3)

    def epoch(self, batches, rng):
        self.model.train()
        for place in batches.order(rng):
            batch = batches.batch(place)
            self.optimizer.zero_grad(set_to_none=True)
            (self._loss(batch) / batch.size).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()

    def _loss(self, batch):
        return self.model.loss(*map(torch.as_tensor, (batch.source, batch.target_in, batch.target_out)))

    @torch.no_grad()
    def perplexity(self, batches):
        self.model.eval()
        found = [(self._loss(batch).item(), batch.tokens) for batch in map(batches.batch, batches.order())]
        return float(np.exp(sum(loss for loss, _ in found) / sum(tokens for _, tokens in found)))

    @torch.no_grad()
    def translate(self, batches):
        self.model.eval()
        found = [None] * len(batches.sources)
        for indices in batches.order():
            source = torch.as_tensor(batches.batch(indices).source)
            annotations, keys, mask, s = self.model.encode(source)
            tokens, columns = torch.full((len(indices),), BOS), []
            ended = torch.zeros(len(indices), dtype=torch.bool)
            while not ended.all() and len(columns) < 2 * len(source) + 10:
                y = self.model.target_embedding(tokens)
                context, _ = self.model.attend(s, annotations, keys, mask)
                s = self.model.decoder(torch.cat([y, context], 1), s)
                logits = self.model.output(self.model.read_out(s, y, context))
                logits[:, [0, BOS]] = -torch.inf
                tokens = logits.argmax(1)
                columns.append(tokens)
                ended |= tokens == EOS
            for b, i in enumerate(indices):
                found[i] = self.translator.target_vocabulary.decode([int(column[b]) for column in columns])
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=ROOT / "runs" / "yardstick.jsonl")
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(exist_ok=True)
    torch.set_num_threads(arguments.threads)
    train, valid, test = (load_parallel(split=split, **RECIPE.corpus) for split in ("train", "valid", "test"))
    translator = Translator.create(train, RECIPE.model, RECIPE.settings, RECIPE.training, RECIPE.corpus)
    batches = {name: translator.batches(pairs) for name, pairs in (("train", train), ("valid", valid), ("test", test))}
    yardstick, minutes = Yardstick(translator, arguments.seed), 0.0
    print(f"{sum(p.numel() for p in yardstick.model.parameters()):,} parameters, {torch.get_num_threads()} threads")
    for epoch in range(arguments.epochs):
        start = time.perf_counter()
        yardstick.epoch(batches["train"], np.random.default_rng([arguments.seed, epoch]))
        minutes += (time.perf_counter() - start) / 60
        words = yardstick.translate(batches["test"])
        line = {"system": "pytorch", "epoch": epoch + 1, "minutes": round(minutes, 2), "threads": arguments.threads,
                "valid_perplexity": round(yardstick.perplexity(batches["valid"]), 3),
                "bleu_greedy": round(metrics.bleu(words, [pair.target for pair in test]).score, 2)}
        print(json.dumps(line), flush=True)
        with open(arguments.log, "a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
