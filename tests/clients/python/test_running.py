"""Calls that take their time: progress, cancellation, many at once, faults, many clients, and the end."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.types import ProgressNotification

from servers import Aqueduct, Fixture
from talk import Link, Talk, connect, over, over_stdio

pytestmark = pytest.mark.anyio

WAIT = {"milliseconds": 2500}


async def test_progress_increases(fixture: Fixture, link: Link) -> None:
    """LREQ-MCP-13 LREQ-MCP-14: a long call with a token reports more each time, and one without a token nothing."""
    told: list[tuple[float, float | None, str | None]] = []
    unasked: list[ProgressNotification] = []

    async def progress(reached: float, total: float | None, message: str | None) -> None:
        told.append((reached, total, message))

    async def overheard(message: Any) -> None:
        if isinstance(message, ProgressNotification):
            unasked.append(message)

    async def silently() -> None:
        async with connect(fixture, link, message_handler=overheard) as talk:
            await talk.data("mcp_aql_execute", "execute_wait", WAIT)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(silently)
        async with connect(fixture, link) as talk:
            await talk.data("mcp_aql_execute", "execute_wait", WAIT, progress_callback=progress)

    reached = [entry[0] for entry in told]
    assert len(reached) >= 2
    assert all(earlier < later for earlier, later in zip(reached, reached[1:])), reached
    assert all(total is not None and place <= total for place, total, _ in told)
    assert all(message is None or message.startswith("step ") for _, _, message in told)
    assert not unasked


async def test_cancelled_call_stops(fixture: Fixture, link: Link) -> None:
    """REQ-MCP-02: a call given up by its client does not come to its end, and the server goes on."""
    async with connect(fixture, link) as talk:
        # The fixture counts the waits that were not cut short.
        await talk.data("mcp_aql_execute", "execute_wait", {"milliseconds": 0})
        assert await talk.data("mcp_aql_read", "count_finished") == {"finished": 1}
        for options in ({}, {"progress_callback": ignore}):
            with anyio.move_on_after(0.3) as scope:
                await talk.data("mcp_aql_execute", "execute_wait", {"milliseconds": 1200}, **options)
            assert scope.cancelled_caught
            assert (await talk.data("mcp_aql_read", "get_echo", {"message": "still here"}))["message"] == "still here"
        await anyio.sleep(1.3)
        assert await talk.data("mcp_aql_read", "count_finished") == {"finished": 1}


async def ignore(*_: Any) -> None:
    pass


async def test_twenty_at_once(fixture: Fixture, link: Link) -> None:
    """REQ-CONC-03: twenty calls run side by side, and each gets its own answer."""
    answers: dict[int, Any] = {}

    async with connect(fixture, link) as talk:

        async def ask(milliseconds: int) -> None:
            answers[milliseconds] = await talk.data("mcp_aql_read", "get_wait", {"milliseconds": milliseconds})

        await talk.client.list_tools()
        began = time.monotonic()
        async with anyio.create_task_group() as tasks:
            # The first asked is the last answered.
            for milliseconds in range(500, 300, -10):
                tasks.start_soon(ask, milliseconds)
        took = time.monotonic() - began
    assert answers == {milliseconds: {"waited": milliseconds} for milliseconds in range(310, 510, 10)}
    assert list(answers) != list(range(500, 300, -10)), "answered in the order asked"
    assert took < 4, "twenty waits of 0.3 s and more took as long as if one waited for the other"


async def test_fault_inside_is_contained(fixture: Fixture, link: Link) -> None:
    """LREQ-MCP-10 LREQ-MCP-11: an operation that panics is an answer marked as an error, and tells no internals."""
    async with connect(fixture, link) as talk:
        for operation in ("get_panic", "get_fault"):
            error = await talk.error("mcp_aql_read", operation)
            assert error["code"] == "INTERNAL_ERROR"
            assert "secret internals" not in str(error) and ".rs" not in str(error)
        assert (await talk.data("mcp_aql_read", "get_echo", {"message": "on"}))["message"] == "on"


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_many_clients_of_one_server(aqueduct: Aqueduct, version: str) -> None:
    """REQ-SESS-04: every connection is a session of its own, except where the protocol has no connections.

    Stateless clients of one principal share a session, since nothing but the principal tells them apart.
    """
    with aqueduct.http() as url:
        async with over(url, version) as one, over(url, version) as two, over(url, version) as three:
            talks = [one, two, three]
            ids = [await talk.session_id() for talk in talks]
            assert [await talk.session_id() for talk in talks] == ids
            assert len(set(ids)) == (1 if version == "2026-07-28" else 3)
            request = {"entity_name": "Shared", "entity_type": "item", "description": "seen by all"}
            made = await one.data("mcp_aql_create", "create_entity", request)
            for talk in talks:
                assert await talk.data("mcp_aql_read", "get_entity", {"entity_name": "Shared"}) == made


async def test_eras_share_a_server(aqueduct: Aqueduct) -> None:
    """REQ-MCP-01 REQ-SESS-04: clients of every version work on one server at once, none in another's session."""
    versions = ["2025-06-18", "2025-11-25", "2026-07-28"]
    with aqueduct.http() as url:
        async with over(url, versions[0]) as one, over(url, versions[1]) as two, over(url, versions[2]) as three:
            assert len({await talk.session_id() for talk in (one, two, three)}) == 3


def noting_status(tmp_path: Path) -> tuple[list[str], Path]:
    """A shell around the server notes its exit status. It lets a signal to stop pass, as the server does in its own
    way; were the server killed for being slow, so would the shell be."""
    status = tmp_path / "status"
    return ["/bin/sh", "-c", f'trap : TERM; "$0"; echo $? > "{status}"', *Fixture(tmp_path).stdio()], status


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_closing_ends_the_server(tmp_path: Path, version: str) -> None:
    """REQ-SESS-02 REQ-MCP-02: the server ends by itself, and soon, when its client closes."""
    command, status = noting_status(tmp_path)
    async with over_stdio(command, tmp_path, version) as talk:
        await talk.data("mcp_aql_read", "get_echo", {"message": "hello"})
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert status.read_text().strip() == "0"


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_closing_ends_a_busy_server(tmp_path: Path, version: str) -> None:
    """REQ-SESS-02 REQ-SESS-09: the same in the middle of a call. The server would let it finish, and obeys the SDK's
    first signal instead; were it killed by the second, its status would not be there."""
    command, status = noting_status(tmp_path)

    async def abandoned(talk: Talk) -> None:
        with pytest.raises(MCPError):
            await talk.send("mcp_aql_execute", {"operation": "execute_wait", "params": {"milliseconds": 60000}})

    async with anyio.create_task_group() as tasks:
        async with over_stdio(command, tmp_path, version) as talk:
            tasks.start_soon(abandoned, talk)
            await anyio.sleep(0.2)
            began = time.monotonic()
        took = time.monotonic() - began
    assert took < 5
    assert status.read_text().strip() == "0"


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_closing_over_http_is_quiet(aqueduct: Aqueduct, version: str, caplog: pytest.LogCaptureFixture) -> None:
    """REQ-SESS-02: a client that ends its session finds nothing to warn of."""
    with aqueduct.http() as url:
        async with over(url, version) as talk:
            await talk.session_id()
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []
