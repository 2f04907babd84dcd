//! Putting clients' files back.

use super::*;

const BEFORE: &str = "{ \"mcpServers\": { \"a\": {\"command\": \"c\"} } } // mine";

fn taken_over() -> Machine {
    let machine = machine().file(DESKTOP, BEFORE);
    machine.run();
    assert_ne!(machine.text(DESKTOP), BEFORE);
    machine
}

#[test]
fn undoing_puts_every_byte_back_once() {
    let machine = taken_over();
    let undone = machine.undo(false);
    assert_eq!((undone.restored.len(), undone.refused.len()), (1, 0));
    assert_eq!(machine.text(DESKTOP), BEFORE);
    assert!(machine.backups().is_empty());
    let again = machine.undo(false);
    assert!(again.restored.is_empty() && again.refused.is_empty());
    assert_eq!(machine.text(DESKTOP), BEFORE);
    assert!(machine.path(CONFIG).exists(), "the configuration is the user's own by now");
}

/// The configuration is not taken back, so it is told what is in it.
#[test]
fn undoing_says_what_stays_in_the_configuration() {
    let two = r#"{"mcpServers": {"a": {"command": "c"}, "B-b": {"command": "d"}}}"#;
    let config = "[upstream.mine]\ncommand = 'm'\n";
    let machine = machine().file(DESKTOP, BEFORE).file("home/.cursor/mcp.json", two).file(CONFIG, config);
    machine.run();
    let undone = machine.undo(false);
    let stays = |names: &[&str]| Stays {
        config: machine.path(CONFIG),
        upstreams: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert_eq!(undone.stays, [stays(&["a", "b_b"])], "those of the clients, each once, not the user's own");
    assert!(machine.undo(false).stays.is_empty());

    machine.run();
    let kept = machine.text(CONFIG);
    let (before, _) = kept.split_once("[upstream.b_b]").unwrap();
    machine.put(CONFIG, before);
    assert_eq!(machine.undo(false).stays, [stays(&["a"])], "what was removed since is not told");
    machine.run();
    fs::remove_file(machine.path(CONFIG)).unwrap();
    assert_eq!(machine.undo(false).stays, []);
}

/// Notes of earlier versions do not say where the servers went.
#[test]
fn notes_without_the_configuration_are_understood() {
    let machine = taken_over();
    let notes = "home/.local/share/aqueduct/init.json";
    let mut json = machine.json(notes);
    let change = json["changes"][0].as_object_mut().unwrap();
    assert!(change.remove("config").is_some() && change.remove("upstreams").is_some());
    machine.put(notes, &json.to_string());
    let undone = machine.undo(false);
    assert_eq!((undone.restored.len(), undone.stays.len(), machine.text(DESKTOP).as_str()), (1, 0, BEFORE));
}

#[test]
fn a_file_that_was_changed_since_is_left_alone_unless_forced() {
    let machine = taken_over();
    let changed = machine.text(DESKTOP).replace('}', " }");
    machine.put(DESKTOP, &changed);
    for _ in 0..2 {
        let undone = machine.undo(false);
        assert!(undone.restored.is_empty());
        assert!(undone.refused[0].contains("was changed since") && undone.refused[0].contains("--force"));
        assert_eq!(machine.text(DESKTOP), changed);
    }
    let undone = machine.undo(true);
    assert_eq!(machine.text(DESKTOP), BEFORE);
    let kept = undone.restored[0].given_up.as_ref().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), changed, "nothing is lost");
}

#[test]
fn one_file_that_cannot_be_put_back_does_not_keep_the_others() {
    let machine = machine().file(DESKTOP, BEFORE).file("home/.cursor/mcp.json", BEFORE);
    machine.run();
    machine.put(DESKTOP, "{}");
    let undone = machine.undo(false);
    assert_eq!((undone.restored.len(), undone.refused.len()), (1, 1));
    assert_eq!(
        (machine.text(DESKTOP).as_str(), machine.text("home/.cursor/mcp.json").as_str()),
        ("{}", BEFORE)
    );
    assert_eq!(machine.undo(false).refused.len(), 1, "it is still noted");
}

#[test]
fn a_file_that_is_gone_comes_back_by_force() {
    let machine = taken_over();
    fs::remove_file(machine.path(DESKTOP)).unwrap();
    assert!(machine.undo(false).refused[0].contains("is not there any more"));
    machine.undo(true);
    assert_eq!(machine.text(DESKTOP), BEFORE);
}

#[test]
fn several_rounds_are_undone_together() {
    let mut machine = taken_over();
    // A server added by hand to what the first round wrote, then taken over in a second round.
    let by_hand = machine.text(DESKTOP).replacen(
        "{ \"mcpServers\": {",
        "{ \"mcpServers\": { \"b\": {\"command\": \"d\"},",
        1,
    );
    machine.put(DESKTOP, &by_hand);
    machine.request.now = "2026-01-02T03:04:06Z".parse().unwrap();
    machine.run();
    machine.undo(false);
    assert_eq!(machine.text(DESKTOP), by_hand, "what was written by hand is kept");
    // Two rounds without anything in between.
    let mut machine = machine_with_two();
    machine.request.from = vec![machine.path(DESKTOP)];
    machine.run();
    machine.request.from = vec![machine.path("home/.cursor/mcp.json")];
    machine.run();
    assert_eq!(machine.undo(false).restored.len(), 2);
    assert_eq!(
        (machine.text(DESKTOP).as_str(), machine.text("home/.cursor/mcp.json").as_str()),
        (BEFORE, BEFORE)
    );
}

fn machine_with_two() -> Machine {
    machine().file(DESKTOP, BEFORE).file("home/.cursor/mcp.json", BEFORE)
}

/// As after a crash between the note and the writing.
#[test]
fn a_file_that_is_as_it_was_is_fine() {
    let machine = taken_over();
    machine.put(DESKTOP, BEFORE);
    let undone = machine.undo(false);
    assert_eq!((undone.restored.len(), undone.refused.len()), (1, 0));
    assert_eq!(machine.text(DESKTOP), BEFORE);
    assert!(machine.undo(false).restored.is_empty());
}

#[test]
fn backups_that_are_gone_or_changed_are_told() {
    let machine = taken_over();
    let backup = machine.backups().remove(0);
    let after = machine.text(DESKTOP);
    fs::write(&backup, "{}").unwrap();
    assert!(machine.undo(false).refused[0].contains("was changed since it was made"));
    fs::remove_file(&backup).unwrap();
    for force in [false, true] {
        assert!(machine.undo(force).refused[0].contains("is gone"));
    }
    assert_eq!(machine.text(DESKTOP), after);
}

#[test]
fn notes_that_cannot_be_read_stop_everything() {
    let machine = machine().file(DESKTOP, BEFORE);
    for notes in ["no notes", "{}", "{\"version\": 99, \"changes\": []}", "[]"] {
        machine.put("home/.local/share/aqueduct/init.json", notes);
        assert!(undo(None, &machine.request.environment, true, machine.request.now).is_err(), "{notes}");
        assert!(apply(&machine.plan()).is_err(), "{notes}");
        assert_eq!(machine.text(DESKTOP), BEFORE);
        assert!(machine.backups().is_empty() && !machine.path(CONFIG).exists());
    }
}

#[test]
fn a_second_backup_in_the_same_second_gets_a_number() {
    let machine = taken_over();
    machine.put(DESKTOP, BEFORE);
    machine.run();
    let backups = machine.backups();
    assert_eq!(backups.len(), 2);
    assert!(backups[1].to_str().unwrap().ends_with("Z-2"), "{backups:?}");
}
