//! Percent-encoding, for names that stand in addresses and in `maps_to`.

/// Letters, digits and `-._~/@:` stay; everything else is written as its bytes.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The text again, or nothing where it was not encoded well.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(*rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_encoded_comes_back(text in "\\PC*") {
            let encoded = encoded(&text);
            let harmless = |byte: u8| byte.is_ascii_graphic() && !b"?&={} ".contains(&byte);
            prop_assert!(encoded.bytes().all(harmless), "{}", encoded);
            prop_assert_eq!(decoded(&encoded), Some(text));
        }
    }

    #[test]
    fn broken_encodings_are_noticed() {
        for text in ["%", "%4", "%zz", "a%ff"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}
