"""A run as a dict for a page: every array comes back, in each precision; what cannot be drawn."""

import json

import numpy as np
import pytest
from page_models import SPACES, WORDS, array_of, translator_of, writer_of

from numpy_attention.attention.dot import DotAttention
from numpy_attention.data.pairs import Pair
from numpy_attention.page.export import (
    characters,
    check_small,
    exported,
    in_bytes,
    kept_array,
    parts_of,
)


@pytest.mark.parametrize("precision, most", [("float32", 0), ("float16", 1e-3), ("byte", 8e-3)])
def test_every_array_comes_back(rng, precision, most):
    translator = translator_of("rnnsearch", {}, rng)
    found = exported(translator, "it", SPACES, precision)["arrays"]
    arrays = dict(translator.model.named_parameters())
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        back = array_of(found[name])
        assert np.abs(back - array).max() <= most * np.abs(array).max()


def test_a_row_of_zeros_stays_zero():
    bytes_, scales = in_bytes(np.array([[0.0, 0.0], [1.0, -2.0]], np.float32))
    assert bytes_.tolist() == [[0, 0], [64, -127]] and scales[0] == 0


def test_a_number_beyond_float16_is_refused():
    with pytest.raises(ValueError, match="W has numbers beyond .* precision = float32"):
        kept_array("W", np.full((1, 1), 1e6, np.float32), "float16")


def test_parts_are_those_of_the_model(rng):
    model = translator_of("luong", {"layers": 2, "window": "local-p"}, rng).model
    parts = parts_of(model)
    assert parts[""]["kind"] == "LuongTranslator"
    assert parts["attention"]["fields"]["width"] == {"value": 10}
    assert parts["decoder"]["fields"]["cells"] == {"parts": ["decoder.cells.0", "decoder.cells.1"]}
    assert parts["encoder.cells.1"]["fields"]["U"] == {"array": "encoder.cells.1.U"}


def test_a_tied_table_is_kept_once(rng):
    writer = writer_of("language-model", {"tied": True, "layers": 1}, rng)
    found = exported(writer, "it", SPACES)
    assert found["parts"]["output"]["fields"]["words"] == {"part": "embedding"}
    assert "output.words.E" not in found["arrays"]


def test_a_page_is_json(rng):
    pair = Pair(("a", "b"), ("c",), {(1, 0)}, {(0, 0)})
    found = json.loads(json.dumps(exported(translator_of("luong", {"layers": 1}, rng), "it", SPACES,
                                           examples=[pair])))
    assert found["examples"] == [{"source": ["a", "b"], "target": ["c"], "sure": [[1, 0]],
                                  "possible": [[0, 0], [1, 0]]}]
    assert found["vocabularies"]["source"] == sorted(WORDS)
    assert found["training"]["reverse_source"] is False


def test_earlier_checkpoints_stand_beside(rng):
    writer = writer_of("language-model", {"layers": 1}, rng)
    then = {name: 2 * array for name, array in writer.model.named_parameters()}
    found = exported(writer, "it", SPACES, checkpoints={"epoch 1": then})["checkpoints"]
    assert [one["label"] for one in found] == ["epoch 1"]
    np.testing.assert_array_equal(array_of(found[0]["arrays"]["cells.cells.0.U"]),
                                  then["cells.cells.0.U"])


class Other(DotAttention):
    """A mechanism that the engine does not have."""


def test_a_part_that_the_engine_lacks_is_reported(rng):
    translator = translator_of("luong", {"layers": 1}, rng)
    translator.model.attention = Other()
    with pytest.raises(ValueError, match="attention is of class Other, which a page"):
        exported(translator, "it", SPACES)
    with pytest.raises(ValueError, match="every translator except hard-rnnsearch"):
        exported(translator_of("hard-rnnsearch", {}, rng), "it", SPACES)


def test_a_model_too_large_gets_advice():
    arrays = {"W": np.zeros((300, 1000), np.float32)}
    assert characters(arrays, "float32") == 1_600_000
    check_small(arrays, "float32", 1, 1_600_000)
    with pytest.raises(ValueError) as error:
        check_small(arrays, "float32", 1, 1_000_000)
    assert str(error.value) == (
        "300,000 parameters make a page of 1.6 MB, but the limit is 1.0 MB; precision = float16 "
        "makes a page of 0.8 MB; precision = byte makes a page of 0.4 MB")
    with pytest.raises(ValueError, match="in 4 checkpoints make a page of 3.2 MB.*byte makes"):
        check_small(arrays, "float16", 4, 2_000_000)
    with pytest.raises(ValueError, match="train a smaller model"):
        check_small(arrays, "byte", 9, 1_000_000)


def test_subwords_are_kept_in_the_order_in_which_they_were_learnt(rng):
    translator = translator_of("luong", {"layers": 1}, rng, subwords=18)
    pieces = exported(translator, "it", SPACES)["vocabularies"]["target"]["pieces"]
    assert len(pieces) == 14
    assert [translator.target_vocabulary.token(4 + k) for k in range(14)] == pieces
    assert pieces[0] == "▁w"
