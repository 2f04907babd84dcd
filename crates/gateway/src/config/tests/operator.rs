use std::path::PathBuf;

use super::*;

#[test]
fn the_operators_side_is_on_by_default_and_every_key_takes_effect() {
    let default = load_text("").unwrap().operator;
    assert_eq!(default, Operator::default());
    assert_eq!(default.http.unwrap().to_string(), "127.0.0.1:7172");
    assert!(default.dialog && default.command_line && default.inputs && !default.http_is_written);

    let checked = load_text(FULL).unwrap();
    let base = checked.file.unwrap().parent().unwrap().to_owned();
    let operator = checked.operator;
    assert_eq!(operator.http.unwrap().to_string(), "[::1]:9090");
    assert!(operator.http_is_written && !operator.dialog && !operator.command_line && !operator.inputs);
    let hook = operator.command.as_ref().unwrap();
    assert_eq!(hook.program, base.join("./notify"));
    assert_eq!(hook.args[0].expose(), "--token=/home/a");
    assert!(hook.answers && hook.codes);
    let names: Vec<_> = operator.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
    assert_eq!(names, ["phone", "desk", "vault"]);
    let secrets: Vec<_> = operator.webhooks.iter().map(|webhook| webhook.secret.clone()).collect();
    assert_eq!(
        secrets,
        [
            SecretSource::Variable("APPROVAL_SECRET".to_owned()),
            SecretSource::File(PathBuf::from("/home/a/desk.secret")),
            SecretSource::Command(PathBuf::from("pass"), vec![Secret::new("show"), Secret::new("approvals")]),
        ]
    );
    let shown = format!("{operator:?}");
    assert!(!shown.contains("url_secret") && !shown.contains("hook_secret"), "{shown}");
    assert_eq!(load_text("[operator]\nhttp = 'off'").unwrap().operator.http, None);
}

#[test]
fn mistakes_are_told_with_what_helps_and_without_secrets() {
    for (text, message, help) in [
        ("http = 'banana'", "'banana' is neither an IP address with a port nor 'off'", "127.0.0.1:7172"),
        ("http = '0.0.0.0:1'", "'0.0.0.0:1' can be reached from other machines", "--allow-remote"),
        ("command = []", "'operator.command' is empty", "a program and its arguments"),
        ("command = ['${NONE}']", "needs an environment variable that is not set", "default"),
        ("answers = true", "'operator.answers' goes with 'command'", "set 'command'"),
        ("codes = true", "'operator.codes' goes with 'command'", "set 'command'"),
        ("[operator.webhook.a]\nurl = 'https://s3cret'", "has no secret to sign with", "secret_env"),
        (
            "[operator.webhook.a]\nurl = 'http://s3cret.example/'\nsecret_env = 'A'",
            "over plain 'http'",
            "https",
        ),
        (
            "[operator.webhook.a]\nurl = 'ftp://s3cret/'\nsecret_env = 'A'",
            "must begin with 'https://'",
            "https",
        ),
        (
            "[operator.webhook.a]\nurl = 'https://x/'\nsecret_env = 's3cret!'",
            "not the name of",
            "not the secret",
        ),
        (
            "[operator.webhook.a]\nurl = 'https://x/'\nsecret_env = 'A'\nsecret_file = 'b'",
            "more than one secret",
            "keep one",
        ),
        (
            "[operator.webhook.'a b']\nurl = 'https://x/'\nsecret_env = 'A'",
            "must be named by letters",
            "phone",
        ),
        ("[operator.webhook.a]\nsecret_env = 'A'", "has no 'url'", "url"),
    ] {
        let error = load_text(format!("[operator]\n{text}")).unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert!(error.help().unwrap_or_default().contains(help), "{text}: {:?}", error.help());
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    let remote = place()
        .file("aqueduct.toml", "[operator]\nhttp = '0.0.0.0:1'")
        .flags(|flags| flags.allow_remote = true)
        .load();
    assert!(remote.is_ok());
}
