//! Callers' own tokens, kept in memory for the servers behind us that are to get them, and for nobody else.

use std::collections::HashMap;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderValue, header};

/// What stands where a token stood.
const COVER: &str = "***";

/// The token of each principal, which has no more than one. They seldom change, and nobody waits for who looks at them.
#[derive(Default)]
pub(crate) struct Bearers(ArcSwap<HashMap<String, HeaderValue>>);

impl Bearers {
    /// Keeps what a request showed that was admitted for this principal.
    pub(crate) fn note(&self, principal: &str, headers: &HeaderMap) {
        let Some(shown) = headers.get(header::AUTHORIZATION) else { return };
        if self.0.load().get(principal) == Some(shown) {
            return;
        }
        let mut shown = shown.clone();
        shown.set_sensitive(true);
        self.0.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.insert(principal.to_owned(), shown.clone());
            known
        });
    }

    /// What is sent for a principal, as a header's value.
    pub(crate) fn of(&self, principal: &str) -> Option<HeaderValue> {
        self.0.load().get(principal).cloned()
    }

    /// A text without the tokens: a server that gets one may repeat it.
    pub(crate) fn cover(&self, mut text: String) -> String {
        for shown in self.0.load().values() {
            let token = shown.to_str().ok().and_then(|shown| shown.split_once(' ')).map(|(_, token)| token);
            if let Some(token) = token.filter(|token| !token.is_empty() && text.contains(token)) {
                text = text.replace(token, COVER);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-ISEC-05
    #[test]
    fn a_principal_is_known_by_the_token_shown_last_and_no_text_repeats_it() {
        let bearers = Bearers::default();
        let headers = |value: &'static str| {
            HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))])
        };
        bearers.note("ann", &headers("Bearer first-token"));
        bearers.note("ann", &headers("bearer second-token"));
        bearers.note("bob", &HeaderMap::new());
        assert_eq!(bearers.of("ann").unwrap(), "bearer second-token");
        assert!(bearers.of("bob").is_none());
        assert!(!format!("{:?}", bearers.of("ann")).contains("second"));
        assert_eq!(bearers.cover("you sent second-token".to_owned()), "you sent ***");
    }
}
