"""Monograph in a LlamaIndex query engine (pip install "monograph[llama-index]")."""

import tempfile
from pathlib import Path

from llama_index.core import Settings
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from llama_index.retrievers.monograph import HybridRetriever
from monograph import Monograph

texts = Path(__file__).parent / "texts"
Settings.llm = MockLLM(max_tokens=16)  # replace it with your model

with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "archive.mono") as archive:
    archive.sync(texts)
    retriever = HybridRetriever(archive, similarity_top_k=3)
    for node in retriever.retrieve("Who repaired the generator in winter?"):
        print(f"{node.score:.3f} {node.node.metadata['monograph_title']}: {node.node.metadata['path']}")

    engine = RetrieverQueryEngine.from_args(retriever)
    response = engine.query("Who repaired the generator in winter?")
    print("sources:", [source.node.metadata["path"] for source in response.source_nodes])
