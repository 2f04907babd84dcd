//! An upstream that waits for its variables.

use serde::Serialize;

use crate::config::{environment::Environment, file, notation::Notation, variables::add_unset};

/// An upstream that is left out, since variables that it needs are not set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// In snake_case.
    pub name: String,
    /// All that are not set, in the order of their places.
    pub variables: Vec<String>,
    /// The program, or the address without its query, as written.
    pub link: String,
    #[serde(skip)]
    notation: Notation,
}

impl LeftOut {
    /// `None` where every variable is set.
    pub(super) fn of(
        name: &str,
        written: &file::Upstream,
        notation: &Notation,
        environment: &Environment,
    ) -> Option<Self> {
        let mut variables = Vec::new();
        let mut add = |text: &str| add_unset(text, environment, &mut variables);
        written.command.iter().for_each(|command| add(command.get()));
        let lists = written.args.iter().flatten();
        let tables = super::link::ordered(written.env.as_ref())
            .chain(super::link::ordered(written.headers.as_ref()))
            .map(|(_, value)| value);
        for hidden in lists.chain(tables).chain(&written.cwd).chain(&written.url) {
            add(hidden.get().expose());
        }
        if variables.is_empty() {
            return None;
        }
        // On its own it is only warned of, since the token may come later. Here it would be the next surprise.
        if let Some(bearer) = written.bearer_env.as_ref().map(|bearer| bearer.get())
            && environment.path(bearer).is_none()
            && !variables.contains(bearer)
        {
            variables.push(bearer.clone());
        }
        let link = match (&written.command, &written.url) {
            (Some(command), _) => command.get().clone(),
            (None, Some(url)) => address(url.get().expose()),
            (None, None) => String::new(),
        };
        Some(Self { name: name.to_owned(), variables, link, notation: notation.clone() })
    }

    /// The variables as a sentence has them.
    #[must_use]
    pub fn listed(&self) -> String {
        let quoted: Vec<String> = self.variables.iter().map(|name| format!("'{name}'")).collect();
        match quoted.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, before)) => format!("{} and {last}", before.join(", ")),
            None => String::new(),
        }
    }

    /// What is wrong, without the name.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.variables.as_slice() {
            [_] => format!("the environment variable {} is not set", self.listed()),
            _ => format!("the environment variables {} are not set", self.listed()),
        }
    }

    /// What to do next.
    #[must_use]
    pub fn help(&self) -> String {
        let first = self.variables.first().map(String::as_str).unwrap_or_default();
        let (them, default) = match self.variables.as_slice() {
            [_] => ("it", "a default"),
            _ => ("them", "defaults"),
        };
        format!(
            "set {them} where Aqueduct is started, as in 'export {first}=…' in a shell or under 'env' of Aqueduct's \
             entry in an MCP client; or write {default} as in '${{{first}:-value}}', or turn the server off with \
             {}",
            self.notation.turned_off()
        )
    }

    /// Everything in one line.
    #[must_use]
    pub fn warning(&self) -> String {
        format!("server '{}' is left out, since {}; {}", self.name, self.reason(), self.help())
    }
}

/// An address as written, without what may be secret in it.
fn address(text: &str) -> String {
    let address = text.split(['?', '#']).next().unwrap_or_default();
    if address.contains('@') { "an address".to_owned() } else { address.to_owned() }
}
