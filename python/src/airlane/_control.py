"""The control socket of a run, as docs/control.md describes it: one request per connection, a JSON object on one line."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Dict, Iterator, Optional, cast

#: Seconds that a run may take to answer.
PATIENCE = 5.0


class AirlaneError(Exception):
    """What airlane says when it cannot do what it was asked to do."""


@dataclass(frozen=True)
class VmState:
    """One VM as its card and the radio see it: an entry of ``vms`` in ``airlane show --json``."""

    name: str
    #: ``off`` (no driver), ``idle``, ``joining`` or ``associated``.
    state: str
    #: The address that its card bears.
    mac: str
    ssid: Optional[str] = None
    bssid: Optional[str] = None
    #: Such as ``36`` or ``36+``.
    channel: Optional[str] = None
    #: Of the last frame from its access point.
    signal_dbm: Optional[float] = None
    #: Counters of its virtual MAC.
    counters: Dict[str, int] = field(default_factory=dict)
    #: All that ``airlane show --json`` says of it.
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, raw: Dict[str, Any]) -> "VmState":
        known = ("name", "state", "mac", "ssid", "bssid", "channel", "signal_dbm", "counters")
        return cls(**{key: raw[key] for key in known if key in raw}, raw=raw)


@dataclass(frozen=True)
class Event:
    """Something that happened to a VM: a line of ``airlane events --json``."""

    #: ``associated``, ``roamed``, ``disassociated``, ``scan-ended``, ``dropped`` and others (docs/control.md).
    event: str
    vm: str
    #: Since the run began.
    seconds: float
    #: All keys of the line, such as ``ssid``, ``bssid``, ``count``, ``reason``.
    raw: Dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, raw: Dict[str, Any]) -> "Event":
        return cls(event=raw["event"], vm=raw["vm"], seconds=raw["seconds"], raw=raw)


class Answer:
    """What follows the first line of an answer."""

    def __init__(self, connection: socket.socket, stream: BinaryIO, head: Dict[str, Any]) -> None:
        self._connection = connection
        self.stream = stream
        #: The run's name and its VMs.
        self.head = head

    def __enter__(self) -> "Answer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self._connection.close()

    def end(self) -> None:
        """Makes whoever reads the stream find its end."""
        self._connection.shutdown(socket.SHUT_RDWR)

    def read_json(self) -> Any:
        """The one object that follows."""
        line = self.stream.readline()
        if not line:
            raise AirlaneError("the run has ended before it answered")
        return json.loads(line)

    def lines(self) -> Iterator[Dict[str, Any]]:
        """One object per line, until the run ends or the answer is closed."""
        for line in self.stream:
            yield json.loads(line)


def ask(path: Path, request: Dict[str, Any], timeout: Optional[float] = PATIENCE) -> Answer:
    """Sends a request. ``timeout`` bounds each wait for more of the answer, in seconds; ``None`` waits for ever."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE)
        connection.connect(str(path))
        try:
            connection.sendall(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            pass  # Refused at once: the answer says why.
        stream = connection.makefile("rb")
        head = _head(stream)
        connection.settimeout(timeout)
        return Answer(connection, stream, head)
    except OSError as error:
        connection.close()
        raise AirlaneError(f"the run at {path} does not answer: {error}") from error
    except BaseException:
        connection.close()
        raise


def _head(stream: BinaryIO) -> Dict[str, Any]:
    line = stream.readline()
    try:
        head = json.loads(line)
    except ValueError as error:
        raise AirlaneError(f"the answer is not understood: {line[:200]!r}") from error
    if isinstance(head, dict) and isinstance(head.get("ok"), dict):
        return cast(Dict[str, Any], head["ok"])
    raise AirlaneError(str(head.get("error", head) if isinstance(head, dict) else head))
