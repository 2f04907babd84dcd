//! The section `[inspector]`: what is recorded and for how long, where agents report, and which collectors are told.

use std::{
    collections::HashMap,
    fmt,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
};

use http::{HeaderName, HeaderValue, Uri};

use super::{
    address::Remote,
    bounds,
    environment::{self, Environment},
    error::Error,
    file::{self, Hidden, Placed},
    secret::Secret,
    variables::Expansion,
};
use crate::trace::{Level, Levels};

/// Who we are in what is recorded.
const SERVER_ID_DEFAULT: &str = "aqueduct";

pub(super) const HTTP_DEFAULT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4318));
pub(super) const GRPC_DEFAULT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4317));

/// The longest tag that is kept.
const TAG_BYTES_MAX: usize = 64;
/// What opens no listener.
const OFF: &str = "off";
/// Where traces go in a collector whose address has no path.
const TRACES: &str = "/v1/traces";

/// What is recorded, and who reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspector {
    /// What is recorded of which calls, but for what servers say themselves.
    pub levels: Levels,
    /// What we are called in what is recorded.
    pub server_id: String,
    /// What sessions recorded here are found by.
    pub tags: Vec<String>,
    pub keep_days: u32,
    pub keep_bytes: u64,
    pub otlp_http: Receiver,
    pub otlp_grpc: Receiver,
    /// In the order of the file.
    pub export: Vec<Export>,
}

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiver {
    /// None opens none.
    pub address: Option<SocketAddr>,
    /// Whether the file names it. On standard input and output only then is it used.
    pub is_written: bool,
}

impl Receiver {
    /// The address to open, if any.
    #[must_use]
    pub fn wanted(&self, on_stdio: bool) -> Option<SocketAddr> {
        self.address.filter(|_| !on_stdio || self.is_written)
    }
}

/// A collector to send spans to.
#[derive(Clone, PartialEq, Eq)]
pub struct Export {
    pub name: String,
    /// May hold a secret, so it is never shown.
    pub url: Secret,
    pub headers: Vec<(String, Secret)>,
}

impl Default for Inspector {
    fn default() -> Self {
        let receiver = |address| Receiver { address: Some(address), is_written: false };
        Self {
            levels: Levels::default(),
            server_id: SERVER_ID_DEFAULT.to_owned(),
            tags: Vec::new(),
            keep_days: 14,
            keep_bytes: 2 << 30,
            otlp_http: receiver(HTTP_DEFAULT),
            otlp_grpc: receiver(GRPC_DEFAULT),
            export: Vec::new(),
        }
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Export").field("name", &self.name).field("headers", &headers).finish()
    }
}

pub(super) fn inspector(
    written: &file::Inspector,
    environment: &Environment,
    remote: Remote,
) -> Result<Inspector, Error> {
    let mut exports: Vec<_> = written.export.iter().flatten().collect();
    exports.sort_by_key(|(name, _)| name.span().start);
    let named = environment.text(environment::SERVER_ID)?.filter(|id| !id.is_empty()).map(str::to_owned);
    let days = bounds::TRACE_DAYS.check_or_default(written.keep_days.as_ref())?;
    Ok(Inspector {
        levels: levels(written)?,
        server_id: named
            .or_else(|| written.server_id.as_ref().map(|id| id.get().clone()))
            .unwrap_or_else(|| SERVER_ID_DEFAULT.to_owned()),
        tags: written.tags.iter().flatten().map(tag).collect::<Result<_, _>>()?,
        keep_days: u32::try_from(days).unwrap_or(u32::MAX),
        keep_bytes: bounds::TRACE_BYTES.check_or_default(written.keep_bytes.as_ref())?,
        otlp_http: receiver(written.otlp_http.as_ref(), HTTP_DEFAULT, remote)?,
        otlp_grpc: receiver(written.otlp_grpc.as_ref(), GRPC_DEFAULT, remote)?,
        export: exports
            .into_iter()
            .map(|(name, written)| export(name, written, environment))
            .collect::<Result<_, _>>()?,
    })
}

/// Commas stand between tags where they are one text.
fn tag(given: &Placed<String>) -> Result<String, Error> {
    let tag = given.get().trim();
    let fits =
        (1..=TAG_BYTES_MAX).contains(&tag.len()) && !tag.contains(',') && !tag.contains(char::is_control);
    if !fits {
        let message = format!("the tag '{}' must have 1 to {TAG_BYTES_MAX} bytes and no comma", given.get());
        return Err(Error::at(given.span(), message).help_with("write it as in 'tags = [\"production\"]'"));
    }
    Ok(tag.to_owned())
}

fn levels(written: &file::Inspector) -> Result<Levels, Error> {
    let mut patterns: Vec<_> = written.operations.iter().flatten().collect();
    // The most particular first.
    patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.get().len()));
    let operations = patterns.into_iter().map(|(pattern, given)| Ok((pattern.get().clone(), level(given)?)));
    Ok(Levels {
        usual: written.capture.as_ref().map(level).transpose()?.unwrap_or_default(),
        servers: HashMap::new(),
        operations: operations.collect::<Result<_, Error>>()?,
    })
}

/// How much is recorded, by its word.
pub(super) fn level(given: &Placed<String>) -> Result<Level, Error> {
    match given.get().as_str() {
        "off" => Ok(Level::Off),
        "metadata" => Ok(Level::Metadata),
        "preview" => Ok(Level::Preview),
        other => Err(Error::at(given.span(), format!("capture '{other}' is none of off, metadata, preview"))),
    }
}

fn receiver(given: Option<&Placed<String>>, default: SocketAddr, remote: Remote) -> Result<Receiver, Error> {
    let address = match given {
        None => Some(default),
        Some(given) if given.get() == OFF => None,
        Some(given) => Some(address(given, default, remote)?),
    };
    Ok(Receiver { address, is_written: given.is_some() })
}

/// Whoever reports writes into what the operator reads, so other machines need a token.
fn address(given: &Placed<String>, default: SocketAddr, remote: Remote) -> Result<SocketAddr, Error> {
    let address: SocketAddr = given.get().parse().map_err(|_| {
        let message = format!("'{}' is neither an IP address with a port nor '{OFF}'", given.get());
        Error::at(given.span(), message).help_with(format!("write it as in '{default}', or '{OFF}' for none"))
    })?;
    if address.ip().to_canonical().is_loopback() || (remote.allowed && remote.has_tokens) {
        return Ok(address);
    }
    let missing =
        if remote.allowed { "there is no token in '[auth]'" } else { "'--allow-remote' is not given" };
    let message = format!("'{address}' can be reached from other machines, but {missing}");
    Err(Error::at(given.span(), message).help_with(format!(
        "it takes both '--allow-remote' and a token in '[[auth.tokens]]'; or listen on '{default}'"
    )))
}

fn export(name: &Placed<String>, written: &file::Export, environment: &Environment) -> Result<Export, Error> {
    let label = name.get();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if label.is_empty() || !label.chars().all(fits) {
        let message = format!("the collector '{label}' must be named by letters, digits, '_' and '-'");
        return Err(Error::at(name.span(), message).help_with("write it as in '[inspector.export.jaeger]'"));
    }
    let path = format!("inspector.export.{label}");
    let mut given: Vec<_> = written.headers.iter().flatten().collect();
    given.sort_by_key(|(name, _)| name.span().start);
    let mut headers: Vec<(String, Secret)> = Vec::new();
    for (name, value) in given {
        headers.push(header(&path, name, value, environment)?);
    }
    Ok(Export { name: label.clone(), url: url(&path, &written.url, environment)?, headers })
}

/// The address may hold a secret, so no error repeats it.
fn url(path: &str, given: &Hidden, environment: &Environment) -> Result<Secret, Error> {
    let wrong = |message: &str| {
        let error = Error::at(given.span(), format!("'{path}.url' {message}"));
        error.help_with("write it as in 'http://127.0.0.1:4318'")
    };
    let text = complete(&format!("'{path}.url'"), given, environment)?;
    let uri: Uri = text.parse().map_err(|_| wrong("is not a URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("must begin with 'http://' or 'https://'"));
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err(wrong("has no host"));
    }
    let is_bare = uri.path() == "/" && uri.query().is_none();
    Ok(Secret::new(if is_bare { format!("{}{TRACES}", text.trim_end_matches('/')) } else { text }))
}

fn header(
    path: &str,
    name: &Placed<String>,
    value: &Hidden,
    environment: &Environment,
) -> Result<(String, Secret), Error> {
    let label: HeaderName = name.get().parse().map_err(|_| {
        Error::at(name.span(), format!("'{path}.headers' has a name that is not a header's"))
            .help_with("write it as in 'headers = { Authorization = \"Bearer ${TOKEN}\" }'")
    })?;
    let what = format!("'{path}.headers.{label}'");
    let text = complete(&what, value, environment)?;
    if HeaderValue::from_str(&text).is_err() {
        let message = format!("{what} is not a value for a header");
        return Err(Error::at(value.span(), message).help_with("keep to printable characters of ASCII"));
    }
    Ok((label.as_str().to_owned(), Secret::new(text)))
}

/// A variable that is not set is a mistake here: what was to be kept elsewhere would silently be lost.
fn complete(what: &str, given: &Hidden, environment: &Environment) -> Result<String, Error> {
    let expansion = Expansion { environment, in_use: true };
    expansion.expand(what, given.get().expose(), given.span())?.ok_or_else(|| {
        Error::at(given.span(), format!("{what} needs an environment variable that is not set"))
            .help_with("set it, or give a default as in '${NAME:-default}'")
    })
}
