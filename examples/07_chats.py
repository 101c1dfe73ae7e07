"""Answer questions about chats, with sources (pip install "monograph[llama-index,llm]").

The folder ``chats`` has invented chats about an old boat (CC0). ``--chats`` names another folder, or that of a question
set such as LiHuaWorld. Without a model, the answer is the passages themselves::

    python examples/07_chats.py "Who repaired the engine?" --model "openai:http://localhost:11434/v1#qwen3:1.7b"
"""

import argparse
import tempfile
from pathlib import Path

from llama_index.query_engine.monograph import CitingQueryEngine
from monograph import Monograph
from monograph.derive.loading import load_model
from monograph.evaluate.datasets import load_dataset

arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
arguments.add_argument("question", nargs="?", default="Why was the launch moved?")
arguments.add_argument("--chats", type=Path, default=Path(__file__).parent / "chats")
arguments.add_argument("--model", default="")
given = arguments.parse_args()
model = load_model(given.model) if given.model else None

with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "chats.mono", model=model) as chats:
    if list(given.chats.glob("corpus.jsonl*")):
        chats.add(load_dataset(given.chats).documents)
    else:
        chats.sync(given.chats)

    response = CitingQueryEngine(chats, streaming=True).query(given.question)
    for piece in response.response_gen:
        print(piece, end="", flush=True)
    print()
    for source in response.source_nodes:
        for document, start, end in source.metadata["monograph_spans"]:
            assert chats.document(document).text[start:end] in source.text
            number, title = source.metadata["monograph_number"], source.metadata["monograph_title"]
            print(f"[{number}] {title}, characters {start} to {end}")
