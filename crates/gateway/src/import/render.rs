//! Upstreams as TOML: with their secrets for the file, without them for people.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{error::Error, merge::Server};
use crate::config::{Hidden, Piece, Text, clients::Entry, pieces};

const HIDDEN: &str = "***";

#[derive(Serialize)]
struct Document<'a> {
    upstream: Pairs<'a, Upstream<'a>>,
}

#[derive(Serialize)]
struct Upstream<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    env: Pairs<'a, String>,
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    headers: Pairs<'a, String>,
}

/// A table in the order of the client's file.
struct Pairs<'a, T>(Vec<(&'a str, T)>);

impl<T> Pairs<'_, T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Pairs<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Whether secrets are written or covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrets {
    Written,
    Covered,
}

/// The upstreams that are new, one section each.
pub(super) fn toml(servers: &[Server], secrets: Secrets) -> Result<String, Error> {
    let mut text = String::new();
    for server in servers.iter().filter(|server| !server.known) {
        let Server { name, entry, from, .. } = server;
        let upstream = upstream(entry, secrets);
        let document = Document { upstream: Pairs(vec![(name, upstream)]) };
        let written = toml::to_string(&document).map_err(|error| {
            Error::new(
                format!("'{name}' cannot be written as TOML: {error}"),
                "leave its file out with '--from'",
            )
        })?;
        // A path may hold a line end, which a comment may not.
        let from: Vec<String> = from.iter().map(|path| path.replace(char::is_control, " ")).collect();
        text.push_str(&format!("\n# from {}\n{written}", from.join(", ")));
    }
    Ok(text)
}

fn upstream(entry: &Entry, secrets: Secrets) -> Upstream<'_> {
    let covered = secrets == Secrets::Covered;
    let value = |hidden: &Hidden| match covered {
        true => shown(hidden.get().expose()),
        false => hidden.get().expose().to_owned(),
    };
    let table =
        |pairs: &'_ [(Text, Hidden)]| pairs.iter().map(|(_, hidden)| value(hidden)).collect::<Vec<_>>();
    let pairs = |pairs: &'_ [(Text, Hidden)]| table(pairs);
    let (env, headers) = (pairs(&entry.env), pairs(&entry.headers));
    let args: Vec<&str> = entry.args.iter().map(|arg| arg.get().expose()).collect();
    Upstream {
        command: entry.command.as_ref().map(|command| command.get().as_str()),
        args: if covered { arguments(&args) } else { args.into_iter().map(str::to_owned).collect() },
        url: entry.url.as_ref().map(|url| match covered {
            true => address(url.get().expose()),
            false => url.get().expose().to_owned(),
        }),
        cwd: entry.cwd.as_ref().map(|cwd| cwd.get().expose()),
        enabled: (!entry.enabled).then_some(false),
        env: Pairs(entry.env.iter().map(|(name, _)| name.get().as_str()).zip(env).collect()),
        headers: Pairs(entry.headers.iter().map(|(name, _)| name.get().as_str()).zip(headers).collect()),
    }
}

/// A value is covered unless all of it comes from the environment.
fn shown(text: &str) -> String {
    let outside = |piece: &Piece<'_>| matches!(piece, Piece::Variable { default: None, .. });
    match pieces(text) {
        Ok(pieces) if pieces.iter().all(outside) => text.to_owned(),
        _ => HIDDEN.to_owned(),
    }
}

/// Arguments are shown, since they say what is run, but not those that look like secrets.
fn arguments(args: &[&str]) -> Vec<String> {
    let mut after_flag = false;
    let mut all = Vec::with_capacity(args.len());
    for arg in args {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*arg, None),
        };
        let sensitive = !name.contains("://") && is_sensitive(name);
        all.push(match value {
            Some(_) if sensitive => format!("{name}={HIDDEN}"),
            _ if after_flag || is_like_a_secret(arg) => shown(arg),
            _ => address(arg),
        });
        after_flag = value.is_none() && sensitive && name.starts_with('-');
    }
    all
}

fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "key", "secret", "password", "passwd", "auth", "credential", "bearer", "header", "dsn"]
        .iter()
        .any(|word| name.contains(word))
}

/// Long, without a break, and of letters and digits both: what nobody types, somebody made.
fn is_like_a_secret(text: &str) -> bool {
    const LENGTH_MIN: usize = 20;
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+=".contains(&b));
    let mixed = text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic());
    text.len() >= LENGTH_MIN && plain && mixed && !text.starts_with('-')
}

/// An address without its password and its query.
fn address(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let path = match path.split_once(['?', '#']) {
        Some((path, _)) => format!("{path}?{HIDDEN}"),
        None => path.to_owned(),
    };
    format!("{scheme}://{authority}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_covered() {
        for (args, expected) in [
            (&["-y", "@a/server-b@1.2.3", "/tmp/x"][..], &["-y", "@a/server-b@1.2.3", "/tmp/x"][..]),
            (&["--api-key", "abc", "x"], &["--api-key", "***", "x"]),
            (&["--token=abc", "--port=3"], &["--token=***", "--port=3"]),
            (&["API_KEY=abc"], &["API_KEY=***"]),
            (&["ghp_16C7e42F292c6912E7710c838347Ae17"], &["***"]),
            (&["--token", "${TOKEN}"], &["--token", "${TOKEN}"]),
            (&["postgres://u:p@db/x?sslkey=1"], &["postgres://***@db/x?***"]),
            (&["--url=redis://:p@db"], &["--url=redis://***@db"]),
            (&["https://x/#token"], &["https://x/?***"]),
            (&["--header", "Authorization: Bearer x"], &["--header", "***"]),
        ] {
            assert_eq!(arguments(args), expected);
        }
        for (value, expected) in
            [("x", "***"), ("${A}", "${A}"), ("${A}${B}", "${A}${B}"), ("${A:-x}", "***"), ("p${A}", "***")]
        {
            assert_eq!(shown(value), expected);
        }
    }
}
