//! What was asked of a server and what it said, before anything is made of it.

use serde_json::{Map, Value};

use super::redact;

/// One visit to a server. It may hold secrets; a bundle made of it does not.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// What the operator calls the server.
    pub name: String,
    pub reached: Reached,
    pub auth: Auth,
    /// How it was asked: timeouts, headers, environment. Written redacted.
    pub config: Map<String, Value>,
    /// Values that must not be written anywhere: tokens, values of headers and of the environment. Those that are too
    /// short to be told from ordinary words are passed over.
    pub secrets: Vec<String>,
    /// RFC 3339. Whoever has a clock gives it.
    pub captured_at: String,
    /// What the server says of itself.
    pub server: Option<Identity>,
    /// Every answer to `tools/list`, in order.
    pub pages: Vec<Value>,
}

impl Capture {
    /// Everything that must not be written: the secrets that were named, and those in the command itself.
    pub(super) fn known_secrets(&self) -> Vec<String> {
        let mut secrets = self.secrets.clone();
        if let Reached::Stdio { args, .. } = &self.reached {
            secrets.extend(redact::secrets_of_arguments(args));
        }
        secrets
    }
}

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// Streamable HTTP.
    Http { url: String },
    /// A process of ours, on its standard input and output.
    Stdio { command: String, args: Vec<String> },
}

impl Default for Reached {
    fn default() -> Self {
        Self::Stdio { command: String::new(), args: Vec::new() }
    }
}

/// How we showed who we are. Never the token itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Auth {
    #[default]
    None,
    Bearer {
        /// The header, where it is not `Authorization`.
        header: Option<String>,
        prefix: Option<String>,
        /// The variable of the environment that holds the token.
        token_env: Option<String>,
        /// The command that prints it.
        token_command: Option<String>,
    },
}

/// A server's own name and version.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Identity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl Identity {
    /// Reads `serverInfo`. Other keys than the three are left out, and so is what is no text.
    #[must_use]
    pub fn read(info: &Value) -> Option<Self> {
        let text = |key: &str| info.get(key).and_then(Value::as_str).map(str::to_owned);
        let identity = Self { name: text("name"), version: text("version"), title: text("title") };
        (identity != Self::default()).then_some(identity)
    }
}

/// Why no bundle can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the name of the server is empty")]
    NoName,
    #[error("'{0}' is no time; write it like 2026-04-15T12:00:00Z")]
    NoTime(String),
    #[error("'{0}' is no address of streamable HTTP; it begins with http:// or https://")]
    Transport(String),
    #[error("a bundle of a process on this machine is an extension, which --strict refuses")]
    Strict,
    #[error("'{0}' is no kind of auth a bundle can name; there are 'bearer' and 'none'")]
    Auth(String),
    #[error("page {number} of the list has no array 'tools'")]
    NoPage { number: usize },
    #[error("the list has no page")]
    NoPages,
    #[error("line {line}, column {column} is no JSON")]
    NoJson { line: usize, column: usize },
}

impl Auth {
    /// The kinds that a bundle can name; another is an error.
    pub fn named(kind: &str, token_env: Option<String>) -> Result<Self, Error> {
        match kind {
            "none" => Ok(Self::None),
            "bearer" => Ok(Self::Bearer { header: None, prefix: None, token_env, token_command: None }),
            other => Err(Error::Auth(other.to_owned())),
        }
    }
}

/// Reads the text of a saved list as pages: one answer to `tools/list` or several in a row, each the result or the whole
/// response; an array of them; or an array or lines of tools, which count as one page.
pub fn pages(text: &str) -> Result<Vec<Value>, Error> {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    let mut values = values.map_err(|error| Error::NoJson { line: error.line(), column: error.column() })?;
    if values.len() == 1 && values.first().is_some_and(Value::is_array) {
        values = match values.pop() {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        if values.is_empty() {
            return Ok(vec![serde_json::json!({"tools": []})]);
        }
    }
    if values.is_empty() {
        return Err(Error::NoPages);
    }
    let is_page = |value: &Value| page(value).is_some();
    let is_tool = |value: &Value| value.get("name").is_some();
    if values.iter().any(is_tool) && !values.iter().any(is_page) {
        return Ok(vec![serde_json::json!({"tools": values})]);
    }
    match values.iter().position(|value| !is_page(value)) {
        Some(place) => Err(Error::NoPage { number: place + 1 }),
        None => Ok(values),
    }
}

/// The result of one `tools/list`, taken out of its response where it still stands in one.
pub(super) fn page(value: &Value) -> Option<&Map<String, Value>> {
    let object = value.as_object()?;
    let result = object.get("result").and_then(Value::as_object).unwrap_or(object);
    result.get("tools").is_some_and(Value::is_array).then_some(result)
}

impl Reached {
    /// As bundles call it.
    pub(super) fn transport(&self) -> &'static str {
        match self {
            Self::Http { .. } => "streamable_http",
            Self::Stdio { .. } => "stdio",
        }
    }

    /// The address without anything secret.
    pub(super) fn url(&self, name: &str) -> Result<String, Error> {
        match self {
            Self::Http { url } => redact::url(url).ok_or_else(|| Error::Transport(redact::text(url))),
            Self::Stdio { command, .. } => {
                let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
                // A saved list does not tell.
                let program = if program.is_empty() { name } else { program };
                Ok(format!("stdio:{}", super::percent::encoded(program)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn saved_lists_are_read_as_pages() {
        let counts = |text: &str| {
            pages(text).map(|pages| {
                pages.iter().map(|p| page(p).unwrap()["tools"].as_array().unwrap().len()).collect()
            })
        };
        for (text, expected) in [
            (r#"{"tools": [{"name": "a"}]}"#, vec![1]),
            (r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}"#, vec![0]),
            ("{\"tools\": [{\"name\": \"a\"}], \"nextCursor\": \"x\"}\n{\"tools\": [1, 2]}", vec![1, 2]),
            (r#"[{"tools": [{"name": "a"}]}, {"tools": []}]"#, vec![1, 0]),
            (r#"[{"name": "a"}, {"name": "b"}, 3]"#, vec![3]),
            ("{\"name\": \"a\"}\n{\"name\": \"b\"}\n", vec![2]),
            ("[]", vec![0]),
        ] {
            assert_eq!(counts(text), Ok(expected), "{text}");
        }
        assert_eq!(counts("{oops"), Err(Error::NoJson { line: 1, column: 2 }));
        assert_eq!(counts(""), Err(Error::NoPages));
        assert_eq!(counts("{\"tools\": []}\n{}"), Err(Error::NoPage { number: 2 }));
        assert_eq!(counts("{\"tools\": {}}"), Err(Error::NoPage { number: 1 }));
        assert_eq!(counts("7"), Err(Error::NoPage { number: 1 }));
    }

    /// REQ-DISC-15
    #[test]
    fn other_kinds_of_auth_and_transport_are_refused() {
        for kind in ["basic", "oauth2", "Bearer", ""] {
            let error = Auth::named(kind, None).unwrap_err();
            assert!(error.to_string().contains("'bearer' and 'none'"), "{error}");
        }
        assert_eq!(Auth::named("none", None), Ok(Auth::None));
        for url in ["ws://x.example/mcp", "x.example", "", "file:///etc/passwd"] {
            let reached = Reached::Http { url: url.to_owned() };
            assert!(matches!(reached.url("x"), Err(Error::Transport(_))), "{url}");
        }
    }

    /// REQ-DISC-16
    #[test]
    fn a_server_without_a_name_has_no_identity() {
        assert_eq!(Identity::read(&json!({})), None);
        assert_eq!(Identity::read(&json!({"name": 3})), None);
        let known = Identity::read(&json!({"name": "a", "version": "1", "websiteUrl": "x"})).unwrap();
        assert_eq!(json!(known), json!({"name": "a", "version": "1"}));
    }
}
