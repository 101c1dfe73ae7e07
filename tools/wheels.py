"""Build the source distribution, and from it a wheel for each Python on this machine, into ``dist/``.

    python tools/wheels.py [PYTHON ...]

Without arguments, it uses the Pythons on the path and those of pyenv. Each wheel is built from the source distribution
alone, in a folder outside git. On Linux, auditwheel gives it the tag that its symbols allow. Then the wheel and its
dependencies are installed in a new environment and tested (packaging/smoke.py).
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
    """Build all distributions, and print their names."""
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
    """Return a CPython of each of ``VERSIONS`` that this machine has."""
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
    """Build a wheel and test it. Raises SystemExit if a step fails."""
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
    """Run a command. Raises SystemExit if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")


if __name__ == "__main__":
    main(sys.argv[1:])
