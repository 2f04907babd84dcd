//! Signatures over what goes to a webhook and what comes back from it.

use hmac::{Hmac, Mac};
use jiff::{SignedDuration, Timestamp};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// The header with the time of signing, in seconds since 1970.
pub const TIMESTAMP: &str = "aqueduct-timestamp";
/// The header with the signature, as `v1=` and 64 hexadecimal digits.
pub const SIGNATURE: &str = "aqueduct-signature";

const VERSION: &str = "v1=";

/// How far from now a signature's time may be. Within it an approval is answered once anyway.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// The HMAC-SHA256 of the parts with dots between them.
pub(super) fn mac(secret: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // A key of any length is taken, so there is nothing that could fail here.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return [0; 32] };
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            mac.update(b".");
        }
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The value of the signature's header for a body that is sent.
#[must_use]
pub fn sign(secret: &[u8], timestamp: &str, body: &[u8]) -> String {
    format!("{VERSION}{}", hex(&mac(secret, &[timestamp.as_bytes(), body])))
}

/// Why an answer is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    #[error("it is not signed")]
    Unsigned,
    #[error("its time is more than five minutes from now")]
    Stale,
    #[error("its signature is wrong")]
    Forged,
}

/// Whether an answer was signed by who knows the secret, not long ago: over `timestamp.approval_id.decision`.
pub fn verify(
    secret: &[u8],
    headers: &http::HeaderMap,
    approval: &str,
    decision: &str,
    now: Timestamp,
) -> Result<(), Rejected> {
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(value)
    };
    let (Some(timestamp), Some(given)) = (only(TIMESTAMP), only(SIGNATURE)) else {
        return Err(Rejected::Unsigned);
    };
    let given = given.strip_prefix(VERSION).ok_or(Rejected::Unsigned)?;
    let seconds: i64 = timestamp.parse().map_err(|_| Rejected::Unsigned)?;
    let signed = Timestamp::from_second(seconds).map_err(|_| Rejected::Stale)?;
    if now.duration_since(signed).abs() > WINDOW {
        return Err(Rejected::Stale);
    }
    let parts = [timestamp.as_bytes(), approval.as_bytes(), decision.as_bytes()];
    let expected = hex(&mac(secret, &parts));
    let same = expected.as_bytes().ct_eq(given.as_bytes());
    if bool::from(same) { Ok(()) } else { Err(Rejected::Forged) }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    const SECRET: &[u8] = b"a secret of sixteen";

    fn headers(timestamp: &str, signature: &str) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(TIMESTAMP, value(timestamp));
        headers.insert(SIGNATURE, value(signature));
        headers
    }

    /// The signature that RFC 4231 gives for its second case, which holds no dots and no secrets of ours.
    #[test]
    fn the_mac_is_the_one_of_the_rfc() {
        let mac = mac(b"Jefe", &[b"what do ya want for nothing?"]);
        assert_eq!(hex(&mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn only_a_fresh_signature_over_this_very_decision_counts() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let signed = |time: &str, approval: &str, decision: &str| {
            headers(time, &sign(SECRET, time, format!("{approval}.{decision}").as_bytes()))
        };
        let judge = |headers: &HeaderMap| verify(SECRET, headers, "appr_1", "approve", now);
        assert_eq!(judge(&signed("1000000", "appr_1", "approve")), Ok(()));
        assert_eq!(judge(&signed("999700", "appr_1", "approve")), Ok(()));
        assert_eq!(judge(&signed("1000300", "appr_1", "approve")), Ok(()));
        for (headers, why) in [
            (signed("999699", "appr_1", "approve"), Rejected::Stale),
            (signed("1000301", "appr_1", "approve"), Rejected::Stale),
            (signed("9223372036854775807", "appr_1", "approve"), Rejected::Stale),
            (signed("1000000", "appr_1", "deny"), Rejected::Forged),
            (signed("1000000", "appr_2", "approve"), Rejected::Forged),
            (headers("1000000", &sign(b"another secret", "1000000", b"appr_1.approve")), Rejected::Forged),
            (headers("1000001", &sign(SECRET, "1000000", b"appr_1.approve")), Rejected::Forged),
            (headers("1000000", "v1="), Rejected::Forged),
            (headers("1000000", "v0=00"), Rejected::Unsigned),
            (headers("soon", "v1=00"), Rejected::Unsigned),
            (HeaderMap::new(), Rejected::Unsigned),
        ] {
            assert_eq!(judge(&headers), Err(why), "{headers:?}");
        }
        let mut twice = signed("1000000", "appr_1", "approve");
        twice.append(SIGNATURE, HeaderValue::from_static("v1=00"));
        assert_eq!(judge(&twice), Err(Rejected::Unsigned));
    }
}
