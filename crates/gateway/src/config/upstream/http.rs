//! An upstream that is reached by an address: the address, its headers and where its bearer token comes from.

use http::{HeaderName, HeaderValue, Uri, header};

use super::link::{Bearer, Link, Values, ordered};
use crate::config::{
    error::Error,
    file::{self, Hidden},
    notation::Notation,
    secret::Secret,
    variables::is_name,
};

/// Headers that belong to the transport. Clients' files hold them, where they do no good.
const TRANSPORT_HEADERS: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
];

impl Values<'_> {
    pub(super) fn http(
        &self,
        url: &Hidden,
        written: &file::Upstream,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Link>, Error> {
        let bearer = self.bearer(written, warnings)?;
        let headers = self.headers(written, bearer.is_some(), warnings)?;
        let address = self.complete("url", url)?;
        let uri = address.as_ref().map(|address| self.address(address.expose(), url)).transpose()?;
        let (Some(address), Some(uri), Some(headers)) = (address, uri, headers) else { return Ok(None) };
        let credentials = bearer.is_some() || !headers.is_empty();
        if credentials && uri.scheme_str() == Some("http") && !is_this_machine(uri.host().unwrap_or_default())
        {
            warnings.push(format!(
                "'{}' sends its headers to another machine over plain 'http', where others can read them",
                self.path
            ));
        }
        Ok(Some(Link::Http { url: address.expose().to_owned(), headers, bearer }))
    }

    /// The address may hold a secret, so no error repeats it.
    fn address(&self, text: &str, given: &Hidden) -> Result<Uri, Error> {
        let wrong = |message: &str| {
            let error = Error::at(given.span(), format!("'{}.url' {message}", self.path));
            error.help_with("write it as in 'https://mcp.example.com/mcp'")
        };
        let uri: Uri = text.parse().map_err(|_| wrong("is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("must begin with 'http://' or 'https://'"));
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(wrong("has no host"));
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(wrong("holds a name or password before its host").help_with(match self.notation {
                Notation::Toml => "send them in 'headers' as 'Authorization', or use 'bearer_env'",
                Notation::Json { .. } => "send them in 'headers' as 'Authorization'",
            }));
        }
        Ok(uri)
    }

    fn headers(
        &self,
        written: &file::Upstream,
        has_bearer: bool,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Vec<(String, Secret)>>, Error> {
        let table = written.headers.as_ref();
        let names = self.table("headers", table, |name| {
            name.parse::<HeaderName>().ok().map(|name| name.as_str().to_owned())
        })?;
        // The file's order, as the table has it.
        let spans = ordered(table).map(|(name, value)| (name.span(), value.span()));
        let Some(names) = names else { return Ok(None) };
        let mut headers: Vec<(String, Secret)> = Vec::new();
        for ((name, value), (name_span, value_span)) in names.into_iter().zip(spans) {
            if headers.iter().any(|(earlier, _)| *earlier == name) {
                let message =
                    format!("'{}.headers' names '{name}' twice, since case does not count", self.path);
                return Err(Error::at(name_span, message).help_with("keep one of them"));
            }
            if has_bearer && name == header::AUTHORIZATION.as_str() {
                let message = format!("'{}' has both a bearer token and the header '{name}'", self.path);
                return Err(Error::at(name_span, message).help_with("keep one of them"));
            }
            if HeaderValue::from_str(value.expose()).is_err() {
                let message = format!("'{}.headers.{name}' is not a value for a header", self.path);
                return Err(Error::at(value_span, message).help_with("keep to printable characters of ASCII"));
            }
            if TRANSPORT_HEADERS.contains(&name.as_str()) {
                warnings.push(format!("'{}.headers.{name}' is set by the transport and left out", self.path));
                continue;
            }
            headers.push((name, value));
        }
        Ok(Some(headers))
    }

    fn bearer(&self, written: &file::Upstream, warnings: &mut Vec<String>) -> Result<Option<Bearer>, Error> {
        match (&written.bearer_env, &written.bearer_command) {
            (None, None) => Ok(None),
            (Some(_), Some(command)) => {
                let message = format!("'{}' has both 'bearer_env' and 'bearer_command'", self.path);
                Err(Error::at(command.span(), message).help_with("keep one of them"))
            }
            (Some(variable), None) => {
                let name = variable.get();
                if !is_name(name) {
                    // Who mistakes this key for the token's has written a secret there.
                    let message =
                        format!("'{}.bearer_env' is not the name of an environment variable", self.path);
                    return Err(Error::at(variable.span(), message)
                        .help_with("write the variable's name, as in 'GITHUB_TOKEN', not the token"));
                }
                if self.expansion.in_use && self.expansion.environment.path(name).is_none() {
                    warnings.push(format!("'{}.bearer_env' names '{name}', which is not set", self.path));
                }
                Ok(Some(Bearer::Variable(name.clone())))
            }
            (None, Some(command)) => {
                let mut words = command.get().iter();
                let Some(program) = words.next() else {
                    let error = Error::at(command.span(), format!("'{}.bearer_command' is empty", self.path));
                    return Err(error.help_with("write a program and its arguments"));
                };
                let program_path = self.program(program.get().expose(), program.span())?;
                let mut line = vec![program_path.to_string_lossy().into_owned()];
                for word in words {
                    self.no_null("bearer_command", word.get().expose(), word)?;
                    line.push(word.get().expose().to_owned());
                }
                Ok(Some(Bearer::Command(line)))
            }
        }
    }
}

fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}
