"""A command on several ranks, as mpirun starts them: rank 0 alone speaks, and all end together."""

import io
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

from numpy_attention.cli import streams
from numpy_attention.registry import started


def together(do: Callable[[], int]) -> int:
    """What do() → exit status, gives on all ranks; where only some of them fail, all are ended.

    A rank that fails alone says so, and its name.
    """
    from numpy_attention.training.distributed.ranks import Ranks, host, world
    rank, count = started()
    try:
        ranks = world()
    except ImportError as error:
        if rank == 0:
            streams.say(f"numpy-attention: error: {error}")
        return 2
    assert isinstance(ranks, Ranks)
    said = io.StringIO()
    try:
        if ranks.is_first:
            code = do()
        else:
            with redirect_stdout(io.StringIO()), redirect_stderr(said):
                code = do()
    except SystemExit:                              # --help, on every rank
        raise
    except BaseException:
        said.write(traceback.format_exc())
        code = 1
    if code and not ranks.ended_alike():
        where = f"rank {rank} on {host()}"
        if ranks.is_first:
            streams.say(f"numpy-attention: {where} has failed, so all {count} are ended")
        streams.say("".join(f"{where}: {line}\n" for line in said.getvalue().splitlines()).rstrip())
        ranks.abort(code)
    elif ranks.is_first and said.getvalue():
        streams.say(said.getvalue().rstrip())
    return code
