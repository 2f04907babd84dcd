use serde_json::Value;

use super::*;

fn with(section: &str, key: &str, number: i128) -> Result<Checked, Error> {
    let rest = if section.starts_with("upstream") { "command = 'c'\n" } else { "" };
    load_text(format!("[{section}]\n{key} = {number}\n{rest}"))
}

/// The sections with keys of their own, those with the operator's names by an example.
pub(super) fn sections(schema: &Value) -> Vec<(String, &Value)> {
    let sections = schema["properties"].as_object().unwrap().iter();
    sections
        .map(|(name, inner)| match inner.get("additionalProperties") {
            Some(named @ Value::Object(_)) => (format!("{name}.example"), named),
            _ => (name.clone(), inner),
        })
        .collect()
}

/// Every number of the schema: its bounds are accepted, one beyond is refused by name and range.
///
/// REQ-LIMIT-07
#[test]
fn every_bound_is_accepted_and_one_beyond_is_refused() {
    let schema = schema();
    let mut numbers = 0;
    for (section, inner) in sections(&schema) {
        for (key, number) in inner["properties"].as_object().into_iter().flatten() {
            if number["type"] != "integer" {
                continue;
            }
            numbers += 1;
            let (min, max) = (number["minimum"].as_i64().unwrap(), number["maximum"].as_i64().unwrap());
            let section = &section;
            for accepted in [min, max] {
                assert_eq!(with(section, key, accepted.into()).map(drop), Ok(()), "{key} = {accepted}");
            }
            for refused in [min - 1, max + 1, i64::MIN, i64::MAX] {
                let error = with(section, key, refused.into()).unwrap_err();
                let expected =
                    format!("'{section}.{key}' is {refused}, but must be between {min} and {max} ");
                assert!(error.message().starts_with(&expected), "{error}");
                assert_eq!(error.line_column(), Some((2, key.len() + 4)), "{error}");
                let span = error.span().unwrap();
                assert_eq!(error.source_text().unwrap()[span], refused.to_string());
            }
        }
    }
    assert_eq!(numbers, 27);
}

/// REQ-LIMIT-07
#[test]
fn the_ranges_are_the_specified_ones_and_take_effect() {
    let ranges = [
        ("max_request_size", 65_536, 10_485_760),
        ("max_response_size", 1_048_576, 104_857_600),
        ("max_string_length", 65_536, 10_485_760),
        ("max_array_elements", 100, 100_000),
        ("max_nesting_depth", 8, 64),
    ];
    for (key, min, max) in ranges {
        for number in [min, max] {
            let limits = serde_json::to_value(with("limits", key, number).unwrap().limits).unwrap();
            assert_eq!(limits[key], Value::from(i64::try_from(number).unwrap()), "{key}");
        }
        assert!(with("limits", key, min - 1).is_err() && with("limits", key, max + 1).is_err(), "{key}");
    }
    let server = with("server", "session_idle_minutes", 7 * 24 * 60).unwrap().server;
    assert_eq!(server.session_idle, Duration::from_hours(7 * 24));
    assert_eq!(with("server", "shutdown_grace_seconds", 0).unwrap().server.shutdown_grace, Duration::ZERO);
    assert_eq!(
        with("server", "max_concurrent_requests", 65_536).unwrap().server.max_concurrent_requests,
        65_536
    );
}

#[test]
fn numbers_too_large_to_read_are_told_as_such() {
    let error = with("limits", "max_request_size", i128::from(i64::MAX) + 1).unwrap_err();
    assert_eq!(error.to_string(), "aqueduct.toml:2:20: 'limits.max_request_size' is too large a number");
}
