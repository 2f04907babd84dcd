//! Words of names, sentences and questions, brought to a form in which the same word is the same text.

/// A word longer than this is a key, a hash or a blob, and nobody looks for it.
const WORD_BYTES_MAX: usize = 40;

/// Words that say nothing about what an operation does. Verbs are not among them: which one was used matters.
const FILLERS: &[&str] = &[
    "a", "about", "above", "actually", "after", "again", "all", "also", "am", "an", "and", "any", "are",
    "as", "at", "be", "because", "been", "before", "being", "below", "both", "but", "by", "can", "could",
    "d", "did", "do", "does", "doing", "done", "down", "during", "e", "each", "either", "else", "even",
    "ever", "every", "for", "from", "further", "g", "had", "has", "have", "having", "he", "hello", "help",
    "her", "here", "hey", "hi", "him", "his", "how", "i", "ie", "if", "in", "into", "is", "it", "its",
    "just", "kindly", "let", "like", "ll", "m", "many", "may", "me", "might", "more", "most", "much", "must",
    "my", "need", "needs", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other",
    "our", "out", "over", "own", "per", "please", "re", "really", "s", "same", "see", "shall", "she",
    "should", "so", "some", "such", "t", "tell", "than", "thank", "thanks", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us",
    "ve", "very", "via", "want", "was", "we", "well", "were", "what", "when", "where", "whether", "which",
    "while", "who", "whose", "why", "will", "with", "within", "without", "would", "you", "your",
];

/// Whether a word, in lower case, carries no meaning of its own.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.binary_search(&word).is_ok()
}

/// The words of a text in lower case, not yet stemmed: split at everything that is no letter or digit, and where a
/// capital begins a new word. A proper name of two words is given a third time, as one.
pub(super) fn split(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    for piece in text.split(|c: char| !c.is_alphanumeric()) {
        let mut before: Option<char> = None;
        let mut parts = 1;
        let mut rest = piece.chars().peekable();
        while let Some(now) = rest.next() {
            let begins = before.is_some_and(|before| {
                let next_is_small = rest.peek().is_some_and(|next| next.is_lowercase());
                let capital = now.is_uppercase()
                    && (before.is_lowercase()
                        || before.is_numeric()
                        || (before.is_uppercase() && next_is_small));
                capital || is_ideograph(now) || is_ideograph(before)
            });
            if begins {
                emit(&mut word, &mut each);
                parts += 1;
            }
            word.extend(now.to_lowercase());
            before = Some(now);
        }
        emit(&mut word, &mut each);
        // A proper name is written as one word elsewhere.
        if parts == 2 && piece.chars().next().is_some_and(char::is_uppercase) {
            word.push_str(&piece.to_lowercase());
            emit(&mut word, &mut each);
        }
    }
}

/// Chinese and Japanese are written without spaces; each character is a word of its own.
fn is_ideograph(c: char) -> bool {
    ('\u{3400}'..='\u{9fff}').contains(&c)
}

fn emit(word: &mut String, each: &mut impl FnMut(&str)) {
    if !word.is_empty() && word.len() <= WORD_BYTES_MAX {
        each(word);
    }
    word.clear();
}

/// The part of a word that its forms share. Not a dictionary's stem: only the same for words that belong together.
pub(super) fn stem(word: &str) -> String {
    // The endings are English; codes with digits have none.
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = singular(word);
    for ending in ["ing", "ed"] {
        if let Some(base) = stem.strip_suffix(ending).filter(|base| base.len() > 2 && has_vowel(base)) {
            stem = undoubled(base);
            break;
        }
    }
    for (ending, instead) in
        [("ation", "at"), ("sion", "s"), ("tion", "t"), ("ment", ""), ("ly", ""), ("e", "")]
    {
        let least = if ending == "ment" { 5 } else { 3 };
        if let Some(base) = stem.strip_suffix(ending).filter(|base| base.len() >= least) {
            stem = format!("{base}{instead}");
            break;
        }
    }
    if let Some(base) = stem.strip_suffix("at").filter(|base| base.len() > 3) {
        stem = base.to_owned();
    }
    match stem.strip_suffix('y').filter(|base| base.len() > 2) {
        Some(base) => format!("{base}i"),
        None => stem,
    }
}

fn singular(word: &str) -> String {
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() > 1) {
        return format!("{base}y");
    }
    let hissing = |base: &&str| ["ss", "x", "ch", "sh", "z"].iter().any(|ending| base.ends_with(ending));
    if let Some(base) = word.strip_suffix("es").filter(hissing) {
        return base.to_owned();
    }
    match word.strip_suffix('s') {
        Some(base) if !["s", "u", "i"].iter().any(|ending| base.ends_with(ending)) => base.to_owned(),
        _ => word.to_owned(),
    }
}

fn has_vowel(text: &str) -> bool {
    text.bytes().any(|byte| b"aeiouy".contains(&byte))
}

/// "runn" of "running" is "run"; "call" of "calling" stays.
fn undoubled(base: &str) -> String {
    let mut chars = base.chars().rev();
    match (chars.next(), chars.next()) {
        (Some(a), Some(b)) if a == b && !"lsz".contains(a) => base.strip_suffix(a).unwrap_or(base).to_owned(),
        _ => base.to_owned(),
    }
}

/// Whether a word in lower case speaks of more than one thing.
pub(super) fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_lowercase()) && singular(word) != word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        split(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn names_and_sentences_are_split_into_words() {
        for (text, expected) in [
            ("create_issue", "create issue"),
            ("list-open-issues", "list open issues"),
            ("getHTTPResponse", "get http response"),
            ("parseURL2Text", "parse url2 text"),
            ("GitHub", "git hub github"),
            ("Get All Users", "get all users"),
            ("v2/items.list", "v2 items list"),
            ("  Don't   panic! ", "don t panic"),
            ("八字 ABC", "八 字 abc"),
            ("ÉCOLE", "école"),
            ("", ""),
        ] {
            assert_eq!(of(text).join(" "), expected, "{text}");
        }
        assert_eq!(of(&"x".repeat(1000)), Vec::<String>::new());
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            "create creates created creating creation",
            "delete deletes deleted deleting deletion",
            "update updates updated updating",
            "list lists listed listing",
            "run runs running",
            "query queries queried querying",
            "entry entries",
            "configure configures configured configuration configurations",
            "generate generated generation",
            "execute executed execution",
            "deploy deploys deployed deployment deployments",
            "match matches matched matching",
            "address addresses",
            "box boxes",
            "call calls called calling",
        ] {
            let stems: std::collections::HashSet<String> = forms.split(' ').map(stem).collect();
            assert_eq!(stems.len(), 1, "{forms}: {stems:?}");
        }
    }

    #[test]
    fn different_words_keep_different_stems() {
        for (a, b) in [("status", "state"), ("user", "use"), ("need", "ne"), ("bus", "bu"), ("thing", "th")] {
            assert_ne!(stem(a), stem(b));
        }
    }

    #[test]
    fn fillers_are_in_order_and_in_lower_case() {
        assert!(FILLERS.is_sorted_by(|a, b| a < b));
        assert!(FILLERS.iter().all(|word| of(word) == [*word]));
        assert!(is_filler("the") && !is_filler("list"));
    }

    #[test]
    fn plurals_are_told_from_words_that_end_like_one() {
        for word in ["issues", "policies", "boxes"] {
            assert!(is_plural(word), "{word}");
        }
        for word in ["issue", "status", "access", "this", "s3s", "bus"] {
            assert!(!is_plural(word), "{word}");
        }
    }
}
