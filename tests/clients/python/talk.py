"""A connected SDK client, and the few things every test does with one."""

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, AsyncIterator
from unittest.mock import patch

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

import schemas
from servers import Aqueduct, Fixture, environment

CALL_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class Link:
    """Over what a client speaks, and which protocol version it speaks."""

    transport: str
    version: str

    @property
    def is_modern(self) -> bool:
        return self.version == "2026-07-28"

    @property
    def has_sessions(self) -> bool:
        """Stateless HTTP has none of its own: what one principal does there is one session."""
        return not (self.is_modern and self.transport == "http")

    def __str__(self) -> str:
        return f"{self.transport}-{self.version}"


LINKS = [
    Link(transport, version)
    for transport in ("stdio", "http")
    for version in ("2025-06-18", "2025-11-25", "2026-07-28")
]


class Talk:
    """One client's conversation. Every answer in it is held against the published schemas."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def send(self, tool: str, arguments: dict[str, Any], **options: Any) -> CallToolResult:
        return await self.client.call_tool(tool, arguments, CALL_SECONDS_MAX, **options)

    async def answer(self, tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        """The MCP-AQL answer in a tool result, which is all of the result's content."""
        result = await self.send(tool, arguments, **options)
        assert [block.type for block in result.content] == ["text"]
        answer = json.loads(result.content[0].text)
        schemas.check(arguments, answer)
        assert answer["success"] in (True, False)
        if result.structured_content is not None:
            assert result.structured_content == answer
        # Only a fault of the server's own is an error to MCP; a caller can do something about all others.
        code = answer.get("error", {}).get("code", "")
        assert bool(result.is_error) == (code.startswith("INTERNAL_") or code == "INTROSPECTION_ERROR"), code
        return answer

    async def call(self, tool: str, operation: str, params: dict[str, Any] | None = None, **options: Any) -> Any:
        return await self.answer(tool, {"operation": operation, "params": params or {}}, **options)

    async def data(self, tool: str, operation: str, params: dict[str, Any] | None = None, **options: Any) -> Any:
        answer = await self.call(tool, operation, params, **options)
        assert answer["success"], answer
        return answer["data"]

    async def error(self, tool: str, operation: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self.call(tool, operation, params)
        assert not answer["success"], answer
        return answer["error"]

    async def session_id(self) -> str:
        data = await self.data("mcp_aql_read", "introspect", {"query": "operations"})
        return data["_protocol"]["session_id"]


@asynccontextmanager
async def over_stdio(command: list[str], home: Path, version: str, **options: Any) -> AsyncIterator[Talk]:
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment(home), cwd=home)
    with open(home / "server.log", "a") as errors:
        async with over(stdio_client(parameters, errlog=errors), version, **options) as talk:
            yield talk


@asynccontextmanager
async def over(target: Any, version: str, **options: Any) -> AsyncIterator[Talk]:
    """Connects and negotiates. `auto` asks `server/discover` first, as clients of the newest protocol do."""
    mode = options.pop("mode", "auto" if version == "2026-07-28" else "legacy")
    client = Client(target, mode=mode, read_timeout_seconds=CALL_SECONDS_MAX, **options)
    offered = version if mode == "legacy" else "2025-11-25"
    # The SDK always offers the newest version that has a handshake. Older clients are the same code with an older
    # constant, so that is what is changed.
    with patch("mcp.client.session.LATEST_HANDSHAKE_VERSION", offered):
        await client.__aenter__()
    try:
        assert client.protocol_version == version
        yield Talk(client)
    finally:
        await client.__aexit__(None, None, None)


@asynccontextmanager
async def connect(server: Aqueduct | Fixture, link: Link, **options: Any) -> AsyncIterator[Talk]:
    """A server of its own for one client, over either transport."""
    if link.transport == "stdio":
        async with over_stdio(server.stdio(), server.home, link.version, **options) as talk:
            yield talk
    else:
        with server.http() as url:
            async with over(url, link.version, **options) as talk:
                yield talk
