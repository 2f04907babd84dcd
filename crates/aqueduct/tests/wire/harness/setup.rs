//! What a test starts, and how.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use super::{
    client::{Client, Era, Wire},
    links::{HttpServer, StdioLink},
    process::{Process, aqueduct, command, fixture, pause},
};

/// What a test starts: a program, its arguments, a configuration file.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) config: String,
    pub(crate) directory: PathBuf,
}

impl Setup {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            program: aqueduct(),
            arguments: Vec::new(),
            environment: Vec::new(),
            config: String::new(),
            directory: directory.to_owned(),
        }
    }

    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As it is for users: somebody is asked before what destroys.
    pub(crate) fn asking(self) -> Self {
        self.env("AQUEDUCT_CONFIRMATION", "")
    }

    pub(crate) fn config(mut self, text: &str) -> Self {
        self.config = text.to_owned();
        self
    }

    pub(crate) fn command(&self, transport: &[&str]) -> Command {
        let mut command = command(&self.program, &self.directory);
        command.envs(self.environment.iter().cloned());
        if self.program == aqueduct() {
            command.arg("serve").args(transport).env("AQUEDUCT_DATA", self.directory.join("data"));
            if !self.config.is_empty() {
                let file = self.directory.join(format!("config-{}.toml", self.config.len()));
                std::fs::write(&file, &self.config).unwrap();
                command.arg("--config").arg(file);
            }
            command.args(&self.arguments);
        }
        command
    }

    pub(crate) fn http(&self) -> Arc<HttpServer> {
        if self.program != aqueduct() {
            return self.http_of_fixture();
        }
        let mut process = Process::start(self.command(&["--http", "127.0.0.1:0"]));
        let mut out = BufReader::new(process.child.stdout.take().unwrap());
        let mut welcome = String::new();
        let url = loop {
            let mut line = String::new();
            let read = out.read_line(&mut line).unwrap();
            assert!(read > 0, "no address in:\n{welcome}\n{}", process.stderr.lock().unwrap());
            welcome.push_str(&line);
            if let Some(url) = line.trim().strip_prefix("MCP ") {
                break url.trim().to_owned();
            }
        };
        while !welcome.contains("Ctrl-C") && out.read_line(&mut welcome).unwrap() > 0 {}
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Arc::new(HttpServer { process: Mutex::new(process), url, welcome })
    }

    /// The fixture says nothing, so a free port is found first and its server waited for.
    fn http_of_fixture(&self) -> Arc<HttpServer> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let mut command = self.command(&[]);
        command.arg(address.to_string());
        let mut process = Process::start(command);
        while std::net::TcpStream::connect(address).is_err() {
            let ended = process.child.try_wait().unwrap();
            assert!(ended.is_none(), "the fixture ended:\n{}", process.stderr.lock().unwrap());
            pause();
        }
        let url = format!("http://{address}/mcp");
        Arc::new(HttpServer { process: Mutex::new(process), url, welcome: String::new() })
    }

    pub(crate) fn connect(&self, wire: Wire) -> Client {
        match wire {
            Wire::Stdio(era) => self.stdio(era),
            Wire::Http(era) => Client::http(self.http(), era),
        }
    }

    /// A stdio server that nobody has greeted yet.
    pub(crate) fn stdio_link(&self) -> StdioLink {
        StdioLink::start(self.command(&["--stdio"]))
    }

    pub(crate) fn stdio(&self, era: Era) -> Client {
        Client::over_stdio(self.stdio_link(), era)
    }
}

/// A setup of the fixture server.
pub(crate) fn fixture_setup(directory: &Path) -> Setup {
    Setup { program: fixture(), ..Setup::new(directory) }
}
