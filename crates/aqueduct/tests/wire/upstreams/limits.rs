//! Quotas, limits of servers, and servers that ask to be left alone.

use serde_json::{Value, json};

use super::{CLIENTS, Place, Remote, answered, call, refused};
use crate::harness::Client;

fn is_echo(event: &Value) -> bool {
    event["event"] == "received" && event["params"]["name"] == "echo"
}

fn echo(client: &mut Client, text: &str) -> Value {
    call(client, "one_echo", json!({"text": text}))
}

fn status(client: &mut Client) -> Value {
    answered(client, "introspect", json!({"query": "quota_status"}))
}

const DAY: &str = "[[safety.quota]]\nmetric = 'requests_per_day'\nupstream = 'one'\nwarn = 3\npause = 5\n";

/// LREQ-RATE-01 LREQ-RATE-02 LREQ-RATE-03 LREQ-RATE-08
#[test]
fn a_servers_limit_is_never_exceeded_and_what_is_too_much_is_not_sent() {
    let scopes = [
        "scope = 'global'",
        "scope = 'endpoint', endpoint = 'one_e*'",
        "scope = 'category', category = 'EXECUTE'",
    ];
    for (scope, wire) in scopes.iter().zip(CLIENTS) {
        let more = format!(
            "api_limits = [{{ {scope}, limit = 5, window = 'hour' }}]\ntools.echo.category = 'EXECUTE'"
        );
        let place = Place::new().stdio("one", &[], &more);
        let mut client = place.connect(wire);
        let answers: Vec<Value> = (0..20).map(|number| echo(&mut client, &number.to_string())).collect();
        for (number, answer) in answers.iter().enumerate() {
            if number < 5 {
                assert_eq!(answer["success"], true, "{scope} {number} {answer}");
                continue;
            }
            let error = &answer["error"];
            assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED", "{scope} {number} {answer}");
            assert_eq!(error["details"]["limit"], 5);
            assert!(
                (3500..=3660).contains(&error["details"]["retry_after_seconds"].as_u64().unwrap()),
                "{error}"
            );
        }
        assert_eq!(place.count("one", is_echo), 5, "{scope}");
        let shown = status(&mut client);
        let limits = shown["api_limits"].as_object().unwrap();
        assert_eq!(limits.values().next().unwrap()["remaining"], 0, "{shown}");
        // Other calls go on where the limit is not for all of them.
        let other = call(&mut client, "one_list_things", json!({"count": 1}));
        assert_eq!(other["success"], !scope.contains("global"), "{scope} {other}");
    }
}

/// LREQ-RATE-01
#[test]
fn two_processes_share_one_limit() {
    let place =
        Place::new().stdio("one", &[], "api_limits = [{ scope = 'global', limit = 7, window = 'day' }]");
    let mut first = place.client();
    let mut second = place.client();
    let made = (0..20).filter(|number| {
        let client = if number % 2 == 0 { &mut first } else { &mut second };
        echo(client, "x")["success"] == true
    });
    assert_eq!(made.count(), 7);
    assert_eq!(place.count("one", is_echo), 7);
}

/// LREQ-RATE-05 LREQ-RATE-06 LREQ-ERR-20 LREQ-RATE-09 LREQ-RATE-11
#[test]
fn a_quota_warns_pauses_and_stops_and_a_token_continues_once() {
    for wire in CLIENTS {
        let place = Place::new().stdio("one", &[], "").lines(&format!("{DAY}hard_stop = 7"));
        let mut client = place.connect(wire);
        for number in 1..=5 {
            let answer = echo(&mut client, "x");
            assert_eq!(answer["success"], true, "{answer}");
            let warned = answer["warnings"].as_array().map_or(0, Vec::len);
            assert_eq!(warned, usize::from(number > 3), "{number} {answer}");
            if number > 3 {
                let warning = &answer["warnings"][0];
                assert_eq!(warning["code"], "RATE_LIMIT_QUOTA_WARNING");
                assert_eq!(warning["details"]["current"], number);
                assert_eq!(warning["details"]["warn_threshold"], 3);
            }
        }
        assert_eq!(status(&mut client)["quotas"][0]["status"], "paused");
        let mut last = String::new();
        for _ in 6..=7 {
            let error = refused(&mut client, "one_echo", json!({"text": "x"}));
            assert_eq!(error["code"], "RATE_LIMIT_QUOTA_PAUSE", "{error}");
            let token = error["details"]["confirmation_token"].as_str().unwrap();
            assert!(token.starts_with("quota_continue_") && token.len() >= 15 + 43, "256 random bits");
            last = token.to_owned();
            let other = refused(&mut client, "one_echo", json!({"text": "y", "_quota_continue": token}));
            assert_eq!(other["code"], "TOKEN_SCOPE_MISMATCH", "{other}");
            let name =
                if error["details"]["current"] == 5 { "_quota_continue" } else { "confirmation_token" };
            assert_eq!(answered(&mut client, "one_echo", json!({"text": "x", (name): token})), "x");
        }
        let again = refused(&mut client, "one_echo", json!({"text": "x", "_quota_continue": last}));
        assert_eq!(again["code"], "TOKEN_ALREADY_USED", "{again}");
        for forged in [json!("conf_x"), json!("quota_continue_"), json!(7), json!(null), json!({"a": 1})] {
            let error = refused(&mut client, "one_echo", json!({"text": "x", "_quota_continue": forged}));
            assert_eq!(error["code"], "TOKEN_INVALID", "{forged} {error}");
        }
        let error = refused(&mut client, "one_echo", json!({"text": "x"}));
        assert_eq!(error["code"], "RATE_LIMIT_QUOTA_EXHAUSTED", "{error}");
        assert!(error["details"]["retry_after_seconds"].as_u64().unwrap() > 0);
        assert_eq!(place.count("one", is_echo), 7);
        let shown = status(&mut client);
        assert_eq!(
            (&shown["quotas"][0]["status"], &shown["quotas"][0]["current"]),
            (&json!("exhausted"), &json!(7))
        );
        assert_eq!(call(&mut client, "introspect", json!({"query": "operations"}))["success"], true);
        drop(client);
        let error = refused(&mut place.connect(wire), "one_echo", json!({"text": "x"}));
        assert_eq!(error["code"], "RATE_LIMIT_QUOTA_EXHAUSTED", "after a restart: {error}");
    }
}

/// LREQ-RATE-06
#[test]
fn the_parameter_that_continues_is_found_where_a_quota_can_pause() {
    let lines =
        "[[safety.quota]]\nmetric = 'requests_per_day'\noperations = ['one_echo']\nwarn = 1\npause = 2";
    let place = Place::new().stdio("one", &[], "").lines(lines);
    let mut client = place.client();
    let mut takes = |name: &str| {
        let details = call(&mut client, "introspect", json!({"query": "operations", "name": name}));
        let params = details["data"]["operation"]["parameters"].as_array().unwrap().clone();
        let found = params.into_iter().find(|param| param["name"] == "quota_continue");
        found.map(|param| {
            let about = param["description"].as_str().unwrap_or_default().to_owned();
            (param["required"] == true, about.contains("_quota_continue"))
        })
    };
    assert_eq!(takes("one_echo"), Some((false, true)));
    assert_eq!(takes("list_entities"), None, "nothing pauses it");
    for _ in 1..=2 {
        assert_eq!(echo(&mut client, "x")["success"], true);
    }
    let error = refused(&mut client, "one_echo", json!({"text": "x"}));
    let token = error["details"]["confirmation_token"].clone();
    for forged in [json!("quota_continue_x"), json!("x"), json!(7)] {
        let error = refused(&mut client, "one_echo", json!({"text": "x", "quota_continue": forged}));
        assert_eq!(error["code"], "TOKEN_INVALID", "{forged} {error}");
    }
    assert_eq!(answered(&mut client, "one_echo", json!({"text": "x", "quota_continue": token})), "x");
    let elsewhere = refused(&mut client, "list_entities", json!({"quota_continue": "x"}));
    assert_eq!(elsewhere["code"], "VALIDATION_UNKNOWN_PARAM", "{elsewhere}");
}

/// LREQ-RATE-06
#[test]
fn another_session_cannot_use_a_token() {
    let place = Place::new()
        .stdio("one", &[], "")
        .lines("[[safety.quota]]\nmetric = 'requests_per_day'\nwarn = 0\npause = 0");
    let mut client = place.client();
    let error = refused(&mut client, "one_echo", json!({"text": "x"}));
    let token = error["details"]["confirmation_token"].clone();
    let params = json!({"text": "x", "_quota_continue": token});
    assert_eq!(refused(&mut place.client(), "one_echo", params.clone())["code"], "TOKEN_INVALID");
    assert_eq!(answered(&mut client, "one_echo", params), "x");
}

/// LREQ-RATE-10
#[test]
fn what_is_switched_off_neither_warns_nor_pauses() {
    let place = Place::new().stdio("one", &[], "").lines(&format!("{DAY}hard_stop = 7\nenabled = false"));
    let mut client = place.client();
    for _ in 0..10 {
        let answer = echo(&mut client, "x");
        assert_eq!((&answer["success"], &answer["warnings"]), (&json!(true), &Value::Null), "{answer}");
    }
    assert_eq!(status(&mut client)["quotas"], json!([]));
}

/// LREQ-RATE-12 LREQ-RATE-07
#[test]
fn costs_and_tokens_are_counted() {
    let quotas = "[[safety.quota]]\nmetric = 'cost_per_month'\nwarn = 1\npause = 2\n\
                  [[safety.quota]]\nmetric = 'tokens_per_day'\ncaller = '*'\nwarn = 900\npause = 1000\n";
    let more = "cost = [{ cost_per_call = 0.001 }, { operations = ['one_big'], cost_per_call = 0.01 }]";
    let place = Place::new().stdio("one", &[], more).lines(quotas);
    let mut client = place.client();
    for _ in 0..3 {
        answered(&mut client, "one_big", json!({"bytes": 400}));
    }
    answered(&mut client, "one_echo", json!({"text": "x"}));
    let shown = status(&mut client);
    assert_eq!(
        (&shown["quotas"][0]["current"], &shown["quotas"][0]["currency"]),
        (&json!(0.031), &json!("USD"))
    );
    let tokens = shown["quotas"][1]["current"].as_u64().unwrap();
    assert!((300..400).contains(&tokens), "{shown}");
    answered(&mut client, "one_big", json!({"bytes": 4000}));
    assert_eq!(refused(&mut client, "one_big", json!({"bytes": 4}))["code"], "RATE_LIMIT_QUOTA_PAUSE");
}

/// LREQ-RATE-04 LREQ-RATE-11
#[test]
fn a_server_that_asks_for_it_is_left_alone() {
    for said in [
        "429 Too Many Requests\nRetry-After: 300",
        "503 Service Unavailable\nRetry-After: 300",
        "200 OK\nX-RateLimit-Remaining: 0\nRetry-After: 300",
        "200 OK\nX-Left: 0\nX-More-In: 300",
    ] {
        let place = Place::new();
        let remote = Remote::start(&place, "one", &[]);
        let more = "api_limits = [{ scope = 'global', limit = 1000, window = 'day', remaining_header = 'X-Left', reset_header = 'X-More-In' }]";
        let place = place.http("one", &remote.url, more);
        let mut client = place.client();
        answered(&mut client, "one_echo", json!({"text": "x"}));
        std::fs::write(place.state("one").join("pressure"), said).unwrap();
        let answer = echo(&mut client, "x");
        let sent = place.count("one", is_echo);
        if said.starts_with("200") {
            assert_eq!(answer["success"], true, "{said} {answer}");
        } else {
            assert_eq!(answer["error"]["code"], "RATE_LIMIT_EXCEEDED", "{said} {answer}");
        }
        let blocked = |client: &mut Client| {
            let error = refused(client, "one_echo", json!({"text": "x"}));
            assert_eq!(error["code"], "RATE_LIMIT_EXCEEDED", "{said} {error}");
            let wait = error["details"]["retry_after_seconds"].as_u64().unwrap();
            assert!((200..=300).contains(&wait), "{said} {error}");
        };
        blocked(&mut client);
        drop(client);
        blocked(&mut place.client());
        assert_eq!(place.count("one", is_echo), sent, "{said}: nothing was sent");
    }
}
