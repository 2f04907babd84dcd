//! Where MCP clients keep their servers, on every system, by the environment alone.

use std::path::{Path, PathBuf};

use crate::config::Environment;

/// A client whose file we know how to read and to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    Windsurf,
    Zed,
    Other,
}

impl Client {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Other => "MCP client",
        }
    }
}

/// A file that may hold servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) path: PathBuf,
    /// The directory that the servers are for, where they are for one project.
    pub(super) project: Option<PathBuf>,
}

/// Every usual place, whether there is a file or not. None is listed twice.
pub(super) fn usual(environment: &Environment) -> Vec<Place> {
    let mut places = Vec::new();
    let mut add = |client, path: PathBuf, project: Option<&Path>| {
        let place = Place { client, path, project: project.map(Path::to_owned) };
        if places.iter().all(|earlier: &Place| earlier.path != place.path) {
            places.push(place);
        }
    };
    let home = environment.home().or_else(|| environment.path("USERPROFILE"));
    // Where programs keep their settings: Linux, macOS, Windows.
    let settings: Vec<PathBuf> = [
        environment.config_home(),
        home.map(|home| home.join("Library/Application Support")),
        environment.path("APPDATA").map(Path::to_owned),
    ]
    .into_iter()
    .flatten()
    .collect();
    let here = std::path::absolute(environment.directory().join(".")).unwrap_or_default();

    for settings in &settings {
        add(Client::ClaudeDesktop, settings.join("Claude/claude_desktop_config.json"), None);
    }
    home.iter().for_each(|home| add(Client::ClaudeCode, home.join(".claude.json"), None));
    add(Client::ClaudeCode, here.join(".mcp.json"), Some(&here));
    home.iter().for_each(|home| add(Client::Cursor, home.join(".cursor/mcp.json"), None));
    add(Client::Cursor, here.join(".cursor/mcp.json"), Some(&here));
    for settings in &settings {
        for edition in ["Code", "Code - Insiders", "VSCodium"] {
            for file in ["mcp.json", "settings.json"] {
                add(Client::VsCode, settings.join(edition).join("User").join(file), None);
            }
        }
    }
    add(Client::VsCode, here.join(".vscode/mcp.json"), Some(&here));
    home.iter().for_each(|home| add(Client::Windsurf, home.join(".codeium/windsurf/mcp_config.json"), None));
    let zed = home.map(|home| home.join(".config/zed/settings.json"));
    let zeds = settings.iter().map(|settings| {
        let windows = environment.path("APPDATA") == Some(settings.as_path());
        settings.join(if windows { "Zed" } else { "zed" }).join("settings.json")
    });
    zeds.chain(zed).for_each(|path| add(Client::Zed, path, None));
    add(Client::Zed, here.join(".zed/settings.json"), Some(&here));
    places
}

/// What a file that was named is, by its name and its directory's.
pub(super) fn named(path: &Path, environment: &Environment) -> Place {
    let path = std::path::absolute(environment.directory().join(path)).unwrap_or_else(|_| path.to_owned());
    if let Some(usual) = usual(environment).into_iter().find(|usual| usual.path == path) {
        return usual;
    }
    let (file, directory) = (last(&path), path.parent().map(last).unwrap_or_default());
    let (client, project) = match (file, directory) {
        ("claude_desktop_config.json", _) => (Client::ClaudeDesktop, None),
        (".claude.json", _) => (Client::ClaudeCode, None),
        (".mcp.json", _) => (Client::ClaudeCode, path.parent()),
        ("mcp.json", ".cursor") => (Client::Cursor, path.parent().and_then(Path::parent)),
        ("mcp.json", ".vscode") => (Client::VsCode, path.parent().and_then(Path::parent)),
        ("mcp.json" | "settings.json", "User") => (Client::VsCode, None),
        ("mcp_config.json", _) => (Client::Windsurf, None),
        ("settings.json", ".zed") => (Client::Zed, path.parent().and_then(Path::parent)),
        ("settings.json", "zed" | "Zed") => (Client::Zed, None),
        _ => (Client::Other, None),
    };
    let project = project.map(Path::to_owned);
    Place { client, path, project }
}

/// The last part of a path, if it is text.
fn last(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
