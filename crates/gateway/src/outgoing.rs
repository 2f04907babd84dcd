//! The HTTP client that requests to others are made with.

use std::{sync::Once, time::Duration};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that follows no redirect: what is sent, and the credential with it, is for nobody else.
pub(crate) fn client() -> Result<reqwest::Client, reqwest::Error> {
    static TLS: Once = Once::new();
    TLS.call_once(|| {
        // Somebody else in the process may have chosen one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("aqueduct/", env!("CARGO_PKG_VERSION")))
        .build()
}
