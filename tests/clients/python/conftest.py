from pathlib import Path

import pytest

import schemas
from servers import Aqueduct, Fixture
from talk import LINKS, Link


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=LINKS, ids=str)
def link(request: pytest.FixtureRequest) -> Link:
    return request.param


@pytest.fixture
def aqueduct(tmp_path: Path) -> Aqueduct:
    return Aqueduct(tmp_path)


@pytest.fixture
def fixture(tmp_path: Path) -> Fixture:
    return Fixture(tmp_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if schemas.skipped:
        missing = "../shared/spec-data/schemas is not there"
        terminalreporter.write_line(f"SKIPPED schema validation of {schemas.skipped} answers: {missing}")
    else:
        terminalreporter.write_line(f"{schemas.validated} answers validated against the specification's schemas")
