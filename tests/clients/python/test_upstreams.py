"""Servers of both eras behind the gateway, asked and asking through an official client of every era."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

from servers import Aqueduct
from talk import Link, connect

pytestmark = pytest.mark.anyio

UPSTREAM = Path(os.environ["AQUEDUCT_FIXTURE"]).with_name("upstream")
TOOL = "mcp_aql"


@pytest.fixture(params=["initialize", "discover"])
def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> Aqueduct:
    config = tmp_path / "aqueduct.toml"
    arguments = json.dumps(["--era", request.param])
    config.write_text(f'[upstream.one]\ncommand = {json.dumps(str(UPSTREAM))}\nargs = {arguments}\n')
    return Aqueduct(tmp_path, "--config", str(config), "--mode", "single")


async def elicited(_context: Any, params: Any) -> ElicitResult:
    assert params.message == "Who?"
    return ElicitResult(action="accept", content={"name": "Ada"})


async def sampled(_context: Any, _params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="something"), model="m")


async def rooted(_context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///here", name="here")])


async def test_questions_reach_the_client(gateway: Aqueduct, link: Link) -> None:
    """A question of the server behind is answered by the client's own callback, whichever eras meet."""
    callbacks = {"elicitation_callback": elicited, "sampling_callback": sampled, "list_roots_callback": rooted}
    async with connect(gateway, link, **callbacks) as talk:
        said = (await talk.data(TOOL, "one_ask", {"method": "elicitation/create"}))["said"]
        assert (said["action"], said["content"]) == ("accept", {"name": "Ada"})
        said = (await talk.data(TOOL, "one_ask", {"method": "sampling/createMessage"}))["said"]
        assert said["content"]["text"] == "something"
        said = (await talk.data(TOOL, "one_ask", {"method": "roots/list"}))["said"]
        assert said["roots"][0]["name"] == "here"


async def test_progress_is_the_servers_own(gateway: Aqueduct, link: Link) -> None:
    told: list[tuple[float, float | None]] = []

    async def progress(reached: float, total: float | None, _message: str | None) -> None:
        told.append((reached, total))

    async with connect(gateway, link) as talk:
        steps = {"steps": 3, "milliseconds": 50}
        data = await talk.data(TOOL, "one_progress", steps, progress_callback=progress)
    assert data["asked"]
    assert told == [(2.0, 6.0), (4.0, 6.0), (6.0, 6.0)]


async def test_images_follow_the_answer(gateway: Aqueduct, link: Link) -> None:
    async with connect(gateway, link) as talk:
        arguments = {"operation": "one_content", "params": {"kind": "image"}}
        result = await talk.send(TOOL, arguments)
        assert [block.type for block in result.content][0] == "text"
        assert "image" in [block.type for block in result.content]
