use super::*;
use crate::trace::Level;

#[test]
fn agents_may_report_on_this_machine_by_default_and_every_key_takes_effect() {
    let default = load_text("").unwrap().inspector;
    assert_eq!(default, Inspector::default());
    assert_eq!(default.otlp_http.wanted(false).unwrap().to_string(), "127.0.0.1:4318");
    assert_eq!(default.otlp_grpc.wanted(false).unwrap().to_string(), "127.0.0.1:4317");
    assert_eq!(default.otlp_http.wanted(true), None, "no fixed port on standard input and output");

    let full = load_text(FULL).unwrap();
    assert!(full.upstreams.iter().any(|upstream| upstream.capture == Some(Level::Off)));
    let inspector = full.inspector;
    let level = |operation: &str| inspector.levels.of(None, Some(operation));
    assert_eq!(level("mail_send"), Level::Preview, "the longest pattern counts");
    assert_eq!((level("mail_read"), level("other")), (Level::Off, Level::Metadata));
    assert_eq!((inspector.keep_days, inspector.keep_bytes), (3, 33_554_432));
    assert_eq!(inspector.tags, ["production", "team-a"]);
    assert_eq!(inspector.otlp_http.wanted(true).unwrap().to_string(), "[::1]:14318");
    assert_eq!(inspector.otlp_grpc.wanted(false), None);
    let names: Vec<_> = inspector.export.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(names, ["jaeger", "cloud"]);
    assert_eq!(inspector.export[0].url.expose(), "http://127.0.0.1:24318/v1/traces");
    assert_eq!(inspector.export[1].url.expose(), "https://otlp.example.com/otlp/v1/traces");
    let headers = &inspector.export[1].headers;
    assert_eq!((headers[0].0.as_str(), headers[0].1.expose()), ("x-api-key", "key-/home/a"));
    assert!(!format!("{inspector:?}").contains("key-"), "{inspector:?}");
}

/// REQ-ISEC-04
#[test]
fn mistakes_are_told_with_what_helps_and_without_secrets() {
    for (text, message, help) in [
        ("capture = 'all'", "capture 'all' is none of off, metadata, preview", ""),
        ("tags = ['a,b']", "the tag 'a,b' must have 1 to 64 bytes and no comma", "production"),
        ("keep_days = 0", "'inspector.keep_days' is 0, but must be between 1 and 3650 days", ""),
        ("otlp_http = 'banana'", "'banana' is neither an IP address with a port nor 'off'", "127.0.0.1:4318"),
        ("otlp_http = '0.0.0.0:1'", "'0.0.0.0:1' can be reached from other machines", "--allow-remote"),
        ("otlp_grpc = '192.0.2.1:1'", "can be reached from other machines", "127.0.0.1:4317"),
        ("[inspector.export.'a b']\nurl = 'http://x'", "must be named by letters", "jaeger"),
        ("[inspector.export.a]\nurl = 'ftp://s3cret'", "must begin with 'http://'", "4318"),
        ("[inspector.export.a]\nurl = 's3cret with blanks'", "is not a URL", "4318"),
        ("[inspector.export.a]\nurl = '${NONE}'", "needs an environment variable that is not set", "default"),
        (
            "[inspector.export.a]\nurl = 'http://x'\nheaders = { 'a b' = 's3cret' }",
            "has a name that is not a header's",
            "Authorization",
        ),
        (
            "[inspector.export.a]\nurl = 'http://x'\nheaders = { a = \"s3cret\\n\" }",
            "is not a value for a header",
            "printable",
        ),
    ] {
        let error = load_text(format!("[inspector]\n{text}")).unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert!(error.help().unwrap_or_default().contains(help), "{text}: {:?}", error.help());
        assert!(!error.to_string().contains("s3cret"), "{text}: {error}");
    }
}

/// REQ-ISEC-04
#[test]
fn other_machines_report_only_with_a_token() {
    let inspector = "[inspector]\notlp_http = '0.0.0.0:4318'\n";
    let token = format!("[[auth.tokens]]\nprincipal = 'a'\nsha256 = '{}'", "a1".repeat(32));
    let load = |text: &str, remote: bool| {
        place().file("aqueduct.toml", text).flags(|flags| flags.allow_remote = remote).load()
    };
    assert!(load(inspector, true).unwrap_err().to_string().contains("there is no token in '[auth]'"));
    let with_token = format!("{inspector}{token}");
    assert!(load(&with_token, false).unwrap_err().to_string().contains("'--allow-remote' is not given"));
    assert!(load(&with_token, true).is_ok());
}

/// REQ-IPROP-05
#[test]
fn the_environment_says_who_we_are_before_the_file_does() {
    assert_eq!(load_text("").unwrap().inspector.server_id, "aqueduct");
    assert_eq!(load_text(FULL).unwrap().inspector.server_id, "alpha");
    let named = place().file("aqueduct.toml", FULL).environment(&[("MCP_SERVER_ID", "beta")]).load();
    assert_eq!(named.unwrap().inspector.server_id, "beta");
}
