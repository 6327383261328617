"""A stand-alone Azure Table Storage for development and tests.

>>> with azure_table_emulator.start() as emulator:
...     service = TableServiceClient.from_connection_string(emulator.connection_string)
"""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Mapping, Sequence

__all__ = ["Emulator", "binary_path", "start"]

DEVELOPMENT_ACCOUNT = "devstoreaccount1"
DEVELOPMENT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
OWN_VARIABLES = ("AZURE_TABLE_EMULATOR_", "AZURITE_")
READY = re.compile(r"azure-table-emulator listening on (\S+)\s*$")


def binary_path() -> str:
    """The path of the program."""
    name = "azure-table-emulator.exe" if os.name == "nt" else "azure-table-emulator"
    return str(pathlib.Path(__file__).parent / "bin" / name)


def start(
    *,
    account: str = DEVELOPMENT_ACCOUNT,
    key: str = DEVELOPMENT_KEY,
    port: int = 0,
    data: str | os.PathLike[str] | None = None,
    control_token: str | None = None,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = 30,
) -> Emulator:
    """Starts the emulator, and returns once it accepts requests.

    Port 0 selects a free one. `data` is the folder that keeps the tables; the default is memory. `control_token` is the
    token that the control API and the page require. `args` are more options of the command, `env` more variables of its
    environment, and `timeout` is in seconds.
    """
    command = [binary_path(), "--port", str(port)]
    if data is not None:
        command += ["--data", os.fspath(data)]
    # Without the emulator's own variables, only the options count.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
    environment["AZURE_TABLE_EMULATOR_ACCOUNTS"] = f"{account}:{key}"
    if control_token is not None:
        environment["AZURE_TABLE_EMULATOR_CONTROL_TOKEN"] = control_token
    process = subprocess.Popen(
        [*command, *args],
        env=environment | dict(env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Without stop(), the emulator ends together with Python.
    atexit.register(process.kill)
    url = _ready(process, timeout)
    return Emulator(process, url, account, key, control_token)


class Emulator:
    """A running emulator. It ends with Python at the latest."""

    def __init__(
        self, process: subprocess.Popen[str], url: str, account: str, key: str, control_token: str | None
    ) -> None:
        self._process = process
        self._control_token = control_token
        self.url = url
        self.account = account
        self.key = key

    @property
    def connection_string(self) -> str:
        protocol = self.url.partition(":")[0]
        return (
            f"DefaultEndpointsProtocol={protocol};AccountName={self.account};"
            f"AccountKey={self.key};TableEndpoint={self.url};"
        )

    def seed(self, rows: object, *, table: str | None = None) -> None:
        """Stores tables with their rows, `{"Orders": [row]}`, or rows of the given table.

        A row has the JSON form of the service. Existing rows are replaced.
        """
        self._control("seed", {"table": table}, rows)

    def reset(self, *, table: str | None = None, faults: bool = False, requests: bool = False) -> None:
        """Removes all tables, or one.

        `faults` also removes the faults and resets the clock, `requests` forgets the requests.
        """
        flags = {"faults": "1" if faults else None, "requests": "1" if requests else None}
        self._control("reset", {"table": table, **flags})

    def fault(self, plan: object) -> None:
        """Adds a fault such as `{"fault": "busy", "times": 2}`, a list of faults, or a plan with a seed."""
        self._control("faults", {}, plan)

    def clock(self, **change: object) -> None:
        """Changes the clock of the service: `shift` in seconds, `set` to a time, or `freeze`.

        `reset(faults=True)` resets it.
        """
        self._control("clock", {}, change)

    def _control(self, path: str, options: Mapping[str, str | None], content: object = None) -> None:
        """Sends a POST request to the control API."""
        query = {name: value for name, value in options.items() if value} | {"account": self.account}
        address = urllib.parse.urljoin(self.url, f"/-/{path}?{urllib.parse.urlencode(query)}")
        body = b"" if content is None else json.dumps(content).encode()
        headers = {"Content-Type": "application/json"}
        if self._control_token is not None:
            headers["Authorization"] = f"Bearer {self._control_token}"
        request = urllib.request.Request(address, body, headers)
        # Not by a proxy, which could not reach this machine's loopback address.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as response:
                response.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                reason = _reason(refusal.read().decode(errors="replace"))
            raise ValueError(f"azure-table-emulator refuses {path}: {reason}") from None

    def stop(self) -> None:
        """Stops the emulator after the requests in flight."""
        self._process.terminate()
        self._process.wait()
        atexit.unregister(self._process.kill)

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _reason(text: str) -> str:
    """The reason in the body of a refusal, which is JSON or text."""
    try:
        return json.loads(text)["error"]
    except ValueError:
        return text.strip()


def _ready(process: subprocess.Popen[str], timeout: float) -> str:
    """Returns the address that the emulator prints once it accepts requests.

    An emulator that does not start is ended.
    """
    assert process.stdout
    errors: deque[str] = deque(maxlen=100)
    reader = threading.Thread(target=_read_errors, args=(process, errors), daemon=True)
    reader.start()
    late = threading.Event()
    timer = threading.Timer(timeout, lambda: (late.set(), process.kill()))
    timer.start()
    try:
        for line in process.stdout:
            if found := READY.match(line):
                # So that the emulator never waits for a reader of its output.
                threading.Thread(target=deque, args=(process.stdout, 0), daemon=True).start()
                return found[1]
        code = process.wait()
    except BaseException:
        process.kill()
        raise
    finally:
        timer.cancel()
    atexit.unregister(process.kill)
    if late.is_set():
        raise TimeoutError(f"azure-table-emulator did not start in {timeout} s")
    reader.join()
    raise RuntimeError(f"azure-table-emulator ended with code {code}: {''.join(errors).strip()}")


def _read_errors(process: subprocess.Popen[str], errors: deque[str]) -> None:
    assert process.stderr
    for line in process.stderr:
        errors.append(line)
        sys.stderr.write(line)
