"""A run: the process of ``airlane run``, its control socket, its output folder."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, TypeVar, Union, cast

from ._control import PATIENCE, AirlaneError, Answer, Event, VmState, ask

PathLike = Union[str, "os.PathLike[str]"]
Seen = TypeVar("Seen")

#: Seconds that a run may take to take its VMs down.
STOP_PATIENCE = 30.0
#: Seconds between two looks.
PAUSE = 0.1


@dataclass(frozen=True)
class Finished:
    """A command that has ended in a VM."""

    code: int
    stdout: str
    stderr: str

    def check(self) -> "Finished":
        """Itself, when it has succeeded; else an :class:`AirlaneError` with what it printed."""
        if self.code != 0:
            raise AirlaneError(f"exit code {self.code}\n{self.stdout}{self.stderr}")
        return self


class Vm:
    """One VM of a run."""

    def __init__(self, run: "Run", name: str) -> None:
        self.run = run
        self.name = name

    def __repr__(self) -> str:
        return f"Vm({self.name!r})"

    def state(self) -> VmState:
        """How it stands now."""
        for vm in self.run.vms():
            if vm.name == self.name:
                return vm
        raise AirlaneError(f"no VM is named {self.name!r}")

    def exec(self, *argv: str, stdin: bytes = b"", timeout: float = 60.0) -> Finished:
        """Runs a program in the VM and waits for its end, ``timeout`` seconds at most.

        A line for the VM's shell is ``exec("sh", "-c", "iw dev wlan0 link | grep SSID")``.
        """
        request = {
            "command": "exec",
            "vm": self.name,
            "argv": list(argv),
            "stdin": base64.b64encode(stdin).decode(),
            "timeout": timeout,
        }
        printed: Dict[str, bytes] = {"stdout": b"", "stderr": b""}
        with self.run._ask(request, timeout=timeout + PATIENCE) as answer:
            for line in answer.lines():
                for stream in printed:
                    printed[stream] += base64.b64decode(line.get(stream, ""))
                if "exit" in line:
                    text = {stream: bytes_.decode(errors="replace") for stream, bytes_ in printed.items()}
                    return Finished(code=line["exit"], **text)
                if "timed-out" in line:
                    raise TimeoutError(f"{' '.join(argv)} has not ended in {timeout:g} s in {self.name}")
                if "lost" in line:
                    raise AirlaneError(str(line["lost"]))
        raise AirlaneError("the run has ended before the command")

    def copy_in(self, source: PathLike, target: str) -> None:
        """Copies a file of the host to the path ``target`` in the VM."""
        self.run._command("cp", str(source), f"{self.name}:{target}")

    def copy_out(self, source: str, target: PathLike) -> None:
        """Copies the file at the path ``source`` in the VM to the host."""
        self.run._command("cp", f"{self.name}:{source}", str(target))

    def wait_for(self, state: str = "associated", timeout: float = 120.0) -> VmState:
        """Waits until it is in this state (see ``VmState.state``)."""
        return self.run._until(self.state, lambda now: now.state == state, timeout, f"{self.name} to be {state}")


class Run:
    """A run that goes on: made by :func:`start`, ended by :meth:`stop` or at the end of a ``with`` block."""

    def __init__(
        self, scenario: Path, out: Path, program: str, process: "subprocess.Popen[bytes]", private: Path
    ) -> None:
        self.scenario = scenario
        #: The output folder: report.json, consoles, air.pcapng.
        self.out = out
        self._program = program
        self._process = process
        self._private = private
        self._log = private / "run.log"
        self._text = ""
        self._socket = self._wait_for_socket()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # What it says.

    def show(self) -> Dict[str, Any]:
        """How all stands, as ``airlane show --json`` prints it."""
        with self._ask({"command": "show"}) as answer:
            return cast(Dict[str, Any], answer.read_json())

    def vms(self) -> List[VmState]:
        """How its VMs stand."""
        return [VmState.from_json(vm) for vm in self.show()["vms"]]

    def vm(self, name: str) -> Vm:
        """The VM of this name."""
        with self._ask({"command": "hello"}) as answer:
            names = answer.head["vms"]
        if name not in names:
            raise AirlaneError(f"no VM is named {name!r}, only {', '.join(names)}")
        return Vm(self, name)

    def events(self) -> List[Event]:
        """What has happened so far: the last 1,024 events."""
        with self._ask({"command": "events", "follow": False}) as answer:
            return [Event.from_json(line) for line in answer.lines()]

    def follow(self, timeout: Optional[float] = None) -> Iterator[Event]:
        """What has happened and what comes, until the run ends; ``TimeoutError`` when nothing comes for ``timeout`` seconds."""
        with self._ask({"command": "events", "follow": True}, timeout=timeout) as answer:
            for line in answer.lines():
                yield Event.from_json(line)

    @contextmanager
    def capture(self, path: PathLike, vm: Optional[str] = None) -> Iterator[Path]:
        """Writes what is on the air while the block lasts into a pcapng file; with ``vm`` that VM's frames only."""
        request: Dict[str, Any] = {"command": "capture"}
        if vm is not None:
            request["vm"] = vm
        with self._ask(request, timeout=None) as answer, open(path, "wb") as file:
            copy = threading.Thread(target=shutil.copyfileobj, args=(answer.stream, file), daemon=True)
            copy.start()
            try:
                yield Path(path)
            finally:
                answer.end()
                copy.join()

    def wait_until_associated(self, timeout: float = 120.0) -> List[VmState]:
        """Waits until every VM is associated."""

        def all_are(vms: List[VmState]) -> bool:
            return all(vm.state == "associated" for vm in vms)

        return self._until(self.vms, all_are, timeout, "all VMs to be associated")

    def do(self, act: str, **words: Any) -> str:
        """Makes something happen, in the words of a ``[[step]]``: ``do("channel", access_point="corp", channel=44)``."""
        request = {"command": "do", "act": {"do": act, **words}}
        with self._ask(request, timeout=None) as answer:
            line = answer.read_json()
        if not line["done"]:
            raise AirlaneError(str(line["detail"]))
        return str(line["detail"])

    # Its end.

    @property
    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self._process.poll() is not None

    @property
    def log(self) -> str:
        """What the run has printed so far."""
        if self._log.exists():
            self._text = self._log.read_text(errors="replace")
        return self._text

    @property
    def report(self) -> Dict[str, Any]:
        """report.json as it was written last."""
        with open(self.out / "report.json", encoding="utf-8") as file:
            return cast(Dict[str, Any], json.load(file))

    def stop(self) -> int:
        """Takes all down, as Ctrl-C does; gives the exit code."""
        for _ in range(2):
            if self.is_over:
                break
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_PATIENCE)
            except subprocess.TimeoutExpired:
                continue
        if not self.is_over:
            self._process.kill()
            self._process.wait()
        _ = self.log  # Kept: the private folder goes.
        shutil.rmtree(self._private, ignore_errors=True)
        return self._process.returncode

    # Underneath.

    def _ask(self, request: Dict[str, Any], timeout: Optional[float] = 5.0) -> Answer:
        if self.is_over:
            raise AirlaneError(f"the run is over:\n{self.log}")
        return ask(self._socket, request, timeout)

    def _command(self, *words: str) -> None:
        """A command of airlane's beside this run, the only one that it can find."""
        environment = {**os.environ, "TMPDIR": str(self._private)}
        command = [self._program, words[0], "--run", self.scenario.stem, *words[1:]]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise AirlaneError(done.stderr.strip() or done.stdout.strip())

    def _wait_for_socket(self) -> Path:
        while not self.is_over:
            for socket in self._private.glob("airlane-*/control.sock"):
                try:
                    ask(socket, {"command": "hello"}).__exit__()
                    return socket
                except AirlaneError:
                    pass  # It does not listen yet.
            time.sleep(PAUSE)
        said = self.log
        shutil.rmtree(self._private, ignore_errors=True)
        raise AirlaneError(f"the run has not started:\n{said}")

    def _until(
        self, look: Callable[[], Seen], enough: Callable[[Seen], bool], timeout: float, what: str
    ) -> Seen:
        end = time.monotonic() + timeout
        while True:
            seen = look()
            if enough(seen):
                return seen
            if time.monotonic() > end:
                raise TimeoutError(f"waited {timeout:g} s for {what}; now: {seen}\n{self.log}")
            time.sleep(PAUSE)


def start(
    scenario: PathLike,
    *,
    out: Optional[PathLike] = None,
    options: Sequence[str] = (),
    program: Optional[PathLike] = None,
) -> Run:
    """Starts a scenario and returns once it can be asked; its VMs boot meanwhile.

    ``options`` are further ones of ``airlane run``, such as ``["--vmm", "uml"]``. ``program`` is the path of ``airlane``; without it the
    environment variable ``AIRLANE`` is taken, then the ``airlane`` in ``PATH``.
    """
    path = Path(scenario)
    folder = Path(out) if out is not None else Path("out") / path.stem
    called = str(program or os.environ.get("AIRLANE") or "airlane")
    # Its own folder for temporary files, in which there is one run only. A socket's path is short.
    private = Path(tempfile.mkdtemp(prefix="al-", dir="/tmp"))
    command = [called, "run", str(path), "--hold", "--out", str(folder), *options]
    try:
        with open(private / "run.log", "wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TMPDIR": str(private)},
                start_new_session=True,
            )
    except OSError as error:
        shutil.rmtree(private, ignore_errors=True)
        raise AirlaneError(f"cannot start {called}: {error}; set AIRLANE to its path") from error
    try:
        return Run(path, folder, called, process, private)
    except BaseException:
        if process.poll() is None:
            process.kill()
            process.wait()
        raise
