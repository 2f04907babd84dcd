"""Connecting, what the server says of itself, and the tools it offers in each mode."""

from pathlib import Path

import pytest
from mcp import MCPError

from servers import Aqueduct
from talk import Link, connect, over

pytestmark = pytest.mark.anyio

CRUDE = {
    "mcp_aql_create": (False, False),
    "mcp_aql_read": (True, False),
    "mcp_aql_update": (False, True),
    "mcp_aql_delete": (False, True),
    "mcp_aql_execute": (False, True),
}
DISCOVER = {
    "mcp_aql_discover": (True, False),
    "mcp_aql_query": (True, False),
    "mcp_aql_manage": (False, True),
    "mcp_aql_operate": (False, True),
}


def annotations(tools: list) -> dict[str, tuple[bool, bool]]:
    return {tool.name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint) for tool in tools}


async def test_server_info(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-MCP-01 REQ-MCP-02: the asked version is spoken, and the server names itself and how to begin."""
    async with connect(aqueduct, link) as talk:
        client = talk.client
        assert client.server_info is not None and client.server_info.name == "aqueduct"
        assert client.server_info.version
        assert client.server_capabilities.tools is not None
        assert "introspect" in (client.instructions or "")
        if not link.is_modern:
            await client.session.send_ping()


async def test_five_tools(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-MCP-02 LREQ-MCP-01 LREQ-MCP-05 LREQ-MCP-06: names, annotations and teaching descriptions."""
    async with connect(aqueduct, link) as talk:
        listed = await talk.client.list_tools()
        assert annotations(listed.tools) == CRUDE
        for tool in listed.tools:
            assert 'operation: "introspect"' in (tool.description or "")
            assert tool.input_schema["type"] == "object"
            assert tool.input_schema["properties"]["operation"]["type"] == "string"
        again = await talk.client.list_tools(cache_mode="bypass")
        assert again.tools == listed.tools
        assert listed.next_cursor is None
        if link.is_modern:
            assert listed.ttl_ms is not None and listed.cache_scope == "private"


async def test_single_mode(tmp_path: Path, link: Link) -> None:
    """REQ-MODE-04 LREQ-MCP-01 LREQ-MCP-05 LREQ-MCP-06: one tool does it all, and says that it is the one."""
    async with connect(Aqueduct(tmp_path, "--mode", "single"), link) as talk:
        listed = await talk.client.list_tools()
        assert annotations(listed.tools) == {"mcp_aql": (False, True)}
        assert 'operation: "introspect"' in (listed.tools[0].description or "")
        protocol = (await talk.data("mcp_aql", "introspect", {"query": "operations"}))["_protocol"]
        assert protocol["mode"] == "single"
        detail = await talk.data("mcp_aql", "introspect", {"query": "operations", "name": "create_entity"})
        assert detail["operation"]["mcpTool"] == "mcp_aql"
        made = await talk.answer("mcp_aql", detail["operation"]["examples"][0]["request"])
        found = await talk.data("mcp_aql", "get_entity", {"entity_id": made["data"]["entity_id"]})
        assert found == made["data"]


async def test_discover_profile(tmp_path: Path, link: Link) -> None:
    """REQ-MODE-05 REQ-MCP-03 LREQ-MCP-01 LREQ-MCP-06: every operation's details name its tool."""
    async with connect(Aqueduct(tmp_path, "--profile", "discover"), link) as talk:
        listed = await talk.client.list_tools()
        assert annotations(listed.tools) == DISCOVER
        for tool in listed.tools:
            assert 'operation: "introspect"' in (tool.description or "")
        overview = await talk.data("mcp_aql_discover", "introspect", {"query": "operations"})
        assert overview["_protocol"]["profile"] == "discover"
        for operation in overview["operations"]:
            asked = {"query": "operations", "name": operation["name"]}
            detail = (await talk.data("mcp_aql_discover", "introspect", asked))["operation"]
            assert detail["mcpTool"] == f"mcp_aql_{operation['endpoint']}"
            assert detail["mcpTool"] in DISCOVER
        request = {"entity_name": "Profiled", "entity_type": "item", "description": "made by manage"}
        made = await talk.data("mcp_aql_manage", "create_entity", request)
        assert await talk.data("mcp_aql_query", "get_entity", {"entity_id": made["entity_id"]}) == made


async def test_unknown_tool(aqueduct: Aqueduct, link: Link) -> None:
    """LREQ-MCP-11 LREQ-MCP-12: an unknown tool is a fault, an unknown operation an answer."""
    async with connect(aqueduct, link) as talk:
        with pytest.raises(MCPError) as caught:
            await talk.send("mcp_aql_nothing", {"operation": "introspect"})
        assert caught.value.code == -32602
        assert (await talk.error("mcp_aql_read", "get_nothing"))["code"] == "NOT_FOUND_OPERATION"


async def test_pinned_without_asking(aqueduct: Aqueduct) -> None:
    """REQ-MCP-02: a client that pins 2026-07-28 and lists no tools still gets its call through.

    Its first call cannot carry the operation as a header, since it has not seen the schema that asks for one.
    """
    with aqueduct.http() as url:
        async with over(url, "2026-07-28", mode="2026-07-28") as talk:
            assert await talk.session_id()
