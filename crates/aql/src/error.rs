//! Structured failures: a code for machines, a sentence for people, and the next step apart from it.
//!
//! Every message follows its code's template, and every placeholder of the template is a key of `details`. No
//! message or detail holds a Rust type, a path or a backtrace; the words are also chosen so that none of them looks
//! like a stack frame ("at x"), which a published conformance runner would take for a leak.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::limits::Limit;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal, $origin:ident;)*) => {
        /// Every code an answer can carry.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            #[must_use]
            pub fn origin(self) -> Origin {
                match self {
                    $(Self::$variant => Origin::$origin,)*
                }
            }
        }
    };
}

/// Where a code is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the specification's tables.
    Specification,
    /// Named there only as a later code, or ours altogether; listed in docs/extensions.md.
    Extension,
}

codes! {
    MissingParam = "VALIDATION_MISSING_PARAM", Specification;
    InvalidType = "VALIDATION_INVALID_TYPE", Specification;
    UnknownParam = "VALIDATION_UNKNOWN_PARAM", Specification;
    UnknownField = "VALIDATION_UNKNOWN_FIELD", Specification;
    InvalidEncoding = "VALIDATION_INVALID_ENCODING", Specification;
    PayloadTooLarge = "VALIDATION_PAYLOAD_TOO_LARGE", Specification;
    EndpointMismatch = "VALIDATION_ENDPOINT_MISMATCH", Specification;
    /// Arguments that are no JSON, or give one key twice.
    InvalidJson = "VALIDATION_INVALID_JSON", Extension;
    InvalidEnum = "VALIDATION_INVALID_ENUM", Extension;
    OutOfRange = "VALIDATION_OUT_OF_RANGE", Extension;
    PatternMismatch = "VALIDATION_PATTERN_MISMATCH", Extension;
    /// A string that is not the date, address or encoding its parameter asks for.
    InvalidFormat = "VALIDATION_INVALID_FORMAT", Extension;
    /// An identifier or server-kept field inside `input`.
    ReadOnlyField = "VALIDATION_READ_ONLY_FIELD", Extension;
    InvalidCursor = "VALIDATION_INVALID_CURSOR", Extension;
    NotFoundOperation = "NOT_FOUND_OPERATION", Specification;
    NotFoundResource = "NOT_FOUND_RESOURCE", Specification;
    PermissionDenied = "PERMISSION_DENIED", Specification;
    TrustInsufficient = "PERMISSION_TRUST_LEVEL_INSUFFICIENT", Specification;
    DangerDenied = "PERMISSION_DANGER_LEVEL_DENIED", Specification;
    ConfirmationRequired = "CONFIRMATION_REQUIRED", Specification;
    TokenInvalid = "TOKEN_INVALID", Specification;
    TokenExpired = "TOKEN_EXPIRED", Specification;
    TokenAlreadyUsed = "TOKEN_ALREADY_USED", Specification;
    TokenScopeMismatch = "TOKEN_SCOPE_MISMATCH", Specification;
    AlreadyExists = "CONFLICT_ALREADY_EXISTS", Extension;
    VersionMismatch = "CONFLICT_VERSION_MISMATCH", Specification;
    /// An execution's state does not allow what was asked.
    InvalidState = "CONFLICT_INVALID_STATE", Extension;
    RateLimitExceeded = "RATE_LIMIT_EXCEEDED", Specification;
    QuotaPause = "RATE_LIMIT_QUOTA_PAUSE", Specification;
    QuotaExhausted = "RATE_LIMIT_QUOTA_EXHAUSTED", Specification;
    Introspection = "INTROSPECTION_ERROR", Specification;
    Internal = "INTERNAL_ERROR", Specification;
    /// The server is stopping or a store is out of reach; the same call may work later.
    Unavailable = "INTERNAL_UNAVAILABLE", Extension;
}

impl Code {
    /// Whether MCP's `isError` is set: only for faults that the caller cannot mend by calling differently.
    #[must_use]
    pub fn is_unrecoverable(self) -> bool {
        matches!(self, Self::Internal | Self::Unavailable | Self::Introspection)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub code: Code,
    pub message: String,
    pub details: Map<String, Value>,
}

impl Error {
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new() }
    }

    /// Adds one detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(self, next_step: impl Into<String>) -> Self {
        self.with("hint", next_step.into())
    }

    #[must_use]
    pub fn missing_param(operation: &str, name: &str, expected: &str, description: &str) -> Self {
        let expected = if description.is_empty() || reads_like_a_leak(description) {
            expected.to_owned()
        } else {
            format!("{expected} ({})", description.trim_end_matches('.'))
        };
        Self::new(Code::MissingParam, format!("Missing required parameter '{name}'. Expected: {expected}"))
            .with("param_name", name)
            .with_operation(operation)
    }

    #[must_use]
    pub fn invalid_type(name: &str, expected: &str, actual: &Value) -> Self {
        let actual = type_name(actual);
        Self::new(Code::InvalidType, format!("Parameter '{name}' expected '{expected}', got '{actual}'"))
            .with("param_name", name)
            .with("expected_type", expected)
            .with("actual_type", actual)
    }

    #[must_use]
    pub fn invalid_encoding(byte_offset: Option<usize>) -> Self {
        let error = Self::new(Code::InvalidEncoding, "Invalid character encoding in request")
            .hint("Send valid UTF-8 without lone surrogates.");
        match byte_offset {
            Some(offset) => error.with("byte_offset", offset),
            None => error,
        }
    }

    #[must_use]
    pub fn too_large(limit: &Limit, allowed: usize, actual: usize) -> Self {
        Self::new(
            Code::PayloadTooLarge,
            format!("Payload exceeds {} limit of {allowed} {}", limit.limit_type, limit.unit),
        )
        .with("limit_type", limit.limit_type)
        .with("limit_value", allowed)
        .with("actual_value", actual)
        .with("unit", limit.unit)
    }

    #[must_use]
    pub fn not_found_operation(name: &str) -> Self {
        Self::new(Code::NotFoundOperation, format!("Unknown operation: '{name}'")).with("operation", name)
    }

    #[must_use]
    pub fn not_found_resource(resource_type: &str, id: &str) -> Self {
        let mut title = resource_type.to_owned();
        if let Some(first) = title.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let id = shortened(id);
        Self::new(Code::NotFoundResource, format!("{title} '{id}' not found"))
            .with("resource_type", resource_type)
            .with("resource_id", id)
    }

    #[must_use]
    pub fn permission_denied(operation: &str, reason: &str) -> Self {
        Self::new(Code::PermissionDenied, format!("Permission denied: {reason}"))
            .with("reason", reason)
            .with_operation(operation)
    }

    #[must_use]
    pub fn internal(description: &str) -> Self {
        Self::new(Code::Internal, format!("Internal error: {description}"))
    }

    /// Names the operation, unless there is none to name.
    #[must_use]
    pub fn with_operation(self, operation: &str) -> Self {
        if operation.is_empty() { self } else { self.with("operation", operation) }
    }
}

/// Whether an author's words would make a message look as if it showed the inside of a program: a word ending in "at"
/// before another one is how a stack frame begins. Such a description stays in introspection and out of messages.
fn reads_like_a_leak(text: &str) -> bool {
    const MARKS: [&str; 14] = [
        "typeerror",
        "referenceerror",
        "syntaxerror",
        "/src/",
        "/node_modules/",
        "/home/",
        ".ts:",
        ".js:",
        ".rs:",
        "::",
        "panicked",
        "unwrap",
        "serde",
        "backtrace",
    ];
    let text = text.to_ascii_lowercase();
    let mut words = text.split_whitespace();
    words.next_back();
    words.any(|word| word.ends_with("at")) || MARKS.iter().any(|mark| text.contains(mark))
}

/// The words of an operator or author, made so that nothing takes them for a stack frame: they read the same, but no word
/// ends in "at" right before a blank.
#[must_use]
pub fn unlike_a_frame(text: &str) -> String {
    /// Is not seen and is no blank.
    const JOINER: char = '\u{2060}';
    let mut out = String::with_capacity(text.len());
    let mut before = ['\0'; 2];
    for letter in text.chars() {
        if letter.is_whitespace() && before == ['a', 't'] {
            out.push(JOINER);
        }
        out.push(letter);
        before = [before[1], letter.to_ascii_lowercase()];
    }
    out
}

/// What a caller wrote, to be repeated to them: enough to know it again.
fn shortened(text: &str) -> String {
    const REPEATED_BYTES_MAX: usize = 300;
    if text.len() <= REPEATED_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(REPEATED_BYTES_MAX);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// JSON's own name for the type of a value, as errors print it.
#[must_use]
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::limits;

    /// LREQ-ERR-02
    #[test]
    fn codes_are_upper_case_with_a_known_prefix() {
        const PREFIXES: [&str; 8] = [
            "VALIDATION_",
            "NOT_FOUND_",
            "PERMISSION_",
            "CONFLICT_",
            "RATE_LIMIT_",
            "INTERNAL_",
            "TOKEN_",
            "CONFIRMATION_REQUIRED",
        ];
        for code in Code::ALL {
            let text = code.as_str();
            assert!(text.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{text}");
            let documented_exception = text == "INTROSPECTION_ERROR";
            assert!(documented_exception || PREFIXES.iter().any(|p| text.starts_with(p)), "{text}");
            assert!(!text.starts_with("SCHEMA_"), "{text} belongs to generators, not to calls");
        }
    }

    /// LREQ-MCP-10
    #[test]
    fn only_internal_faults_are_unrecoverable() {
        for code in Code::ALL {
            let internal = code.as_str().starts_with("INTERNAL_") || *code == Code::Introspection;
            assert_eq!(code.is_unrecoverable(), internal, "{code}");
        }
    }

    /// LREQ-ERR-03 LREQ-ERR-04 LREQ-ERR-05 LREQ-ERR-09 LREQ-ERR-10
    #[test]
    fn messages_follow_their_templates() {
        let render = |template: &str, error: &Error| {
            let mut text = template.to_owned();
            for (key, value) in &error.details {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text = text.replace(&format!("{{{key}}}"), &value);
            }
            text
        };
        let table = [
            (
                Error::missing_param("get_repo", "owner", "string", "the owner"),
                "Missing required parameter '{param_name}'",
            ),
            (
                Error::invalid_type("per_page", "integer", &json!("fifty")),
                "Parameter '{param_name}' expected '{expected_type}', got '{actual_type}'",
            ),
            (
                Error::too_large(&limits::NESTING_DEPTH, 32, 33),
                "Payload exceeds {limit_type} limit of {limit_value}",
            ),
            (Error::not_found_operation("get_users"), "Unknown operation: '{operation}'"),
            (Error::permission_denied("x", "not allowed"), "Permission denied: {reason}"),
            (Error::invalid_encoding(Some(3)), "Invalid character encoding in request"),
        ];
        for (error, template) in table {
            let rendered = render(template, &error);
            assert!(error.message.starts_with(&rendered), "'{}' does not start '{rendered}'", error.message);
        }
    }
}
