//! What servers see of us: tokens, headers, variables, the working directory.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use super::{CLIENTS, Place, Remote, answered, echoes, refused};

#[test]
fn a_token_comes_from_the_environment() {
    for era in ["initialize", "discover"] {
        let place = Place::new();
        let wanted = place.path().join("wanted");
        fs::write(&wanted, "token-in-env\n").unwrap();
        let remote = Remote::start(&place, "one", &["--era", era, "--bearer", wanted.to_str().unwrap()]);
        let place = place.http("one", &remote.url, "bearer_env = \"ONE_TOKEN\"");
        let mut client = place.setup().env("ONE_TOKEN", "token-in-env").connect(CLIENTS[0]);
        place.wait_for(&mut client, &["one"]);
        echoes(&mut client, "one");
        // It is the server's to refuse it.
        fs::write(&wanted, "another").unwrap();
        let error = refused(&mut client, "one_echo", json!({"text": "x"}));
        assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{error}");
        let why = error["details"]["upstream_error"]["message"].as_str().unwrap();
        assert!(why.contains("wants a credential") && !error.to_string().contains("token-in-env"), "{error}");
        fs::write(&wanted, "token-in-env").unwrap();
        echoes(&mut client, "one");
    }
}

#[test]
fn a_token_that_a_program_prints_is_renewed_when_it_is_refused() {
    for era in ["initialize", "discover"] {
        let place = Place::new();
        let (wanted, asked) = (place.path().join("wanted"), place.path().join("asked"));
        let program = place.path().join("token");
        let script = format!("#!/bin/sh\necho once >> {}\ncat {}\n", asked.display(), wanted.display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&wanted, "first").unwrap();
        let remote = Remote::start(&place, "one", &["--era", era, "--bearer", wanted.to_str().unwrap()]);
        let place = place.http("one", &remote.url, "bearer_command = [\"./token\"]");
        let mut client = place.client();
        let times = || fs::read_to_string(&asked).unwrap().lines().count();
        for _ in 0..5 {
            echoes(&mut client, "one");
        }
        assert_eq!(times(), 1, "{era}: a token that is accepted is kept");
        fs::write(&wanted, "second").unwrap();
        echoes(&mut client, "one");
        assert_eq!(times(), 2, "{era}");
        fs::write(&program, "#!/bin/sh\necho 'no luck' >&2\nexit 9\n").unwrap();
        fs::write(&wanted, "third").unwrap();
        let error = refused(&mut client, "one_echo", json!({"text": "x"}));
        let why = error["details"]["upstream_error"]["message"].as_str().unwrap();
        assert!(why.contains("no bearer token") && why.contains("exit code 9"), "{error}");
    }
}

/// A server's process sees what it needs and what was given to it, and nothing that belongs to others.
#[test]
fn a_process_sees_its_own_environment_and_not_that_of_others() {
    let place = Place::new();
    fs::create_dir(place.path().join("work")).unwrap();
    let more = "cwd = \"work\"\n[upstream.one.env]\nMY_KEY = \"${OUTER_KEY}\"\nPLAIN = \"a b\"";
    let place = place.stdio("one", &[], more).http(
        "remote",
        "http://127.0.0.1:9/mcp",
        "bearer_env = \"REMOTE_TOKEN\"\nenabled = true",
    );
    let setup = place
        .setup()
        .env("OUTER_KEY", "key-of-one")
        .env("REMOTE_TOKEN", "token-of-remote")
        .env("AQUEDUCT_ANYTHING", "ours")
        .env("LANG", "C.UTF-8");
    let mut client = setup.connect(CLIENTS[0]);
    place.wait_for(&mut client, &["one"]);
    let seen = answered(&mut client, "one_environment", json!({}));
    let variables = &seen["variables"];
    assert_eq!(seen["cwd"], json!(place.path().join("work").canonicalize().unwrap()));
    assert_eq!((&variables["MY_KEY"], &variables["PLAIN"]), (&json!("key-of-one"), &json!("a b")));
    for needed in ["PATH", "HOME", "LANG"] {
        assert!(variables[needed].is_string(), "{needed} is missing: {variables}");
    }
    for foreign in ["REMOTE_TOKEN", "OUTER_KEY", "AQUEDUCT_ANYTHING"] {
        assert!(variables.get(foreign).is_none(), "{foreign} is none of its business");
    }
}
