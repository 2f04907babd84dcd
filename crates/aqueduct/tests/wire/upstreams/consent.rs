//! A person's consent to a call of another server: not lost to a quota, and not good for another tool.

use serde_json::{Value, json};

use super::{CLIENTS, Place, answered, begin, call, finish, refused, wait_until};
use crate::{
    confirmation::{events, operator, pending, told},
    harness::Client,
};

/// What is called without anybody being asked.
const TRUSTED: &str = "trust = 'certified'\ntools.echo.danger = 'safe'\ntools.announce.danger = 'safe'\n";

fn place(top: &str, more: &str) -> Place {
    Place::new().stdio("one", &[], &format!("{TRUSTED}{more}")).lines(top)
}

fn connect(place: &Place) -> Client {
    let mut client = place.setup().asking().connect(CLIENTS[0]);
    place.wait_for(&mut client, &["one"]);
    client
}

fn deletions(place: &Place) -> usize {
    place.count("one", |event| event["event"] == "received" && event["params"]["name"] == "delete_thing")
}

fn approve(place: &Place, id: &str) {
    assert!(operator(place.path(), &["approve", id]).status.success());
}

fn asked(error: &Value) -> String {
    assert_eq!(error["code"], "CONFIRMATION_REQUIRED", "{error}");
    error["details"]["approval_id"].as_str().unwrap().to_owned()
}

fn paused(error: &Value) -> String {
    assert_eq!(error["code"], "RATE_LIMIT_QUOTA_PAUSE", "{error}");
    error["details"]["confirmation_token"].as_str().unwrap().to_owned()
}

fn granted(place: &Place) -> usize {
    events(place.path()).iter().filter(|event| *event == "CONFIRMATION_GRANTED").count()
}

const QUOTA: &str = "[[safety.quota]]\nmetric = 'requests_per_day'\nupstream = 'one'\nwarn = 1\npause = 1\n";

/// LREQ-RATE-06 LREQ-GATE-07
#[test]
fn a_quota_is_looked_at_before_anybody_is_asked_and_before_a_yes_is_spent() {
    let place = place(&format!("[safety]\nhold_seconds = 0\n{QUOTA}hard_stop = 3"), "");
    let mut client = connect(&place);
    answered(&mut client, "one_echo", json!({"text": "x"}));
    let call = json!({"thing_id": "1"});
    let with = |token: &str| json!({"thing_id": "1", "_quota_continue": token});
    let token = paused(&refused(&mut client, "one_delete_thing", call.clone()));
    assert!(told(place.path(), &["pending"])["approvals"].as_array().unwrap().is_empty(), "nobody was asked");
    for forged in ["quota_continue_x", "x"] {
        let error = refused(&mut client, "one_delete_thing", with(forged));
        assert_eq!(error["code"], "TOKEN_INVALID", "{error}");
    }
    let id = asked(&refused(&mut client, "one_delete_thing", with(&token)));
    approve(&place, &id);
    // Without the token, with a wrong one: what was agreed to is still there.
    paused(&refused(&mut client, "one_delete_thing", call.clone()));
    assert_eq!(refused(&mut client, "one_delete_thing", with("x"))["code"], "TOKEN_INVALID");
    assert_eq!((deletions(&place), granted(&place)), (0, 0));
    assert_eq!(answered(&mut client, "one_delete_thing", with(&token)), "deleted 1");
    assert_eq!((deletions(&place), granted(&place)), (1, 1));
    let again = refused(&mut client, "one_delete_thing", with(&token));
    assert_eq!(again["code"], "TOKEN_ALREADY_USED", "{again}");
    // Where nothing is left, nobody is asked in vain.
    let token = paused(&refused(&mut client, "one_echo", json!({"text": "x"})));
    answered(&mut client, "one_echo", json!({"text": "x", "_quota_continue": token}));
    let error = refused(&mut client, "one_delete_thing", json!({"thing_id": "2"}));
    assert_eq!(error["code"], "RATE_LIMIT_QUOTA_EXHAUSTED", "{error}");
    assert!(told(place.path(), &["pending"])["approvals"].as_array().unwrap().is_empty());
}

/// LREQ-RATE-06 LREQ-GATE-07
#[test]
fn a_quota_that_is_used_up_while_a_person_thinks_does_not_cost_their_yes() {
    let place = place(QUOTA, "");
    let mut client = connect(&place);
    let held = begin(&mut client, "one_delete_thing", json!({"thing_id": "1"}));
    let id = pending(place.path())[0]["id"].as_str().unwrap().to_owned();
    answered(&mut client, "one_echo", json!({"text": "x"}));
    approve(&place, &id);
    let token = paused(&finish(&mut client, held)["error"]);
    assert_eq!((deletions(&place), granted(&place)), (0, 0));
    let done = call(&mut client, "one_delete_thing", json!({"thing_id": "1", "_quota_continue": token}));
    assert_eq!(done["data"], "deleted 1", "{done}");
    assert_eq!((deletions(&place), granted(&place)), (1, 1));
}

const CHANGED: &str = "Delete a thing, and everything that belongs to it.";

/// The upstream has made another tool of it and says so; the gateway goes by it.
fn change(place: &Place, client: &mut Client) {
    place.define("one", &json!({"delete_thing": {"description": CHANGED}}));
    answered(client, "one_announce", json!({}));
    wait_until("the change is published", || {
        let asked = json!({"query": "operations", "name": "one_delete_thing"});
        answered(client, "introspect", asked)
            .to_string()
            .contains("everything that belongs to it")
            .then_some(())
    });
}

/// LREQ-TOKEN-04
#[test]
fn consent_is_to_the_tool_as_it_was_described() {
    for confirmation in ["operator", "token"] {
        let top = format!("[safety]\nhold_seconds = 0\nconfirmation = '{confirmation}'");
        let place = place(&top, "definitions = 'follow'");
        let mut client = connect(&place);
        let error = refused(&mut client, "one_delete_thing", json!({"thing_id": "1"}));
        let mut again = json!({"thing_id": "1"});
        match confirmation {
            "token" => again["confirmation_token"] = error["details"]["confirmation_token"].clone(),
            _ => approve(&place, &asked(&error)),
        }
        change(&place, &mut client);
        let refusal = refused(&mut client, "one_delete_thing", again.clone());
        match confirmation {
            "token" => assert_eq!(refusal["code"], "TOKEN_SCOPE_MISMATCH", "{refusal}"),
            _ => assert_ne!(asked(&refusal), asked(&error), "somebody is asked again"),
        }
        assert_eq!(deletions(&place), 0, "{confirmation}");
        // As it was before, what was agreed to fits again.
        place.define("one", &json!({}));
        answered(&mut client, "one_announce", json!({}));
        wait_until("it is as before", || {
            (call(&mut client, "one_delete_thing", again.clone())["success"] == true).then_some(())
        });
        assert_eq!(deletions(&place), 1, "{confirmation}");
    }
}

/// LREQ-TOKEN-04
#[test]
fn a_tool_that_becomes_another_while_a_person_thinks_is_not_called() {
    let place = place("", "definitions = 'follow'");
    let mut client = connect(&place);
    let held = begin(&mut client, "one_delete_thing", json!({"thing_id": "1"}));
    let id = pending(place.path())[0]["id"].as_str().unwrap().to_owned();
    change(&place, &mut client);
    approve(&place, &id);
    let error = &finish(&mut client, held)["error"];
    assert_eq!(error["code"], "PERMISSION_DENIED", "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("has changed since the call was approved"),
        "{error}"
    );
    assert!(!error.to_string().contains(CHANGED), "what nobody agreed to is not told here: {error}");
    let again = begin(&mut client, "one_delete_thing", json!({"thing_id": "1"}));
    let id = pending(place.path())[0]["id"].as_str().unwrap().to_owned();
    approve(&place, &id);
    assert_eq!(finish(&mut client, again)["data"], "deleted 1");
    assert_eq!(deletions(&place), 1);
}
