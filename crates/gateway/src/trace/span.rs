//! What is recorded: spans, what happened within them, and the sessions that they belong to.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::Attributes;

/// Nanoseconds since 1970.
pub type Nanos = i64;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl $name {
            /// An id of nothing but zeros means that there is none.
            #[must_use]
            pub fn is_none(self) -> bool {
                self.0 == [0; $bytes]
            }

            fn digits(self) -> [u8; 2 * $bytes] {
                let mut digits = [0; 2 * $bytes];
                for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
                    pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
                }
                digits
            }

            /// Writes it behind a text.
            pub(crate) fn push_to(self, text: &mut String) {
                text.push_str(std::str::from_utf8(&self.digits()).unwrap_or_default());
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::str::from_utf8(&self.digits()).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NoId;

            fn from_str(text: &str) -> Result<Self, NoId> {
                let digits = text.as_bytes();
                if digits.len() != 2 * $bytes {
                    return Err(NoId);
                }
                let mut id = [0; $bytes];
                for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
                    let &[high, low] = pair else { return Err(NoId) };
                    *byte = (nibble(high)? << 4) | nibble(low)?;
                }
                Ok(Self(id))
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// The id of everything that one request led to, in however many processes.
    TraceId, 16
);
id!(SpanId, 8);

/// A text that is no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id is written in hexadecimal digits, 32 of them for a trace and 16 for a span")]
pub struct NoId;

/// Every span has ids, so these are written without the machinery for numbers.
fn digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}

fn nibble(digit: u8) -> Result<u8, NoId> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(NoId),
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(word: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or(())
            }
        }
    };
}

words!(
    /// Which side of a call a span is.
    Kind {
        Internal = "internal",
        /// A request that somebody answers.
        Server = "server",
        /// A request that somebody makes.
        Client = "client",
        Producer = "producer",
        Consumer = "consumer",
    }
);

words!(
    /// How a span, or a session, came out.
    Status {
        Running = "running",
        /// It goes on, but somebody has to do something first.
        Waiting = "waiting",
        Ok = "ok",
        Error = "error",
        Cancelled = "cancelled",
    }
);

words!(
    /// What ran a session.
    Engine {
        /// A request that was served.
        Inbound = "inbound",
        /// A workflow of ours, or of an agent that reports its own.
        Asyncio = "asyncio",
        Temporal = "temporal",
    }
);

/// One span, as much of it as is known yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    /// The Inspector's session that it belongs to: the request id of the request that began it.
    pub session: String,
    pub engine: Engine,
    pub name: String,
    pub kind: Kind,
    pub status: Status,
    pub started: Nanos,
    /// Nothing while it runs.
    pub ended: Option<Nanos>,
    /// How much of its time it waited for somebody.
    pub waited: Nanos,
    pub attributes: Attributes,
    pub events: Vec<Happening>,
    pub links: Vec<Link>,
}

/// Something that happened within a span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happening {
    pub name: String,
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// Another span that one has to do with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    #[serde(rename = "trace_id")]
    pub trace: TraceId,
    #[serde(rename = "span_id")]
    pub span: SpanId,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// Something that who watches is told at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// One of the names in [`super::names::event`].
    pub name: &'static str,
    pub at: Nanos,
    pub session: String,
    pub trace: TraceId,
    pub span: SpanId,
    /// What is told, as JSON.
    pub data: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hexadecimal_both_ways() {
        let id: SpanId = "00f067aa0ba902b7".parse().unwrap();
        assert_eq!(id.to_string(), "00f067aa0ba902b7");
        assert_eq!("00F067AA0BA902B7".parse::<SpanId>().unwrap(), id);
        assert!("0".repeat(32).parse::<TraceId>().unwrap().is_none());
        for wrong in ["", "0", "00f067aa0ba902b", "00f067aa0ba902b77", "00f067aa0ba902bg", "ä0f067aa0ba902b"]
        {
            assert!(wrong.parse::<SpanId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
        }
        assert_eq!("Running".parse::<Status>(), Err(()));
    }
}
