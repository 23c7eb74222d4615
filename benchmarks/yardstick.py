"""RNNsearch on bible-en-es clauses, this package and PyTorch side by side: an epoch each in turn, BLEU after every one.

    python benchmarks/yardstick.py [--epochs 6] [--threads 2] [--log runs/yardstick.jsonl]

Both train the same model (GRU 256, embedding 256, readout="current", dropout 0.2, Adam 1e-3, gradient norm 1, words seen
three times) on the same batches, from initial values of their own library. After each epoch the log gets a line with
the minutes of training so far, perplexity on the validation clauses and greedy BLEU on the test clauses.
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
from numpy_attention.training.evaluation import evaluate  # noqa: E402
from numpy_attention.translation import Training, Translator  # noqa: E402

SETTINGS = dict(embedding=256, hidden=256, readout="current", reset="after", update="old", init="modern", dropout=0.2)


class Yardstick:
    """The PyTorch side: the same batches, Adam, clipping; greedy search."""

    def __init__(self, translator, seed):
        torch.manual_seed(seed)
        sizes = len(translator.source_vocabulary), len(translator.target_vocabulary)
        self.translator = translator
        self.model = TorchRNNSearch(*sizes, 256, 256, 256, 128, 0.2)
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
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, default=ROOT / "runs" / "yardstick.jsonl")
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(exist_ok=True)
    torch.set_num_threads(arguments.threads)
    train, valid, test = (load_parallel("bible-en-es", split, part="clauses") for split in ("train", "valid", "test"))
    references = [pair.target for pair in test]
    translator = Translator.create(train, "rnnsearch", SETTINGS, Training(min_count=3, seed=arguments.seed))
    batches = {name: translator.batches(pairs) for name, pairs in (("train", train), ("valid", valid), ("test", test))}
    yardstick = Yardstick(translator, arguments.seed)
    trainer = translator.trainer(train, threads=arguments.threads, progress=False)
    minutes = {"numpy_attention": 0.0, "pytorch": 0.0}

    def note(system, epoch, perplexity, words):
        line = {"system": system, "epoch": epoch, "minutes": round(minutes[system], 2), "threads": arguments.threads,
                "valid_perplexity": round(perplexity, 3), "bleu_greedy": round(metrics.bleu(words, references).score, 2)}
        if system == "numpy_attention":
            line["pointing"] = round(metrics.pointing_accuracy(translator.attend(test), test), 3)
        print(json.dumps(line), flush=True)
        with open(arguments.log, "a") as file:
            file.write(json.dumps(line) + "\n")

    for epoch in range(1, arguments.epochs + 1):
        start = time.perf_counter()
        trainer.fit(epoch)
        minutes["numpy_attention"] += (time.perf_counter() - start) / 60
        note("numpy_attention", epoch, evaluate(translator.model, batches["valid"], arguments.threads).perplexity,
             [t.target for t in translator.translate([p.source for p in test], 1, threads=arguments.threads)])
        start = time.perf_counter()
        yardstick.epoch(batches["train"], np.random.default_rng([trainer.seed, epoch - 1]))
        minutes["pytorch"] += (time.perf_counter() - start) / 60
        note("pytorch", epoch, yardstick.perplexity(batches["valid"]), yardstick.translate(batches["test"]))


if __name__ == "__main__":
    main()
