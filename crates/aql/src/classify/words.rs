//! From names and descriptions to words.

/// The words of a name, in lower case: `listOpenPRs`, `list_open_prs` and `list-open-prs` give much the same.
pub(crate) fn of_name(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    let mut before: Option<char> = None;
    for (place, letter) in letters.iter().copied().enumerate() {
        let next_is_lower = letters.get(place + 1).is_some_and(|next| next.is_lowercase());
        let humps = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && next_is_lower)
            });
        if !letter.is_alphanumeric() || humps {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// What joins the words of a list, as a word of its own.
pub(super) const JOINT: &str = ",";

/// The words of a text in lower case, with commas and slashes as [`JOINT`]. A hyphen holds words together, so that
/// "read-by-email" is no verb.
pub(super) fn of_text(text: &str) -> Vec<String> {
    text.replace([',', '/'], " , ")
        .split(|letter: char| {
            !(letter.is_alphanumeric() || letter == '-' || letter == '_' || letter == '\'' || letter == ',')
        })
        .map(|word| word.trim_matches(['-', '_', '\'']).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The first sentence that says something: up to a full stop before a space, or an empty line.
pub(super) fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let ends = [". ", ".\n", "\n\n", "; ", "! "];
    let end = ends.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_name_gives_its_words() {
        for (name, words) in [
            ("list_open_issues", "list open issues"),
            ("listOpenIssues", "list open issues"),
            ("list-open-issues", "list open issues"),
            ("API-get-user", "api get user"),
            ("getHTTPStatus2x", "get http status2x"),
            ("server.tool/run", "server tool run"),
            ("", ""),
            ("__", ""),
        ] {
            assert_eq!(of_name(name).join(" "), words, "{name}");
        }
    }

    #[test]
    fn a_sentence_ends_where_it_should() {
        assert_eq!(first_sentence("\n Gets v1.2 things. Deletes none."), "Gets v1.2 things");
        assert_eq!(first_sentence("Gets things\n\nArgs: x"), "Gets things");
        assert_eq!(first_sentence(""), "");
    }
}
