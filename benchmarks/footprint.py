"""Size of a core install: megabytes by distribution in a fresh environment, without extras."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import console, machine, save, show

ROOT = Path(__file__).resolve().parents[1]
TARGET_MB = 200
LISTING = """
import importlib.metadata as metadata, json
sizes = {}
for one in metadata.distributions():
    files = [file.locate() for file in one.files or [] if "__pycache__" not in str(file)]
    sizes[one.metadata["Name"]] = sum(file.stat().st_size for file in files if file.exists())
print(json.dumps(sizes))
"""

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--json", type=Path)
options = parser.parse_args()
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(Path(folder) / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True, stderr=subprocess.DEVNULL)
    found = subprocess.run([python, "-c", LISTING], check=True, capture_output=True, text=True).stdout
sizes = {name: size for name, size in json.loads(found).items() if name not in ("pip", "setuptools")}
total = sum(sizes.values()) / 1e6
rows = [(name, f"{size / 1e6:.1f}") for name, size in sorted(sizes.items(), key=lambda pair: -pair[1]) if size >= 1e5]
console.print(machine())
show("core install", ("distribution", "MB"), [*rows, (f"all {len(sizes)} (target {TARGET_MB})", f"{total:.1f}")])
save(options.json, sizes)
