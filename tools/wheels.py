"""Make the source distribution, and from it a wheel for each Python that this machine has: into ``dist/``.

    python tools/wheels.py [PYTHON ...]

Pythons are found by name on the path and where pyenv keeps them, unless they are named. Each wheel is made of the
source distribution alone, in a folder that git knows nothing of; on Linux auditwheel gives it the tag that its symbols
allow; then it is installed in an environment of its own, with what it needs, and tried (packaging/smoke.py).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ABOUT = "import json, sys; print(json.dumps([sys.implementation.name, *sys.version_info[:2]]))"


def main(named: Sequence[str]) -> None:
    """Make all, and say what was made."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (source,) = DIST.glob("*.tar.gz")
    pythons = [Path(one) for one in named] or found()
    for python in pythons:
        with tempfile.TemporaryDirectory() as place:
            made(python, source, Path(place))
    missing = [one for one in VERSIONS if not any(one.replace(".", "") in path.name for path in DIST.glob("*.whl"))]
    print("made:", *sorted(path.name for path in DIST.iterdir()), sep="\n  ")
    if missing and not named:
        print("not here:", ", ".join(f"Python {one}" for one in missing), "(.github/workflows/wheels.yml)")


def found() -> list[Path]:
    """A Python of each version that is here."""
    by_version: dict[str, Path] = {}
    named = [shutil.which(f"python{one}") for one in VERSIONS]
    kept = sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python"), reverse=True)
    for python in [*(Path(one) for one in named if one), *kept, Path(sys.executable)]:
        done = subprocess.run([python, "-c", ABOUT], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            name, *version = json.loads(done.stdout)
            if name == "cpython":
                by_version.setdefault(".".join(map(str, version)), python)
    return [by_version[one] for one in VERSIONS if one in by_version]


def made(python: Path, source: Path, place: Path) -> None:
    """Make a wheel, and try it; raises SystemExit where that fails."""
    run(python, "-m", "venv", place / "builds")
    run(place / "builds" / "bin" / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", place / "raw", source)
    (wheel,) = (place / "raw").glob("monograph-*.whl")
    if sys.platform == "linux":
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", place / "fit", wheel)
        (wheel,) = (place / "fit").glob("*.whl")
    run(python, "-m", "venv", place / "tries")
    tries = place / "tries" / "bin" / "python"
    run(tries, "-m", "pip", "install", "--quiet", wheel)
    run(tries, ROOT / "packaging" / "smoke.py", ROOT / "examples" / "texts", cwd=place)
    shutil.copy(wheel, DIST)


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command that must succeed."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")


if __name__ == "__main__":
    main(sys.argv[1:])
