//! Who may speak to us over HTTP at all: the right Host, the right Origin, and a credential where one is asked for.

use std::net::{IpAddr, SocketAddr};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::session::LOCAL;

/// A bearer token by its hash, and who it stands for.
#[derive(Debug, Clone)]
pub struct Credential {
    pub principal: String,
    pub sha256: [u8; 32],
}

/// The checks that come before everything else.
#[derive(Debug, Clone)]
pub struct Guard {
    hosts: Vec<String>,
    origins: Vec<String>,
    credentials: Vec<Credential>,
}

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Host,
    Origin,
    Credential,
    /// A header that steers a request is there twice, and whoever routed it may have read the other one.
    Twice,
}

/// The headers that say what a request is and whose.
const STEERING: [&str; 6] = [
    "authorization",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "mcp-param-operation",
];

impl Guard {
    /// Loopback names are always good; a page from elsewhere that resolves to us still names itself as Host.
    #[must_use]
    pub fn new(
        address: SocketAddr,
        hosts: &[String],
        origins: &[String],
        credentials: Vec<Credential>,
    ) -> Self {
        let mut all: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        if !address.ip().is_unspecified() {
            all.push(address.ip().to_string());
        }
        all.extend(hosts.iter().map(|host| host.to_ascii_lowercase()));
        Self { hosts: all, origins: origins.to_vec(), credentials }
    }

    /// The principal of an admitted request.
    pub fn admit(&self, headers: &HeaderMap) -> Result<String, Refusal> {
        if !self.is_known_host(headers) {
            return Err(Refusal::Host);
        }
        if !self.is_known_origin(headers) {
            return Err(Refusal::Origin);
        }
        if STEERING.iter().any(|name| headers.get_all(*name).iter().nth(1).is_some()) {
            return Err(Refusal::Twice);
        }
        if self.credentials.is_empty() {
            return Ok(LOCAL.to_owned());
        }
        self.principal(headers).ok_or(Refusal::Credential)
    }

    fn is_known_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else {
            return false;
        };
        let host = host_name(host).to_ascii_lowercase();
        self.hosts.contains(&host)
    }

    fn is_known_origin(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        if self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let name = host_name(authority);
        let is_loopback = name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        matches!(scheme, "http" | "https") && is_loopback
    }

    /// Every credential is compared, and each in constant time, so that time tells nothing about any of them.
    fn principal(&self, headers: &HeaderMap) -> Option<String> {
        let value = headers.get(header::AUTHORIZATION)?.as_bytes();
        let (scheme, token) = value.split_at_checked(7)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return None;
        }
        let given = Sha256::digest(token);
        let mut found = None;
        for credential in &self.credentials {
            if bool::from(credential.sha256.ct_eq(given.as_slice())) {
                found = Some(credential.principal.clone());
            }
        }
        found
    }
}

/// A Host header's name without its port: `[::1]:7171` is `::1`.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Host => (
                StatusCode::FORBIDDEN,
                "Forbidden: this Host is not known here. Use localhost, or add it to [server] allowed_hosts.",
            )
                .into_response(),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "Forbidden: this Origin may not call. Add it to [server] allowed_origins if it should.",
            )
                .into_response(),
            Self::Twice => {
                (StatusCode::BAD_REQUEST, "Bad Request: a header is given twice. Send each header once.")
                    .into_response()
            }
            Self::Credential => (
                StatusCode::UNAUTHORIZED,
                [(header::WWW_AUTHENTICATE, "Bearer")],
                "Unauthorized: send 'Authorization: Bearer TOKEN' with a token listed in [auth].",
            )
                .into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(credentials: Vec<Credential>) -> Guard {
        let hosts = ["gateway.example".to_owned()];
        let origins = ["https://app.example".to_owned()];
        Guard::new("127.0.0.1:7171".parse().unwrap(), &hosts, &origins, credentials)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_known_hosts_are_served() {
        for (host, admitted) in [
            ("localhost", true),
            ("LOCALHOST:7171", true),
            ("127.0.0.1:7171", true),
            ("[::1]:7171", true),
            ("gateway.example:443", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:7171", false),
            ("", false),
        ] {
            assert_eq!(guard(vec![]).admit(&headers(&[("host", host)])).is_ok(), admitted, "{host}");
        }
        assert_eq!(guard(vec![]).admit(&HeaderMap::new()), Err(Refusal::Host));
    }

    #[test]
    fn only_known_origins_are_served() {
        for (origin, admitted) in [
            ("http://localhost:3000", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:8080", true),
            ("https://app.example", true),
            ("https://evil.example", false),
            ("null", false),
            ("file://", false),
            ("http://localhost.evil.example", false),
        ] {
            let headers = headers(&[("host", "localhost"), ("origin", origin)]);
            assert_eq!(guard(vec![]).admit(&headers).is_ok(), admitted, "{origin}");
        }
    }

    #[test]
    fn a_token_names_its_principal_and_anything_else_names_nobody() {
        let credential = |principal: &str, token: &str| Credential {
            principal: principal.to_owned(),
            sha256: Sha256::digest(token).into(),
        };
        let guard = guard(vec![credential("alice", "secret-a"), credential("bob", "secret-b")]);
        let admit = |value: &str| guard.admit(&headers(&[("host", "localhost"), ("authorization", value)]));
        assert_eq!(admit("Bearer secret-a"), Ok("alice".to_owned()));
        assert_eq!(admit("bearer secret-b"), Ok("bob".to_owned()));
        for bad in ["Bearer wrong", "Bearer ", "Basic secret-a", "secret-a", "Bearer secret-a "] {
            assert_eq!(admit(bad), Err(Refusal::Credential), "{bad}");
        }
        assert_eq!(guard.admit(&headers(&[("host", "localhost")])), Err(Refusal::Credential));
    }
}
