"""Fetches a folder of real documentation: packages of Debian, unpacked into build/folder/files without root rights.

It needs apt-get, dpkg-deb and 500 MB of disk. Nothing is installed: apt's lists and packages are stored in build/folder,
too. The same versions of the packages (build/folder/versions.json) give the same files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from machine import console

FOLDER = Path(__file__).resolve().parents[1] / "build" / "folder"
FILES = FOLDER / "files"
VERSIONS = FOLDER / "versions.json"
SUITE = "bookworm"
SOURCE = f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {SUITE} main non-free\n"
TOOLS = ("pandoc", "poppler-utils")
"""Packages with the reference extractors of folder_words.py."""

Half = Literal["dev", "held-out"]
DOCUMENTATION = re.compile(r"usr/share/(?!doc-base/|lintian/|locale/|texinfo/|texmf/|pixmaps/|applications/)")


@dataclass(frozen=True, slots=True)
class Package:
    """Package of Debian, and its files that belong to the folder.

    Of the files whose path contains ``pattern``, in the order of their paths, the first of each ``every`` belongs to it.
    Rules may be chosen on packages of the half ``dev``; those of ``held-out`` are only measured.
    """

    name: str
    half: Half
    every: int = 1
    pattern: str = ""


PACKAGES = (
    *(Package(f"debian-reference-{language}", "dev") for language in ("de", "en", "es", "fr", "ja", "zh-cn")),
    Package("fortunes", "dev"),
    Package("fortunes-de", "dev"),
    Package("fortunes-ru", "dev"),
    Package("gnuplot-doc", "dev", every=2),
    Package("live-manual-epub", "dev"),
    Package("manpages", "dev"),
    Package("manpages-de", "dev", every=3),
    Package("manpages-fr", "dev", every=2),
    Package("manpages-ru", "dev"),
    Package("python3.11-doc", "dev", pattern=r"\.html$"),
    Package("debian-handbook", "held-out", pattern=r"/html/(de-DE|en-US|fr-FR|ja-JP)/.*\.html$"),
    Package("developers-reference", "held-out"),
    *(Package(f"developers-reference-{language}", "held-out") for language in ("de", "fr", "it", "ja", "ru")),
    Package("doc-rfc-std", "held-out", pattern=r"\.txt\.gz$"),
    Package("fortunes-es", "held-out"),
    Package("fortunes-zh", "held-out"),
    Package("maint-guide", "held-out"),
    *(Package(f"maint-guide-{language}", "held-out") for language in ("de", "es", "fr", "ja", "ru", "zh-cn")),
    Package("manpages-es", "held-out", every=2),
    Package("manpages-ja", "held-out", every=4),
    Package("manpages-zh", "held-out", every=6),
    Package("sqlite3-doc", "held-out", every=2),
    Package("texinfo", "held-out", every=2),
    Package("ubuntu-packaging-guide-epub", "held-out"),
    *(Package(f"ubuntu-packaging-guide-epub-{language}", "held-out") for language in ("de", "es", "fr", "ru")),
    Package("valgrind", "held-out"),
)


def apt(*arguments: str, cwd: Path = FOLDER, status: str = "/dev/null") -> str:
    """Run apt-get with lists and packages in build/folder; return what it prints."""
    for name in ("lists/partial", "cache/archives/partial"):
        (FOLDER / "apt" / name).mkdir(parents=True, exist_ok=True)
    sources = FOLDER / "apt" / "sources.list"
    sources.write_text(SOURCE)
    options = {
        "Dir::State": FOLDER / "apt", "Dir::State::status": status, "Dir::Cache": FOLDER / "apt" / "cache",
        "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "-", "APT::Architecture": "amd64",
        "APT::Sandbox::User": "", "Debug::NoLocking": "1",
    }  # fmt: skip
    command = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items()), *arguments]
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def chosen(package: Package, unpacked: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the package's files of the folder: the unpacked path, and the path in the folder.

    Symbolic links are skipped, since they name files that the folder contains. Compressed files stay compressed.
    """
    paths = sorted(
        below
        for path in unpacked.rglob("*")
        if path.is_file() and not path.is_symlink()
        if DOCUMENTATION.match(below := path.relative_to(unpacked).as_posix()) and re.search(package.pattern, below)
    )
    for below in paths[:: package.every]:
        yield unpacked / below, FILES / package.name / below.removeprefix("usr/share/")


def fetch(package: Package) -> dict[str, object]:
    """Download and unpack a package; return its version, its SHA-256, and the number and bytes of its files."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as place:
        apt("download", package.name, cwd=Path(place))
        (archive,) = Path(place).glob("*.deb")
        unpacked = Path(place) / "unpacked"
        subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
        shown = subprocess.run(["dpkg-deb", "-f", archive, "Version"], check=True, stdout=subprocess.PIPE, text=True)
        count, size = 0, 0
        for source, target in chosen(package, unpacked):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)
            count, size = count + 1, size + target.stat().st_size
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return {"version": shown.stdout.strip(), "sha256": digest, "files": count, "bytes": size}


def fetch_tools() -> None:
    """Unpack the reference extractors into build/folder/tools, with the libraries that this machine lacks."""
    apt("install", "-y", "--download-only", "--no-install-recommends", *TOOLS, status="/var/lib/dpkg/status")
    for archive in (FOLDER / "apt" / "cache" / "archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", archive, FOLDER / "tools"], check=True)


def main() -> None:
    """Fetch all packages, and the reference extractors if the machine has none; write versions.json."""
    if missing := [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]:
        raise SystemExit(f"{' and '.join(missing)} not found: run this on Debian, or in a container of it")
    FOLDER.mkdir(parents=True, exist_ok=True)
    apt("update")
    shutil.rmtree(FILES, ignore_errors=True)
    packages = {package.name: fetch(package) for package in PACKAGES}
    VERSIONS.write_text(json.dumps({"suite": SUITE, "packages": packages}, indent=1) + "\n")
    if not all(map(shutil.which, ("pandoc", "pdftotext"))):
        fetch_tools()
    sizes = [path.stat().st_size for path in FILES.rglob("*") if path.is_file()]
    console.print(f"{len(sizes):,} files, {sum(sizes) / 1e6:,.0f} MB in {os.path.relpath(FILES)}")


if __name__ == "__main__":
    main()
