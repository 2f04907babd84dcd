"""An agent with the official OpenTelemetry SDK reports its traces, by both ways of OTLP."""

import json
import os
import re
import subprocess
import time
import urllib.request
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

from servers import Aqueduct, environment, running

CONFIGURATION = """
[operator]
http = "127.0.0.1:0"
dialog = false
[inspector]
otlp_http = "127.0.0.1:0"
otlp_grpc = "127.0.0.1:0"
"""
REPORTED_SECONDS_MAX = 10.0
OPERATOR = re.compile(r"^\s*Operator\s+(http://\S+)")


class Gateway:
    """A gateway that agents report to."""

    def __init__(self, home: Path, operator: str) -> None:
        self.home, self.operator = home, operator

    def get(self, path: str) -> Any:
        key = (self.home / "data/operator.key").read_text().strip()
        request = urllib.request.Request(self.operator + path, headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def spans(self, number: int) -> list[dict[str, Any]]:
        """Everything that was reported, once there is so much, as the command writes it."""
        command = [os.environ["AQUEDUCT_BINARY"], "trace", "export", "--data", str(self.home / "data")]
        end = time.monotonic() + REPORTED_SECONDS_MAX
        while True:
            told = subprocess.run(command, env=environment(self.home), capture_output=True, text=True)
            assert told.returncode == 0 or "nothing was recorded" in told.stderr.lower(), told.stderr
            spans = [json.loads(line) for line in told.stdout.splitlines()]
            if len(spans) >= number or time.monotonic() > end:
                assert len(spans) == number, spans
                return sorted(spans, key=lambda span: span["started_ns"])
            time.sleep(0.05)


@contextmanager
def gateway(home: Path) -> Iterator[Gateway]:
    file = home / "aqueduct.toml"
    file.write_text(CONFIGURATION)
    server = Aqueduct(home, "--config", str(file))
    with running([server.binary, *server.flags, "--http", "127.0.0.1:0"], home) as process:
        assert process.stdout is not None
        found = next(filter(None, map(OPERATOR.match, process.stdout)))
        yield Gateway(home, found.group(1).rstrip("/"))


def exporter(way: str, addresses: dict[str, str]) -> SpanExporter:
    if way == "grpc":
        return GrpcExporter(endpoint=addresses["otlp_grpc"], insecure=True)
    if way == "grpc+gzip":
        import grpc

        return GrpcExporter(endpoint=addresses["otlp_grpc"], insecure=True, compression=grpc.Compression.Gzip)
    packed = Compression.Gzip if way == "http+gzip" else Compression.NoCompression
    return HttpExporter(endpoint=f"http://{addresses['otlp_http']}/v1/traces", compression=packed)


@pytest.mark.parametrize("way", ["http", "http+gzip", "grpc", "grpc+gzip"])
def test_an_agent_reports_its_trace(tmp_path: Path, way: str) -> None:
    """REQ-IATTR-17, REQ-ISESS-03"""
    with gateway(tmp_path) as server:
        addresses = server.get("/api/v1/health")["listeners"]
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
        plan, search = server.spans(2)
        # It is among what people look at, marked as what others say.
        [operation] = server.get("/api/v1/operations")["operations"]
        found = server.get("/api/v1/search?q=nothing+found")["spans"]
        session = server.get("/api/v1/sessions/s-1")

    assert (operation["span_id"], operation["reported"]) == (plan["span_id"], True)
    assert (session["session"]["agent"], len(session["spans"])) == ("planner", 2)
    assert all(span["trace_id"] == plan["trace_id"] for span in found)
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
