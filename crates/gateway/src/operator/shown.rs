//! Text of an agent, made fit for a person's eyes: it cannot move the cursor, turn its direction, hide or go on for ever.

/// The text on one line of so many characters at the most. What is left out is counted.
#[must_use]
pub fn line(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    let mut room = most;
    let mut rest = text.chars();
    for c in rest.by_ref() {
        let Some(left) = room.checked_sub(1) else {
            shown.push_str(&format!("… ({} more characters)", 1 + rest.count()));
            break;
        };
        room = left;
        if is_treacherous(c) {
            shown.push_str(&format!("<U+{:04X}>", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// JSON whose strings hold such characters only as escapes. It says the same to whatever reads it.
#[must_use]
pub fn json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Outside of strings JSON has nothing but plain characters and line ends, and inside these are escaped already.
        if c < ' ' || !is_treacherous(c) {
            shown.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    shown
}

/// Characters that are not seen, or that change how others are seen.
fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_or_turns_text_comes_through() {
        let hostile = "a\x1b[2J\r\nb\u{202e}txt.exe\u{2066}\u{200b}\u{feff}\u{e0041}\x07\u{9b}";
        let shown = line(hostile, 1000);
        assert_eq!(
            shown,
            "a<U+001B>[2J<U+000D><U+000A>b<U+202E>txt.exe<U+2066><U+200B><U+FEFF><U+E0041><U+0007><U+009B>"
        );
        assert!(!shown.chars().any(is_treacherous));
        assert_eq!(line("größer, 日本語, émoji 😀", 100), "größer, 日本語, émoji 😀");
    }

    #[test]
    fn json_says_the_same_with_nothing_that_steers_or_hides() {
        let hostile =
            serde_json::json!({"k\u{202e}": "a\x1b[2J\n\x7f\u{9b}31m\u{2066}\u{200b}\u{feff}\u{e0041}\\ü😀"});
        let shown = json(&hostile.to_string());
        assert!(!shown.chars().any(is_treacherous), "{shown}");
        assert!(
            shown.contains("\\u202e") && shown.contains("\\u009b31m") && shown.contains("\\udb40\\udc41"),
            "{shown}"
        );
        assert!(shown.contains("ü😀"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), hostile);
        let pretty = serde_json::to_string_pretty(&hostile).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&pretty)).unwrap(), hostile);
    }

    #[test]
    fn what_is_too_long_says_how_much_is_missing() {
        assert_eq!(line("abcdef", 6), "abcdef");
        assert_eq!(line("abcdefg", 6), "abcdef… (1 more characters)");
        assert_eq!(line(&"x".repeat(1_000_000), 3), "xxx… (999997 more characters)");
        assert_eq!(line("", 0), "");
    }
}
