"""What the tests of sides beside ours share: their training steps are ours."""

import pytest
import sides
from worker import tiny


def check_same_steps(monkeypatch, module, step_of, name, clip):
    """From the same values the same losses: so clipping and optimizer are ours too.

    module: where step_of, a function such as sides.ours, stands; its rate becomes one that learns
    soon.
    """
    size = tiny(sides.MODELS[name])
    kind, _, _ = sides.rate_and_clip(size)
    for one in ("sides", module):
        monkeypatch.setattr(f"{one}.rate_and_clip", lambda size: (kind, 0.02, clip))
    ours = sides.ours(size, 1, lambda: None)
    theirs = step_of(size, 1, lambda: None)
    losses = [ours() for _ in range(6)]
    assert [theirs() for _ in range(6)] == pytest.approx(losses, rel=1e-4)
    assert losses[-1] < losses[0]
