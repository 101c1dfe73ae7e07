"""Tokens and embedders."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from monograph import Embedder, Monograph
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.loading import load_embedder
from monograph.derive.tokens import count_tokens, wordllama_file
from monograph.errors import MissingExtra, ModelUnavailable

TEXTS = ["a short text", "Ein längerer Text über Wälder. " * 50, "日本語の文", "🦉", "word", "x" * 3000]


def minilm(shared: Path) -> Path:
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    return shared / "models/all-MiniLM-L6-v2"


def test_static_vectors_equal_wordllama() -> None:
    import wordllama

    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    assert StaticEmbedder().embed(TEXTS) == pytest.approx(theirs.embed(TEXTS, norm=True), abs=1e-5)


def test_token_counts_equal_wordllama() -> None:
    import wordllama

    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    assert count_tokens(TEXTS) == [sum(one.attention_mask) for text in TEXTS for one in theirs.tokenize([text])]
    assert count_tokens([]) == []
    with pytest.raises(ModelUnavailable, match="wordllama"):
        wordllama_file("no", "such.file")


def test_onnx_vectors_have_unit_length_and_meaning(shared: Path) -> None:
    embedder = load_embedder(f"onnx:{minilm(shared)}")
    assert isinstance(embedder, Embedder)
    assert embedder.dimension == 384
    texts = ["A man is eating food.", "The stock market fell.", "Someone eats a meal.", "", "long words " * 400]
    vectors = embedder.embed(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-4)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1] + 0.3
    # Activations are quantised per batch, so the other texts of a batch change a vector slightly.
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert (alone * vectors).sum(axis=1).min() > 0.95
    assert load_embedder(embedder.spec).key == embedder.key
    assert embedder.embed([]).shape == (0, 384)


def test_onnx_settings_are_part_of_the_key(shared: Path) -> None:
    folder = minilm(shared)
    from monograph.derive.embed.onnx import OnnxEmbedder, OnnxSettings

    plain, other = (
        OnnxEmbedder(str(folder)),
        OnnxEmbedder(str(folder), OnnxSettings(query_prefix="query: ", max_tokens=64)),
    )
    assert plain.key != other.key
    again = load_embedder(other.spec)
    assert (again.key, again.spec) == (other.key, other.spec)
    assert not np.allclose(other.embed(["owls"], "query"), other.embed(["owls"], "document"))
    assert OnnxEmbedder(str(folder), OnnxSettings(batch_size=2)).key == plain.key


def test_onnx_embedder_is_stored_in_a_file(shared: Path, tmp_path: Path) -> None:
    folder = minilm(shared)
    text = tmp_path / "t"
    text.mkdir()
    (text / "a.txt").write_text("Cats purr when they are content.")
    (text / "b.txt").write_text("Interest rates rose again in spring.")
    with Monograph.open(tmp_path / "x.mono", load_embedder(f"onnx:{folder}")) as monograph:
        monograph.sync(text)
    with Monograph.open(tmp_path / "x.mono", trusted=[str(folder)]) as monograph:  # loads the embedder from its spec
        assert "Cats" in monograph.search("a happy kitten", 1, how="dense")[0].chunk.text


def test_unusable_onnx_folders_are_refused(shared: Path, tmp_path: Path) -> None:
    folder = minilm(shared)
    for name, files, said in (
        ("none", [], "no .onnx"),
        ("untokenized", ["model_int8.onnx"], "tokenizer.json"),
        ("broken", ["tokenizer.json"], "not a model"),
    ):
        place = tmp_path / name
        place.mkdir()
        for file in files:
            shutil.copy(folder / file, place)
        if name == "broken":
            (place / "model.onnx").write_bytes(b"nonsense")
        with pytest.raises(ModelUnavailable, match=said):
            load_embedder(f"onnx:{place}")
    (tmp_path / "broken" / "b.onnx").touch()
    (tmp_path / "broken" / "model.onnx").rename(tmp_path / "broken" / "a.onnx")
    with pytest.raises(ModelUnavailable, match=r"a\.onnx, b\.onnx"):
        load_embedder(f"onnx:{tmp_path / 'broken'}")


def test_hub_name_without_a_network_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    code = (
        "from monograph.derive.loading import load_embedder\n"
        "try:\n    load_embedder('onnx:nobody/nothing')\n"
        "except Exception as error:\n    print(type(error).__name__, error.hint)"
    )
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith("ModelUnavailable")
    assert "network" in said


def test_sentence_transformers_is_an_extra() -> None:
    if importlib.util.find_spec("sentence_transformers") is not None:
        pytest.skip("sentence-transformers is installed here")
    with pytest.raises(MissingExtra) as caught:
        load_embedder("sentence-transformers:some/model")
    assert 'pip install "monograph[sentence-transformers]"' in caught.value.hint


def test_sentence_transformers_vectors_equal_the_model(tmp_path: Path) -> None:
    pytest.importorskip(
        "sentence_transformers", reason="the extra sentence-transformers (torch, gigabytes) is not installed"
    )
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(wordllama_file("tokenizers", "l2_supercat_tokenizer_config.json")))
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)]).save(str(tmp_path / "model"))
    embedder = load_embedder(f"sentence-transformers:{tmp_path / 'model'}")
    assert embedder.embed(["one", "two"]).shape == (2, 16)


def test_onnx_pooling_is_applied(shared: Path, tmp_path: Path) -> None:
    """The pooling that a model folder configures is applied. If it is not the mean, it is part of the key."""
    from monograph.derive.embed.onnx import OnnxEmbedder, OnnxSettings

    folder = minilm(shared)
    place = tmp_path / "model"
    (place / "1_Pooling").mkdir(parents=True)
    for file in ("model_int8.onnx", "tokenizer.json"):
        (place / file).symlink_to(folder / file)
    plain = OnnxEmbedder(str(folder))
    told = place / "1_Pooling" / "config.json"
    told.write_text('{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}')
    assert OnnxEmbedder(str(place)).key == plain.key
    told.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    first = OnnxEmbedder(str(place))
    assert first.key != plain.key
    assert OnnxEmbedder(str(folder), OnnxSettings(pooling="cls")).key == first.key
    assert OnnxEmbedder(str(place), OnnxSettings(pooling="mean")).key == plain.key
    for wrong in ('{"pooling_mode_max_tokens": true}', "[]", "{"):
        told.write_text(wrong)
        with pytest.raises(ModelUnavailable, match="1_Pooling") as caught:
            OnnxEmbedder(str(place))
        assert caught.value.hint
    with pytest.raises(ModelUnavailable, match="pooling"):
        load_embedder(f'onnx:{folder}#{{"pooling": "best"}}')
