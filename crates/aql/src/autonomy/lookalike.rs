//! Letters that are taken for others: what shows nothing, what looks like a letter of ours, and what is of another alphabet.

/// What shows nothing where it stands.
pub(super) fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The letter of ours that a small letter of another alphabet, a small capital or a sign looks like.
pub(super) fn lookalike(letter: char) -> Option<char> {
    if letter.is_ascii() {
        return None;
    }
    boxed(letter).or_else(|| ALIKE.iter().find(|(_, others)| others.contains(letter)).map(|(ours, _)| *ours))
}

const ALIKE: [(char, &str); 28] = [
    ('a', "аɑαᴀꭺ"),
    ('b', "вьʙᏼ"),
    ('c', "сςᴄꮯ"),
    ('d', "ԁɗᴅꭰ"),
    ('e', "еεєᴇꭼ"),
    ('f', "ꜰғ"),
    ('g', "ɡցɢꮐ"),
    ('h', "һнհʜꮋ"),
    ('i', "іιɩɪꭵ"),
    ('j', "јϳᴊꭻ"),
    ('k', "кκᴋꮶ"),
    ('l', "ӏɫʟꮮ"),
    ('m', "мᴍꮇ"),
    ('n', "пոηɴ"),
    ('o', "оοօᴏ"),
    ('p', "рρᴘꮲ"),
    ('q', "ԛꞯ"),
    ('r', "гʀꮢ"),
    ('s', "ѕꜱꮪ"),
    ('t', "тτᴛꭲ"),
    ('u', "υսᴜ"),
    ('v', "νѵᴠꮩ"),
    ('w', "ԝωᴡꮃ"),
    ('x', "хχ"),
    ('y', "уγүʏ"),
    ('z', "ʐᴢꮓ"),
    ('*', "∗"),
    ('-', "‐–—−"),
];

/// White letters in black circles and squares, and those that flags are made of.
fn boxed(letter: char) -> Option<char> {
    let first = match letter {
        '\u{1f150}'..='\u{1f169}' => 0x1f150,
        '\u{1f170}'..='\u{1f189}' => 0x1f170,
        '\u{1f1e6}'..='\u{1f1ff}' => 0x1f1e6,
        _ => return None,
    };
    char::from_u32(u32::from(letter) - first + u32::from('a'))
}

/// A letter without the brackets that are part of it, which would part it from its word.
pub(super) fn unframed(letter: char) -> char {
    match letter {
        '\u{249c}'..='\u{24b5}' => {
            char::from_u32(u32::from(letter) - 0x249c + u32::from('a')).unwrap_or(letter)
        }
        _ => letter,
    }
}

/// The plain form of a letter that languages with our alphabet have and Unicode does not take apart.
pub(super) fn plain_latin(letter: char) -> Option<char> {
    Some(match letter {
        'ø' => 'o',
        'ł' | 'ƚ' => 'l',
        'đ' => 'd',
        'ħ' => 'h',
        'ı' | 'ɨ' => 'i',
        'ŧ' => 't',
        'ƀ' => 'b',
        'ɇ' => 'e',
        'ɍ' => 'r',
        'ɏ' => 'y',
        'ƶ' => 'z',
        'ǥ' => 'g',
        _ => return None,
    })
}

/// A letter of an alphabet that is not ours. Those of ours go to U+024F; whatever stands behind it is known to nobody here.
pub(super) fn is_foreign(letter: char) -> bool {
    letter > '\u{24f}' && letter.is_alphabetic()
}

/// A foreign letter that nobody writes in one word with ours. Scripts without spaces between words stand beside ours
/// everywhere, and so do the endings of Korean.
pub(super) fn is_of_another_alphabet(letter: char) -> bool {
    let joins = matches!(letter,
        '\u{e00}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{a4cf}'
        | '\u{a960}'..='\u{a97f}' | '\u{aa60}'..='\u{aadf}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}' | '\u{20000}'..='\u{3ffff}');
    is_foreign(letter) && !joins
}
