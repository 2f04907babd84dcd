//! A server to stand behind gateways: one thread, no waiting, so that it is never what limits them.
//!
//! The yardstick `fastecho` lists one parameter; a gateway that validates has more to do with four, so these calls have
//! them. Answers of any size come as text or as structured content.

use std::{
    borrow::Cow,
    io::{BufRead, Write},
    path::Path,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::Result;

/// An echo with four parameters.
pub(crate) const ECHO: &str = "get_echo";
/// As many bytes as asked for, as one text.
pub(crate) const TEXT: &str = "get_text";
/// The same as structured content: objects in objects, no list, so that nobody cuts it to pages.
pub(crate) const STRUCTURED: &str = "get_structured";

const LINE: &str = "The quick brown fox \\\"jumps\\\" over the lazy dog, over and over.\\n";
const RECORD: &str =
    r#"{"name":"A record of some kind","state":"open","count":4711,"share":0.25,"ready":true}"#;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Opening {
    #[serde(rename = "protocolVersion")]
    protocol: Option<String>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize, Default)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    message: Cow<'a, str>,
    #[serde(default)]
    bytes: usize,
}

/// Serves standard input until it ends. Further tools, which are only listed, come from a saved `tools/list` result.
pub(crate) fn serve(further: Option<&Path>) -> Result<()> {
    let tools = json!({"tools": tools(further)?}).to_string();
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let (mut line, mut filler) = (String::new(), Filler::default());
    while input.read_line(&mut line)? > 0 {
        if let Some(mut answer) = answer(&line, &tools, &mut filler)? {
            answer.push('\n');
            output.write_all(answer.as_bytes())?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// Answers that were asked for are mostly asked for again.
#[derive(Default)]
struct Filler {
    text: String,
    records: String,
}

impl Filler {
    fn text(&mut self, bytes: usize) -> &str {
        if self.text.len() < bytes {
            self.text = LINE.repeat(bytes / LINE.len() + 1);
        }
        let lines = bytes / LINE.len() * LINE.len();
        self.text.get(..lines).unwrap_or_default()
    }

    fn records(&mut self, bytes: usize) -> &str {
        if self.records.is_empty() {
            let size = RECORD.len() + r#""r12345":,"#.len();
            let each = (0..bytes / size).map(|number| format!(r#""r{number:05}":{RECORD}"#));
            self.records = each.collect::<Vec<String>>().join(",");
        }
        &self.records
    }
}

fn answer(line: &str, tools: &str, filler: &mut Filler) -> Result<Option<String>> {
    let request: Request<'_> = serde_json::from_str(line)?;
    let Some(id) = request.id else { return Ok(None) };
    let params = request.params.map_or("{}", RawValue::get);
    let result = match &*request.method {
        "initialize" => opening(serde_json::from_str(params)?),
        "ping" => "{}".to_owned(),
        "tools/list" => tools.to_owned(),
        "tools/call" => call(&serde_json::from_str(params)?, filler)?,
        _ => {
            let error = r#"{"code":-32601,"message":"there is no such method"}"#;
            return Ok(Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)));
        }
    };
    Ok(Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)))
}

fn opening(asked: Opening) -> String {
    let known = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    let protocol =
        asked.protocol.filter(|asked| known.contains(&asked.as_str())).unwrap_or("2025-11-25".to_owned());
    json!({
        "protocolVersion": protocol, "capabilities": {"tools": {}},
        "serverInfo": {"name": "bench-upstream", "version": "1"},
    })
    .to_string()
}

fn call(call: &Call<'_>, filler: &mut Filler) -> Result<String> {
    let empty = Arguments::default();
    let asked = call.arguments.as_ref().unwrap_or(&empty);
    let message = serde_json::to_string(&asked.message)?;
    // The message without its quotation marks, to be put into a longer string.
    let inner = message.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    Ok(match &*call.name {
        TEXT => {
            format!(r#"{{"content":[{{"type":"text","text":"{inner}\n{}"}}]}}"#, filler.text(asked.bytes))
        }
        STRUCTURED => {
            let records = filler.records(asked.bytes);
            format!(r#"{{"content":[],"structuredContent":{{"message":{message},"records":{{{records}}}}}}}"#)
        }
        _ => format!(r#"{{"content":[{{"type":"text","text":"Echo: {inner}"}}]}}"#),
    })
}

fn tools(further: Option<&Path>) -> Result<Vec<Value>> {
    let message = json!({"type": "string", "description": "Message to echo"});
    let tool = |name: &str, description: &str, properties: Value| {
        json!({
            "name": name, "description": description, "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object", "properties": properties, "required": ["message"], "additionalProperties": false,
            },
        })
    };
    let sized = json!({
        "message": message,
        "bytes": {"type": "integer", "minimum": 0, "maximum": 20_000_000, "description": "Size of the answer"},
    });
    let mut tools = vec![
        tool(
            ECHO,
            "Gets the message back",
            json!({
                "message": message,
                "count": {"type": "integer", "minimum": 0, "maximum": 20_000_000, "description": "Any number"},
                "mode": {"type": "string", "enum": ["plain", "loud"], "description": "How to say it"},
                "verbose": {"type": "boolean", "description": "Whether to say more"},
            }),
        ),
        tool(TEXT, "Gets a text of a size", sized.clone()),
        tool(STRUCTURED, "Gets records of a size", sized),
    ];
    if let Some(file) = further {
        let saved: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let saved = saved.get("tools").and_then(Value::as_array).ok_or("no list of tools in the file")?;
        tools.extend(saved.iter().cloned());
    }
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}).to_string();
        let listed = json!({"tools": tools(None).unwrap()}).to_string();
        serde_json::from_str(&answer(&request, &listed, &mut Filler::default()).unwrap().unwrap()).unwrap()
    }

    /// What is measured is as large as it says, and gives the message back.
    #[test]
    fn answers_have_the_size_that_was_asked_for() {
        let asked = json!({"message": "say \"hi\"", "bytes": 1_000_000});
        let text = ask("tools/call", &json!({"name": TEXT, "arguments": asked}));
        let content = text["result"]["content"][0]["text"].as_str().unwrap();
        assert!(content.starts_with("say \"hi\"\n"), "{}", &content[..80]);
        let structured = ask("tools/call", &json!({"name": STRUCTURED, "arguments": asked}));
        assert_eq!(structured["result"]["structuredContent"]["message"], "say \"hi\"");
        for answer in [text, structured] {
            let size = answer.to_string().len();
            assert!((980_000..1_020_000).contains(&size), "{size}");
        }
        let echo = ask("tools/call", &json!({"name": ECHO, "arguments": asked}));
        assert_eq!(echo["result"]["content"][0]["text"], "Echo: say \"hi\"");
    }

    #[test]
    fn every_request_is_answered_and_no_notification_is() {
        assert_eq!(
            ask("initialize", &json!({"protocolVersion": "1999"}))["result"]["protocolVersion"],
            "2025-11-25"
        );
        assert_eq!(ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().len(), 3);
        assert_eq!(ask("server/discover", &json!({}))["error"]["code"], -32601);
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(answer(notification, "", &mut Filler::default()).unwrap(), None);
    }
}
