//! How an upstream is reached: a program of its own, or an address.

use std::{
    collections::BTreeMap,
    fmt,
    path::{MAIN_SEPARATOR, Path, PathBuf},
};

use crate::config::{
    error::{Error, Place},
    file::{self, Hidden, Placed},
    notation::Notation,
    paths,
    secret::Secret,
    variables::Expansion,
};

/// How an upstream is reached. What may hold a secret is not shown for debugging.
#[derive(Clone, PartialEq, Eq)]
pub enum Link {
    /// A process that speaks MCP on its standard input and output.
    Command {
        /// A name to look for in `PATH`, or a path.
        program: PathBuf,
        args: Vec<Secret>,
        /// In the order of the file.
        env: Vec<(String, Secret)>,
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// May hold a secret in its query; [`Link::shown`] is for people.
        url: String,
        /// In the order of the file, no name twice, none of those that the transport sets.
        headers: Vec<(String, Secret)>,
        bearer: Option<Bearer>,
    },
}

/// Where a bearer token comes from, each time it is needed.
#[derive(Clone, PartialEq, Eq)]
pub enum Bearer {
    /// The environment variable of this name.
    Variable(String),
    /// What this program with these arguments prints.
    Command(Vec<String>),
}

impl Link {
    /// The link in a few words without anything secret: the program, or the address without its query.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Command { program, .. } => program.display().to_string(),
            Self::Http { url, .. } => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        }
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::Command { program: PathBuf::new(), args: Vec::new(), env: Vec::new(), cwd: None }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, args, env, cwd } => f
                .debug_struct("Command")
                .field("program", program)
                .field("args", args)
                .field("env", env)
                .field("cwd", cwd)
                .finish(),
            Self::Http { headers, bearer, .. } => f
                .debug_struct("Http")
                .field("url", &self.shown())
                .field("headers", headers)
                .field("bearer", bearer)
                .finish(),
        }
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
            Self::Command(words) => f.debug_tuple("Command").field(&words.first()).finish(),
        }
    }
}

/// The link as written, `None` where it needs variables of an upstream that is not used.
pub(super) fn link(
    name: &Placed<String>,
    written: &file::Upstream,
    notation: &Notation,
    base: &Path,
    expansion: Expansion<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<Link>, Error> {
    let values = Values { path: notation.path(name.get()), notation, base, expansion };
    match (&written.command, &written.url) {
        (Some(command), None) => {
            foreign(&values, written.headers.as_ref().and_then(first), "headers", "url")?;
            foreign(&values, written.bearer_env.as_ref().map(Placed::span), "bearer_env", "url")?;
            foreign(&values, written.bearer_command.as_ref().map(Placed::span), "bearer_command", "url")?;
            values.command(command, written)
        }
        (None, Some(url)) => {
            let args = written.args.as_ref().and_then(|args| args.first()).map(Placed::span);
            foreign(&values, args, "args", "command")?;
            foreign(&values, written.env.as_ref().and_then(first), "env", "command")?;
            foreign(&values, written.cwd.as_ref().map(Placed::span), "cwd", "command")?;
            values.http(url, written, warnings)
        }
        (Some(_), Some(url)) => {
            Err(Error::at(url.span(), format!("upstream '{}' has both 'command' and 'url'", name.get()))
                .help_with("keep one: 'command' for a program to start, 'url' for a server somewhere else"))
        }
        (None, None) => {
            Err(Error::at(name.span(), format!("upstream '{}' has neither 'command' nor 'url'", name.get()))
                .help_with("set 'command' to a program to start, or 'url' to a server's address"))
        }
    }
}

fn first(table: &BTreeMap<Placed<String>, Hidden>) -> Option<std::ops::Range<usize>> {
    table.keys().map(Placed::span).min_by_key(|span| span.start)
}

/// A key that means nothing beside the link that was chosen. It would be ignored, and somebody counts on it.
fn foreign(
    values: &Values<'_>,
    span: Option<std::ops::Range<usize>>,
    key: &str,
    other: &str,
) -> Result<(), Error> {
    let Some(span) = span else { return Ok(()) };
    let message = format!("'{}.{key}' goes with '{other}', which is not set", values.path);
    Err(Error::at(span, message).help_with(format!("remove '{key}', or set '{other}' instead")))
}

/// The values of one upstream, on their way to being complete.
pub(super) struct Values<'a> {
    /// What errors call the section.
    pub(super) path: String,
    pub(super) notation: &'a Notation,
    base: &'a Path,
    pub(super) expansion: Expansion<'a>,
}

impl Values<'_> {
    fn command(&self, command: &Placed<String>, written: &file::Upstream) -> Result<Option<Link>, Error> {
        let what = format!("'{}.command'", self.path);
        let program = match self.expansion.expand(&what, command.get(), command.span())? {
            Some(text) => Some(self.program(&text, command.span())?),
            None => None,
        };
        let mut args = Vec::new();
        for (index, given) in written.args.iter().flatten().enumerate() {
            args.push(self.complete(&format!("args[{index}]"), given)?);
        }
        let env = self.table("env", written.env.as_ref(), |name| {
            let usable = !name.is_empty() && !name.contains(['=', '\0']);
            usable.then(|| name.to_owned())
        })?;
        let cwd = match &written.cwd {
            None => Some(None),
            Some(given) => match self.complete("cwd", given)? {
                None => None,
                Some(path) => Some(Some(self.directory(path.expose(), given)?)),
            },
        };
        let args: Option<Vec<_>> = args.into_iter().collect();
        let (Some(program), Some(args), Some(env), Some(cwd)) = (program, args, env, cwd) else {
            return Ok(None);
        };
        Ok(Some(Link::Command { program, args, env, cwd }))
    }

    /// A bare name is left to `PATH`. Everything else is a path like others in the file.
    pub(super) fn program(&self, text: &str, span: std::ops::Range<usize>) -> Result<PathBuf, Error> {
        if text.trim().is_empty() {
            let error = Error::at(span, format!("the command of '{}' is empty", self.path));
            return Err(
                error.help_with(format!("write the program to run, as in {}", self.notation.program()))
            );
        }
        let path = paths::expand(Path::new(text), Place::File(Some(span)), self.expansion.environment)?;
        let bare = !text.contains('/') && !text.contains(MAIN_SEPARATOR);
        Ok(if bare && !text.starts_with('~') { path } else { self.base.join(path) })
    }

    fn directory(&self, text: &str, given: &Hidden) -> Result<PathBuf, Error> {
        if text.is_empty() {
            return Err(Error::at(given.span(), format!("'{}.cwd' is empty", self.path)));
        }
        let rest = match text.strip_prefix('~') {
            None => return Ok(self.base.join(text)),
            Some(rest) => rest,
        };
        let home = self.expansion.environment.home();
        match (rest.strip_prefix(['/', MAIN_SEPARATOR]).or(rest.is_empty().then_some("")), home) {
            (Some(""), Some(home)) => Ok(home.to_owned()),
            (Some(rest), Some(home)) => Ok(home.join(rest)),
            (Some(_), None) => {
                Err(Error::at(given.span(), format!("'{}.cwd' needs 'HOME', which is not set", self.path))
                    .help_with("write the whole path"))
            }
            (None, _) => {
                Err(Error::at(given.span(), format!("'{}.cwd' names the home of another user", self.path))
                    .help_with("write the whole path"))
            }
        }
    }

    /// Names and complete values in the order of the file; `None` where one of them is not complete.
    pub(super) fn table(
        &self,
        key: &str,
        written: Option<&BTreeMap<Placed<String>, Hidden>>,
        parse: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Vec<(String, Secret)>>, Error> {
        let mut complete = Some(Vec::new());
        for (name, value) in ordered(written) {
            let Some(parsed) = parse(name.get()) else {
                let kind = if key == "env" { "an environment variable" } else { "a header" };
                let message = format!("'{}.{key}' has '{}', which cannot name {kind}", self.path, name.get());
                return Err(Error::at(name.span(), message));
            };
            match self.complete(&format!("{key}.{}", name.get()), value)? {
                Some(value) => complete.iter_mut().for_each(|all| all.push((parsed.clone(), value.clone()))),
                None => complete = None,
            }
        }
        Ok(complete)
    }

    pub(super) fn complete(&self, key: &str, given: &Hidden) -> Result<Option<Secret>, Error> {
        let what = format!("'{}.{key}'", self.path);
        let text = self.expansion.expand(&what, given.get().expose(), given.span())?;
        if let Some(text) = &text {
            self.no_null(key, text, given)?;
        }
        Ok(text.map(Secret::new))
    }

    /// The system ends every argument and variable there.
    pub(super) fn no_null(&self, key: &str, text: &str, given: &Hidden) -> Result<(), Error> {
        match text.contains('\0') {
            true => Err(Error::at(given.span(), format!("'{}.{key}' holds a null character", self.path))),
            false => Ok(()),
        }
    }
}

pub(super) fn ordered(
    table: Option<&BTreeMap<Placed<String>, Hidden>>,
) -> impl Iterator<Item = (&Placed<String>, &Hidden)> {
    let mut entries: Vec<_> = table.into_iter().flatten().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries.into_iter()
}
