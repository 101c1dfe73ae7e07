"""Tools of an agent that searches and keeps notes (pip install "monograph[langchain]")."""

import json
import tempfile
from pathlib import Path

from langchain_monograph import MonographToolkit
from monograph import Monograph

texts = Path(__file__).parent / "texts"

with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "archive.mono") as archive:
    archive.sync(texts)
    tools = {tool.name: tool for tool in MonographToolkit(monograph=archive, notes=True).get_tools()}

    # A model would make these calls, in this order. Give the tools to your model instead.
    found = json.loads(tools["search"].invoke({"query": "Who repaired the generator in winter?", "k": 1}))
    place = found["hits"][0]["citation"]
    print(f"found in {place['title']!r}, characters {place['start']} to {place['end']}")

    note = "The generator was repaired in winter: see " + place["title"]
    print("new note:", json.loads(tools["add_note"].invoke({"text": note, "title": "Generator"}))["new"])

    again = json.loads(tools["search"].invoke({"query": "generator", "where": {"kind": "note"}}))
    print("remembered:", again["hits"][0]["text"])
