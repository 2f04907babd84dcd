"""An agent with the official OpenTelemetry SDK reports its traces, by both ways of OTLP."""

import json
import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind

from servers import environment

CONFIGURATION = '[inspector]\notlp_http = "127.0.0.1:0"\notlp_grpc = "127.0.0.1:0"\n'


@contextmanager
def receiver(home: Path) -> Iterator[tuple[dict[str, str], Any]]:
    """The receivers of the gateway, which print what is reported."""
    file = home / "aqueduct.toml"
    file.write_text(CONFIGURATION)
    command = [os.environ["AQUEDUCT_RECEIVER"], str(file)]
    with subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(2)]
            yield dict(re.match(r"(\w+) (\S+)", line).groups() for line in lines), process.stdout
        finally:
            process.kill()


def exporter(way: str, addresses: dict[str, str]) -> SpanExporter:
    if way == "grpc":
        return GrpcExporter(endpoint=addresses["gRPC"], insecure=True)
    if way == "grpc+gzip":
        import grpc

        return GrpcExporter(endpoint=addresses["gRPC"], insecure=True, compression=grpc.Compression.Gzip)
    packed = Compression.Gzip if way == "http+gzip" else Compression.NoCompression
    return HttpExporter(endpoint=f"http://{addresses['HTTP']}/v1/traces", compression=packed)


@pytest.mark.parametrize("way", ["http", "http+gzip", "grpc", "grpc+gzip"])
def test_an_agent_reports_its_trace(tmp_path: Path, way: str) -> None:
    """REQ-IATTR-17, REQ-ISESS-03"""
    with receiver(tmp_path) as (addresses, lines):
        provider = TracerProvider(resource=Resource.create({"service.name": "planner"}))
        provider.add_span_processor(SimpleSpanProcessor(exporter(way, addresses)))
        tracer = provider.get_tracer("agent", "1.0")
        with tracer.start_as_current_span("plan", attributes={"session.id": "s-1"}) as root:
            attributes = {"tool.name": "search", "gen_ai.request.model": "m", "long": "ä" * 20_000, "n": [1, 2]}
            try:
                with tracer.start_as_current_span("search", kind=SpanKind.CLIENT, attributes=attributes):
                    raise ValueError("nothing found")
            except ValueError:
                root.add_event("gave up", {"tries": 1})
        provider.shutdown()
        search, plan = (json.loads(lines.readline()) for _ in range(2))

    assert plan["trace_id"] == search["trace_id"] == f"{root.get_span_context().trace_id:032x}"
    assert search["parent_id"] == plan["span_id"] == f"{root.get_span_context().span_id:016x}"
    assert (plan["name"], plan["kind"], plan["status"], plan["engine"]) == ("plan", "internal", "ok", "asyncio")
    assert (plan["session_id"], plan["events"][0]["name"]) == ("s-1", "gave up")
    assert plan["started_ns"] <= search["started_ns"] <= search["ended_ns"] <= plan["ended_ns"]
    assert (search["name"], search["kind"], search["status"]) == ("search", "client", "error")
    told = search["attributes"]
    assert told["mcp.tool.name"] == told["tool.name"] == "search"
    assert told["mcp.llm.model"] == "m" and told["n"] == [1, 2]
    assert told["mcp.agent.server_id"] == told["service.name"] == "planner"
    assert told["otel.scope.name"] == "agent"
    assert len(told["long"].encode()) == 30_720 and told["long_truncated"] is True
    assert "nothing found" in told["mcp.error.message"] and told["error.type"] == "ValueError"
