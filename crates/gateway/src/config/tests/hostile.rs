//! Files that no honest operator writes: each gets an error, none a crash or a long wait.

use super::*;

#[test]
fn a_file_that_is_no_text_is_refused_as_a_whole() {
    for bytes in [&b"\x7fELF\x02\x01\xff\xfe"[..], b"[server]\n\xc3\x28", &[0xff; 4096], b"\xff\xfe[\0s\0]\0"]
    {
        let error = load_text(bytes).unwrap_err();
        assert!(
            error.to_string().starts_with("aqueduct.toml: the file is not UTF-8 text from byte "),
            "{error}"
        );
        assert_eq!(
            (error.source_name(), error.source_text(), error.span()),
            (Some("aqueduct.toml"), None, None)
        );
    }
}

#[test]
fn a_file_may_have_a_mebibyte() {
    let comment = |bytes: usize| format!("#{}\n", "x".repeat(bytes - 2));
    assert!(load_text(comment(1 << 20)).is_ok());
    for bytes in [(1 << 20) + 1, 10_000_000] {
        let error = load_text(comment(bytes)).unwrap_err();
        assert_eq!(error.to_string(), "aqueduct.toml: the file is larger than 1048576 bytes");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_file_ends_at_the_limit() {
    let error = place().config("/dev/zero").load().unwrap_err();
    assert_eq!(error.to_string(), "/dev/zero: the file is larger than 1048576 bytes");
}

#[test]
fn nesting_and_nulls_are_mistakes_like_others() {
    let many = 150_000;
    for text in [
        format!("a = {}{}", "[".repeat(many), "]".repeat(many)),
        format!("a = {}", "{ a = ".repeat(many)),
        format!("[{}a]", "a.".repeat(many)),
        format!("{}a = 1", "a.".repeat(many)),
        "[server]\nhttp = '\0'".to_owned(),
        "\0".to_owned(),
        "# \0".to_owned(),
        "a = \"\"\"".to_owned(),
        "'".to_owned(),
        "=".repeat(100_000),
        "[".repeat(100_000),
        format!("{} = 1", "k".repeat(900_000)),
        "[server]\nhttp = \"\\u001b[2J\"".to_owned(),
        "\"\\u001b]0;x\\u0007\" = 1".to_owned(),
    ] {
        let error = load_text(&text).unwrap_err();
        assert!(error.to_string().chars().count() < 700, "{:.80}", error.to_string());
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
        // The parser does not say where keys got too deep.
        match error.span() {
            Some(span) => assert!(text.get(span).is_some() && error.line_column().is_some(), "{error}"),
            None => {
                assert_eq!(error.to_string(), "aqueduct.toml: the file is not valid TOML: recursion limit")
            }
        }
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    assert!(load_text("\u{feff}[server]\r\nmode = 'single'\r\n").is_ok());
    let error = load_text("\u{feff}[server]\r\nmode = 'x'\r\n").unwrap_err();
    assert_eq!(error.line_column(), Some((2, 8)));
}
