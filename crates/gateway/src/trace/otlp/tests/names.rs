use serde_json::{Value, json};

use super::*;
use crate::trace::{Engine, Kind, Status};

fn attributes(of: &Value) -> Value {
    attributes_json(of.as_object().unwrap().clone())
}

/// Reports one span with these attributes.
fn report(resource: &Value, scope: &str, kind: u8, given: &Value) -> Span {
    let request = json!({"resourceSpans": [{
        "resource": {"attributes": attributes(resource)},
        "scopeSpans": [{"scope": {"name": scope, "version": "1.2"}, "spans": [{
            "traceId": "07".repeat(16), "spanId": "09".repeat(8), "name": "work", "kind": kind,
            "startTimeUnixNano": NOW.to_string(), "endTimeUnixNano": NOW.to_string(),
            "attributes": attributes(given),
        }]}],
    }]});
    let read = read::json(request.to_string().as_bytes(), NOW).unwrap();
    assert_eq!((read.rejected, read.why), (0, None));
    read.spans[0].span()
}

/// REQ-IATTR-17: what has an older name is stored under ours, and nothing is lost.
#[test]
fn foreign_names_get_ours_beside_them() {
    for (given, ours) in [
        (
            json!({"tool.name": "search", "input.value": "{\"q\":1}", "output.value": "found"}),
            json!({"mcp.tool.name": "search", "mcp.tool.input_json": "{\"q\":1}", "mcp.tool.output_json": "found"}),
        ),
        (
            json!({"gen_ai.system": "openai", "gen_ai.request.model": "m-1", "gen_ai.response.model": "m-1.5",
                "gen_ai.usage.input_tokens": 12, "gen_ai.usage.completion_tokens": 3, "gen_ai.request.temperature": 0.5,
                "gen_ai.response.finish_reasons": ["stop"], "gen_ai.input.messages": [{"role": "user"}]}),
            json!({"mcp.llm.provider": "openai", "mcp.llm.model": "m-1", "mcp.llm.response_model": "m-1.5",
                "mcp.llm.input_tokens": 12, "mcp.llm.output_tokens": 3, "mcp.llm.request.temperature": 0.5,
                "mcp.stop_reason": "stop", "mcp.llm.prompt_json": "[{\"role\":\"user\"}]"}),
        ),
        (
            json!({"openinference.span.kind": "LLM", "llm.model_name": "m-2", "llm.token_count.prompt": 5,
                "input.value": "hello", "output.value": "there", "llm.invocation_parameters": "{}"}),
            json!({"mcp.llm.model": "m-2", "mcp.llm.input_tokens": 5, "mcp.llm.prompt_json": "hello",
                "mcp.llm.response_json": "there", "mcp.llm.parameters_json": "{}"}),
        ),
        (
            json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "t", "jsonrpc.request.id": "42",
                "gen_ai.tool.call.arguments": {"a": 1}, "network.transport": "pipe", "rpc.response.status_code": "-32602"}),
            json!({"mcp.rpc.method": "tools/call", "mcp.tool.name": "t", "mcp.rpc.id": "42",
                "mcp.tool.input_json": "{\"a\":1}", "mcp.rpc.transport": "stdio", "mcp.error.code": "-32602"}),
        ),
        (
            json!({"rpc.system": "jsonrpc", "rpc.method": "prompts/get", "rpc.jsonrpc.request_id": "7"}),
            json!({"mcp.rpc.method": "prompts/get", "mcp.rpc.id": "7"}),
        ),
        (
            json!({"ai.toolCall.name": "t", "ai.toolCall.args": "{}", "tool.description": "what it does"}),
            json!({"mcp.tool.name": "t", "mcp.tool.input_json": "{}", "mcp.tool.description": "what it does"}),
        ),
    ] {
        let span = report(&json!({}), "", 1, &given);
        for (name, value) in ours.as_object().unwrap() {
            assert_eq!(span.attributes.get(name), Some(value), "{name} of {given}\n{:#?}", span.attributes);
        }
        for (name, value) in given.as_object().unwrap() {
            assert_eq!(span.attributes.get(name), Some(value), "{name} stays");
        }
    }
}

/// REQ-IATTR-17
#[test]
fn what_is_said_in_our_words_stands() {
    let span = report(&json!({}), "", 1, &json!({"tool.name": "theirs", "mcp.tool.name": "ours"}));
    assert_eq!(span.attributes["mcp.tool.name"], "ours");
    let span = report(&json!({}), "", 1, &json!({"rpc.system": "grpc", "rpc.method": "Export"}));
    assert!(!span.attributes.contains_key("mcp.rpc.method"));
}

/// REQ-IATTR-16: what is said of a value that was cut is said of its copy too.
#[test]
fn copies_of_long_values_say_that_they_were_cut() {
    let long = "ä".repeat(20_000);
    let span = report(&json!({}), "", 1, &json!({"tool.name": "t", "output.value": long}));
    for name in ["output.value", "mcp.tool.output_json"] {
        assert_eq!(span.attributes[name].as_str().unwrap().len(), 30_720, "{name}");
        assert_eq!(span.attributes[&format!("{name}_truncated")], true, "{name}");
        assert_eq!(span.attributes[&format!("{name}_bytes")], 40_000, "{name}");
    }
}

/// REQ-ISESS-03, REQ-ISESS-04
#[test]
fn sessions_and_engines_are_told_by_what_is_reported() {
    let none = json!({});
    let trace = "07".repeat(16);
    for (resource, scope, kind, given, session, engine) in [
        (&none, "", 1, json!({}), trace.as_str(), Engine::Asyncio),
        (&none, "", 1, json!({"session.id": "s-1", "gen_ai.conversation.id": "c-1"}), "s-1", Engine::Asyncio),
        (&none, "", 1, json!({"gen_ai.conversation.id": "c-1"}), "c-1", Engine::Asyncio),
        (&none, "", 2, json!({"mcp.request_id": "r-1", "session.id": "s-1"}), "r-1", Engine::Inbound),
        (&none, "", 3, json!({"mcp.request_id": "r-1"}), "r-1", Engine::Asyncio),
        (
            &none,
            "temporalio.contrib.opentelemetry",
            2,
            json!({"mcp.request_id": "r-1"}),
            "r-1",
            Engine::Temporal,
        ),
        (&none, "", 1, json!({"temporalWorkflowID": "w"}), trace.as_str(), Engine::Temporal),
        (&json!({"temporal.namespace": "n"}), "", 1, json!({}), trace.as_str(), Engine::Temporal),
        (&json!({"session.id": "of the process"}), "", 1, json!({}), "of the process", Engine::Asyncio),
    ] {
        let span = report(resource, scope, kind, &given);
        assert_eq!((span.session.as_str(), span.engine), (session, engine), "{given} {scope}");
    }
}

/// REQ-IATTR-02
#[test]
fn who_reported_is_known() {
    let process = json!({"service.name": "planner", "host.name": "h", "service.instance.id": "i"});
    let span = report(&process, "lib", 3, &json!({"host.name": "other"}));
    assert_eq!(span.attributes["mcp.agent.server_id"], "planner");
    assert_eq!(span.attributes["service.instance.id"], "i");
    assert_eq!(span.attributes["host.name"], "other", "the span's own word stands");
    assert_eq!(span.attributes["otel.scope.name"], "lib");
    assert_eq!((span.kind, span.status), (Kind::Client, Status::Ok));
    let span = report(&process, "", 1, &json!({"mcp.agent.server_id": "alpha"}));
    assert_eq!(span.attributes["mcp.agent.server_id"], "alpha");
}

#[test]
fn a_span_belongs_to_the_session_of_who_called_it() {
    let span = |id: &str, parent: &str, attributes: Value| {
        json!({"traceId": "07".repeat(16), "spanId": id.repeat(8), "parentSpanId": parent.repeat(8), "name": "x",
            "startTimeUnixNano": NOW, "endTimeUnixNano": NOW, "attributes": super::attributes_json(attributes.as_object().unwrap().clone())})
    };
    let spans = json!([
        span("03", "02", json!({})),
        span("02", "01", json!({})),
        span("01", "", json!({"session.id": "s"})),
        span("04", "02", json!({"mcp.request_id": "r"})),
        span("05", "04", json!({})),
        // Who call each other in a circle belong to their trace.
        span("06", "07", json!({})),
        span("07", "06", json!({})),
    ]);
    let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    let read = read::json(request.to_string().as_bytes(), NOW).unwrap();
    let sessions: Vec<_> = read.spans.iter().map(|span| span.session.as_str()).collect();
    let trace = "07".repeat(16);
    assert_eq!(sessions, ["s", "s", "s", "r", "r", &trace, &trace]);
}

#[test]
fn errors_say_what_they_are() {
    let span = |status: Value, attributes: Value, events: Value| {
        let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
            "traceId": "07".repeat(16), "spanId": "09".repeat(8), "startTimeUnixNano": NOW, "endTimeUnixNano": NOW,
            "status": status, "attributes": super::attributes_json(attributes.as_object().unwrap().clone()), "events": events,
        }]}]}]});
        read::json(request.to_string().as_bytes(), NOW).unwrap().spans[0].span()
    };
    let failed = span(json!({"code": 2, "message": "no such file, Bearer abcdefgh1"}), json!({}), json!([]));
    assert_eq!(failed.status, Status::Error);
    assert_eq!(failed.attributes["mcp.error.message"], "no such file, Bearer [redacted]");
    let exception = json!([{"name": "exception", "timeUnixNano": NOW, "attributes": [
        {"key": "exception.type", "value": {"stringValue": "ValueError"}},
        {"key": "exception.message", "value": {"stringValue": "too few"}}]}]);
    let raised = span(json!({"code": "STATUS_CODE_ERROR"}), json!({}), exception);
    assert_eq!(raised.attributes["error.type"], "ValueError");
    assert_eq!(raised.attributes["mcp.error.message"], "too few");
    let cancelled = span(json!({"code": 2}), json!({"error.type": "CancelledError"}), json!([]));
    assert_eq!(cancelled.status, Status::Cancelled);
    let fine = span(json!({"code": 1, "message": "well done"}), json!({}), json!([]));
    assert_eq!((fine.status, &fine.attributes["otel.status_description"]), (Status::Ok, &json!("well done")));
}

#[test]
fn others_find_their_names_in_what_we_send() {
    let mut span = some_span();
    span.status = Status::Error;
    span.attributes = serde_json::from_value(json!({
        "mcp.rpc.method": "tools/call", "mcp.rpc.id": 42, "mcp.tool.name": "search", "mcp.rpc.transport": "stdio",
        "mcp.agent.server_id": "alpha", "mcp.error.code": -32602, "mcp.error.message": "no", "mcp.tool.input_json": "{}",
    }))
    .unwrap();
    let sent: Value = serde_json::from_slice(&write::json(&[span]).unwrap()).unwrap();
    let resource = &sent["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0],
        json!({"key": "service.name", "value": {"stringValue": "alpha"}})
    );
    let sent = &resource["scopeSpans"][0]["spans"][0];
    let attribute = |name: &str| {
        let found = sent["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == name);
        found.unwrap_or_else(|| panic!("{name} in {sent:#}"))["value"].clone()
    };
    for (name, value) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.tool.name", "search"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.call.arguments", "{}"),
        ("jsonrpc.request.id", "42"),
        ("network.transport", "pipe"),
        ("rpc.response.status_code", "-32602"),
        ("error.type", "-32602"),
        ("session.id", "r-1"),
        ("mcp.tool.name", "search"),
    ] {
        assert_eq!(attribute(name), json!({"stringValue": value}), "{name}");
    }
    assert_eq!(attribute("mcp.rpc.id"), json!({"intValue": "42"}));
    assert_eq!(sent["traceId"], "07".repeat(16));
    assert_eq!((&sent["kind"], &sent["status"]), (&json!(2), &json!({"code": 2, "message": "no"})));
}
