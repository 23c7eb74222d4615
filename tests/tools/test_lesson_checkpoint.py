"""The tool that makes lesson 06's model: a run's folder, without the optimizer, and its sum."""

import lesson_checkpoint
import numpy as np
import translator_parts

from numpy_attention.training import checkpoint


def test_it_writes_a_run_that_can_be_loaded_and_its_sum(tmp_path, monkeypatch):
    pairs, _ = translator_parts.bible_clauses()
    file = lesson_checkpoint.make(pairs[:200], 1, tmp_path)
    assert file == tmp_path / "lesson-06" / "checkpoint.npz"
    arrays, _ = checkpoint.load(file)
    assert all(name.startswith("parameters/") for name in arrays)
    monkeypatch.setattr(translator_parts, "SHIPPED", tmp_path)
    monkeypatch.setattr(translator_parts, "SUMS", tmp_path / "SHA256SUMS")
    translator = translator_parts.shipped_translator("lesson-06")
    assert np.isfinite(translator.model.vector).all()
    assert translator.settings["hidden"] == lesson_checkpoint.SETTINGS["hidden"]
    assert translator.corpus == lesson_checkpoint.CORPUS        # so that `heatmap --index 3` works
