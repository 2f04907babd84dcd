//! What shells and programs put in place of names in a path: the home directory and variables.

use std::collections::HashMap;

/// Variables whose values are paths, and the home directory.
pub(super) struct Names {
    variables: HashMap<String, String>,
    home: Option<String>,
    user: Option<String>,
}

impl Names {
    pub(super) fn capture() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(_, value)| value.starts_with('/'));
        Self::new(variables.collect())
    }

    pub(super) fn new(mut variables: HashMap<String, String>) -> Self {
        let home = variables.get("HOME").cloned();
        if let Some(home) = &home {
            let customary = [("XDG_DATA_HOME", ".local/share"), ("XDG_CONFIG_HOME", ".config")];
            for (name, below) in customary {
                variables.entry(name.to_owned()).or_insert_with(|| format!("{home}/{below}"));
            }
        }
        let user = home.as_ref().and_then(|home| Some(home.rsplit('/').next()?.to_owned()));
        Self { variables, home, user }
    }

    pub(super) fn home(&self) -> Option<&str> {
        self.home.as_deref().filter(|home| home.starts_with('/'))
    }

    /// The text with every name in it filled in, if there is one that is known. `here` is the working directory.
    pub(super) fn filled(&self, text: &str, here: Option<&str>) -> Option<String> {
        if !text.contains(['~', '$', '%']) {
            return None;
        }
        let mut filled = String::with_capacity(text.len() + 32);
        let mut rest = text;
        let mut changed = false;
        while let Some(place) = rest.find(['~', '$', '%']) {
            let (before, from) = rest.split_at(place);
            filled.push_str(before);
            match self.name(from, !ends_in_name(&filled), here) {
                Some((value, after)) => {
                    filled.push_str(value);
                    rest = after;
                    changed = true;
                }
                None => {
                    filled.push_str(from.get(..1).unwrap_or_default());
                    rest = from.get(1..).unwrap_or_default();
                }
            }
        }
        filled.push_str(rest);
        changed.then_some(filled)
    }

    /// What the name that the text begins with stands for, and what follows it.
    fn name<'a, 't>(
        &'a self,
        text: &'t str,
        begins: bool,
        here: Option<&'a str>,
    ) -> Option<(&'a str, &'t str)> {
        let value = |name: &str| match name {
            "PWD" => here.or_else(|| self.variables.get(name).map(String::as_str)),
            _ => self.variables.get(name).map(String::as_str),
        };
        if let Some(rest) = text.strip_prefix('~') {
            let home = self.home.as_deref().filter(|_| begins)?;
            let end = rest.find(|c: char| !is_of_name(c) && c != '.' && c != '-').unwrap_or(rest.len());
            let (user, after) = rest.split_at(end);
            let ours = user.is_empty() || Some(user) == self.user.as_deref();
            // `~+` is the working directory of a shell.
            return match after.strip_prefix('+') {
                Some(after) if user.is_empty() => Some((here?, after)),
                _ => ours.then_some((home, after)),
            };
        }
        if let Some(rest) = text.strip_prefix("${") {
            let (inside, after) = rest.split_once('}')?;
            let end = inside.find(|c: char| !is_of_name(c)).unwrap_or(inside.len());
            return Some((value(inside.get(..end)?)?, after));
        }
        if let Some(rest) = text.strip_prefix("$env:").or(text.strip_prefix('$')) {
            let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            return Some((value(name)?, after));
        }
        let (name, after) = text.strip_prefix('%')?.split_once('%')?;
        Some((value(name)?, after))
    }
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn ends_in_name(text: &str) -> bool {
    text.chars().next_back().is_some_and(|last| is_of_name(last) || last == '/' || last == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_as_shells_do() {
        let variables = [("HOME", "/home/ada"), ("DATA", "/srv/data")];
        let names = Names::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        for (text, filled) in [
            ("~", Some("/home/ada")),
            ("~/x", Some("/home/ada/x")),
            ("~ada/x", Some("/home/ada/x")),
            ("~bob/x", None),
            ("a~/x", None),
            ("cat ~/x", Some("cat /home/ada/x")),
            ("$HOME/x", Some("/home/ada/x")),
            ("${HOME}/x", Some("/home/ada/x")),
            ("${DATA:-/tmp}/x", Some("/srv/data/x")),
            ("$HOMER/x", None),
            ("%DATA%/x", Some("/srv/data/x")),
            ("$XDG_DATA_HOME/x", Some("/home/ada/.local/share/x")),
            ("$PWD/x", Some("/here/x")),
            ("~+/x", Some("/here/x")),
            ("100%", None),
            ("$", None),
            ("${", None),
        ] {
            assert_eq!(names.filled(text, Some("/here")).as_deref(), filled, "{text}");
        }
    }
}
