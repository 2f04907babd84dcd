//! The section `[operator]`: where the operator's listener is, and through which channels a person is asked.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{MAIN_SEPARATOR, Path, PathBuf},
};

use http::Uri;

use super::{
    environment::Environment,
    error::{Error, Place},
    file::{self, Hidden, Placed},
    paths,
    secret::Secret,
    variables::{Expansion, is_name},
};

pub(super) const HTTP_DEFAULT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7172));

/// What opens no listener.
const OFF: &str = "off";

/// How a person answers what waits for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Where the listener is; none opens none.
    pub http: Option<SocketAddr>,
    /// Whether the file names that address. On standard input and output only then is it used.
    pub http_is_written: bool,
    pub dialog: bool,
    pub command_line: bool,
    /// Whether questions of servers are shown to the operator.
    pub inputs: bool,
    pub command: Option<Hook>,
    /// In the order of the file.
    pub webhooks: Vec<Webhook>,
}

/// A program that is told, and may answer by its exit code.
#[derive(Clone, PartialEq, Eq)]
pub struct Hook {
    pub program: PathBuf,
    pub args: Vec<Secret>,
    pub answers: bool,
    pub codes: bool,
}

/// An address that is told, and may answer with a signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub name: String,
    /// May hold a secret, so it is never shown.
    pub url: Secret,
    pub secret: SecretSource,
}

/// Where a secret is, each time it is needed.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretSource {
    Variable(String),
    File(PathBuf),
    /// What this program with these arguments prints.
    Command(PathBuf, Vec<Secret>),
}

impl Default for Operator {
    fn default() -> Self {
        Self {
            http: Some(HTTP_DEFAULT),
            http_is_written: false,
            dialog: true,
            command_line: true,
            inputs: true,
            command: None,
            webhooks: Vec::new(),
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("program", &self.program).field("answers", &self.answers).finish()
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("name", &self.name).field("secret", &self.secret).finish()
    }
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Command(program, _) => f.debug_tuple("Command").field(program).finish(),
        }
    }
}

/// `base` is the directory of the file; `remote` whether the command line allows other machines.
pub(super) fn operator(
    written: &file::Operator,
    base: &Path,
    environment: &Environment,
    remote: bool,
) -> Result<Operator, Error> {
    let reader = Reader { base, environment };
    let http = match &written.http {
        None => Some(HTTP_DEFAULT),
        Some(given) if given.get() == OFF => None,
        Some(given) => Some(address(given, remote)?),
    };
    let mut webhooks: Vec<_> = written.webhook.iter().flatten().collect();
    webhooks.sort_by_key(|(name, _)| name.span().start);
    Ok(Operator {
        http,
        http_is_written: written.http.is_some(),
        dialog: written.dialog.unwrap_or(true),
        command_line: written.command_line.unwrap_or(true),
        inputs: written.inputs.unwrap_or(true),
        command: reader.hook(written)?,
        webhooks: webhooks
            .into_iter()
            .map(|(name, webhook)| reader.webhook(name, webhook))
            .collect::<Result<_, _>>()?,
    })
}

fn address(given: &Placed<String>, remote: bool) -> Result<SocketAddr, Error> {
    let help = format!("write it as in '{HTTP_DEFAULT}', or '{OFF}' for none");
    let address: SocketAddr = given.get().parse().map_err(|_| {
        let message = format!("'{}' is neither an IP address with a port nor '{OFF}'", given.get());
        Error::at(given.span(), message).help_with(help)
    })?;
    if address.ip().to_canonical().is_loopback() || remote {
        return Ok(address);
    }
    let message =
        format!("'{address}' can be reached from other machines, but '--allow-remote' is not given");
    Err(Error::at(given.span(), message).help_with(format!(
        "start with '--allow-remote' and put a TLS proxy before it, or serve the operator at '{HTTP_DEFAULT}'"
    )))
}

struct Reader<'a> {
    base: &'a Path,
    environment: &'a Environment,
}

impl Reader<'_> {
    fn hook(&self, written: &file::Operator) -> Result<Option<Hook>, Error> {
        let said = |flag: &Option<Placed<bool>>| flag.as_ref().is_some_and(|flag| *flag.get());
        let Some(command) = &written.command else {
            for (key, flag) in [("answers", &written.answers), ("codes", &written.codes)] {
                if let Some(flag) = flag.as_ref().filter(|flag| *flag.get()) {
                    let message = format!("'operator.{key}' goes with 'command', which is not set");
                    return Err(Error::at(flag.span(), message)
                        .help_with(format!("set 'command', or remove '{key}'")));
                }
            }
            return Ok(None);
        };
        let (program, args) = self.command("operator.command", command)?;
        Ok(Some(Hook { program, args, answers: said(&written.answers), codes: said(&written.codes) }))
    }

    fn webhook(&self, name: &Placed<String>, written: &file::Webhook) -> Result<Webhook, Error> {
        let label = name.get();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if label.is_empty() || !label.chars().all(fits) {
            let message = format!("the webhook '{label}' must be named by letters, digits, '_' and '-'");
            return Err(
                Error::at(name.span(), message).help_with("write it as in '[operator.webhook.phone]'")
            );
        }
        let path = format!("operator.webhook.{label}");
        Ok(Webhook {
            name: label.clone(),
            url: self.url(&path, &written.url)?,
            secret: self.secret(&path, name, written)?,
        })
    }

    /// The address may hold a secret, so no error repeats it.
    fn url(&self, path: &str, given: &Hidden) -> Result<Secret, Error> {
        let wrong = |message: &str| {
            let error = Error::at(given.span(), format!("'{path}.url' {message}"));
            error.help_with("write it as in 'https://approvals.example.com/aqueduct'")
        };
        let text = self.complete(&format!("'{path}.url'"), given)?;
        let uri: Uri = text.expose().parse().map_err(|_| wrong("is not a URL"))?;
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let is_here = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        match uri.scheme_str() {
            _ if host.is_empty() => Err(wrong("has no host")),
            Some("https") => Ok(text),
            Some("http") if is_here => Ok(text),
            Some("http") => Err(wrong("sends what waits over plain 'http' to another machine")),
            _ => Err(wrong("must begin with 'https://'")),
        }
    }

    fn secret(
        &self,
        path: &str,
        name: &Placed<String>,
        written: &file::Webhook,
    ) -> Result<SecretSource, Error> {
        const KEYS: &str = "'secret_env', 'secret_file' or 'secret_command'";
        match (&written.secret_env, &written.secret_file, &written.secret_command) {
            (Some(variable), None, None) => {
                if is_name(variable.get()) {
                    return Ok(SecretSource::Variable(variable.get().clone()));
                }
                // Who mistakes this key for the secret's has written it there.
                let message = format!("'{path}.secret_env' is not the name of an environment variable");
                Err(Error::at(variable.span(), message)
                    .help_with("write the variable's name, as in 'APPROVAL_SECRET', not the secret"))
            }
            (None, Some(file), None) => {
                let place = Place::File(Some(file.span()));
                let expanded = paths::expand(Path::new(file.get()), place, self.environment)?;
                Ok(SecretSource::File(self.base.join(expanded)))
            }
            (None, None, Some(command)) => {
                let (program, args) = self.command(&format!("{path}.secret_command"), command)?;
                Ok(SecretSource::Command(program, args))
            }
            (None, None, None) => {
                let error = Error::at(name.span(), format!("'{path}' has no secret to sign with"));
                Err(error.help_with(format!("add {KEYS}")))
            }
            _ => {
                let error = Error::at(name.span(), format!("'{path}' has more than one secret"));
                Err(error.help_with(format!("keep one of {KEYS}")))
            }
        }
    }

    /// A bare name is left to `PATH`. Everything else is a path like others in the file.
    fn command(&self, what: &str, command: &Placed<Vec<Hidden>>) -> Result<(PathBuf, Vec<Secret>), Error> {
        let mut words = Vec::new();
        for word in command.get() {
            words.push(self.complete(&format!("'{what}'"), word)?);
        }
        let Some((program, args)) = words.split_first() else {
            let error = Error::at(command.span(), format!("'{what}' is empty"));
            return Err(error.help_with("write a program and its arguments, as in [\"notify\", \"--now\"]"));
        };
        let text = program.expose();
        let path = paths::expand(Path::new(text), Place::File(Some(command.span())), self.environment)?;
        let bare = !text.contains('/') && !text.contains(MAIN_SEPARATOR) && !text.starts_with('~');
        Ok((if bare { path } else { self.base.join(path) }, args.to_vec()))
    }

    /// A variable that is not set is a mistake here: what was to ask a person would silently ask nobody.
    fn complete(&self, what: &str, given: &Hidden) -> Result<Secret, Error> {
        let expansion = Expansion { environment: self.environment, in_use: true };
        let text = expansion.expand(what, given.get().expose(), given.span())?.ok_or_else(|| {
            Error::at(given.span(), format!("{what} needs an environment variable that is not set"))
                .help_with("set it, or give a default as in '${NAME:-default}'")
        })?;
        if text.contains('\0') {
            return Err(Error::at(given.span(), format!("{what} holds a null character")));
        }
        Ok(Secret::new(text))
    }
}
