//! Servers print what they were given, above all when they fail. Their words are shown without it.

use crate::config::{Link, Secret};

/// Shorter values are in every text, and no secrets.
const SECRET_BYTES_MIN: usize = 6;
const COVER: &str = "***";

/// Covers an upstream's secrets wherever its own words repeat them.
#[derive(Clone, Default)]
pub(super) struct Veil(Vec<String>);

impl Veil {
    /// The secrets that a link holds.
    pub(super) fn of(link: &Link) -> Self {
        match link {
            Link::Command { args, env, .. } => Self::of_process(args, env),
            Link::Http { headers, .. } => {
                let mut veil = Self::default();
                for (_, value) in headers {
                    veil.add(value.expose().trim_start_matches("Bearer "));
                }
                veil
            }
        }
    }

    /// The secrets of a process: values of its variables, and arguments that are called so.
    pub(super) fn of_process(args: &[Secret], env: &[(String, Secret)]) -> Self {
        let mut veil = Self::default();
        for (_, value) in env {
            veil.add(value.expose());
        }
        let mut flag = "";
        for arg in args.iter().map(Secret::expose) {
            match arg.split_once('=') {
                Some((name, value)) if name.starts_with('-') && names_a_secret(name) => veil.add(value),
                _ if names_a_secret(flag) => veil.add(arg),
                _ => {}
            }
            // As in `--header "Authorization: Bearer …"`, and in `postgres://name:password@host`.
            if let Some((_, token)) = arg.split_once("Bearer ") {
                veil.add(token.trim());
            }
            if let Some(password) = password(arg) {
                veil.add(password);
            }
            flag = if arg.starts_with('-') && !arg.contains('=') { arg } else { "" };
        }
        veil
    }

    /// Adds a value, unless it is too short or says where a file is.
    pub(super) fn add(&mut self, value: &str) {
        let path = std::path::Path::new(value);
        let in_a_folder =
            path.parent().is_some_and(|folder| folder.components().count() > 1 && folder.is_dir());
        if value.len() >= SECRET_BYTES_MIN && !in_a_folder && !path.is_dir() {
            self.0.push(value.to_owned());
            // One that holds another has to be covered first.
            self.0.sort_by_key(|value| std::cmp::Reverse(value.len()));
        }
    }

    pub(super) fn cover(&self, text: String) -> String {
        let covered = |text: String, secret: &String| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), COVER),
            false => text,
        };
        self.0.iter().fold(text, covered)
    }
}

fn names_a_secret(flag: &str) -> bool {
    const WORDS: [&str; 8] = ["token", "secret", "password", "passwd", "key", "auth", "credential", "pwd"];
    let flag = flag.to_ascii_lowercase();
    WORDS.iter().any(|word| flag.contains(word))
}

fn password(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let (named, _) = rest.split_once('@')?;
    Some(named.split_once(':')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_covered_and_everything_else_stays() {
        let secret = |text: &str| Secret::new(text);
        let args = [
            "serve",
            "--token",
            "tok-123456",
            "--api-key=key-654321",
            "--name",
            "plain-name",
            "--header",
            "Authorization: Bearer bearer-777",
            "postgres://me:hunter22@db/x",
        ];
        let args: Vec<Secret> = args.into_iter().map(secret).collect();
        let folder = std::env::temp_dir().join("sub").display().to_string();
        let env = [
            ("A".to_owned(), secret("env-value-1")),
            ("B".to_owned(), secret("1")),
            ("C".to_owned(), secret(&folder)),
        ];
        let veil = Veil::of_process(&args, &env);
        for (said, shown) in [
            ("bad tok-123456, tok-123456!".to_owned(), "bad ***, ***!".to_owned()),
            ("key-654321 bearer-777 hunter22 env-value-1".to_owned(), "*** *** *** ***".to_owned()),
            ("serve plain-name 1".to_owned(), "serve plain-name 1".to_owned()),
            (format!("no file {folder}"), format!("no file {folder}")),
        ] {
            assert_eq!(veil.cover(said), shown);
        }
    }
}
