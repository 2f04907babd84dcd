//! `aqueduct discover`: what another server offers, as a bundle, and what has changed there.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use gateway::{
    aql::{
        classify::{Overrides, Trust},
        discover::{self, Bundle, Capture, Options, bundle::Normalized, capture, diff, probe},
        suggest,
    },
    config::{Checked, Upstream},
    discover::{self as visiting, Found},
};
use serde_json::json;

use super::{
    adapt::{bundle as read_bundle, text, write, write_private},
    runtime,
};
use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A server of the configuration, or what to call the one given otherwise
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The address of a server that speaks streamable HTTP
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// The variable of the environment that holds the bearer token for --url
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    token_env: Option<String>,
    /// A program to start, which speaks MCP on its standard input and output
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Take a saved list of tools instead of asking the server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["probe"])]
    tools: Option<PathBuf>,
    /// Where the bundle goes; '-' prints it [default: ./NAME.bundle.json]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing and show what has changed since a bundle, or since the definitions that were accepted
    #[arg(long, value_name = "BUNDLE", num_args = 0..=1)]
    diff: Option<Option<PathBuf>>,
    /// Take what the server offers now for what it is to be
    #[arg(long)]
    accept: bool,
    /// Also call the tools marked as read-only that need no arguments, and keep what they answer in a file of its own
    #[arg(long)]
    probe: bool,
    /// Refuse what the published schema does not know: programs on this machine
    #[arg(long)]
    strict: bool,
    /// What the names of the operations begin with
    #[arg(long, value_name = "PREFIX", default_value = "")]
    operation_prefix: String,
    /// The time to write into the bundle, for runs that can be repeated [default: now]
    #[arg(long, value_name = "TIME")]
    captured_at: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    configuration: Configuration,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let target = Target::of(arguments)?;
    let captured_at = arguments.captured_at.clone().unwrap_or_else(visiting::now);
    let found = found(arguments, &target.settings, captured_at)?;
    let bundle = bundled(arguments, &found.capture)?;
    if arguments.diff.is_some() {
        return differences(arguments, &target, &found, &bundle);
    }
    if arguments.accept {
        accept(&target, &found)?;
    }
    let output = arguments.output.clone().unwrap_or_else(|| default_output(&target.settings));
    if output.as_os_str() == "-" {
        report::print(bundle.to_json().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    write(&output, &bundle.to_json())?;
    let observed = match found.observations.is_empty() {
        true => None,
        false => {
            let path = output.with_extension("observations.json");
            write_private(&path, &probe::document(&bundle, found.observations, &found.capture))?;
            Some(path.display().to_string())
        }
    };
    summary(arguments, &bundle, &output, observed);
    Ok(ExitCode::SUCCESS)
}

/// The server that is meant.
struct Target {
    settings: Upstream,
    /// Where accepted definitions are kept, for servers of the configuration.
    config: Option<Checked>,
}

impl Target {
    fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let other = |settings| Self { settings, config: None };
        if let Some(url) = &arguments.url {
            let name = arguments.name.clone().unwrap_or_else(|| name_of_url(url));
            return Ok(other(visiting::by_url(&name, url, arguments.token_env.as_deref())));
        }
        if let Some((program, args)) = arguments.command.split_first() {
            let name = arguments.name.clone().unwrap_or_else(|| name_of_command(program, args));
            return Ok(other(visiting::by_command(&name, Path::new(program), args)));
        }
        let Some(name) = &arguments.name else {
            let help = "name a server of the configuration, give --url URL, or a command behind '--'";
            return Err(Failure::usage("no server is given", help));
        };
        let config = arguments.configuration.load()?;
        let known = config.upstreams.iter().find(|upstream| upstream.name == *name).cloned();
        match (known, &arguments.tools) {
            (Some(settings), _) => Ok(Self { settings, config: Some(config) }),
            // A saved list needs no server.
            (None, Some(_)) => Ok(other(visiting::by_command(name, Path::new(""), &[]))),
            (None, None) => {
                if let Some(left_out) = config.left_out.iter().find(|left_out| left_out.name == *name) {
                    let message = format!("the server '{name}' cannot be used, since {}", left_out.reason());
                    return Err(Failure::trouble(&message, &left_out.help()));
                }
                let names: Vec<&str> =
                    config.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
                let help = match suggest::nearest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None if names.is_empty() => {
                        "the configuration has none; give --url URL or a command behind '--'".to_owned()
                    }
                    None => format!("there are {}", names.join(", ")),
                };
                Err(Failure::usage(&format!("the configuration has no server '{name}'"), &help))
            }
        }
    }
}

/// The host, without what every host has.
fn name_of_url(url: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default().rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let kept: Vec<&str> =
        host.split('.').filter(|part| !matches!(*part, "www" | "api" | "mcp" | "com" | "")).collect();
    if kept.is_empty() { "server".to_owned() } else { kept.join("_") }
}

/// The package that a runner is to fetch, or else the program.
fn name_of_command(program: &str, args: &[String]) -> String {
    let stem = |path: &str| {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        name.split('@').next().unwrap_or_default().trim_end_matches(".exe").to_owned()
    };
    let program = stem(program);
    let runners = ["npx", "uvx", "bunx", "pnpm", "node", "python", "python3", "docker", "uv"];
    let package =
        args.iter().find(|arg| !arg.starts_with('-') && !matches!(arg.as_str(), "run" | "exec" | "dlx"));
    let name = match package {
        Some(package) if runners.contains(&program.as_str()) => stem(package),
        _ => program,
    };
    if name.is_empty() { "server".to_owned() } else { name }
}

fn found(arguments: &Arguments, settings: &Upstream, captured_at: String) -> Result<Asked, Failure> {
    if let Some(file) = &arguments.tools {
        let pages = capture::pages(&text(file)?).map_err(|error| {
            let help = "a list is the result of tools/list, several of them, or an array of tools";
            Failure::usage(&format!("'{}' holds no list of tools: {error}", file.display()), help)
        })?;
        let capture = Capture { pages, ..visiting::of_settings(settings, captured_at) };
        return Ok(Asked { capture, observations: Vec::new(), seen: None });
    }
    let plan = |capture: &Capture| match arguments.probe {
        true => bundled(arguments, capture)
            .map(|bundle| probe::plan(&bundle).into_iter().map(|probe| probe.tool).collect())
            .unwrap_or_default(),
        false => Vec::new(),
    };
    let runtime = runtime()?;
    let found = runtime.block_on(visiting::visit(settings, captured_at, plan)).map_err(|why| {
        let finding = runtime.block_on(gateway::doctor::remedy(settings, &why));
        let help = finding.mend.unwrap_or_else(|| "try again: this time it answered".to_owned());
        Failure::trouble(
            &format!("the server '{}' could not be asked: {}", settings.name, finding.message),
            &help,
        )
    })?;
    let Found { capture, observations, seen } = found;
    Ok(Asked { capture, observations, seen: Some(seen) })
}

/// What is known now, asked or read from a file.
struct Asked {
    capture: Capture,
    observations: Vec<probe::Observation>,
    seen: Option<gateway::adapters::upstream::catalogue::Capture>,
}

fn bundled(arguments: &Arguments, capture: &Capture) -> Result<Bundle, Failure> {
    let overrides = Overrides::default();
    let options = Options {
        prefix: &arguments.operation_prefix,
        strict: arguments.strict,
        trust: Trust::Claimed,
        overrides: &overrides,
    };
    discover::bundle(capture, &options).map_err(|error| {
        let help = match error {
            discover::Error::Strict => "leave out --strict, or capture the server by its --url",
            discover::Error::NoTime(_) => "leave out --captured-at for the present time",
            _ => "nothing was written",
        };
        Failure::usage(&error.to_string(), help)
    })
}

fn default_output(settings: &Upstream) -> PathBuf {
    let safe = |letter: char| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    let name: String = settings.name.chars().map(safe).collect();
    PathBuf::from(format!("{}.bundle.json", name.trim_start_matches('.')))
}

fn differences(
    arguments: &Arguments,
    target: &Target,
    found: &Asked,
    bundle: &Bundle,
) -> Result<ExitCode, Failure> {
    let named = arguments.diff.clone().flatten();
    let accepted =
        target.config.as_ref().and_then(|config| visiting::accepted(&config.store.data, &target.settings));
    let output = arguments.output.clone().unwrap_or_else(|| default_output(&target.settings));
    let before = match (&named, accepted) {
        (Some(file), _) => read_bundle(file)?,
        // The definitions that calls are held to.
        (None, Some(capture)) => bundled(arguments, &capture)?,
        (None, None) if output.exists() => read_bundle(&output)?,
        (None, None) => {
            let help = "run it once without --diff, or name a bundle: --diff FILE";
            return Err(Failure::usage("there is nothing to compare with", help));
        }
    };
    let diff = diff::diff(&before, bundle);
    report::print(&if arguments.json { json!(diff).to_string() } else { diff.report() });
    if arguments.accept {
        accept(target, found)?;
        if let Some(file) = named.or_else(|| output.exists().then_some(output)) {
            write(&file, &bundle.to_json())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    Ok(if diff.is_empty() { ExitCode::SUCCESS } else { report::findings() })
}

/// Keeps what was seen as what calls are held to from now on.
fn accept(target: &Target, found: &Asked) -> Result<(), Failure> {
    let (Some(config), Some(seen)) = (&target.config, &found.seen) else {
        return Ok(());
    };
    let changed = visiting::accept(&config.store.data, &target.settings, seen)
        .map_err(|why| Failure::trouble(&why, &format!("data directory: {}", config.store.data.display())))?;
    report::note(&format!("accepted; {changed} tools have other definitions than before"));
    Ok(())
}

fn summary(arguments: &Arguments, bundle: &Bundle, output: &Path, observed: Option<String>) {
    let Normalized { operations, warnings } = &bundle.normalized_bundle;
    let review = operations.iter().filter(|operation| operation.needs_review).count();
    let tools = bundle.raw_capture.tools.len();
    if arguments.json {
        let summary = json!({"file": output.display().to_string(), "observations": observed, "tools": tools,
            "operations": operations.len(), "needs_review": review, "warnings": warnings.len()});
        return report::print(&summary.to_string());
    }
    let mut lines = vec![
        format!(
            "{tools} tools, {} operations, {review} of them to look over, {} warnings",
            operations.len(),
            warnings.len()
        ),
        format!("wrote {}", output.display()),
    ];
    lines.extend(observed.map(|path| format!("wrote {path}")));
    lines.push(format!("next: aqueduct adapt {}", output.display()));
    report::print(&lines.join("\n"));
}
