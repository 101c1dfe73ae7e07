"""Stop conditions and ranked recall of public searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from monograph import Budget, Monograph
from monograph.errors import InputError
from support.corpora import clustered_archive

QUERY = "which comet of 1850?"


@pytest.mark.parametrize("how", ["dense", "hybrid", "graph", "tree", "auto"])
def test_searches_stop_at_the_given_condition(how: str, tmp_path: Path) -> None:
    with Monograph.open(clustered_archive(tmp_path / "a.mono")) as archive:
        if how == "tree":
            archive.tree.rebuild()

        def loads(**options: Any) -> set[int]:
            hits = archive.search(QUERY, 3, how, **options)
            return {
                origin.effort.loads
                for hit in hits
                for origin in hit.origins
                if origin.retriever == "dense" and origin.effort
            }

        assert loads(stop=Budget(1)) == loads(stop="budget:loads=1") == {1}
        # Nothing is calibrated in an index this small, so a ranked recall needs every cluster.
        assert loads(stop="never") == loads(ranked_recall=0.9) == loads() == {archive.stats().index.clusters}
        assert archive.stats().index.clusters > 1


def test_contexts_stop_at_the_given_condition(tmp_path: Path) -> None:
    with Monograph.open(clustered_archive(tmp_path / "a.mono")) as archive:
        hits = archive.context(QUERY, how="dense", stop="budget:loads=1").hits
        assert {hit.origins[0].effort.loads for hit in hits if hit.origins[0].effort} == {1}


def test_stop_conditions_are_refused_if_no_vectors_are_searched(tmp_path: Path) -> None:
    with Monograph.open(clustered_archive(tmp_path / "a.mono")) as archive:
        for how in ("lexical", "tfidf", "hybrid:alpha=0.0"):
            with pytest.raises(InputError, match=f"{how} searches no vectors.*dense, hybrid, graph, tree or auto"):
                archive.search(QUERY, how=how, stop="never")
        with pytest.raises(InputError, match="both given"):
            archive.search(QUERY, stop="never", ranked_recall=0.9)


def test_errors_of_the_callers_condition_name_it(tmp_path: Path) -> None:
    class Broken:
        def after(self, loads: Any) -> bool:
            raise ValueError("no loads")

    path = clustered_archive(tmp_path / "a.mono")
    with Monograph.open(path) as archive, pytest.raises(InputError, match="Broken.*raised ValueError: no loads"):
        archive.search(QUERY, how="dense", stop=Broken())
