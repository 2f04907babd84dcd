//! The section `[auth]`: bearer tokens by their hashes. A token itself is never written down here.

use sha2::{Digest as _, Sha256};

use super::{
    checked::{Auth, Token},
    error::Error,
    file::{self, Placed},
};

pub(super) const HASH_COMMAND: &str = "'printf %s TOKEN | sha256sum'";

/// Principals are names for logs and audit entries, not documents.
const PRINCIPAL_CHARS_MAX: usize = 128;

pub(super) fn auth(written: &file::Auth) -> Result<Auth, Error> {
    let mut tokens: Vec<Token> = Vec::with_capacity(written.tokens.len());
    for token in &written.tokens {
        let principal = principal(&token.principal)?;
        let sha256 = hash(&token.sha256, &principal)?;
        if tokens.iter().any(|earlier| earlier.principal == principal) {
            let error = Error::at(token.principal.span(), format!("principal '{principal}' is named twice"));
            return Err(error.help_with("give each principal one token"));
        }
        if let Some(earlier) = tokens.iter().find(|earlier| earlier.sha256 == sha256) {
            let message = format!("'{}' and '{principal}' have the same token", earlier.principal);
            return Err(
                Error::at(token.sha256.span(), message).help_with("give each principal its own token")
            );
        }
        tokens.push(Token { principal, sha256 });
    }
    Ok(Auth { tokens })
}

fn principal(given: &Placed<String>) -> Result<String, Error> {
    let text = given.get();
    let wrong = |message: &str| Err(Error::at(given.span(), message));
    if text.is_empty() || text.trim() != text {
        return wrong("a principal must have a name, without spaces around it");
    }
    if text.chars().count() > PRINCIPAL_CHARS_MAX || text.chars().any(char::is_control) {
        return wrong(&format!("a principal must be up to {PRINCIPAL_CHARS_MAX} printable characters"));
    }
    Ok(text.clone())
}

/// The value is not repeated in the message: who mistakes this key for the token's has written a secret there.
fn hash(given: &Placed<String>, principal: &str) -> Result<[u8; 32], Error> {
    let wrong = |message: String| {
        let make = format!("{HASH_COMMAND} prints one; keep the token itself out of the file");
        Error::at(given.span(), message).help_with(make)
    };
    let bytes = hex(given.get()).ok_or_else(|| {
        wrong(format!("the sha256 of principal '{principal}' must be 64 hexadecimal digits"))
    })?;
    // What the shell makes of a variable that is not set.
    if [&b""[..], b"\n"].iter().any(|empty| Sha256::digest(empty).as_slice() == bytes.as_slice()) {
        return Err(wrong(format!("the sha256 of principal '{principal}' is that of an empty token")));
    }
    Ok(bytes)
}

fn hex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect::<Option<_>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    bytes.try_into().ok()
}
