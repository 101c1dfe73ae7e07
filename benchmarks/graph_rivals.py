"""Calls to a language model when documents change: LightRAG and MiniRAG, on the same scripted server as Monograph.

Each rival has its own virtual environment, in which this module runs as a script. The script reports each finished step
and waits, so that the parent process can read the server's counters.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

STEPS = ("build", "add one", "add it again", "edit one", "delete one")
DONE = "\x1e"
INSTALL_SECONDS = 900
RUN_SECONDS = 1_800

RIVALS = {
    "LightRAG": ("lightrag-hku==1.5.7",),
    # MiniRAG's wheel declares no dependencies.
    "MiniRAG": ("minirag-hku==0.0.2", "httpx", "json-repair", "nltk", "numpy", "pydantic", "rouge", "tiktoken"),
}
Results = dict[str, Any]


def installed(name: str, folder: Path) -> Path:
    """Return the Python of a rival's virtual environment; create it if it is missing or has other packages."""
    place = folder / name.lower()
    python, mark = place / "bin" / "python", place / "installed"
    if not mark.exists() or mark.read_text() != " ".join(RIVALS[name]):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *RIVALS[name]]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
        if done.returncode:
            raise OSError(_last_line(done.stderr))
        mark.write_text(" ".join(RIVALS[name]))
    return python


def beside(name: str, server: Any, documents: Sequence[tuple[str, str]], folder: Path) -> Results:
    """Return the counts of each step of a rival, or the reason why it failed."""
    folder.mkdir(parents=True, exist_ok=True)
    texts, errors = folder / "documents.json", folder / f"{name}.log"
    texts.write_text(json.dumps(documents))
    try:
        python = installed(name, folder / "venvs")
    except (OSError, subprocess.SubprocessError) as error:
        return {"failed": f"it does not install: {_last_line(str(error))}"}
    with errors.open("w") as log:
        child = subprocess.Popen(
            [str(python), str(Path(__file__).resolve()), name, server.url, str(server.dimension), str(texts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
        )
        timer = threading.Timer(RUN_SECONDS, child.kill)
        timer.start()
        try:
            results = counted(server, _steps_of(child))
        finally:
            timer.cancel()
            child.kill()
            child.wait()
    if set(results) != set(STEPS):
        results["failed"] = _last_line(errors.read_text()) or f"it was stopped after {RUN_SECONDS} s"
    return results


def counted(server: Any, steps: Iterator[tuple[str, str]]) -> Results:
    """Return calls, tokens, embedding requests and note of each step; the server's counters are read after it."""
    results: Results = {}
    before = (server.calls, server.tokens, server.embeddings)
    for step, note in steps:
        after = (server.calls, server.tokens, server.embeddings)
        spent = [late - early for late, early in zip(after, before, strict=True)]
        results[step] = dict(zip(("calls", "tokens", "embeddings"), spent, strict=True)) | {"note": note}
        before = after
    return results


def _steps_of(child: subprocess.Popen[str]) -> Iterator[tuple[str, str]]:
    assert child.stdout is not None
    assert child.stdin is not None
    for line in child.stdout:
        _, mark, told = line.rpartition(DONE)
        if mark:
            step, note = json.loads(told)
            yield step, note
            if step == STEPS[-1]:
                return
            child.stdin.write("\n")
            child.stdin.flush()


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


# The rest of the module runs in a rival's environment, without Monograph.


class Words:
    """Tokenizer for words and punctuation, without a download. It only decides where texts are cut."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.pieces: list[str] = []
        self.lock = threading.Lock()

    def __deepcopy__(self, memo: Any) -> Words:
        return self

    def encode(self, content: str) -> list[int]:
        import re

        with self.lock:
            return [self._number(piece) for piece in re.findall(r"\s*\w+|\s*[^\w\s]|\s+", content)]

    def _number(self, piece: str) -> int:
        if piece not in self.numbers:
            self.numbers[piece] = len(self.pieces)
            self.pieces.append(piece)
        return self.numbers[piece]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)


def model(url: str) -> tuple[Callable[..., Awaitable[str]], Callable[..., Awaitable[Any]]]:
    """Return two functions for an OpenAI-compatible server: one completes a prompt, one embeds texts."""
    import numpy as np

    def post(path: str, body: Any) -> Any:
        request = urllib.request.Request(
            f"{url}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.loads(reply.read())

    async def complete(
        prompt: str, system_prompt: str | None = None, history_messages: Sequence[Any] | None = None, **_: Any
    ) -> str:
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        messages = [*system, *(history_messages or ()), {"role": "user", "content": prompt}]
        reply = await asyncio.to_thread(post, "chat/completions", {"model": "scripted", "messages": messages})
        return str(reply["choices"][0]["message"]["content"])

    async def embed(texts: Sequence[str], **_: Any) -> Any:
        reply = await asyncio.to_thread(post, "embeddings", {"model": "scripted", "input": list(texts)})
        return np.array([one["embedding"] for one in reply["data"]], dtype=np.float32)

    return complete, embed


class LightRAG:
    """LightRAG, used as in its readme. To edit a document, delete it and add it again."""

    async def open(self, url: str, dimension: int) -> None:
        from lightrag import LightRAG as Library
        from lightrag.utils import EmbeddingFunc, Tokenizer

        complete, embed = model(url)
        self.library = Library(
            working_dir="lightrag-files",
            llm_model_func=complete,
            embedding_func=EmbeddingFunc(embedding_dim=dimension, max_token_size=8_192, func=embed),
            tokenizer=Tokenizer("words", Words()),
        )
        await self.library.initialize_storages()

    async def add(self, documents: Sequence[tuple[str, str]]) -> str:
        await self.library.ainsert([text for _, text in documents], ids=[name for name, _ in documents])
        return ""

    async def edit(self, old: tuple[str, str], new: tuple[str, str]) -> str:
        await self.remove(old)
        await self.add([new])
        return "taken out and put in again"

    async def remove(self, document: tuple[str, str]) -> str:
        done = await self.library.adelete_by_doc_id(document[0])
        if done.status != "success":
            raise RuntimeError(f"{done.status}: {done.message}")
        return ""


class MiniRAG:
    """MiniRAG, with an import and the storages that its wheel lacks. The storages are in memory."""

    async def open(self, url: str, dimension: int) -> None:
        import abc
        import builtins
        import types

        builtins.abstractmethod = abc.abstractmethod  # type: ignore[attr-defined]
        import minirag.utils
        from minirag import MiniRAG as Library

        for module, name, kept in (
            ("json_kv_impl", "JsonKVStorage", Kept),
            ("nano_vector_db_impl", "NanoVectorDBStorage", KeptVectors),
            ("networkx_impl", "NetworkXStorage", KeptGraph),
            ("jsondocstatus_impl", "JsonDocStatusStorage", Kept),
        ):
            made = types.ModuleType(f"minirag.kg.{module}")
            setattr(made, name, kept)
            sys.modules[f"minirag.kg.{module}"] = made
        sys.modules["minirag.kg"] = types.ModuleType("minirag.kg")
        minirag.utils.ENCODER = Words()
        Path("minirag-files").mkdir()
        complete, embed = model(url)
        wrapped = minirag.utils.EmbeddingFunc(embedding_dim=dimension, max_token_size=8_192, func=embed)
        self.library = Library(working_dir="minirag-files", llm_model_func=complete, embedding_func=wrapped)

    async def add(self, documents: Sequence[tuple[str, str]]) -> str:
        await self.library.ainsert([text for _, text in documents])
        return ""

    async def edit(self, old: tuple[str, str], new: tuple[str, str]) -> str:
        await self.add([new])
        return "the old text stays"

    async def remove(self, document: tuple[str, str]) -> str:
        return "it has no way to take a document out"


class Kept(dict[str, Any]):
    """Key-value storage in memory."""

    def __init__(self, global_config: Any, embedding_func: Any = None, **_: Any) -> None:
        super().__init__()
        self.embed, self.batch = embedding_func, global_config["embedding_batch_num"]

    async def filter_keys(self, keys: Sequence[str]) -> set[str]:
        return {key for key in keys if key not in self}

    async def upsert(self, data: dict[str, Any]) -> None:
        self.update(data)

    async def index_done_callback(self) -> None:
        pass


class KeptVectors(Kept):
    """Vector storage in memory."""

    async def upsert(self, data: dict[str, Any]) -> None:
        texts = [one["content"] for one in data.values()]
        vectors: list[Any] = []
        for first in range(0, len(texts), self.batch):
            vectors.extend(await self.embed(texts[first : first + self.batch]))
        self.update(zip(data, vectors, strict=True))


class KeptGraph(Kept):
    """Graph storage in memory: nodes by name, edges by their two ends."""

    async def has_node(self, node: str) -> bool:
        return node in self

    async def get_node(self, node: str) -> Any:
        return self.get(node)

    async def upsert_node(self, node: str, node_data: Any) -> None:
        self[node] = node_data

    async def has_edge(self, one: str, other: str) -> bool:
        return "\t".join(sorted((one, other))) in self

    async def get_edge(self, one: str, other: str) -> Any:
        return self.get("\t".join(sorted((one, other))))

    async def upsert_edge(self, one: str, other: str, edge_data: Any) -> None:
        self["\t".join(sorted((one, other)))] = edge_data


async def play(rival: Any, url: str, dimension: int, documents: Sequence[tuple[str, str]]) -> None:
    """Run all steps. The last document is added after the build."""
    *first, last = documents
    await rival.open(url, dimension)
    works = (
        lambda: rival.add(first),
        lambda: rival.add([last]),
        lambda: rival.add([last]),
        lambda: rival.edit(first[1], edited(*first[1])),
        lambda: rival.remove(first[0]),
    )
    for step, work in zip(STEPS, works, strict=True):
        note = await work()
        print(f"{DONE}{json.dumps([step, note])}", flush=True)
        sys.stdin.readline()


def edited(name: str, text: str) -> tuple[str, str]:
    """Return a document with one more sentence."""
    return name, f"{text} The text was read again by Clara Mendes in Lisbon."


if __name__ == "__main__":
    import shutil

    _, wanted, address, size, path = sys.argv
    shutil.rmtree(f"{wanted.lower()}-files", ignore_errors=True)
    chosen = {"LightRAG": LightRAG, "MiniRAG": MiniRAG}[wanted]()
    asyncio.run(play(chosen, address, int(size), [tuple(one) for one in json.loads(Path(path).read_text())]))
