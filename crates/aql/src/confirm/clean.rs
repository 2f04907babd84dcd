//! Whether there is nothing secret in a value, found out without making anything.
//!
//! Nearly everything that is recorded has nothing to hide. So each of these says yes only where the long way would leave
//! everything as it is, and where one says no, the long way decides.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{plain, secrets, shown::NAME_BYTES_MAX};

/// JSON in a text in JSON, and so on: what is deeper is left to the long way.
const TEXTS_WITHIN_MAX: usize = 4;
/// What such members hold is read as JSON once more.
const READ_AGAIN: &str = "$serde_json";

/// Whether a value stays as it is under a name that is no secret's.
pub(super) fn is_clean(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_clean_text(name, text),
        Value::Array(items) => items
            .iter()
            .all(|item| is_clean(name, item) && item.as_str().is_none_or(|item| !says_of_next(item))),
        Value::Object(object) => {
            !secrets::is_secret_pair(object)
                && object.iter().all(|(name, value)| is_clean_name(name) && is_clean(name, value))
        }
    }
}

/// The same for a text, which may be JSON itself.
pub(super) fn is_clean_text(name: &str, text: &str) -> bool {
    In { name, texts: 0, in_list: false }.is_clean(text)
}

/// Whether an item of a list may say something of the next one.
fn says_of_next(item: &str) -> bool {
    secrets::announces(item) || secrets::names_header(item)
}

/// Whether a member's name stays as it is and says nothing of a secret.
fn is_clean_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX && plain::is_plain(name) && !secrets::is_secret_key(name)
}

/// Where a value stands within a text of JSON. Nothing of it is kept; what is not clean is an error.
#[derive(Clone, Copy)]
struct In<'a> {
    /// Of the member that holds it.
    name: &'a str,
    /// Texts around it that were JSON.
    texts: usize,
    in_list: bool,
}

/// Why nothing more is read.
const FOUND: &str = "something may be secret";

impl In<'_> {
    fn is_clean(self, text: &str) -> bool {
        if self.in_list && says_of_next(text) {
            return false;
        }
        if !secrets::may_be_json(text) {
            return plain::are_words(self.name, text);
        }
        if self.texts >= TEXTS_WITHIN_MAX {
            return false;
        }
        let mut json = serde_json::Deserializer::from_str(text);
        let within = In { texts: self.texts + 1, in_list: false, ..self };
        within.deserialize(&mut json).is_ok() && json.end().is_ok()
    }
}

impl<'de> DeserializeSeed<'de> for In<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for In<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if self.is_clean(text) { Ok(()) } else { Err(E::custom(FOUND)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let within = In { in_list: true, ..self };
        while items.next_element_seed(within)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let (mut has_value, mut has_name) = (false, false);
        while let Some(name) = members.next_key_seed(Name)? {
            has_value |= secrets::is_pairs_value(&name);
            has_name |= secrets::PAIRS_NAMES.contains(&&*name);
            // Whether a pair is a secret's is seldom to be asked.
            if (has_value && has_name) || name.starts_with(READ_AGAIN) || !is_clean_name(&name) {
                return Err(A::Error::custom(FOUND));
            }
            members.next_value_seed(In { name: &name, in_list: false, ..self })?;
        }
        Ok(())
    }
}

/// The name of a member, as it lies in the text where nothing in it is escaped.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;
    use crate::confirm::{list::List, recorded_value, words};

    /// What is hidden, found the long way: everything is made anew, and no look is spared.
    fn long_way(name: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(long_text(name, text)),
            Value::Array(items) => {
                let mut list = List::of(items);
                let shown = |item: &Value| {
                    if list.hides(item) { "[redacted]".into() } else { long_way(name, item) }
                };
                items.iter().map(shown).collect()
            }
            Value::Object(object) => long_members(object).into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn long_members(object: &Map<String, Value>) -> Map<String, Value> {
        let mut shown = Map::new();
        let is_pair = secrets::is_secret_pair(object);
        for (name, value) in object {
            let mut key = words::long_way("", name);
            if key.len() > NAME_BYTES_MAX {
                let end = key.floor_char_boundary(NAME_BYTES_MAX);
                key = format!("{} [{} more bytes are not shown]", &key[..end], key.len() - end);
            }
            let in_pair = is_pair && name.eq_ignore_ascii_case("value");
            let hidden =
                (in_pair && !matches!(value, Value::Bool(_) | Value::Null)) || secrets::hides(name, value);
            shown.insert(key, if hidden { "[redacted]".into() } else { long_way(name, value) });
        }
        shown
    }

    fn long_text(name: &str, text: &str) -> String {
        match serde_json::from_str::<Value>(text) {
            Ok(inner) if text.trim_start().starts_with(['{', '[']) => {
                let shown = long_way(name, &inner);
                if shown == inner { text.to_owned() } else { shown.to_string() }
            }
            _ => words::long_way(name, text),
        }
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => "[a-z]{1,6}",
            3 => prop::sample::select(vec![
                "id", "commit_sha", "itemId", "name", "key", "value", "Value", "Key", "header", "password",
                "apiKey", "api-key", "page_token", "tokens", "pass", "Cookie", "DATABASE_URL", "token=hunter2", "x: y", "",
                "ghp_0123456789abcdef", "$serde_json::private::RawValue", "$ref", "--token", "{\"a\":1}",
            ])
            .prop_map(str::to_owned),
            1 => "\\PC{0,20}",
            1 => (250_usize..260).prop_map(|length| "x".repeat(length)),
        ]
    }

    /// Words of every kind that matters, whole and damaged.
    fn word() -> impl Strategy<Value = String> {
        let known = prop::sample::select(vec![
            "words",
            "model-7",
            "tools/call",
            "a",
            "-v",
            "--force",
            "--password",
            "--api-key",
            "-p",
            "Bearer",
            "bearer",
            "BASIC",
            "basic",
            "basics",
            "Authorization:",
            "Cookie:",
            "password:",
            "X-Api-Key:",
            "note:",
            "hunter2",
            "hunter2-S3cr3t",
            "sk-live0123456789",
            "ghp_0123456789abcdef",
            "hf_01234567",
            "hf_0123456",
            "eyJhbGciOiJIUzI1NiJ9.e30.abc",
            "AKIA01234567",
            "a8Fk29dLq0Zx7Tn3Vb5M",
            "9f86d081884c7d659a2feaa0c55ad015",
            "b7c1d2e3-4f5a-6b7c-8d9e-0f1a2b3c4d5e",
            "12345678901234567890",
            "this_is_a_very_long_name_of_something",
            "https://me:pw@host/x?token=abc&page=2#key=1",
            "https://host/a8Fk29dLq0Zx7Tn3Vb5M",
            "http://host:80/a/b?page=2",
            "DB_PASSWORD=x",
            "key=value",
            "a=b",
            "=",
            ":",
            "::",
            "x:",
            ":x",
            "token:abc",
            "id:a8Fk29dLq0Zx7Tn3Vb5M",
            "[redacted]",
            "REDACTED",
            "2026-11-15T19:22:46Z",
            "ä",
            "näher",
            "password=ä",
            "…",
            "\u{1F600}",
            ":=",
            "=>",
            "==",
            "=hunter2",
            "Authorization:Bearer",
            "\"Authorization\":\"Bearer",
            "password",
            "\"password\":\"hunter2\"",
            "\"a\":1,\"password\":\"hunter2\"",
            "{\\\"password\\\":\\\"hunter2\\\"}",
            "password='hunter2",
            "user=bob&password=hunter2&page=2",
            "/login?user=a&password=hunter2",
            "Server=h;Password=hunter2;",
            "\\npassword=hunter2",
            "crate::token::Token",
            "a,ghp_0123456789abcdef",
            "a?sk-live0123456789|b&c",
            "jdbc:x://h;password=hunter2",
            "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            "-----BEGIN",
            "RSA",
            "PRIVATE",
            "KEY-----",
            "-----BEGIN PRIVATE KEY-----",
            "MIIEowIBAAKCAQEA7bq/Jx0+abcdefgh/ijkl",
            "-----END",
            "\\n",
            "pass=12",
            "pass=hunter2",
            "tokens:",
            "X-Api-Key",
            "Accept-Language",
        ])
        .prop_map(str::to_owned);
        let around =
            prop::sample::select(vec!["", "\"", "'", "`", ",", ";", "(", ")", "[", "]", "{", "}", "<", ">"]);
        let cased = (known, 0..4_u8).prop_map(|(word, case)| match case {
            0 => word.to_uppercase(),
            1 => word.to_lowercase(),
            _ => word,
        });
        let quoted = (around.clone(), cased, around)
            .prop_map(|(before, word, after)| format!("{before}{word}{after}"));
        prop_oneof![8 => quoted, 1 => "\\PC{0,8}", 1 => "[!-~]{1,40}"]
    }

    /// One text of words, and what is between them.
    fn text() -> impl Strategy<Value = String> {
        let gap = prop::sample::select(vec![
            " ", " ", " ", "  ", "\n", "\r\n", "\t", "\u{b}", "\u{c}", "\u{85}", "\u{a0}", "\u{2003}",
            "\u{1c}", "", ",", "=",
        ]);
        let pieces = prop::collection::vec((word(), gap), 0..7);
        let words = pieces.prop_map(|pieces| {
            pieces.iter().flat_map(|(word, gap)| [word.as_str(), gap]).collect::<String>()
        });
        // One byte is another one, as far as that is text.
        (words, any::<prop::sample::Index>(), prop::option::weighted(0.3, any::<char>())).prop_map(
            |(mut text, place, letter)| {
                if let (Some(letter), false) = (letter, text.is_empty()) {
                    let place = text.floor_char_boundary(place.index(text.len()));
                    let end = text.ceil_char_boundary(place + 1);
                    text.replace_range(place..end, letter.encode_utf8(&mut [0; 4]));
                }
                text
            },
        )
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            1 => prop::sample::select(vec![json!(null), json!(true), json!(12), json!(-1.5), json!(u64::MAX)]),
            5 => text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
            let object = prop::collection::vec((name(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect()));
            let both = prop_oneof![list, object];
            // JSON in a text, also with blanks around it, and broken.
            prop_oneof![
                2 => both.clone(),
                1 => (both, 0..5_u8).prop_map(|(value, how)| Value::String(match how {
                    0 => format!(" \n{value}\t"),
                    1 => format!("\u{a0}{value}"),
                    2 => serde_json::to_string_pretty(&value).unwrap(),
                    3 => format!("{value}x"),
                    _ => value.to_string(),
                })),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Whatever is given, the short way hides what the long one does, and nothing else.
        #[test]
        fn the_short_way_comes_to_the_same_as_the_long_one(name in name(), value in value()) {
            let long = long_way(&name, &value);
            prop_assert!(!is_clean(&name, &value) || long == value, "said to be clean, is {}", long);
            prop_assert_eq!(recorded_value(&name, &value).unwrap_or_else(|| value.clone()), long);
        }

        #[test]
        fn plain_texts_are_left_as_they_are(text in text()) {
            let value = Value::from(text.as_str());
            prop_assert!(!plain::is_plain(&text) || long_way("", &value) == value, "{:?}", text);
            prop_assert_eq!(words::text("id", &text), words::long_way("id", &text));
        }
    }

    /// Most of what agents report is known to be clean at once; without that the rest would be right and slow.
    #[test]
    fn what_agents_report_needs_no_long_way() {
        for value in [
            json!("sea12 con144 pro7"),
            json!("{\"query\":\"sea12 con144\",\"limit\":3,\"deep\":[{\"a\":null},[1.5,\"x\"]]}"),
            json!("0192f0c1-b7a8-7d3e-9c4f-5a6b7c8d9e0f"),
            json!("https://host/x?page=2"),
            json!("Nähe: \"key=value\" (2026-11-15T19:22:46Z)"),
            json!({"a": ["-v", "{\"b\":\"[\\\"c\\\"]\"}"]}),
        ] {
            assert!(is_clean("note", &value), "{value}");
        }
    }

    /// A member that reads its text as JSON once more cannot hide anything from the short way.
    #[test]
    fn json_that_is_read_again_is_left_to_the_long_way() {
        let text = r#"{"$serde_json::private::RawValue":"\"\\u0067hp_0123456789abcdef\""}"#;
        assert!(!is_clean_text("note", text));
    }

    /// Texts within texts can be deep without being long, and nobody runs out of stack for them.
    #[test]
    fn texts_within_texts_end_somewhere() {
        let mut text = "\"x\"".to_owned();
        for _ in 0..14 {
            let nested = format!("{}{text}{}", "[".repeat(100), "]".repeat(100));
            text = Value::String(nested).to_string();
        }
        assert!(!is_clean_text("note", &format!("[{text}]")));
        assert_eq!(recorded_value("note", &json!(format!("[{text}]"))), None);
    }
}
