//! Words that are known for something other than being a verb: what makes things worse, and commands.

use std::{collections::HashMap, sync::LazyLock};

use super::commands::{self, Command};

/// Words that make things worse, and by how much.
pub(super) struct Weight {
    pub about: &'static str,
    pub points: u8,
    /// Whether they count although nothing is changed.
    pub for_reading: bool,
    /// Whether they count in the name of a source file too.
    pub in_files: bool,
    words: &'static [&'static str],
}

pub(super) const WEIGHTS: &[Weight] = &[
    Weight {
        about: "it cannot be undone",
        points: 20,
        for_reading: false,
        in_files: false,
        words: &[
            "permanently",
            "irreversibly",
            "irreversible",
            "forever",
            "force",
            "forced",
            "forcibly",
            "hard",
            "rf",
            "fr",
            "unrecoverable",
            "overwrite",
            "overwriting",
            "shred",
            "mkfs",
            "format",
        ],
    },
    Weight {
        about: "it concerns many things",
        points: 18,
        for_reading: false,
        in_files: false,
        words: &[
            "all",
            "every",
            "everything",
            "everyone",
            "everybody",
            "entire",
            "whole",
            "bulk",
            "mass",
            "recursive",
            "recursively",
            "batch",
            "wildcard",
        ],
    },
    Weight {
        about: "it concerns what others rely on",
        points: 15,
        for_reading: false,
        in_files: false,
        words: &[
            "production",
            "prod",
            "live",
            "customer",
            "customers",
            "main",
            "master",
            "database",
            "backup",
            "backups",
        ],
    },
    Weight {
        about: "it concerns credentials",
        points: 30,
        for_reading: true,
        in_files: true,
        words: &[
            "password",
            "passwords",
            "passwd",
            "credential",
            "credentials",
            "secret",
            "secrets",
            "token",
            "tokens",
            "apikey",
            "keychain",
            "ssh",
            "rsa",
            "ed25519",
            "shadow",
            "env",
            "private",
        ],
    },
    Weight {
        about: "it concerns money",
        points: 25,
        for_reading: false,
        in_files: false,
        words: &[
            "money",
            "payment",
            "payments",
            "pay",
            "paying",
            "invoice",
            "invoices",
            "refund",
            "purchase",
            "purchasing",
            "transfer",
            "transferring",
            "bank",
            "wire",
            "salary",
            "payroll",
            "card",
        ],
    },
    Weight {
        about: "it takes or gives rights",
        points: 20,
        for_reading: true,
        in_files: false,
        words: &[
            "sudo",
            "root",
            "admin",
            "administrator",
            "chmod",
            "chown",
            "grant",
            "granting",
            "privilege",
            "privileges",
        ],
    },
    Weight {
        about: "it runs a command whose effects are open",
        points: 10,
        for_reading: false,
        in_files: false,
        words: &[
            "shell",
            "bash",
            "sh",
            "powershell",
            "eval",
            "exec",
            "curl",
            "wget",
            "xargs",
            "script",
            "command",
        ],
    },
    Weight {
        about: "it leaves this place",
        points: 6,
        for_reading: false,
        in_files: false,
        words: &[
            "http",
            "https",
            "email",
            "emailing",
            "upload",
            "uploading",
            "publish",
            "publishing",
            "tweet",
            "post",
            "external",
        ],
    },
];

/// What is known of a word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// The place of its weight.
    pub weight: Option<usize>,
    pub command: Option<Command>,
}

/// Both tables by word, since every word of a sentence is asked for.
static KNOWN: LazyLock<HashMap<&'static str, Known>> = LazyLock::new(|| {
    let mut known: HashMap<&'static str, Known> = HashMap::new();
    for (place, weight) in WEIGHTS.iter().enumerate() {
        for word in weight.words {
            known.entry(word).or_default().weight = Some(place);
        }
    }
    for (word, command) in commands::all() {
        known.entry(word).or_default().command = Some(command);
    }
    known
});

pub(super) fn known(word: &str) -> Known {
    KNOWN.get(word).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_weighs_twice() {
        let mut words: Vec<&str> = WEIGHTS.iter().flat_map(|weight| weight.words.iter().copied()).collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{words:?}");
        assert!(words.iter().all(|word| !word.contains('_')), "a name is split there: {words:?}");
    }
}
