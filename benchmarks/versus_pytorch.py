"""Training steps against PyTorch eager: the same model, batch, threads and precision, in turn, as ratios.

    python benchmarks/versus_pytorch.py --models c [--json FILE] [--rounds 15] [--threads 2] [--untuned]

One step is forward, backward, clipping and Adam's update. Each library runs in a process of its own, because they
bring different thread pools; the two take turns, one step each, and the ratio of a round is ours / PyTorch's. PyTorch
gets an allocator that keeps freed memory, as this package does for itself; --untuned leaves it as installed. The floor
is the time of the step's matrix products alone, in NumPy, on the same threads.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TUNED = {"MALLOC_TRIM_THRESHOLD_": "4294967296", "MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TOP_PAD_": "67108864"}

# (c) RNNsearch: GRU 256, V 8,000, batch 64, lengths 8 to 15
MODELS = {"c": dict(vocabulary=8000, hidden=256, embedding=256, alignment=256, maxout=128, batch=64, low=8, high=15)}


def batch_of(size, rng):
    """The benchmark's batch: random words, lengths uniform between low and high, </s> beside."""
    from numpy_attention.data.batching import pair_batch
    lengths = rng.integers(size["low"], size["high"] + 1, size["batch"])
    sources, targets = ([list(rng.integers(4, size["vocabulary"], n)) for n in lengths] for _ in range(2))
    return pair_batch(sources, targets)


def ours(size, threads):
    """A function that runs one training step of the package."""
    from numpy_attention.models.rnnsearch import RNNSearch
    from numpy_attention.training.optimizers import Adam
    from numpy_attention.training.threads import Threads
    from numpy_attention.training.trainer import Trainer

    class OneBatch:
        order, batch, carried = staticmethod(lambda rng=None: [0]), staticmethod(lambda place: batch), \
            staticmethod(lambda position: False)

    rng = np.random.default_rng(0)
    batch = batch_of(size, rng)
    V = size["vocabulary"]
    model = RNNSearch.create(rng, V, V, size["embedding"], size["hidden"], size["alignment"], size["maxout"],
                             readout="current", reset="after", update="old", init="modern")
    trainer = Trainer(model, Adam(1e-3), OneBatch, rng=rng, clip=1.0, threads=threads, progress=False)
    pool = Threads(threads).__enter__()
    twins = [model.zeros_like() for _ in range(threads)]
    return lambda: trainer.train_step(batch, pool, twins)[0] / batch.tokens


def theirs(size, threads):
    """The same in PyTorch."""
    import torch
    sys.path.insert(0, str(ROOT / "tests" / "parity"))
    from torch_rnnsearch import TorchRNNSearch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    batch = batch_of(size, np.random.default_rng(0))
    V = size["vocabulary"]
    model = TorchRNNSearch(V, V, size["embedding"], size["hidden"], size["alignment"], size["maxout"])
    torch.nn.init.normal_(model.v_a, std=0.1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    source, target_in, target_out = map(torch.as_tensor, (batch.source, batch.target_in, batch.target_out))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model.loss(source, target_in, target_out)
        (loss / batch.size).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item() / batch.tokens
    return step


def floor(size, threads):
    """The matrix products of a step alone, for the words that are no padding, the rows shared out among threads."""
    from numpy_attention.training.threads import Threads
    batch = batch_of(size, np.random.default_rng(0))
    H, E, A, L, V = (size[name] for name in ("hidden", "embedding", "alignment", "maxout", "vocabulary"))
    S, T, B = len(batch.source), len(batch.target_in), batch.size // threads
    read, written = int(batch.source_mask.sum()) // threads, batch.tokens // threads
    once = 2 * [(read, E, 3 * H)] + [(read, 2 * H, A), (written, E, 3 * H), (written, L, V)]
    once += [(written, rows, 2 * L) for rows in (H, E, 2 * H)]
    steps = S * 2 * [(B, H, 3 * H)] + T * [(B, H, 3 * H), (B, 2 * H, 3 * H), (B, H, A)]
    hoisted = 2 * [(read, H, 3 * H)] + [(written, H, 3 * H), (written, 2 * H, 3 * H), (written, H, A)]
    array = lambda *shape: np.ones(shape, np.float32)
    forward = {shape: (array(shape[0], shape[1]), array(shape[1], shape[2])) for shape in once + steps}
    back = {shape: (array(shape[0], shape[2]), array(shape[2], shape[1])) for shape in once + steps}
    weight = {shape: (array(shape[1], shape[0]), array(shape[0], shape[2])) for shape in once + hoisted}

    def products(k):
        for pairs, shapes in ((forward, once + steps), (back, once + steps), (weight, once + hoisted)):
            for shape in shapes:
                np.matmul(*pairs[shape])

    pool = Threads(threads).__enter__()
    return lambda: pool.map(products) and 0.0


def serve(kind, size, threads, pipe):
    """A process that runs one step whenever it is asked, and answers with (seconds, loss)."""
    step = {"ours": ours, "theirs": theirs, "floor": floor}[kind](size, threads)
    for _ in range(3):
        step()
    pipe.send("ready")
    while pipe.recv():
        start = time.perf_counter()
        loss = step()
        pipe.send((time.perf_counter() - start, loss))


def measure(size, rounds, threads, tuned):
    """{kind: seconds of each round}; the kinds take turns."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = {}, []
    for kind in ("ours", "theirs", "floor"):
        kept = dict(os.environ)
        os.environ.update(TUNED if tuned and kind == "theirs" else {})
        os.environ["OMP_NUM_THREADS"] = str(threads)
        pipes[kind], other = context.Pipe()
        processes.append(context.Process(target=serve, args=(kind, size, threads, other), daemon=True))
        processes[-1].start()
        os.environ.clear()
        os.environ.update(kept)
        pipes[kind].recv()
    seconds = {kind: [] for kind in pipes}
    for _ in range(rounds):
        for kind, pipe in pipes.items():
            pipe.send(True)
            elapsed, loss = pipe.recv()
            assert np.isfinite(loss), f"{kind}: loss {loss}"
            seconds[kind].append(elapsed)
    for pipe, process in zip(pipes.values(), processes):
        pipe.send(False)
        process.join()
    return {kind: np.array(times) for kind, times in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="c", help="comma-separated: " + ", ".join(MODELS))
    parser.add_argument("--json", help="append one JSON line a model to this file")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--untuned", action="store_true", help="leave PyTorch's allocator as installed")
    arguments = parser.parse_args()
    for name in arguments.models.split(","):
        if name not in MODELS:
            parser.error(f"unknown model {name!r}: expected {', '.join(MODELS)}")
        seconds = measure(MODELS[name], arguments.rounds, arguments.threads, not arguments.untuned)
        ratio = seconds["ours"] / seconds["theirs"]
        line = {"model": name, "ratio": float(np.median(ratio)), "ratio_low": float(np.quantile(ratio, 0.25)),
                "ratio_high": float(np.quantile(ratio, 0.75)),
                "floor_share": float(np.median(seconds["floor"] / seconds["ours"]))}
        medians = ", ".join(f"{kind} {1e3 * np.median(times):.1f} ms" for kind, times in seconds.items())
        allocator = "as installed" if arguments.untuned else "tuned"
        print(f"{name}: {medians}; {arguments.threads} threads, PyTorch's allocator {allocator}")
        print(json.dumps({key: round(value, 3) if isinstance(value, float) else value for key, value in line.items()}))
        if arguments.json:
            with open(arguments.json, "a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
