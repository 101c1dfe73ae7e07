"""Embedders from model2vec folders."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from monograph import Embedder, Monograph
from monograph.derive.embed.model2vec import load_tensors
from monograph.derive.embed.static import StaticEmbedder, stored_vectors
from monograph.derive.loading import load_embedder
from monograph.derive.tokens import wordllama_file
from monograph.errors import ModelUnavailable
from support.properties import examples

WORDS = ["[UNK]", *(f"w{number}" for number in range(30))]
TABLE = np.random.default_rng(7).standard_normal((31, 12)).astype(np.float32)


def folder(place: Path, arrays: dict[str, np.ndarray], name: str = "") -> Path:
    """Write the files of a model into a folder, or into its subfolder ``name``, and return the folder."""
    inner = place / name
    inner.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(inner / "tokenizer.json"))
    save_file({one: np.ascontiguousarray(value) for one, value in arrays.items()}, inner / "model.safetensors")
    (inner / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    return place


def expected(texts: list[str], table: np.ndarray, weights: np.ndarray | None, mapping: np.ndarray | None) -> np.ndarray:
    """Return the normalised mean of the rows of each text, in double precision."""
    result = np.zeros((len(texts), table.shape[1]))
    for place, text in enumerate(texts):
        ids = [WORDS.index(word) for word in text.split() if word in WORDS[1:]]
        rows = [
            table[one if mapping is None else mapping[one]].astype(np.float64)
            * (1.0 if weights is None else float(weights[one]))
            for one in ids
        ]
        if rows:
            mean = np.mean(rows, axis=0)
            result[place] = mean / (np.linalg.norm(mean) or 1.0)
    return result


@pytest.mark.parametrize("kind", ["float32", "float16", "float64", "int8"])
@pytest.mark.parametrize("more", ["", "weights", "weights and mapping"])
def test_model2vec_vector_is_the_mean_of_its_tokens(tmp_path: Path, kind: str, more: str) -> None:
    table = (TABLE * 40).astype(kind)
    weights = np.linspace(0.1, 2.0, 31).astype("float64" if kind == "float64" else "float32") if more else None
    mapping = np.random.default_rng(1).integers(0, 5, 31).astype("int64") if "mapping" in more else None
    arrays = {"embeddings": table if mapping is None else table[:5]}
    arrays |= {} if weights is None else {"weights": weights}
    arrays |= {} if mapping is None else {"mapping": mapping}
    embedder = load_embedder(f"model2vec:{folder(tmp_path, arrays)}")
    assert isinstance(embedder, Embedder)
    texts = ["w1 w2 w3", "w4", "", "unknown words", "w1 unknown w1", "w5 w6 " * 4_200]
    made = embedder.embed(texts)
    assert made.dtype == np.float32
    assert made == pytest.approx(expected(texts, arrays["embeddings"], weights, mapping), abs=1e-4)
    assert (made == np.concatenate([embedder.embed([text], "query") for text in texts])).all()
    assert load_embedder(embedder.spec).key == embedder.key


def test_bfloat16_and_other_tensor_names_are_read(tmp_path: Path) -> None:
    short = (TABLE.view(np.uint32) >> 16).astype(np.uint16)
    made = folder(tmp_path, {"embedding.weight": short}, "0_StaticEmbedding") / "0_StaticEmbedding/model.safetensors"
    raw = short.tobytes()
    header = json.dumps(
        {"embedding.weight": {"dtype": "BF16", "shape": [31, 12], "data_offsets": [0, len(raw)]}}
    ).encode()
    made.write_bytes(struct.pack("<Q", len(header)) + header + raw)
    embedder = load_embedder(f"model2vec:{tmp_path}")
    table = (short.astype(np.uint32) << 16).view(np.float32)
    assert embedder.embed(["w1 w2"]) == pytest.approx(expected(["w1 w2"], table, None, None), abs=1e-6)


def test_model2vec_reads_the_wordllama_table(tmp_path: Path) -> None:
    save_file({"embeddings": np.asarray(stored_vectors())}, tmp_path / "model.safetensors")
    source = wordllama_file("tokenizers", "l2_supercat_tokenizer_config.json")
    (tmp_path / "tokenizer.json").write_bytes(source.read_bytes())
    embedder = load_embedder(f"model2vec:{tmp_path}")
    texts = ["a short text", "Ein längerer Text über Wälder. " * 50, "日本語の文", "", "half \ud800 a pair"]
    plain = [text.encode("utf-8", "replace").decode() for text in texts]
    assert embedder.embed(texts) == pytest.approx(StaticEmbedder().embed(plain), abs=1e-5)
    (tmp_path / "a.txt").write_text("Cats purr when they are content.")
    with Monograph.open(tmp_path / "x.mono", embedder) as archive:
        archive.sync(tmp_path / "a.txt")
    with Monograph.open(tmp_path / "x.mono", trusted=[str(tmp_path)]) as archive:  # loads the embedder from its folder
        assert "Cats" in archive.search("content cats", 1, how="dense")[0].text


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"vectors": TABLE}, "no array 'embedding.weight', but vectors"),
        ({"embeddings": TABLE[0]}, "has shape"),
        ({"embeddings": TABLE[:9]}, "vectors of 9 tokens"),
        ({"embeddings": TABLE, "weights": TABLE}, "weights has shape"),
        ({"embeddings": TABLE, "weights": TABLE[:9, 0]}, "vectors of 31 tokens"),
        ({"embeddings": TABLE, "mapping": np.full(31, 31)}, "rows that do not exist"),
        ({"embeddings": TABLE, "mapping": np.full(31, -1)}, "rows that do not exist"),
        ({"embeddings": TABLE.astype(np.complex64)}, "type C64"),
    ],
)
def test_unusable_model2vec_folders_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray], said: str) -> None:
    folder(tmp_path, arrays)
    with pytest.raises(ModelUnavailable, match=said) as caught:
        load_embedder(f"model2vec:{tmp_path}")
    assert str(tmp_path) in caught.value.message
    assert caught.value.hint


def test_missing_or_infinite_weights_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no folder"):
        load_embedder(f"model2vec:{tmp_path / 'none'}")
    with pytest.raises(ModelUnavailable, match=r"no model\.safetensors"):
        load_embedder(f"model2vec:{tmp_path}")
    folder(tmp_path, {"embeddings": np.full((31, 4), np.nan, dtype=np.float32)})
    with pytest.raises(ModelUnavailable, match="not finite"):
        load_embedder(f"model2vec:{tmp_path}").embed(["w1"])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelUnavailable, match="not a tokenizer"):
        load_embedder(f"model2vec:{tmp_path}")
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"no tokenizer\.json"):
        load_embedder(f"model2vec:{tmp_path}")


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_refused_or_read(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"embeddings": TABLE, "weights": TABLE[:, 0].copy()}, path)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, 200))] = data.draw(st.sampled_from(b'0129-"{}[],:\x00\xff'))
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw)
    try:
        assert all(isinstance(found, np.ndarray) for found in load_tensors(path).values())
    except ModelUnavailable as error:
        assert str(path) in error.message
