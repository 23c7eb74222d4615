"""Training output: a progress bar during an epoch, and a line at its end."""

from typing import Any

from tqdm import tqdm

from numpy_attention.training.evaluation import Evaluation
from numpy_attention.validation.messages import decimals


def bar_of(epoch: int, batches: int, done: int, threads: int, visible: bool,
           ranks: int = 1) -> tqdm:
    """Return the progress bar of an epoch of `batches` batches, `done` of which are finished."""
    plural = "s" if threads > 1 else ""
    each = f"{ranks} ranks × " if ranks > 1 else ""
    return tqdm(total=batches, initial=done, disable=not visible, unit="batch", leave=False,
                desc=f"epoch {epoch}, {each}{threads} thread{plural}", mininterval=0.5)


def advance(bar: tqdm, loss: float, tokens: int, seconds: float) -> None:
    """Advance the bar by one batch. loss, tokens and seconds are totals of the epoch so far."""
    if bar.update():                    # if it is drawn again
        so_far = Evaluation(loss, tokens)
        bar.set_postfix_str(f"loss {so_far.mean:.3f}, perplexity {decimals(so_far.perplexity, 1)}, "
                            f"{tokens / seconds:,.0f} tokens/s", refresh=False)


def print_epoch(line: dict[str, Any], seconds: float) -> None:
    """Print `line`, the entry of the history for one epoch. seconds: the training time so far."""
    smoothed = " of the smoothed labels" if "smoothing" in line else ""
    valid = ""
    if "valid_perplexity" in line:
        valid = f", validation perplexity {decimals(line['valid_perplexity'], 2)}"
    tqdm.write(f"epoch {line['epoch']}: "
               f"perplexity {decimals(line['train_perplexity'], 2)}{smoothed}{valid}, "
               f"{line['tokens_per_second']:,} tokens/s, {seconds / 60:.1f} minutes")
