//! Other gateways that install quickly, at the versions that the published comparison was made with.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Result, report::Report};

const MCP_PROXY: &str = "0.6.0";
const LAZY_MCP: &str = "2.7.2";
const MCP_COMPRESSOR: &str = "0.38.2";

/// Those that are there.
#[derive(Default)]
pub(crate) struct Peers {
    pub(crate) mcp_proxy: Option<PathBuf>,
    pub(crate) lazy_mcp: Option<PathBuf>,
    pub(crate) mcp_compressor: Option<PathBuf>,
}

impl Peers {
    /// Installs what is missing into the cache; what cannot be installed is told and left out.
    pub(crate) fn install(report: &mut Report) -> Result<Self> {
        let directory = cache()?.join("peers");
        std::fs::create_dir_all(&directory)?;
        let mut found = |what: &str, installed: Result<PathBuf>| match installed {
            Ok(program) => Some(program),
            Err(error) => {
                report.note(format!(
                    "Gateway: {what} not measured, because it could not be installed: {error}."
                ));
                None
            }
        };
        Ok(Self {
            mcp_proxy: found("mcp-proxy", crate_program(&directory, "mcp-proxy", MCP_PROXY)),
            lazy_mcp: found("lazy-mcp", python_program(&directory, "lazy-mcp", LAZY_MCP)),
            mcp_compressor: found(
                "mcp-compressor",
                python_program(&directory, "mcp-compressor", MCP_COMPRESSOR),
            ),
        })
    }
}

/// Where `./test` keeps what it installs, too.
fn cache() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = set("AQUEDUCT_CACHE").or_else(|| Some(set("XDG_CACHE_HOME")?.join("aqueduct")));
    named
        .or_else(|| Some(set("HOME")?.join(".cache/aqueduct")))
        .ok_or_else(|| "neither AQUEDUCT_CACHE nor HOME is set".into())
}

fn crate_program(directory: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let root = directory.join(format!("cargo-{name}-{version}"));
    let program = root.join("bin").join(name);
    if !program.is_file() {
        eprintln!("bench: installing {name} {version} (a few minutes, once)");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut install = Command::new(cargo);
        install.args(["install", "--quiet", "--locked", "--root"]).arg(&root);
        run(install.arg(format!("{name}@{version}")))?;
    }
    Ok(program)
}

fn python_program(directory: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let root = directory.join(format!("python-{name}-{version}"));
    let program = root.join("bin").join(name);
    if !program.is_file() {
        eprintln!("bench: installing {name} {version}");
        run(Command::new("python3").args(["-m", "venv"]).arg(&root))?;
        let mut install = Command::new(root.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        run(install.arg(format!("{name}=={version}")))?;
    }
    Ok(program)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("the installer ended with {status}").into()) }
}
