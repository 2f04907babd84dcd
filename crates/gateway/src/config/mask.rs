//! The text of a file as errors may show it: what can be a secret is covered with stars of the same length, so that
//! every place in it stays where it was.

use std::ops::Range;

use jsonc_parser::{CollectOptions, ast, common::Ranged as _, parse_to_ast};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::clients;

/// Keys of an upstream whose values are no secrets. A misspelt key is not among them, so its value is covered.
const HARMLESS: [&str; 19] = [
    "adapter",
    "api_limits",
    "command",
    "cost",
    "enabled",
    "prefix",
    "trust",
    "timeout_seconds",
    "start_timeout_seconds",
    "max_concurrent_calls",
    "per_session",
    "forward_auth",
    "idle_minutes",
    "check_minutes",
    "definitions",
    "allow",
    "deny",
    "tools",
    "pinned",
];

pub(super) fn masked(name: &str, text: &str) -> String {
    if clients::is_json(name, text) {
        return json(text);
    }
    if !text.contains("upstream") {
        return text.to_owned();
    }
    match DeTable::parse(text) {
        Ok(document) => {
            let mut spans = Vec::new();
            if let Some(DeValue::Table(upstreams)) = document.get_ref().get("upstream").map(Spanned::get_ref)
            {
                upstreams.values().for_each(|upstream| of_upstream(upstream, &mut spans));
            }
            cover(text, &spans)
        }
        Err(_) => by_lines(text),
    }
}

fn of_upstream(upstream: &Spanned<DeValue<'_>>, spans: &mut Vec<Range<usize>>) {
    let DeValue::Table(table) = upstream.get_ref() else { return of_value(upstream, spans) };
    for (key, value) in table {
        if !HARMLESS.contains(&key.get_ref().as_ref()) {
            of_value(value, spans);
        }
    }
}

fn of_value(value: &Spanned<DeValue<'_>>, spans: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => table.values().for_each(|value| of_value(value, spans)),
        DeValue::Array(elements) => elements.iter().for_each(|value| of_value(value, spans)),
        _ => spans.push(value.span()),
    }
}

fn json(text: &str) -> String {
    let text = &clients::without_mark(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &clients::DIALECT);
    match parsed.map(|parsed| parsed.value) {
        Ok(Some(value)) => {
            let mut spans = Vec::new();
            of_json(&value, &mut spans);
            cover(text, &spans)
        }
        // Nobody knows what is a value here, so only the brackets and the like are left.
        Ok(None) | Err(_) => {
            let shape = |byte: u8| byte.is_ascii_whitespace() || b"{}[]:,\"".contains(&byte);
            stars(text, shape)
        }
    }
}

fn of_json(value: &ast::Value<'_>, spans: &mut Vec<Range<usize>>) {
    match value {
        ast::Value::Object(object) => {
            object.properties.iter().for_each(|property| of_json(&property.value, spans));
        }
        ast::Value::Array(array) => array.elements.iter().for_each(|value| of_json(value, spans)),
        ast::Value::StringLit(_) | ast::Value::NumberLit(_) => {
            spans.push(value.range().start..value.range().end);
        }
        ast::Value::BooleanLit(_) | ast::Value::NullKeyword(_) => {}
    }
}

/// For TOML that cannot be read: from the first upstream on, everything but headings and the keys before `=`.
fn by_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut within = false;
    for line in text.split_inclusive('\n') {
        within = within || line.contains("upstream");
        let heading = line.trim_start().starts_with('[') && !line.contains(['"', '\'', '=']);
        if !within || heading {
            shown.push_str(line);
            continue;
        }
        let (key, value) = line.split_at(line.find('=').map_or(0, |equals| equals + 1));
        let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-. =".contains(&b));
        shown.push_str(&if plain { key.to_owned() } else { stars(key, |b| b.is_ascii_whitespace()) });
        shown.push_str(&stars(value, |byte| byte.is_ascii_whitespace()));
    }
    shown
}

fn cover(text: &str, spans: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        for byte in bytes.get_mut(span.clone()).into_iter().flatten() {
            if *byte != b'\n' && *byte != b'\r' {
                *byte = b'*';
            }
        }
    }
    // Whole values are covered, so no character is cut in two.
    String::from_utf8(bytes).unwrap_or_default()
}

fn stars(text: &str, keep: impl Fn(u8) -> bool) -> String {
    text.bytes().map(|byte| if byte.is_ascii() && keep(byte) { char::from(byte) } else { '*' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_covered_and_everything_else_stays() {
        for (text, expected) in [
            ("[server]\nhttp = 'x'", "[server]\nhttp = 'x'"),
            (
                "[upstream.a]\ncommand = 'c'\ntoken = 'é'\n[upstream.a.env]\nK = '''\ns\n'''",
                "[upstream.a]\ncommand = 'c'\ntoken = ****\n[upstream.a.env]\nK = ***\n*\n***",
            ),
            ("upstream = { a = { args = ['s', 7] } }", "upstream = { a = { args = [***, *] } }"),
            ("upstream = 'secret'", "upstream = 'secret'"),
            ("[upstream.a.env]\nK = 'é\nL = 's'\n[x]", "[upstream.a.env]\nK = ***\nL = ***\n[x]"),
            ("{\"a\": {\"K\": \"é\", \"b\": true}} // x", "{\"a\": {\"K\": ****, \"b\": true}} // x"),
            ("{\"K\": \"s}", "{\"*\": \"*}"),
        ] {
            let shown = masked("a.toml", text);
            assert_eq!(shown, expected);
            assert_eq!(shown.len(), text.len());
        }
    }
}
