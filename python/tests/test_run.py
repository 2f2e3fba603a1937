"""The package against a real run, in which no guest is started: quick, and everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import airlane as package
from airlane import AirlaneError

SCENARIO = Path(__file__).with_name("nobody.toml")


def test_a_run_is_asked_and_stopped(airlane) -> None:
    run = airlane(SCENARIO)
    (it,) = run.vms()
    assert (it.name, it.state, it.mac) == ("it", "off", "02:00:00:00:00:01")
    assert run.vm("it").state() == it
    assert run.events() == []
    assert run.show()["run"] == "nobody"
    run.stop()
    assert run.is_over


def test_a_vm_that_there_is_not_is_named_with_those_that_there_are(airlane) -> None:
    run = airlane(SCENARIO)
    with pytest.raises(AirlaneError, match="no VM is named 'them', only it"):
        run.vm("them")


def test_waiting_ends_with_what_was_seen(airlane) -> None:
    run = airlane(SCENARIO)
    with pytest.raises(TimeoutError, match="waited 0.5 s for it to be associated.*state='off'"):
        run.vm("it").wait_for("associated", timeout=0.5)


def test_a_capture_holds_the_beacons_of_its_time(airlane, tmp_path: Path) -> None:
    run = airlane(SCENARIO)
    with run.capture(tmp_path / "air.pcapng") as path:
        with pytest.raises(TimeoutError):
            run.vm("it").wait_for("associated", timeout=1.0)
    written = path.read_bytes()
    assert written[:4] == bytes.fromhex("0a0d0d0a"), "a section header block"
    assert written.count(bytes.fromhex("80000000ffffffffffff020000000101")) > 3


def test_two_runs_do_not_take_each_other_for_themselves(airlane) -> None:
    one, other = airlane(SCENARIO), airlane(SCENARIO)
    one.stop()
    assert other.vms()[0].name == "it"
    with pytest.raises(AirlaneError, match="the run is over"):
        one.vms()


def test_a_scenario_that_is_wrong_says_why(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[[vm]]\nnam = 'it'\n")
    with pytest.raises(AirlaneError, match="(?s)not started.*nam"):
        package.start(wrong, out=tmp_path / "out")


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AirlaneError, match="cannot start /nowhere/airlane.*set AIRLANE"):
        package.start(SCENARIO, program="/nowhere/airlane", out=tmp_path)
