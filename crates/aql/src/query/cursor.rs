//! Cursors: opaque, URL-safe, signed, and all there is to remember between two pages.
//!
//! A cursor holds where its item stood (sort keys and id), not its number, so pages stay right while items come and
//! go. It also holds a fingerprint of the query it belongs to: with another filter or order it is refused, not misread.
//!
//! Inside: a version byte, the fingerprint, a JSON array (id, sort keys, the time where the query depends on it, and what
//! storage noted for the series), and a truncated HMAC-SHA256 over all of these; then base64url.

use std::fmt;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac, digest::KeyInit};
use serde_json::Value;
use sha2::{Digest, Sha256};

const VERSION: u8 = 1;
const FINGERPRINT_BYTES: usize = 6;
/// 96 bits: enough that nobody guesses one, and 16 characters of the cursor.
const SIGNATURE_BYTES: usize = 12;
/// HMAC pads its key to a block of the hash, with zeros.
const BLOCK_BYTES: usize = 64;

/// The secret that cursors are signed with. Who keeps it over a restart keeps its cursors valid.
#[derive(Clone)]
pub struct CursorKey(Hmac<Sha256>);

impl CursorKey {
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        let mut block = [0; BLOCK_BYTES];
        for (to, from) in block.iter_mut().zip(secret) {
            *to = *from;
        }
        Self(<Hmac<Sha256> as KeyInit>::new(&block.into()))
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey(…)")
    }
}

/// What a query is about, without its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    pub(super) fn of(text: &str) -> Self {
        let mut short = [0; FINGERPRINT_BYTES];
        for (to, from) in short.iter_mut().zip(Sha256::digest(text.as_bytes())) {
            *to = from;
        }
        Self(short)
    }
}

/// Why a text is not a cursor of this query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not one of ours, or changed on its way.
    Forged,
    /// Ours, but of another query.
    Foreign,
}

pub(super) fn seal(key: &CursorKey, fingerprint: Fingerprint, values: &[Value]) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&fingerprint.0);
    // Values made of JSON can be written as JSON.
    let _ = serde_json::to_writer(&mut bytes, values);
    let signature = key.0.clone().chain_update(&bytes).finalize().into_bytes();
    bytes.extend(signature.iter().take(SIGNATURE_BYTES));
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) fn open(key: &CursorKey, fingerprint: Fingerprint, cursor: &str) -> Result<Vec<Value>, Fault> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| Fault::Forged)?;
    let end = bytes.len().checked_sub(SIGNATURE_BYTES).ok_or(Fault::Forged)?;
    let (signed, signature) = bytes.split_at_checked(end).ok_or(Fault::Forged)?;
    let mac = key.0.clone().chain_update(signed);
    mac.verify_truncated_left(signature).map_err(|_| Fault::Forged)?;
    let (version, rest) = signed.split_first().ok_or(Fault::Forged)?;
    let (query, values) = rest.split_at_checked(FINGERPRINT_BYTES).ok_or(Fault::Forged)?;
    if *version != VERSION || query != fingerprint.0 {
        return Err(Fault::Foreign);
    }
    serde_json::from_slice(values).map_err(|_| Fault::Forged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key() -> CursorKey {
        CursorKey::new(&[7; 32])
    }

    /// LREQ-PAGE-07 LREQ-PAGE-08
    #[test]
    fn a_cursor_is_url_safe_compact_and_opens_only_whole_and_with_its_key() {
        let query = Fingerprint::of("query");
        let values =
            vec![json!("018f3c1e-0000-7000-8000-000000000001"), json!("2026-01-28T12:00:00Z"), json!(1.5)];
        let cursor = seal(&key(), query, &values);
        assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{cursor}");
        assert!(cursor.len() < 120, "{}", cursor.len());
        assert_eq!(cursor, seal(&key(), query, &values));
        assert_eq!(open(&key(), query, &cursor), Ok(values));
        assert_eq!(open(&CursorKey::new(&[8; 32]), query, &cursor), Err(Fault::Forged));
        assert_eq!(open(&key(), Fingerprint::of("other"), &cursor), Err(Fault::Foreign));
        for position in 0..cursor.len() {
            let mut changed = cursor.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(open(&key(), query, &changed), Err(Fault::Forged), "{position}");
            assert_eq!(open(&key(), query, &cursor[..position]), Err(Fault::Forged), "{position}");
        }
        assert_eq!(open(&key(), query, "not a cursor!"), Err(Fault::Forged));
    }

    #[test]
    fn the_signature_is_hmac_sha256_and_the_key_is_never_shown() {
        // RFC 4231, test case 2, whose key "Jefe" is padded with zeros as ours is.
        let mut secret = [0; 32];
        secret[..4].copy_from_slice(b"Jefe");
        let code = CursorKey::new(&secret).0.chain_update(b"what do ya want for nothing?").finalize();
        assert_eq!(code.into_bytes()[..6], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60]);
        assert_eq!(format!("{:?}", key()), "CursorKey(…)");
    }
}
