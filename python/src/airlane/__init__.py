"""Start airlane scenarios from Python, look at them, run commands in their VMs.

>>> import airlane
>>> with airlane.start("scenarios/two-networks.toml") as run:  # doctest: +SKIP
...     run.wait_until_associated()
...     done = run.vm("it").exec("ping", "-c", "3", "192.168.1.1")
...     assert done.code == 0, done.stderr
"""

from ._control import AirlaneError, Event, VmState
from ._run import Finished, Run, Vm, start

__all__ = ["AirlaneError", "Event", "Finished", "Run", "Vm", "VmState", "start"]
