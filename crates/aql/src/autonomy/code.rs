//! Verification codes as people read and type them, and the keyed hash that is all that is kept of one.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Crockford's digits: none of them looks like another.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Random bytes behind a code. Of their 144 bits, 140 are written.
pub const RANDOM_BYTES: usize = 18;
const DIGITS_WRITTEN: usize = 28;
const GROUP: usize = 4;

/// The code that these random bytes are, in groups of four.
#[must_use]
pub fn write(random: &[u8; RANDOM_BYTES]) -> String {
    let bit = |place: usize| random.get(place / 8).map_or(0, |byte| byte >> (7 - place % 8) & 1);
    let digit = |index: usize| {
        let value = (0..5).fold(0, |value, place| value << 1 | bit(index * 5 + place));
        DIGITS.get(usize::from(value)).map_or('0', |&digit| char::from(digit))
    };
    let mut code = String::new();
    for index in 0..DIGITS_WRITTEN {
        if index > 0 && index % GROUP == 0 {
            code.push('-');
        }
        code.push(digit(index));
    }
    code
}

/// A code as someone typed it, or nothing if it cannot be one. Case, spaces and hyphens do not matter, and neither does
/// what looks alike.
#[must_use]
pub fn read(typed: &str) -> Option<String> {
    let mut code = String::new();
    for letter in typed.chars().filter(|letter| !letter.is_whitespace() && *letter != '-') {
        let letter = match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            letter => letter,
        };
        if code.len() == DIGITS_WRITTEN || !DIGITS.iter().any(|&digit| char::from(digit) == letter) {
            return None;
        }
        code.push(letter);
    }
    (code.len() == DIGITS_WRITTEN).then_some(code)
}

/// What is kept of a code: of no use without the key, and only for its own challenge.
#[must_use]
pub fn hash(key: &[u8], about: &str, code: &str) -> [u8; 32] {
    // INVARIANT: HMAC takes keys of every length.
    let Ok(mut mac) = <Hmac<Sha256> as Mac>::new_from_slice(key) else { return [0; 32] };
    mac.update(about.as_bytes());
    mac.update(&[0]);
    mac.update(code.as_bytes());
    mac.finalize().into_bytes().into()
}

/// The text with everything masked that could be a code. Agents are told codes by people, and may repeat them: in one piece, or
/// in groups with blanks between them.
#[must_use]
pub fn mask(text: &str) -> String {
    masked(text).unwrap_or_else(|| text.to_owned())
}

/// The same, or nothing where there is nothing to mask.
#[must_use]
pub fn masked(text: &str) -> Option<String> {
    if !may_hold_one(text) {
        return None;
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        masked.push_str(before);
        let end = match code_at(from) {
            Some(end) => {
                masked.push_str("[code]");
                end
            }
            None => {
                let end = from.find(|letter| !is_part(letter)).unwrap_or(from.len());
                masked.push_str(from.get(..end).unwrap_or_default());
                end
            }
        };
        rest = from.get(end..).unwrap_or_default();
    }
    masked.push_str(rest);
    (masked != text).then_some(masked)
}

/// Whether there is a word that is long enough for a code, or as many short ones in a row as a code has groups. Everything
/// that is recorded is looked through, and hardly anything has either.
fn may_hold_one(text: &str) -> bool {
    if text.len() < DIGITS_WRITTEN {
        return false;
    }
    let (mut length, mut groups) = (0, 0);
    for byte in text.bytes().chain([b' ']) {
        if PARTS.get(usize::from(byte)).copied().unwrap_or_default() {
            length += 1;
            continue;
        }
        if length > 0 {
            groups = if length == GROUP { groups + 1 } else { 0 };
            if length >= DIGITS_WRITTEN || groups == DIGITS_WRITTEN / GROUP {
                return true;
            }
            length = 0;
        }
    }
    false
}

/// Whether each byte can be a part of a code.
static PARTS: [bool; 256] = {
    let mut parts = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        #[expect(clippy::indexing_slicing, reason = "there is one for every byte")]
        {
            parts[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'-';
        }
        byte += 1;
    }
    parts
};

/// Where a code ends that the text begins with, if it does with one.
fn code_at(text: &str) -> Option<usize> {
    let end_of_word = |text: &str| text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let end = end_of_word(text);
    if end >= DIGITS_WRITTEN && read(text.get(..end)?).is_some() {
        return Some(end);
    }
    let mut place = 0;
    for group in 0..DIGITS_WRITTEN / GROUP {
        let from = text.get(place..)?;
        let word = from.trim_start();
        let blanks = from.len() - word.len();
        let end = end_of_word(word);
        let is_group = end == GROUP && word.get(..end)?.chars().all(is_digit);
        if !is_group || (group > 0 && blanks == 0) {
            return None;
        }
        place += blanks + end;
    }
    // Words may be of four letters, too; a code without any digit hardly ever comes.
    text.get(..place)?.contains(|letter: char| letter.is_ascii_digit()).then_some(place)
}

fn is_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-'
}

/// Whether a letter can be read as one of a code's.
fn is_digit(letter: char) -> bool {
    let letter = match letter.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        letter => letter,
    };
    DIGITS.iter().any(|&digit| char::from(digit) == letter)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// REQ-OOB-03
    #[test]
    fn a_code_holds_more_than_128_bits_of_what_it_was_made_of() {
        const { assert!(DIGITS_WRITTEN * 5 >= 128) };
        assert_eq!(write(&[0; RANDOM_BYTES]), "0000-0000-0000-0000-0000-0000-0000");
        assert_eq!(write(&[255; RANDOM_BYTES]), "ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ");
        // Every bit that is written changes the code.
        let mut seen = HashSet::from([write(&[0; RANDOM_BYTES])]);
        for place in 0..DIGITS_WRITTEN * 5 {
            let mut random = [0; RANDOM_BYTES];
            random[place / 8] = 1 << (7 - place % 8);
            assert!(seen.insert(write(&random)), "bit {place} is not in the code");
        }
    }

    #[test]
    fn codes_are_read_as_people_type_them() {
        let random = core::array::from_fn(|index| (index * 37 + 11) as u8);
        let code = write(&random);
        let plain = read(&code).unwrap();
        for typed in
            [code.to_lowercase(), code.replace('-', " "), code.replace('-', ""), format!(" {code}\n")]
        {
            assert_eq!(read(&typed).as_ref(), Some(&plain), "{typed:?}");
        }
        assert_eq!(read("oooo-iiii-llll-0000-0000-0000-0000").unwrap(), "0000111111110000000000000000");
        for wrong in ["", "1234", &code[1..], &format!("{code}0"), "ÄÖÜ", &code.replace('-', "_")] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_hash_belongs_to_one_key_one_challenge_and_one_code() {
        let all: HashSet<_> = [("k", "a", "bc"), ("k", "ab", "c"), ("k", "a", "bd"), ("j", "a", "bc")]
            .map(|(key, about, code)| hash(key.as_bytes(), about, code))
            .into();
        assert_eq!(all.len(), 4);
    }

    /// REQ-OOB-07
    #[test]
    fn a_code_is_masked_wherever_it_stands_and_however_it_is_typed() {
        let code = write(&[0b1010_0101; RANDOM_BYTES]);
        for typed in [
            code.clone(),
            code.to_lowercase(),
            code.replace('-', ""),
            code.replace('-', " "),
            code.replace('-', "\t \n"),
            code.replace('-', "\u{2003}"),
        ] {
            for text in
                [typed.clone(), format!("ü{typed}ü"), format!("it is\n{typed}"), format!("\"{typed}\",")]
            {
                let masked = masked(&text).unwrap_or_else(|| panic!("{text}"));
                assert!(masked.contains("[code]") && !masked.contains(&typed), "{text}");
            }
        }
        assert_eq!(masked("two-hundred-and-twenty-nine-thousand things"), None);
    }

    #[test]
    fn codes_in_a_text_are_masked() {
        let code = write(&[7; RANDOM_BYTES]);
        let text = format!("calling verify_challenge with {code}, or {}.", code.replace('-', ""));
        let masked = mask(&text);
        assert_eq!(masked, "calling verify_challenge with [code], or [code].");
        assert_eq!(mask("rm -rf /tmp — ünïcode"), "rm -rf /tmp — ünïcode");
        let spaced = write(&[7; RANDOM_BYTES]).replace('-', " ");
        assert_eq!(mask(&format!("it is {spaced}, he said")), "it is [code], he said");
        let prose = "that cat sat on the mat and then ran away from here with that dog";
        assert_eq!(mask(prose), prose);
        let words = "long ".repeat(20);
        assert_eq!(mask(&words), words);
    }
}
