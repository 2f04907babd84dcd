//! From clients' files in a made-up home to upstreams, and back.

mod clients;
mod editing;
mod hostile;
mod merging;
mod undoing;

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::config::{self, Environment, Sources};

/// A home, a working directory and what Windows calls application data, all of them new.
struct Machine {
    root: tempfile::TempDir,
    request: Request,
}

const DESKTOP: &str = "home/.config/Claude/claude_desktop_config.json";
const CONFIG: &str = "home/.config/aqueduct/aqueduct.toml";

fn machine() -> Machine {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    fs::create_dir_all(root.path().join("bin")).unwrap();
    fs::write(root.path().join("bin/aqueduct"), "").unwrap();
    let variables = [("HOME", at("home")), ("APPDATA", at("appdata")), ("PATH", at("bin"))];
    let request = Request {
        from: Vec::new(),
        output: None,
        data: None,
        command: "aqueduct".to_owned(),
        keep_client: false,
        environment: Environment::new(variables).in_directory(at("work")),
        now: "2026-01-02T03:04:05Z".parse().unwrap(),
    };
    Machine { root, request }
}

impl Machine {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn file(self, name: &str, text: &str) -> Self {
        self.put(name, text);
        self
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn from(mut self, names: &[&str]) -> Self {
        self.request.from = names.iter().map(|name| self.path(name)).collect();
        self
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    fn plan(&self) -> Plan {
        plan(&self.request).unwrap()
    }

    fn run(&self) -> (Plan, Done) {
        let plan = self.plan();
        let done = apply(&plan).unwrap();
        (plan, done)
    }

    fn undo(&self, force: bool) -> Undone {
        undo(None, &self.request.environment, force, self.request.now).unwrap()
    }

    /// The configuration as it would be used, with every variable that imports ask for.
    fn load(&self) -> config::Checked {
        let variables = [("HOME", self.path("home").to_str().unwrap().to_owned())];
        let set = ["TOKEN", "github_token", "API_KEY"].map(|name| (name, format!("value of {name}")));
        let environment = Environment::new(variables.into_iter().chain(set));
        let file = Some(self.path(CONFIG));
        config::load(Sources { file, environment, ..Sources::default() }).unwrap()
    }

    /// The entry that clients get.
    fn entry(&self) -> serde_json::Value {
        let config = self.path(CONFIG);
        serde_json::json!({"command": "aqueduct", "args": ["serve", "--stdio", "--config", config]})
    }

    fn backups(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        collect(self.root.path(), &mut found);
        found.sort();
        found
    }
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(!name.starts_with(".aqueduct-"), "{path:?} was left behind");
        if path.is_dir() {
            collect(&path, found);
        } else if name.contains(".aqueduct-backup-") {
            found.push(path);
        }
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
}

#[test]
fn servers_move_and_the_client_gets_one_in_their_place() {
    let machine = machine().file(
        DESKTOP,
        r#"{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]
    },
    "GitHub": {
      "command": "docker",
      "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"],
      "env": { "GITHUB_TOKEN": "ghp_hunter2" }
    }
  }
}
"#,
    );
    let before = machine.text(DESKTOP);
    let (plan, done) = machine.run();
    assert_eq!(
        plan.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(),
        ["filesystem", "github"]
    );
    assert_eq!(plan.notes, [""; 0]);
    assert_eq!(
        machine.text(DESKTOP),
        format!(
            r#"{{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {{
    "aqueduct": {{
      "command": "aqueduct",
      "args": ["serve", "--stdio", "--config", "{}"]
    }}
  }}
}}
"#,
            machine.path(CONFIG).display()
        )
    );
    let backup = machine.path(&format!("{DESKTOP}.aqueduct-backup-20260102T030405Z"));
    assert_eq!(done.clients[0].backup, backup);
    assert_eq!(fs::read_to_string(backup).unwrap(), before);
    assert_eq!(
        machine.text(CONFIG),
        format!(
            r##"# The configuration of Aqueduct. 'aqueduct check --reference' tells every key.

# from {desktop}
[upstream.filesystem]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]

# from {desktop}
[upstream.github]
command = "docker"
args = ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"]

[upstream.github.env]
GITHUB_TOKEN = "ghp_hunter2"
"##,
            desktop = machine.path(DESKTOP).display()
        )
    );
    #[cfg(unix)]
    assert_eq!(mode(&machine.path(CONFIG)), 0o600);
    let names: Vec<_> = machine.load().upstreams.into_iter().map(|upstream| upstream.name).collect();
    assert_eq!(names, ["filesystem", "github"]);
    let again = machine.plan();
    assert!(again.is_empty() && again.servers.is_empty(), "{again:?}");
}

#[test]
fn nothing_is_written_before_it_is_applied() {
    let machine = machine().file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c"}}}"#);
    let before = machine.text(DESKTOP);
    let plan = machine.plan();
    assert!(!plan.is_empty() && !plan.config_exists);
    assert_eq!(machine.text(DESKTOP), before);
    assert!(!machine.path(CONFIG).exists() && machine.backups().is_empty());
}

#[test]
fn a_plan_shows_no_secret() {
    let machine = machine().file(
        DESKTOP,
        r#"{"mcpServers": {
            "a": {"command": "c", "args": ["--api-key", "hunter2"], "env": {"K": "hunter2", "R": "${TOKEN}"}},
            "b": {"url": "https://x/mcp?key=hunter2", "headers": {"X-Key": "hunter2"}}
        }}"#,
    );
    let plan = machine.plan();
    for shown in [format!("{plan:?}"), serde_json::to_string(&plan).unwrap()] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert!(plan.config_added.contains("K = \"***\"\nR = \"${TOKEN}\""), "{}", plan.config_added);
    let done = apply(&plan).unwrap();
    assert!(!format!("{done:?}{}", serde_json::to_string(&done).unwrap()).contains("hunter2"));
    assert_eq!(machine.text(CONFIG).matches("hunter2").count(), 4);
    assert!(!machine.text("home/.local/share/aqueduct/init.json").contains("hunter2"));
}

#[test]
fn a_file_that_changes_while_the_plan_is_read_stops_everything() {
    for (name, text) in [(DESKTOP, "{}"), (CONFIG, "[server]\n")] {
        let machine = machine().file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c"}}}"#);
        let plan = machine.plan();
        machine.put(name, text);
        let error = apply(&plan).unwrap_err();
        assert!(error.message().ends_with("was changed by somebody else in the meantime"), "{error}");
        assert_eq!(machine.text(name), text);
        assert!(machine.backups().is_empty());
    }
}

#[test]
fn clients_may_be_kept_as_they_are() {
    let mut machine = machine().file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c"}}}"#);
    machine.request.keep_client = true;
    let before = machine.text(DESKTOP);
    let (plan, done) = machine.run();
    assert!(plan.clients.is_empty() && done.clients.is_empty() && machine.backups().is_empty());
    assert_eq!(machine.text(DESKTOP), before);
    assert_eq!(machine.load().upstreams.len(), 1);
    assert!(machine.plan().is_empty(), "what is configured already is not added again");
}

#[test]
fn the_command_and_the_data_directory_can_be_chosen() {
    let mut machine = machine().file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c"}}}"#);
    machine.request.command = "/opt/aqueduct".to_owned();
    machine.request.data = Some("data".into());
    machine.request.output = Some("conf/a.toml".into());
    let (plan, _) = machine.run();
    let (data, config) = (machine.path("work/data"), machine.path("work/conf/a.toml"));
    assert!(plan.notes.is_empty() && config.exists() && data.join("init.json").exists());
    assert_eq!(
        machine.json(DESKTOP)["mcpServers"]["aqueduct"],
        serde_json::json!({"command": "/opt/aqueduct",
            "args": ["serve", "--stdio", "--data", data, "--config", config]})
    );
}

#[test]
fn a_command_that_clients_would_not_find_is_told() {
    let machine = machine().file(DESKTOP, r#"{"mcpServers": {"a": {"command": "c"}}}"#);
    fs::remove_file(machine.path("bin/aqueduct")).unwrap();
    assert!(machine.plan().notes[0].starts_with("'aqueduct' is not in 'PATH'"));
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_rights_stay_rights() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let machine = machine().file("dotfiles/claude.json", r#"{"mcpServers": {"a": {"command": "c"}}}"#);
    let (real, link) = (machine.path("dotfiles/claude.json"), machine.path(DESKTOP));
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&real, &link).unwrap();
    machine.put(CONFIG, "# mine\n");
    fs::set_permissions(machine.path(CONFIG), fs::Permissions::from_mode(0o644)).unwrap();
    let (_, done) = machine.run();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("aqueduct"));
    assert_eq!((mode(&real), mode(&done.clients[0].backup)), (0o640, 0o640));
    assert_eq!(mode(&machine.path(CONFIG)), 0o600, "it holds secrets now");
    machine.undo(false);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!((mode(&real), machine.text(DESKTOP).contains("aqueduct")), (0o640, false));
}
