"""What an agent does with the workspace: find out, make, read, change, remove, and recover from mistakes."""

import re
from typing import Any

import pytest

from servers import Aqueduct
from talk import Link, connect

pytestmark = pytest.mark.anyio


async def test_three_calls_from_nothing(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-COST-05 LREQ-MCP-09: list, detail, call, with nothing known but what the answers said."""
    async with connect(aqueduct, link) as talk:
        tools = (await talk.client.list_tools()).tools
        reader = next(tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint)
        listed = await talk.data(reader, "introspect", {"query": "operations"})
        name = next(entry["name"] for entry in listed["operations"] if entry["semantic_category"] == "CREATE")
        detail = (await talk.data(reader, "introspect", {"query": "operations", "name": name}))["operation"]
        made = await talk.answer(detail["mcpTool"], detail["examples"][0]["request"])
        assert made["success"], made


async def test_life_of_an_entity(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-CONC-05 REQ-CONC-06 LREQ-MCP-09 LREQ-MCP-10 LREQ-MCP-11: create, get, update, conflict, delete, gone."""
    async with connect(aqueduct, link) as talk:
        request = {"entity_name": "Pump", "entity_type": "resource", "description": "Moves water", "tags": ["wet"]}
        made = await talk.data("mcp_aql_create", "create_entity", request)
        assert {key: made[key] for key in request} == request and made["priority"] == 5
        which = {"entity_id": made["entity_id"]}
        assert await talk.data("mcp_aql_read", "get_entity", which) == made

        change = {**which, "input": {"priority": 8}, "if_match": made["_etag"]}
        changed = await talk.data("mcp_aql_update", "update_entity", change)
        assert changed["priority"] == 8 and changed["_etag"] != made["_etag"]
        late = {**which, "input": {"priority": 1}, "if_match": made["_etag"]}
        assert (await talk.error("mcp_aql_update", "update_entity", late))["code"] == "CONFLICT_VERSION_MISMATCH"
        assert await talk.data("mcp_aql_read", "get_entity", which) == changed

        await talk.data("mcp_aql_delete", "delete_entity", which)
        assert (await talk.error("mcp_aql_read", "get_entity", which))["code"] == "NOT_FOUND_RESOURCE"


def repaired(params: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """The next try, from what the error's details say and nothing else."""
    details = error["details"]
    name = details.get("param_name")
    match error["code"]:
        case "VALIDATION_MISSING_PARAM":
            kind = re.search(rf"\b{name}: (\w+)", details["signature"])
            assert kind and kind.group(1) == "string", details
            return {**params, name: "text"}
        case "VALIDATION_UNKNOWN_PARAM":
            return {details["suggestions"].get(key, key): value for key, value in params.items()}
        case "VALIDATION_INVALID_TYPE":
            assert details["expected_type"] == "integer", details
            return {**params, name: int(params[name])}
        case "VALIDATION_INVALID_ENUM":
            return {**params, name: details["allowed_values"][0]}
        case "VALIDATION_OUT_OF_RANGE":
            return {**params, name: details["maximum"]}
        case "VALIDATION_PATTERN_MISMATCH":
            candidates = [params[name].replace(" ", "_"), re.sub(r"\W", "", params[name])]
            return {**params, name: next(text for text in candidates if re.search(details["pattern"], text))}
    raise AssertionError(f"no way on from {error}")


async def test_mistakes_can_be_repaired(aqueduct: Aqueduct, link: Link) -> None:
    """LREQ-MCP-10 LREQ-MCP-11: each mistake's details are enough to correct that mistake."""
    async with connect(aqueduct, link) as talk:
        params = {"entity_name": "Big pump", "entity_type": "itm", "priorty": "11"}
        seen = []
        for _ in range(10):
            answer = await talk.call("mcp_aql_create", "create_entity", params)
            if answer["success"]:
                break
            seen.append(answer["error"]["code"])
            params = repaired(params, answer["error"])
        assert answer["success"], answer
        assert sorted(seen) == sorted(set(seen)), f"a repair did not take: {seen}"
        assert set(seen) == {
            "VALIDATION_MISSING_PARAM",
            "VALIDATION_UNKNOWN_PARAM",
            "VALIDATION_INVALID_TYPE",
            "VALIDATION_INVALID_ENUM",
            "VALIDATION_OUT_OF_RANGE",
            "VALIDATION_PATTERN_MISMATCH",
        }
        assert answer["data"]["priority"] == 10


async def test_wrong_tool_names_the_right_one(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-ROUTE-04 LREQ-MCP-11: a call through the wrong tool is answered with the right one, which then works."""
    async with connect(aqueduct, link) as talk:
        request = {"entity_name": "Valve", "entity_type": "item", "description": "Opens"}
        error = await talk.error("mcp_aql_read", "create_entity", request)
        assert error["code"] == "VALIDATION_ENDPOINT_MISMATCH"
        await talk.data(error["details"]["tool"], "create_entity", request)


async def test_batch(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-BATCH-05 REQ-BATCH-08 LREQ-MCP-09: several operations in one call, each with its own result, in order."""
    async with connect(aqueduct, link) as talk:
        good = {"entity_type": "item", "description": "one of several"}
        answer = await talk.answer(
            "mcp_aql_create",
            {
                "operations": [
                    {"operation": "create_entity", "params": {"entity_name": "One", **good}},
                    {"operation": "create_entity", "params": {"entity_name": "One", **good}},
                    {"operation": "create_entity", "params": {"entity_name": "Two", **good}},
                    {"operation": "get_entity", "params": {"entity_name": "One"}},
                ]
            },
        )
        assert answer["success"] and answer["data"] is None
        assert answer["summary"] == {"total": 4, "succeeded": 2, "failed": 2}
        assert [entry["index"] for entry in answer["results"]] == [0, 1, 2, 3]
        outcomes = [entry["result"].get("error", {}).get("code") for entry in answer["results"]]
        assert outcomes == [None, "CONFLICT_ALREADY_EXISTS", None, "VALIDATION_ENDPOINT_MISMATCH"]
        listed = await talk.data("mcp_aql_read", "list_entities")
        assert len(listed["items"]) == 2


async def test_what_was_written_outlives_the_server(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-SESS-04 REQ-SESS-11: a new connection is a new session on the same things."""
    request = {"entity_name": "Well", "entity_type": "resource", "description": "Deep"}
    async with connect(aqueduct, link) as talk:
        made = await talk.data("mcp_aql_create", "create_entity", request)
        first = await talk.session_id()
        assert await talk.session_id() == first
    async with connect(aqueduct, link) as talk:
        assert await talk.data("mcp_aql_read", "get_entity", {"entity_id": made["entity_id"]}) == made
        assert await talk.session_id() != first


async def test_workflow_and_summary(aqueduct: Aqueduct, link: Link) -> None:
    """REQ-LIFE-01 REQ-LIFE-05 REQ-PARAM-10: stored steps run by themselves, and a summary counts what they made."""
    step = {
        "name": "make",
        "operation": "create_entity",
        "for_each": ["One", "Two", "Three"],
        "params": {"entity_name": {"$from": "/item"}, "entity_type": "item", "description": "made by a step"},
    }
    request = {"entity_name": "Maker", "entity_type": "workflow", "description": "Makes", "metadata": {"steps": [step]}}
    async with connect(aqueduct, link) as talk:
        await talk.data("mcp_aql_create", "create_entity", request)
        started = await talk.data("mcp_aql_execute", "execute_workflow", {"entity_name": "Maker", "wait_seconds": 0})
        which = {"execution_id": started["execution_id"], "wait_seconds": 30}
        done = await talk.data("mcp_aql_read", "get_execution", which)
        assert done["status"] == "completed", done
        summary = {"aggregate": {"types": {"group_by": "entity_type", "count": True}}}
        counted = await talk.data("mcp_aql_read", "list_entities", summary)
        assert counted["aggregations"]["types"] == {"item": 3, "workflow": 1}
