//! Other MCP servers behind the gateway: the server of `examples/upstream`, which does what servers do, well and badly.

mod calls;
mod consent;
mod content;
mod credentials;
mod definitions;
mod ends;
mod eras;
mod errors;
mod guard;
mod hostile;
mod limits;
mod lists;
pub(crate) mod questions;
mod remote;
mod secrets;
mod servers;
mod sessions;
mod starts;

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::{Value, json};

use crate::harness::{Client, Era, PATIENCE, Process, Setup, Wire, aqueduct, command, data, pause};

/// The example of this package that the build puts beside the binary.
pub(crate) fn upstream() -> PathBuf {
    aqueduct().parent().unwrap().join("examples/upstream")
}

const INITIALIZE: Era = Era::Initialize("2025-11-25");

/// Both eras of clients over both transports.
const CLIENTS: [Wire; 4] = [
    Wire::Stdio(INITIALIZE),
    Wire::Stdio(Era::Stateless),
    Wire::Http(INITIALIZE),
    Wire::Http(Era::Stateless),
];

/// Waits until there is something; what a test waits for in vain is named.
pub(crate) fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        pause();
    }
}

/// Whether a process still runs. One that ended and was not fetched by its parent does not.
pub(crate) fn runs(pid: u64) -> bool {
    let shown =
        std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// A directory with the notes of upstreams, and the configuration that names them.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    config: String,
    names: Vec<String>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: data(), config: String::new(), names: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where an upstream of that name keeps its notes.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        let state = self.path().join(format!("state-{name}"));
        std::fs::create_dir_all(&state).unwrap();
        state
    }

    /// An upstream that is started with these flags. `more` are lines of its section.
    pub(crate) fn stdio(self, name: &str, flags: &[&str], more: &str) -> Self {
        let program = upstream();
        self.program(name, &program, flags, more)
    }

    /// The same with another program.
    pub(crate) fn program(mut self, name: &str, program: &Path, flags: &[&str], more: &str) -> Self {
        self.names.push(name.to_owned());
        let state = self.state(name);
        let mut args = vec!["--state", state.to_str().unwrap()];
        args.extend_from_slice(flags);
        self.config.push_str(&format!(
            "[upstream.{name}]\ncommand = {}\nargs = {}\n{more}\n",
            json!(program),
            json!(args)
        ));
        self
    }

    /// An upstream that runs already.
    pub(crate) fn http(mut self, name: &str, url: &str, more: &str) -> Self {
        self.names.push(name.to_owned());
        self.config.push_str(&format!("[upstream.{name}]\nurl = {}\n{more}\n", json!(url)));
        self
    }

    /// Lines of the configuration.
    pub(crate) fn lines(mut self, lines: &str) -> Self {
        self.config = format!("{lines}\n{}", self.config);
        self
    }

    /// A gateway in front of them, whose one tool takes every operation.
    pub(crate) fn setup(&self) -> Setup {
        Setup::new(self.path()).arguments(&["--mode", "single"]).config(&self.config)
    }

    /// A client of a gateway that knows all its servers, however long they took to start.
    pub(crate) fn connect(&self, wire: Wire) -> Client {
        let mut client = self.setup().connect(wire);
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        self.wait_for(&mut client, &names);
        client
    }

    /// Waits until the operations of these servers are there. One that was kept and is not published is waited for in
    /// vain.
    pub(crate) fn wait_for(&self, client: &mut Client, names: &[&str]) {
        for name in names {
            wait_until(&format!("the catalogue of {name}"), || self.catalogue(name));
        }
        wait_until(&format!("the operations of {names:?}"), || {
            let known = operations(client);
            let is_known = |name: &&str| known.iter().any(|known| known.starts_with(&format!("{name}_")));
            names.iter().all(is_known).then_some(())
        });
    }

    pub(crate) fn client(&self) -> Client {
        self.connect(CLIENTS[0])
    }

    /// What the upstream of that name noted.
    pub(crate) fn events(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.state(name).join("events")).unwrap_or_default();
        // The last line may still be on its way.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn count(&self, name: &str, fits: impl Fn(&Value) -> bool) -> usize {
        self.events(name).iter().filter(|event| fits(event)).count()
    }

    /// Waits for something that the upstream notes.
    pub(crate) fn event(&self, name: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait_until(&format!("{what}; noted: {:?}", self.events(name)), || {
            self.events(name).into_iter().find(|event| fits(event))
        })
    }

    /// The processes that were started for the upstream of that name.
    pub(crate) fn starts(&self, name: &str) -> Vec<u64> {
        let text = std::fs::read_to_string(self.state(name).join("starts")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Changes what the upstream of that name will list as its tools.
    pub(crate) fn define(&self, name: &str, definitions: &Value) {
        let file = self.state(name).join("definitions");
        std::fs::write(file, definitions.to_string()).unwrap();
    }

    /// The kept catalogue of that name.
    pub(crate) fn catalogue(&self, name: &str) -> Option<Value> {
        let text = std::fs::read_to_string(self.path().join(format!("data/upstreams/{name}.json"))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Starts a gateway once, so that everything is known from then on.
    pub(crate) fn learn(&self, names: &[&str]) {
        let mut client = self.setup().connect(CLIENTS[0]);
        self.wait_for(&mut client, names);
    }
}

pub(crate) fn call(client: &mut Client, operation: &str, params: Value) -> Value {
    client.call("mcp_aql", json!({"operation": operation, "params": params}))
}

/// The data of a call that has to succeed.
pub(crate) fn answered(client: &mut Client, operation: &str, params: Value) -> Value {
    let answer = call(client, operation, params);
    assert_eq!(answer["success"], true, "{answer}");
    answer["data"].clone()
}

/// The error of a call that has to fail.
pub(crate) fn refused(client: &mut Client, operation: &str, params: Value) -> Value {
    let answer = call(client, operation, params);
    assert_eq!(answer["success"], false, "{answer}");
    answer["error"].clone()
}

pub(crate) fn echoes(client: &mut Client, server: &str) {
    let said = answered(client, &format!("{server}_echo"), json!({"text": "still there"}));
    assert_eq!(said, "still there");
}

/// The names of all operations.
pub(crate) fn operations(client: &mut Client) -> Vec<String> {
    let mut names = Vec::new();
    let mut after = Value::Null;
    loop {
        let mut asked = json!({"query": "operations", "first": 100});
        if !after.is_null() {
            asked["after"] = after;
        }
        let data = answered(client, "introspect", asked);
        for operation in data["operations"].as_array().unwrap() {
            names.push(operation["name"].as_str().unwrap().to_owned());
        }
        let info = &data["_protocol"]["pageInfo"];
        if info["hasNextPage"] != true {
            return names;
        }
        after = info["endCursor"].clone();
    }
}

/// Sends a call and does not wait for its answer.
pub(crate) fn begin(client: &mut Client, operation: &str, params: Value) -> u64 {
    let id = client.new_id();
    let arguments = json!({"operation": operation, "params": params});
    let frame = client.frame(id, "tools/call", json!({"name": "mcp_aql", "arguments": arguments}));
    client.stdio().send(frame.to_string().as_bytes());
    id
}

/// The MCP-AQL answer to a call that was begun.
pub(crate) fn finish(client: &mut Client, id: u64) -> Value {
    let answer = client.stdio().answer(&json!(id));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    serde_json::from_str(text).unwrap()
}

/// An upstream over HTTP that runs by itself.
pub(crate) struct Remote {
    process: Process,
    pub(crate) url: String,
    pub(crate) address: String,
}

impl Remote {
    pub(crate) fn start(place: &Place, name: &str, flags: &[&str]) -> Self {
        Self::start_on(place, name, "127.0.0.1:0", flags)
    }

    pub(crate) fn start_on(place: &Place, name: &str, address: &str, flags: &[&str]) -> Self {
        let mut command = command(&upstream(), place.path());
        command.arg("--http").arg(address).arg("--state").arg(place.state(name)).args(flags);
        let mut process = Process::start(command);
        let mut line = String::new();
        BufReader::new(process.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("no address: {line}"))
            .to_owned();
        Self { process, url: format!("http://{address}/mcp"), address }
    }

    pub(crate) fn kill(mut self) -> String {
        self.process.child.kill().unwrap();
        self.process.wait();
        self.address.clone()
    }
}
