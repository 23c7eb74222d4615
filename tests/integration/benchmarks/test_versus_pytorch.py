"""What is compared with what, and what is told of it; the sides here are made up."""

import json

import pytest
import versus_pytorch
from versus_pytorch import PEERS, main

CODE = """
import time

MODELS = {{"e": {{"seconds": {seconds}}}}}


def ours(size, threads, built):
    built()

    def step():
        time.sleep(size["seconds"])
        return float(len(b"x" * (16 << 20)) > 0)        # memory that a step needs
    return step


theirs = compiled = ours
"""


@pytest.fixture
def checkout(tmp_path):
    """checkout(name, seconds) → a folder whose benchmarks sleep so long."""
    def make(name, seconds):
        folder = tmp_path / name / "benchmarks"
        folder.mkdir(parents=True)
        (folder / "sides.py").write_text(CODE.format(seconds=seconds))
        (folder / "floor.py").write_text("from sides import ours as floor\n")
        (folder / "per_step.py").write_text("from sides import ours as per_step\n")
        return tmp_path / name
    return make


def test_against_another_checkout(checkout, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(versus_pytorch, "ROOT", checkout("now", 0.05))
    before = checkout("then", 0.1)
    file = tmp_path / "figures.jsonl"
    main(["--models", "e", "--rounds", "3", "--against", str(before), "--json", str(file)])
    line = json.loads(file.read_text())
    assert (line["model"], line["against"]) == ("e", "then")
    assert 0.4 < line["ratio_low"] <= line["ratio"] <= line["ratio_high"] < 0.9
    assert line["first_before"] >= 3 * 0.1
    machine, shown, ratios, *_ = capsys.readouterr().out.splitlines()
    assert " processors, " in machine
    assert shown.startswith("e: ours ") and ", before 1" in shown
    assert ratios.strip().startswith("ours / before 0.")


def test_beside_pytorch_there_is_a_floor(checkout, monkeypatch, capsys):
    monkeypatch.setattr(versus_pytorch, "ROOT", checkout("now", 0.05))
    main(["--models", "e", "--rounds", "2"])
    _, shown, ratios, _, line = capsys.readouterr().out.splitlines()
    assert "2 threads, PyTorch's allocator tuned" in shown
    assert "floor" not in ratios
    assert json.loads(line)["floor_share"] == pytest.approx(1, abs=0.5)


def test_peers_have_ratios_and_memory_of_their_own(checkout, monkeypatch, capsys):
    monkeypatch.setattr(versus_pytorch, "ROOT", checkout("now", 0.05))
    monkeypatch.setattr(versus_pytorch, "absent",
                        lambda peer: "JAX is not there" if peer == "jax" else None)
    main(["--models", "e", "--rounds", "2", "--peers", "compiled,jax,per-step", "--memory"])
    out = capsys.readouterr().out
    line = json.loads(out.splitlines()[-1])
    assert "e: without jax, JAX is not there\n" in out
    for name in ("ratio", "ratio_compiled", "ratio_per-step"):
        assert line[f"{name}_low"] <= line[name] <= line[f"{name}_high"]
    assert {key for key in line if key.startswith("memory_ratio")} == {
        "memory_ratio", "memory_ratio_compiled", "memory_ratio_per-step"}
    assert "ours / compiled" in out.split("peak memory of a step: ")[1]
    assert "memory_floor" not in line


def test_a_peer_without_the_model_is_left_out(checkout, monkeypatch, capsys):
    monkeypatch.setattr(versus_pytorch, "ROOT", checkout("now", 0))
    monkeypatch.setitem(PEERS, "per-step", ("per_step.per_step", ("a",)))
    main(["--models", "e", "--rounds", "1", "--peers", "per-step"])
    out = capsys.readouterr().out
    assert "e: without per-step, it has a alone\n" in out
    assert "ratio_per-step" not in out


def test_why_a_peer_cannot_run(monkeypatch):
    monkeypatch.setattr(versus_pytorch, "find_spec", lambda name: None)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "pip install -e '.[peers]'" in versus_pytorch.absent("jax")
    assert "C++ compiler" in versus_pytorch.absent("compiled")
    assert versus_pytorch.absent("per-step") is None


@pytest.mark.parametrize("arguments, message", [
    (["--models", "a,z"], "unknown model 'z': expected a, b20"),
    (["--peers", "jax,cupy"], "unknown peer 'cupy': expected compiled, jax, per-step"),
    (["--against", "nowhere"], "there is no benchmarks/sides.py in it"),
])
def test_bad_arguments(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err
