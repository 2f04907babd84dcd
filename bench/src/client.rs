//! A plain client that keeps several calls under way from one thread, and checks every answer.
//!
//! The load generator of the yardsticks measures; this one is there where they are not: to ask for something before a
//! measurement, and to drive a server whose instructions are counted.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Result,
    process::{Running, pause, terminate},
};

pub(crate) const PROTOCOL: &str = "2025-11-25";
/// Under an instruction counter a server starts thirty times slower than it does alone.
const START_SECONDS_MAX: u64 = 180;
const STOP_SECONDS_MAX: u64 = 60;

/// A tool's call; `{MSG}` in the arguments is replaced by something that no other call says.
#[derive(Clone)]
pub(crate) struct ToolCall {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

/// A server that was started, and a session with it.
pub(crate) struct Client {
    server: Running,
    link: Link,
    next: u64,
}

enum Link {
    Stdio { input: Option<ChildStdin>, output: BufReader<ChildStdout> },
    Http { address: SocketAddr, session: String, lanes: Vec<BufReader<TcpStream>> },
}

impl Client {
    /// Starts a server on its standard input and output.
    pub(crate) fn stdio(mut command: Command) -> Result<Self> {
        let mut server = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?);
        let input = Some(server.0.stdin.take().ok_or("no standard input")?);
        let output = BufReader::new(server.0.stdout.take().ok_or("no standard output")?);
        Self { server, link: Link::Stdio { input, output }, next: 0 }.opened()
    }

    /// Starts a server that will listen there.
    pub(crate) fn http(mut command: Command, address: SocketAddr) -> Result<Self> {
        let mut server = Running(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?);
        let lane = connect(&mut server.0, address)?;
        let link = Link::Http { address, session: String::new(), lanes: vec![lane] };
        Self { server, link, next: 0 }.opened()
    }

    fn opened(mut self) -> Result<Self> {
        let opening = self.ask(
            "initialize",
            &json!({
                "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"},
            }),
        )?;
        if !opening.contains("serverInfo") {
            return Err(format!("no session was opened: {opening}").into());
        }
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.send(0, ready)?;
        if matches!(self.link, Link::Http { .. }) {
            self.receive(0)?;
        }
        Ok(self)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(0, &request.to_string())?;
        self.receive(0)
    }

    /// The answer of one call, as it came.
    pub(crate) fn call(&mut self, call: &ToolCall) -> Result<String> {
        self.ask("tools/call", &json!({"name": call.tool, "arguments": call.arguments}))
    }

    /// What an operation of Aqueduct's answers, without MCP around it.
    pub(crate) fn operation(&mut self, tool: &str, name: &str, params: &Value) -> Result<Value> {
        let arguments = json!({"operation": name, "params": params});
        let answer = self.call(&ToolCall { tool: tool.to_owned(), arguments })?;
        let answer: Value = serde_json::from_str(json_of(&answer))?;
        let text = answer.pointer("/result/content/0/text").and_then(Value::as_str);
        Ok(serde_json::from_str(text.ok_or_else(|| format!("no answer: {answer}"))?)?)
    }

    /// Makes a call so many times, `lanes` of them under way together.
    pub(crate) fn repeat(&mut self, call: &ToolCall, count: usize, lanes: usize) -> Result<()> {
        let template = json!({"name": call.tool, "arguments": call.arguments}).to_string();
        let mut left = count;
        while left > 0 {
            let round = left.min(lanes.max(1));
            let first = self.next + 1;
            for lane in 0..round {
                self.next += 1;
                let params = template.replace("{MSG}", &message(self.next));
                let id = self.next;
                let frame =
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
                self.send(lane, &frame)?;
            }
            let answers: Vec<String> = (0..round).map(|lane| self.receive(lane)).collect::<Result<_>>()?;
            for id in first..=self.next {
                let said = message(id);
                let right =
                    |answer: &&String| answer.contains(&said) && !answer.contains(r#""isError":true"#);
                if !answers.iter().any(|answer| right(&answer)) {
                    return Err(format!("call {id} got no right answer among {answers:?}").into());
                }
            }
            left -= round;
        }
        Ok(())
    }

    pub(crate) fn resident_megabytes(&self) -> Result<f64> {
        self.server.resident_megabytes()
    }

    /// Lets the server end by itself, so that whoever counts its instructions can write them down.
    pub(crate) fn close(mut self) -> Result<()> {
        match &mut self.link {
            Link::Stdio { input, .. } => drop(input.take()),
            Link::Http { lanes, .. } => {
                lanes.clear();
                terminate(self.server.0.id())?;
            }
        }
        let since = Instant::now();
        while self.server.0.try_wait()?.is_none() {
            if since.elapsed().as_secs() > STOP_SECONDS_MAX {
                return Err("the server does not end".into());
            }
            pause(Duration::from_millis(20));
        }
        Ok(())
    }

    fn send(&mut self, lane: usize, frame: &str) -> Result<()> {
        match &mut self.link {
            Link::Stdio { input, .. } => {
                let input = input.as_mut().ok_or("standard input is closed")?;
                Ok(input.write_all(format!("{frame}\n").as_bytes())?)
            }
            Link::Http { address, session, lanes } => {
                while lanes.len() <= lane {
                    lanes.push(connect(&mut self.server.0, *address)?);
                }
                let lane = lanes.get_mut(lane).ok_or("there is no such connection")?;
                let size = frame.len();
                let request = format!(
                    "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\n{session}Content-Length: {size}\r\n\r\n{frame}"
                );
                Ok(lane.get_mut().write_all(request.as_bytes())?)
            }
        }
    }

    /// The next answer. What the server says besides is passed over.
    fn receive(&mut self, lane: usize) -> Result<String> {
        match &mut self.link {
            Link::Stdio { output, .. } => loop {
                let mut line = String::new();
                if output.read_line(&mut line)? == 0 {
                    return Err("the server closed its standard output".into());
                }
                if line.contains(r#""result""#) || line.contains(r#""error""#) {
                    return Ok(line);
                }
            },
            Link::Http { session, lanes, .. } => {
                let lane = lanes.get_mut(lane).ok_or("there is no such connection")?;
                let (id, body) = response(lane)?;
                if let Some(id) = id {
                    *session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {PROTOCOL}\r\n");
                }
                Ok(body)
            }
        }
    }
}

fn message(id: u64) -> String {
    format!("m{id}z")
}

/// The message in a body that may be a stream of events.
fn json_of(body: &str) -> &str {
    let mut events = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    events.rfind(|data| data.starts_with('{')).unwrap_or(body)
}

fn connect(server: &mut Child, address: SocketAddr) -> Result<BufReader<TcpStream>> {
    let since = Instant::now();
    loop {
        if let Ok(stream) = TcpStream::connect(address) {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(START_SECONDS_MAX)))?;
            return Ok(BufReader::new(stream));
        }
        if let Some(status) = server.try_wait()? {
            return Err(format!("the server ended by itself: {status}").into());
        }
        if since.elapsed().as_secs() > START_SECONDS_MAX {
            return Err("the server does not listen".into());
        }
        pause(Duration::from_millis(20));
    }
}

/// The session's id, if one is told, and the body.
fn response(lane: &mut BufReader<TcpStream>) -> Result<(Option<String>, String)> {
    let (mut session, mut length, mut chunked) = (None, 0, false);
    loop {
        let mut line = String::new();
        if lane.read_line(&mut line)? == 0 {
            return Err("the server closed the connection".into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse()?,
            "transfer-encoding" => chunked = value == "chunked",
            "mcp-session-id" => session = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    lane.read_exact(&mut body)?;
    while chunked {
        let mut size = String::new();
        lane.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim_end(), 16)?;
        let mut chunk = vec![0; size + "\r\n".len()];
        lane.read_exact(&mut chunk)?;
        chunk.truncate(size);
        body.extend(chunk);
        chunked = size > 0;
    }
    Ok((session, String::from_utf8(body)?))
}
