//! Codes and confirmation tokens: made here when the operator's side asks for one, shown there, kept as a keyed hash.
//!
//! Nothing on the agents' side calls what returns one.

use std::{fmt, path::Path};

use aql::autonomy::code;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;

use crate::{
    random,
    store::{
        self, SafetyStore,
        safety::agents::{CodeHash, Revealed},
    },
};

/// What hashes of codes are keyed with. Whoever has read the database alone cannot try codes.
const KEY_FILE: &str = "verification.key";
/// What a confirmation token begins with.
const TOKEN_PREFIX: &str = "conf_";
const TOKEN_BYTES: usize = 32;

/// Makes codes and hashes them.
#[derive(Clone)]
pub struct Codes {
    key: [u8; 32],
}

/// The key is for nobody's eyes.
impl fmt::Debug for Codes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codes")
    }
}

impl Codes {
    /// The codes of a data directory; every process on it gets the same key.
    pub fn open(dir: &Path) -> Result<Self, store::Error> {
        Ok(Self { key: store::secret(dir, KEY_FILE)? })
    }

    /// The hash of what somebody gave as the code of a challenge, or nothing where it cannot be one.
    #[must_use]
    pub fn hash(&self, challenge: &str, given: &str) -> Option<CodeHash> {
        Some(code::hash(&self.key, challenge, &code::read(given)?))
    }

    /// Makes a code for a challenge and keeps its hash. The code is to be shown to the operator and to nobody else; there
    /// is one exactly if the challenge can still be answered.
    pub async fn reveal(
        &self,
        store: &SafetyStore,
        challenge: &str,
        by: &str,
        channel: &str,
        now: Timestamp,
    ) -> Result<(Revealed, Option<String>), store::Error> {
        let code = code::write(&random::bytes());
        let Some(hash) = self.hash(challenge, &code) else { return Err(store::Error::Io) };
        let revealed = store.reveal(challenge, hash, by, channel, now).await?;
        let shown = matches!(revealed, Revealed::Shown(_)).then_some(code);
        Ok((revealed, shown))
    }

    /// A fresh confirmation token and its hash.
    #[must_use]
    pub fn token(&self) -> (String, CodeHash) {
        let token = format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(random::bytes::<TOKEN_BYTES>()));
        let hash = self.token_hash(&token);
        (token, hash)
    }

    /// The hash of what somebody gave as a confirmation token.
    #[must_use]
    pub fn token_hash(&self, given: &str) -> CodeHash {
        code::hash(&self.key, TOKEN_PREFIX, given)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// REQ-OOB-03 REQ-OOB-08
    #[test]
    fn codes_and_tokens_never_repeat_and_show_nothing_of_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let codes = Codes::open(dir.path()).unwrap();
        let made: HashSet<String> = (0..10_000).map(|_| code::write(&random::bytes())).collect();
        assert_eq!(made.len(), 10_000);
        let tokens: HashSet<String> = (0..1000).map(|_| codes.token().0).collect();
        assert_eq!(tokens.len(), 1000);
        assert!(tokens.iter().all(|token| token.len() <= 80 && token.starts_with(TOKEN_PREFIX)));
        assert_eq!(format!("{codes:?}"), "Codes");
        let again = Codes::open(dir.path()).unwrap();
        let (token, hash) = codes.token();
        assert_eq!(again.token_hash(&token), hash, "every process on the directory has the same key");
    }
}
