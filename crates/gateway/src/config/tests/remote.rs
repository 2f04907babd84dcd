use super::*;

const TOKEN: &str = "[[auth.tokens]]\nprincipal = 'a'\nsha256 = '2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90'\n";

fn served(address: &str, file: &str, allow_remote: bool) -> Result<Checked, Error> {
    place()
        .file("aqueduct.toml", file)
        .environment(&[("AQUEDUCT_HTTP", address)])
        .flags(|flags| flags.allow_remote = allow_remote)
        .load()
}

#[test]
fn other_machines_reach_the_server_only_by_two_steps() {
    for address in
        ["0.0.0.0:7171", "192.168.0.1:7171", "[::]:7171", "[fe80::1]:7171", "[::ffff:10.0.0.1]:7171"]
    {
        for (file, allow_remote, missing) in [
            ("", false, "neither '--allow-remote' nor a token in '[auth]' is given"),
            ("", true, "there is no token in '[auth]'"),
            (TOKEN, false, "'--allow-remote' is not given"),
        ] {
            let error = served(address, file, allow_remote).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with("environment variable 'AQUEDUCT_HTTP': "), "{message}");
            assert!(
                message.ends_with(&format!("can be reached from other machines, but {missing}")),
                "{message}"
            );
            let help = error.help().unwrap();
            for step in ["--allow-remote", "[[auth.tokens]]", "printf %s TOKEN | sha256sum"] {
                assert!(help.contains(step), "{help}");
            }
        }
        assert!(served(address, TOKEN, true).is_ok(), "{address}");
    }
}

#[test]
fn ones_own_machine_reaches_the_server_without_them() {
    for address in ["127.0.0.1:0", "127.8.9.1:80", "[::1]:7171", "[::ffff:127.0.0.1]:7171"] {
        assert_eq!(served(address, "", false).map(drop), Ok(()), "{address}");
    }
}

#[test]
fn the_refusal_points_to_whoever_gave_the_address() {
    let error = load_text("[server]\nhttp = '0.0.0.0:1'").unwrap_err();
    assert!(error.to_string().starts_with("aqueduct.toml:2:8: '0.0.0.0:1' can be reached"), "{error}");
    let error = place().flags(|flags| flags.http = Some("0.0.0.0:1".to_owned())).load().unwrap_err();
    assert!(error.to_string().starts_with("flag '--http': '0.0.0.0:1' can be reached"), "{error}");
}

/// Only what is in force counts: a file for remote use still works on one's own machine.
#[test]
fn an_address_that_is_beaten_is_not_refused() {
    let loopback = |flags: &mut Overrides| flags.http = Some("127.0.0.1:1".to_owned());
    assert!(place().file("aqueduct.toml", "[server]\nhttp = '0.0.0.0:1'").flags(loopback).load().is_ok());
}
