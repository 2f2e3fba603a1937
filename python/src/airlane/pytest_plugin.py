"""The fixture ``airlane``: starts scenarios, and takes down at a test's end what the test has started."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List

import pytest

from ._run import PathLike, Run, start


@pytest.fixture(name="airlane")
def airlane_fixture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Run]]:
    """``airlane("lab.toml")`` starts a run, with the keywords of :func:`airlane.start`.

    Its output folder is one of pytest's temporary folders unless ``out`` names one. When the test has failed, what the runs have
    printed is in its report.
    """
    runs: List[Run] = []

    def run(scenario: PathLike, **options: Any) -> Run:
        options.setdefault("out", tmp_path_factory.mktemp("airlane", numbered=True))
        runs.append(start(scenario, **options))
        return runs[-1]

    yield run
    for started in reversed(runs):
        started.stop()
        request.node.add_report_section("teardown", f"airlane run {started.scenario}", started.log)
