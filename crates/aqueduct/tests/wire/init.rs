//! `aqueduct init` as a person uses it.

use std::{fs, path::Path, process::Output};

use serde_json::{Value, json};

use crate::harness::{aqueduct, command, data};

const CLIENT: &str = ".cursor/mcp.json";
const CONFIG: &str = "config-home/aqueduct/aqueduct.toml";

/// A home with one client in it, and a working directory of its own.
fn home() -> tempfile::TempDir {
    let directory = data();
    fs::create_dir_all(directory.path().join(".cursor")).unwrap();
    fs::create_dir_all(directory.path().join("work")).unwrap();
    let servers = json!({"mcpServers": {
        "GitHub": {"command": "npx", "args": ["-y", "github-server"], "env": {"GITHUB_TOKEN": "hunter2"}},
        "esc\u{1b}[2Jape": {"url": "https://mcp.example.com/mcp", "disabled": true},
    }});
    fs::write(directory.path().join(CLIENT), servers.to_string()).unwrap();
    directory
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = command(&aqueduct(), &directory.join("work"));
    command.env("HOME", directory).env("XDG_CONFIG_HOME", directory.join("config-home"));
    command.env("XDG_DATA_HOME", directory.join("data-home")).env_remove("APPDATA");
    command.stdin(std::process::Stdio::null()).arg("init").args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json_out(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap()
}

#[test]
fn without_yes_it_only_shows() {
    let home = home();
    let before = fs::read_to_string(home.path().join(CLIENT)).unwrap();
    for (arguments, last) in
        [(&[][..], "Nothing was written; go ahead with '--yes'."), (&["--dry-run"], "Nothing was written.")]
    {
        let shown = out(&run(home.path(), arguments));
        assert!(shown.trim_end().ends_with(last), "{shown}");
        for part in
            ["Servers found: 2", "[upstream.github]", "GITHUB_TOKEN = \"***\"", "  - GitHub, ", "backup: "]
        {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
        assert!(!shown.contains("hunter2") && !shown.contains('\u{1b}'), "{shown}");
        assert!(!home.path().join(CONFIG).exists());
        assert_eq!(fs::read_to_string(home.path().join(CLIENT)).unwrap(), before);
    }
    let shown = json_out(&run(home.path(), &["--json"]));
    assert_eq!(shown["status"], "preview");
    assert_eq!(shown["plan"]["servers"][0]["name"], "github");
    assert!(!shown.to_string().contains("hunter2"));
}

#[test]
fn with_yes_it_writes_and_undo_takes_it_back() {
    let home = home();
    let client = home.path().join(CLIENT);
    let before = fs::read_to_string(&client).unwrap();
    let done = json_out(&run(home.path(), &["--yes", "--json"]));
    assert_eq!(done["status"], "done");
    let config = home.path().join(CONFIG);
    assert_eq!(done["done"]["config"], config.to_str().unwrap());
    let entry: Value = serde_json::from_str(&fs::read_to_string(&client).unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["aqueduct"]["args"][3], config.to_str().unwrap());
    let check = command(&aqueduct(), home.path()).args(["check", "--config", CONFIG]).output().unwrap();
    assert_eq!(check.status.code(), Some(0), "{}", String::from_utf8_lossy(&check.stderr));
    assert_eq!(json_out(&run(home.path(), &["--yes", "--json"]))["status"], "nothing");

    fs::write(&client, "{}").unwrap();
    let refused = run(home.path(), &["--undo"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("was changed since"));
    let undone = out(&run(home.path(), &["--undo", "--force"]));
    assert!(undone.starts_with("Put back "), "{undone}");
    assert!(undone.contains(&format!("Still in {}: github, ", config.display())), "{undone}");
    assert_eq!(fs::read_to_string(&client).unwrap(), before);
    assert_eq!(out(&run(home.path(), &["--undo"])).trim_end(), "There is nothing to put back.");
    assert_eq!(
        json_out(&run(home.path(), &["--undo", "--json"])),
        json!({"restored": [], "refused": [], "stays": []})
    );
}

#[test]
fn the_preview_says_which_servers_wait_for_variables() {
    let home = home();
    let servers =
        json!({"mcpServers": {"a": {"command": "c", "env": {"K": "${NONE_SUCH}"}}, "b": {"command": "c"}}});
    fs::write(home.path().join(CLIENT), servers.to_string()).unwrap();
    let shown = out(&run(home.path(), &[]));
    let line =
        |name: &str| shown.lines().find(|line| line.starts_with(&format!("  {name} "))).unwrap().to_owned();
    assert!(line("a").ends_with("(off until NONE_SUCH is set)") && !line("b").contains("off"), "{shown}");
    assert!(shown.contains("export NONE_SUCH="), "{shown}");
}

#[test]
fn mistakes_are_told_with_their_exit_codes() {
    let home = home();
    for (arguments, code, said) in [
        (&["--from", "none.json"][..], 4, "it does not exist"),
        (&["--from", "."], 4, "it is a directory"),
        (&["--force"], 2, "--undo"),
        (&["--undo", "--from", "x"], 2, "cannot be used with"),
        (&["--yes", "--dry-run"], 2, "cannot be used with"),
    ] {
        let output = run(home.path(), arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {told}");
        assert!(told.contains(said), "{arguments:?} {told}");
    }
}

/// A client's file is a configuration as it is, and what is wrong with it shows no secret.
#[test]
fn a_clients_file_can_be_checked_as_it_is() {
    let home = home();
    let check =
        |file: &str| command(&aqueduct(), home.path()).args(["check", "--config", file]).output().unwrap();
    let output = check(CLIENT);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let waits = "{\"mcpServers\": {\"a\": {\"command\": \"c\", \"env\": {\"A\": \"hunter2\", \"B\": \"${NONE_SUCH}\"}}}}";
    fs::write(home.path().join("waits.json"), waits).unwrap();
    let output = check("waits.json");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("'NONE_SUCH'") && !told.contains("hunter2"), "{told}");
}
