"""Answer a question from a file: with a model (``--model``) or, without one, with the passages themselves."""

import sys
import tempfile
from pathlib import Path

from monograph import Answer, Monograph

texts = Path(__file__).parent / "texts"
model = None
if len(sys.argv) > 1:  # such as openai:http://127.0.0.1:8111/v1#scripted (python examples/model/scripted_model.py)
    from monograph.derive.loading import load_model

    model = load_model(sys.argv[-1])

with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "archive.mono", model=model) as archive:
    archive.sync(texts)

    context = archive.context("Why was plate 4417 lost?", 200)
    print(f"{context.tokens} of {context.tokens_found} tokens")

    for piece in archive.stream("Why was plate 4417 lost?"):
        if isinstance(piece, str):
            print(piece, end="", flush=True)
        elif isinstance(piece, Answer):
            print("\nsources:", [citation.name for citation in piece.citations])

    print(archive.ask("What did the king of Denmark eat for breakfast?").text)
