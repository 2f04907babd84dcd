//! What an upstream is called here, whatever a client called it.

use crate::config::{error::Error, file::Placed};

/// Every operation's name begins with it.
pub(crate) const NAME_CHARS_MAX: usize = 64;

/// The name in snake_case, or `None` if nothing of it is left. Case is no word's end, so that `GitHub` is `github`.
pub(crate) fn normal(given: &str) -> Option<String> {
    let lower = given.to_ascii_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("_");
    match joined.chars().next()? {
        first if first.is_ascii_digit() => Some(format!("server_{joined}")),
        _ => Some(joined),
    }
}

pub(super) fn checked(given: &Placed<String>) -> Result<String, Error> {
    let wrong = |message: String| {
        Err(Error::at(given.span(), message).help_with("name it in snake_case, as in '[upstream.github]'"))
    };
    match normal(given.get()) {
        None => wrong(format!("upstream name '{}' has no letter from a to z and no digit", given.get())),
        Some(name) if name.len() > NAME_CHARS_MAX => {
            wrong(format!("upstream name '{name}' has more than {NAME_CHARS_MAX} characters"))
        }
        Some(name) => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_kind_become_snake_case() {
        for (given, expected) in [
            ("github", "github"),
            ("GitHub", "github"),
            ("brave-search", "brave_search"),
            ("@21st-dev/magic", "server_21st_dev_magic"),
            ("io.github.user/My Server", "io_github_user_my_server"),
            ("__a__b__", "a_b"),
            ("MCP_DOCKER", "mcp_docker"),
            ("café 7", "caf_7"),
        ] {
            assert_eq!(normal(given).as_deref(), Some(expected), "{given}");
            assert!(normal(given).unwrap().parse::<aql::name::OperationName>().is_ok());
        }
        for nothing in ["", " ", "日本語", "---", "\u{202e}"] {
            assert_eq!(normal(nothing), None, "{nothing}");
        }
    }
}
