//! Servers for the tests of commands: shell scripts that speak just enough MCP, and an HTTP server that only refuses.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    time::Instant,
};

use crate::harness::{PATIENCE, pause};

pub(crate) const TOOLS: &str = r#"[
    {"name": "get_place", "description": "Gets where it runs", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "die_now", "description": "Ends the server", "inputSchema": {"type": "object", "properties": {}}}
]"#;

const SCRIPT: &str = r#"#!/bin/sh
echo $$ >> "$0.starts"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},
        "serverInfo":{"name":"script","version":"3.1"},"instructions":"Say please."}' | tr -d '\n'; echo ;;
    *'"method":"tools/list"'*) answer "{\"tools\":$(tr -d '\n' < "$0.tools")}" ;;
    *'"method":"resources/list"'*) answer '{"resources":[{"uri":"note://one","name":"one"}]}' ;;
    *'"method":"resources/templates/list"'*) answer '{"resourceTemplates":[]}' ;;
    *'"method":"resources/read"'*) answer '{"contents":[{"uri":"note://one","text":"read"}]}' ;;
    *'"name":"die_now"'*) echo 'Error: told to die' >&2; exit 7 ;;
    *'"method":"tools/call"'*)
      answer "{\"content\":[],\"structuredContent\":{\"directory\":\"$PWD\",\"word\":\"$WORD\"}}" ;;
    '{"jsonrpc":"2.0","id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id" ;;
  esac
done
"#;

/// A server that works, as a script of this name.
pub(crate) fn server(directory: &Path, name: &str) -> PathBuf {
    let path = program(directory, name, SCRIPT);
    std::fs::write(beside(&path, "tools"), TOOLS).unwrap();
    path
}

/// Any script.
pub(crate) fn program(directory: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A file of the script.
pub(crate) fn beside(script: &Path, what: &str) -> PathBuf {
    PathBuf::from(format!("{}.{what}", script.display()))
}

/// The processes that the script was started as.
pub(crate) fn starts(script: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(beside(script, "starts")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until something holds.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        pause();
    }
}

/// Waits until none of the script's processes is there any more.
pub(crate) fn all_ended(script: &Path) {
    until("its processes have ended", || {
        starts(script).iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
}

/// Answers every request with what is made of its method, until the test ends.
pub(crate) fn http(answer: fn(&str) -> &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let Some(Ok(first)) = lines.next() else { continue };
            let mut length = 0;
            for line in lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
            }
            // A body that nobody read would reset the connection.
            let _ = (length, stream.write_all(answer(&first).as_bytes()));
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    address
}
