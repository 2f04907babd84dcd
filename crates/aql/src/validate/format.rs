//! The string formats that are enforced, and so the only ones that may be published.

use base64::{Engine, prelude::BASE64_STANDARD};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Date,
    DateTime,
    Uuid,
    Uri,
    Email,
    Base64,
}

impl Format {
    const ALL: [Self; 6] = [Self::Date, Self::DateTime, Self::Uuid, Self::Uri, Self::Email, Self::Base64];

    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::DateTime => "date-time",
            Self::Uuid => "uuid",
            Self::Uri => "uri",
            Self::Email => "email",
            Self::Base64 => "base64",
        }
    }

    /// What a valid value looks like, for the error that refuses one.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Date => "an ISO 8601 calendar date such as 2026-02-04",
            Self::DateTime => "an ISO 8601 date-time with zone such as 2026-02-04T10:30:00Z",
            Self::Uuid => "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
            Self::Uri => "an absolute URI such as https://example.com/",
            Self::Email => "an e-mail address such as someone@example.com",
            Self::Base64 => "padded standard base64 such as SGVsbG8=",
        }
    }

    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::Date => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
            Self::DateTime => {
                // What jiff reads beyond ISO 8601: a zone's name in brackets.
                text.as_bytes().get(10) == Some(&b'T')
                    && !text.contains('[')
                    && text.parse::<jiff::Timestamp>().is_ok()
            }
            Self::Uuid => is_uuid(text),
            Self::Uri => is_uri(text),
            Self::Email => is_email(text),
            Self::Base64 => BASE64_STANDARD.decode(text).is_ok(),
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
        && !rest.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    !local.is_empty()
        && !domain.is_empty()
        && !domain.contains('@')
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-ENC-06 REQ-ENC-12
    #[test]
    fn formats_are_enforced() {
        let table: [(Format, &[&str], &[&str]); 6] = [
            (Format::Date, &["2026-02-04"], &["04/02/2026", "2026-02-30", "20260204", ""]),
            (
                Format::DateTime,
                &["2026-02-04T10:30:00Z", "2026-02-04T10:30:00+05:30"],
                &[
                    "2026-02-04 10:30",
                    "2026-02-04T10:30:00",
                    "yesterday",
                    "2026-02-30T10:30:00Z",
                    "2026-02-04T10:30:00+01:00[Europe/Paris]",
                ],
            ),
            (
                Format::Uuid,
                &["123e4567-e89b-12d3-a456-426614174000"],
                &["123e4567", "x23e4567-e89b-12d3-a456-426614174000"],
            ),
            (Format::Uri, &["https://example.com/a", "urn:isbn:1"], &["example.com", "http: //x", ":x"]),
            (Format::Email, &["a@b.example"], &["a", "@b", "a@", "a b@c"]),
            (Format::Base64, &["SGVsbG8gV29ybGQ=", ""], &["SGVsbG8gV29ybGQ", "a-_b", "*"]),
        ];
        for (format, good, bad) in table {
            for text in good {
                assert!(format.accepts(text), "{format:?} refuses {text:?}");
            }
            for text in bad {
                assert!(!format.accepts(text), "{format:?} accepts {text:?}");
            }
            assert_eq!(Format::named(format.as_str()), Some(format));
        }
    }
}
