"""Run a command on the ranks (processes) of mpirun. Only rank 0 prints. All ranks end together."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from traceback import format_exc

from numpy_attention.cli import streams
from numpy_attention.registry import started


def on_all(do: Callable[[], int]) -> int:
    """Run do() on every rank; return the exit status. If only some ranks fail, end all ranks."""
    from numpy_attention.training.distributed.ranks import Ranks, host, world
    rank, count = started()
    try:
        ranks = world()
    except ImportError as error:
        if rank == 0:
            streams.print_error(f"numpy-attention: error: {error}")
        return 2
    assert isinstance(ranks, Ranks)
    errors = io.StringIO()
    try:
        if ranks.is_first:
            status = do()
        else:
            with redirect_stdout(io.StringIO()), redirect_stderr(errors):
                status = do()
    except SystemExit:                              # --help, on every rank
        raise
    except BaseException:
        errors.write(format_exc())
        status = 1
    if status and not ranks.ended_alike():
        name = f"rank {rank} on {host()}"
        if ranks.is_first:
            streams.print_error(f"numpy-attention: {name} failed; all {count} ranks were ended")
        streams.print_error("\n".join(f"{name}: {line}" for line in errors.getvalue().splitlines()))
        ranks.abort(status)
    elif ranks.is_first and errors.getvalue():
        streams.print_error(errors.getvalue().rstrip())
    return status
