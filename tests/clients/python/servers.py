"""The servers under test as processes: how each is started, where it listens, and that it is gone afterwards."""

import os
import re
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

START_SECONDS_MAX = 10.0
STOP_SECONDS_MAX = 5.0
ADDRESS = re.compile(r"^\s*MCP\s+(http://\S+)\s*$")


def environment(home: Path) -> dict[str, str]:
    """An empty home, so that no configuration of the person running the tests is found. Nobody is there to be asked."""
    kept = {"PATH": os.environ["PATH"], "AQUEDUCT_CONFIRMATION": "off"}
    return kept | {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}


class Aqueduct:
    """`aqueduct serve` on a data directory of its own."""

    def __init__(self, home: Path, *flags: str) -> None:
        self.home = home
        self.binary = os.environ["AQUEDUCT_BINARY"]
        self.flags = ["serve", "--data", str(home / "data"), *flags]

    def stdio(self) -> list[str]:
        return [self.binary, *self.flags, "--stdio"]

    @contextmanager
    def http(self) -> Iterator[str]:
        command = [self.binary, *self.flags, "--http", "127.0.0.1:0"]
        with running(command, self.home) as process:
            assert process.stdout is not None
            # The server prints its address once it listens; a server that cannot start closes its output instead.
            for line in process.stdout:
                if found := ADDRESS.match(line):
                    yield found.group(1)
                    return
            raise AssertionError(f"the server ended without an address: {log(self.home)}")


class Fixture:
    """The example server with operations that wait, report progress and panic."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.binary = os.environ["AQUEDUCT_FIXTURE"]

    def stdio(self) -> list[str]:
        return [self.binary]

    @contextmanager
    def http(self) -> Iterator[str]:
        # It does not say where it listens, so the port is chosen here. Somebody else may take that port first: then
        # the process ends, and another port is tried.
        for _ in range(5):
            port = free_port()
            with running([self.binary, f"127.0.0.1:{port}"], self.home) as process:
                if answers(process, port):
                    yield f"http://127.0.0.1:{port}/mcp"
                    return
        raise AssertionError(f"the fixture server did not start: {log(self.home)}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(process: subprocess.Popen[str], port: int) -> bool:
    end = time.monotonic() + START_SECONDS_MAX
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
            continue
        # A stranger may have answered; ours would then end at once for want of the port.
        time.sleep(0.1)
        return process.poll() is None
    return False


def log(home: Path) -> str:
    return (home / "server.log").read_text(errors="replace")[-2000:]


@contextmanager
def running(command: list[str], home: Path) -> Iterator[subprocess.Popen[str]]:
    with open(home / "server.log", "a") as errors:
        process = subprocess.Popen(
            command,
            env=environment(home),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
