//! Where HTTP is served, and to whom: the address, and the `Host` and `Origin` headers to accept.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use super::{
    auth::HASH_COMMAND,
    error::{Error, Place},
    file::Placed,
    given::{Given, strongest},
};

pub(super) const HTTP_DEFAULT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7171));

/// What must hold before other machines may reach the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remote {
    /// The operator said so on the command line, where it cannot hide in a copied file.
    pub(super) allowed: bool,
    pub(super) has_tokens: bool,
}

pub(super) fn http(layers: [Option<Given<'_>>; 3], remote: Remote) -> Result<SocketAddr, Error> {
    let (address, place) = strongest(layers, parse)?.unwrap_or((HTTP_DEFAULT, Place::Unsaid));
    let missing = match remote {
        _ if address.ip().to_canonical().is_loopback() => return Ok(address),
        Remote { allowed: true, has_tokens: true } => return Ok(address),
        Remote { allowed: false, has_tokens: true } => "'--allow-remote' is not given",
        Remote { allowed: true, has_tokens: false } => "there is no token in '[auth]'",
        Remote { allowed: false, has_tokens: false } => {
            "neither '--allow-remote' nor a token in '[auth]' is given"
        }
    };
    Err(Error::new(place, format!("'{address}' can be reached from other machines, but {missing}")).help_with(
        format!(
            "it takes both: start with '--allow-remote', and add '[[auth.tokens]]' with a 'principal' and its \
             'sha256', which {HASH_COMMAND} prints; or serve at '{HTTP_DEFAULT}'"
        ),
    ))
}

fn parse(given: &Given<'_>) -> Result<SocketAddr, Error> {
    let wrong = |_| {
        let error = given.wrong(format!("'{}' is not an IP address with a port", given.text));
        error.help_with(format!("write it as in '{HTTP_DEFAULT}' or '[::1]:7171'"))
    };
    given.text.parse().map_err(wrong)
}

/// `Host` headers: a name or address, with or without a port.
pub(super) fn hosts(written: Option<&Vec<Placed<String>>>) -> Result<Vec<String>, Error> {
    each(written, |text| {
        let authority: http::uri::Authority = text.parse().ok()?;
        let plain = !text.contains(['@', '*']) && !authority.host().is_empty();
        plain.then(|| text.to_ascii_lowercase())
    })
    .map_err(|(given, span)| {
        Error::at(span, format!("'{given}' is not a host")).help_with(
            "write a name with or without a port, as in 'aqueduct.example.com' or 'localhost:8080'",
        )
    })
}

/// `Origin` headers: a scheme and a host, with or without a port, and nothing after them.
pub(super) fn origins(written: Option<&Vec<Placed<String>>>) -> Result<Vec<String>, Error> {
    each(written, |text| {
        let text = text.to_ascii_lowercase();
        let (scheme, authority) = text.split_once("://")?;
        let uri: http::Uri = text.parse().ok()?;
        let whole = uri.scheme_str() == Some(scheme) && uri.authority()?.as_str() == authority;
        (whole && !text.contains(['@', '*'])).then_some(text)
    })
    .map_err(|(given, span)| {
        Error::at(span, format!("'{given}' is not an origin"))
            .help_with("write scheme and host, and nothing after them, as in 'https://app.example.com'")
    })
}

fn each(
    written: Option<&Vec<Placed<String>>>,
    parse: impl Fn(&str) -> Option<String>,
) -> Result<Vec<String>, (String, std::ops::Range<usize>)> {
    let given = written.into_iter().flatten();
    given.map(|text| parse(text.get()).ok_or_else(|| (text.get().clone(), text.span()))).collect()
}
