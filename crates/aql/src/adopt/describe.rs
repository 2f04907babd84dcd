//! What operations say of themselves: the upstream's words, kept as they are.

use crate::{classify, listed::ListedTool};

/// The tool's description, or else its title, or else a sentence made from its name. An operation that is one of several
/// begins with what sets it apart.
pub(super) fn operation(tool: &ListedTool, judged: &classify::Operation, server: &str) -> String {
    let whole = whole(tool, server);
    let Some(choice) = &judged.choice else { return whole };
    let told = tool
        .input_schema
        .get("properties")
        .and_then(|properties| properties.get(&choice.parameter)?.get("description")?.as_str())
        .and_then(|description| of_value(description, &choice.value));
    match told {
        Some(told) => format!("{}. {whole}", told.trim_end_matches('.')),
        None => format!("{} ({}): {whole}", choice.value, choice.parameter),
    }
}

fn whole(tool: &ListedTool, server: &str) -> String {
    let titles = [tool.title.as_deref(), tool.annotations.title.as_deref()];
    let said = std::iter::once(tool.description.as_str()).chain(titles.into_iter().flatten());
    let mut said = said.map(str::trim).filter(|text| !text.is_empty());
    said.next().map_or_else(|| format!("Calls '{}' of the server '{server}'", tool.name), str::to_owned)
}

/// What a parameter's description says of one of its values, where it goes through them line by line.
fn of_value<'a>(description: &'a str, value: &str) -> Option<&'a str> {
    let marks = |letter: char| {
        letter.is_ascii_digit() || letter.is_whitespace() || matches!(letter, '.' | ')' | '-' | '*' | '•')
    };
    let quotes = ['\'', '"', '`', '*'];
    description.lines().find_map(|line| {
        let line = line.trim_start_matches(marks).trim_start_matches(quotes);
        let rest = line.strip_prefix(value)?.trim_start_matches(quotes).trim_start();
        let told = ["-", ":", "–", "—", "="].iter().find_map(|joint| rest.strip_prefix(joint))?.trim();
        (!told.is_empty()).then_some(told)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_value_is_found_however_it_is_marked() {
        let description = "What to do.\n1. get - Get one.\n 2) `get_all`: Get all of them\n* 'drop' — Forget it\nlist\nopen -";
        for (value, told) in [
            ("get", Some("Get one.")),
            ("get_all", Some("Get all of them")),
            ("drop", Some("Forget it")),
            ("list", None),
            ("open", None),
            ("get_a", None),
            ("", None),
        ] {
            assert_eq!(of_value(description, value), told, "{value}");
        }
    }
}
