//! What an upstream offers, asked for page by page and kept on disk, so that the tools can be listed before it runs.
//!
//! The definitions that were seen first are pinned. One that has changed since is held back until somebody accepts it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aql::drift::{self, Change};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    open::{Era, Identity},
    peer::{Failure, Peer},
    wire::Params,
};
use crate::config::{self, Definitions};

/// More pages or items than this are no list but a trap.
const PAGES_MAX: usize = 500;
const ITEMS_MAX: usize = 10_000;

/// What an upstream answered when it was asked what it offers.
#[derive(Debug, Clone)]
pub struct Capture {
    pub server: Option<Identity>,
    pub era: Era,
    pub version: String,
    pub capabilities: Map<String, Value>,
    pub instructions: Option<String>,
    /// The pages of `tools/list`, each as it came.
    pub pages: Vec<Value>,
    pub resources: Vec<Value>,
    pub templates: Vec<Value>,
    pub prompts: Vec<Value>,
}

impl Capture {
    /// All tools of all pages.
    #[must_use]
    pub fn tools(&self) -> Vec<Value> {
        self.pages.iter().flat_map(|page| items(page, "tools")).collect()
    }
}

/// Asks for everything. No tool is called.
pub(super) async fn capture(peer: &Arc<Peer>, within: Duration) -> Result<Capture, Failure> {
    let Some(hello) = peer.hello() else {
        return Err(Failure::Unreachable("the connection was not opened".to_owned()));
    };
    // A server without tools may still have resources and prompts.
    let pages = tools(peer, within).await?;
    // Of these a server may say that it has them and not answer; its tools are not to suffer.
    let others = async |capability: &str, method: &str, key: &str| {
        if !hello.offers(capability) {
            return Vec::new();
        }
        let pages = list(peer, method, key, within).await.unwrap_or_default();
        pages.iter().flat_map(|page| items(page, key)).collect()
    };
    Ok(Capture {
        server: hello.server.clone(),
        era: hello.era,
        version: hello.version.clone(),
        capabilities: hello.capabilities.clone(),
        instructions: hello.instructions.clone(),
        pages,
        resources: others("resources", "resources/list", "resources").await,
        templates: others("resources", "resources/templates/list", "resourceTemplates").await,
        prompts: others("prompts", "prompts/list", "prompts").await,
    })
}

/// The pages of its tools.
pub(super) async fn tools(peer: &Arc<Peer>, within: Duration) -> Result<Vec<Value>, Failure> {
    match peer.hello().is_some_and(|hello| hello.offers("tools")) {
        true => list(peer, "tools/list", "tools", within).await,
        false => Ok(Vec::new()),
    }
}

pub(super) fn items(page: &Value, key: &str) -> Vec<Value> {
    page.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// All pages of a list, each as it came.
async fn list(peer: &Arc<Peer>, method: &str, key: &str, within: Duration) -> Result<Vec<Value>, Failure> {
    let mut pages: Vec<Value> = Vec::new();
    let mut count = 0;
    let mut after: Option<String> = None;
    loop {
        let params = match &after {
            Some(after) => Params::none().value("cursor", after),
            None => Params::none(),
        };
        let raw = peer.request(method, &params, within, None).await?;
        let page: Value = serde_json::from_str(raw.get())
            .map_err(|_| Failure::Unreachable(format!("its answer to '{method}' cannot be read")))?;
        count += page.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        let repeats = next.is_some() && next == after;
        pages.push(page);
        if repeats || pages.len() >= PAGES_MAX || count > ITEMS_MAX {
            return Err(Failure::Unreachable(format!("its list of {key} does not end")));
        }
        match next {
            Some(next) => after = Some(next),
            None => return Ok(pages),
        }
    }
}

/// A catalogue as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    /// Which form this file has.
    form: u32,
    /// What the connection leads to; another one has another catalogue.
    link: String,
    pub server: Option<Identity>,
    pub era: Era,
    pub version: String,
    #[serde(default)]
    pub capabilities: Map<String, Value>,
    #[serde(default)]
    pub instructions: Option<String>,
    /// RFC 3339, UTC.
    pub captured_at: String,
    pub tools: Vec<Pinned>,
    #[serde(default)]
    pub resources: Vec<Value>,
    #[serde(default)]
    pub templates: Vec<Value>,
    #[serde(default)]
    pub prompts: Vec<Value>,
}

const FORM: u32 = 2;

/// How much of its link is in the name of a wrapped server's file.
const LINK_CHARS: usize = 16;

/// A tool by the definition that was accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pinned {
    pub definition: Value,
    /// What the upstream offers under the same name now, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<Value>,
    /// Whether the upstream offers it no longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

impl Pinned {
    #[must_use]
    pub fn name(&self) -> &str {
        name_of(&self.definition)
    }

    /// What is different now, field by field.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        self.offered.as_ref().map(|offered| drift::changes(&self.definition, offered)).unwrap_or_default()
    }
}

fn name_of(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Names the link of an upstream without telling its secrets.
fn link_of(settings: &config::Upstream) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &[u8]| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    match &settings.link {
        config::Link::Command { program, args, .. } => {
            add(program.as_os_str().as_encoded_bytes());
            for arg in args {
                add(arg.expose().as_bytes());
            }
        }
        config::Link::Http { url, .. } => add(url.as_bytes()),
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Kept {
    /// Settles what was captured with what was pinned.
    pub(super) fn settle(
        before: Option<Self>,
        capture: &Capture,
        settings: &config::Upstream,
        now: Timestamp,
    ) -> Self {
        let mut pinned = before.map(|before| before.tools).unwrap_or_default();
        let follow = settings.definitions == Definitions::Follow;
        let offered = capture.tools();
        let mut tools: Vec<Pinned> = Vec::with_capacity(offered.len());
        for tool in offered {
            let known = pinned
                .iter()
                .position(|known| known.name() == name_of(&tool))
                // In their order, so that tools of one name stay apart.
                .map(|at| pinned.remove(at));
            tools.push(match known {
                Some(known) if !follow && known.definition != tool => {
                    Pinned { definition: known.definition, offered: Some(tool), gone: false }
                }
                _ => Pinned { definition: tool, offered: None, gone: false },
            });
        }
        // What is gone stays known: it may come back as something else.
        tools.extend(pinned.into_iter().map(|gone| Pinned { offered: None, gone: true, ..gone }));
        Self {
            form: FORM,
            link: link_of(settings),
            server: capture.server.clone(),
            era: capture.era,
            version: capture.version.clone(),
            capabilities: capture.capabilities.clone(),
            instructions: capture.instructions.clone(),
            captured_at: now.to_string(),
            tools,
            resources: capture.resources.clone(),
            templates: capture.templates.clone(),
            prompts: capture.prompts.clone(),
        }
    }

    /// Takes what the upstream offers now for what it is to be.
    pub fn accept(&mut self) {
        for tool in &mut self.tools {
            if let Some(offered) = tool.offered.take() {
                tool.definition = offered;
            }
        }
    }

    /// The tools whose definitions have changed.
    pub fn held(&self) -> impl Iterator<Item = &Pinned> {
        self.tools.iter().filter(|tool| tool.offered.is_some())
    }

    /// Whether both offer the same, whenever that was found out.
    pub(super) fn offers_the_same(&self, other: &Self) -> bool {
        let told = |kept: &Self| {
            let tools = kept.tools.iter();
            tools.map(|tool| (tool.definition.clone(), tool.offered.clone(), tool.gone)).collect::<Vec<_>>()
        };
        told(self) == told(other)
            && (&self.server, &self.capabilities, &self.instructions, self.era)
                == (&other.server, &other.capabilities, &other.instructions, other.era)
            && (&self.resources, &self.templates, &self.prompts)
                == (&other.resources, &other.templates, &other.prompts)
    }
}

/// The folder in which catalogues are kept.
#[derive(Debug, Clone)]
pub struct Catalogues {
    folder: PathBuf,
}

impl Catalogues {
    #[must_use]
    pub fn new(data: &Path) -> Self {
        Self { folder: data.join("upstreams") }
    }

    fn path(&self, settings: &config::Upstream) -> PathBuf {
        let name = &settings.name;
        if !settings.wrapped {
            return self.folder.join(format!("{name}.json"));
        }
        // Its name is only derived: another command, or a server of the file, may have the same.
        let link: String = link_of(settings).chars().take(LINK_CHARS).collect();
        self.folder.join(format!("{name}-{link}.json"))
    }

    /// What was kept of an upstream. A file that cannot be read, or is of another link, counts as none.
    #[must_use]
    pub fn load(&self, settings: &config::Upstream) -> Option<Kept> {
        let path = self.path(settings);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(upstream = settings.name, %error, "a kept catalogue cannot be read; it is asked for again");
                return None;
            }
        };
        let kept: Kept = match serde_json::from_str(&text) {
            Ok(kept) => kept,
            Err(_) => {
                tracing::warn!(
                    upstream = settings.name,
                    "a kept catalogue is damaged; it is asked for again"
                );
                return None;
            }
        };
        let kept = Some(kept).filter(|kept| kept.form == FORM && kept.link == link_of(settings))?;
        Some(self.followed(settings, kept))
    }

    /// What was held back before the operator chose to follow changes is so no longer.
    fn followed(&self, settings: &config::Upstream, mut kept: Kept) -> Kept {
        if settings.definitions == Definitions::Follow && kept.held().next().is_some() {
            kept.accept();
            if let Err(error) = self.save(settings, &kept) {
                tracing::warn!(upstream = settings.name, %error, "accepted definitions could not be kept");
            }
        }
        kept
    }

    /// When the catalogue was last written, by whichever process.
    #[must_use]
    pub fn written(&self, settings: &config::Upstream) -> Option<std::time::SystemTime> {
        std::fs::metadata(self.path(settings)).and_then(|file| file.modified()).ok()
    }

    /// Keeps a catalogue, whole or not at all.
    pub fn save(&self, settings: &config::Upstream, kept: &Kept) -> io::Result<()> {
        create_private(&self.folder)?;
        let unique = uuid::Uuid::new_v4();
        let temporary = self.folder.join(format!(".{}.{unique}", settings.name));
        let written = write_private(&temporary, &serde_json::to_vec(kept)?);
        let saved = written.and_then(|()| std::fs::rename(&temporary, self.path(settings)));
        if saved.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        saved
    }
}

/// A folder that is there keeps its rights.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_its_owners_alone() {
        let data = tempfile::tempdir().unwrap();
        let folder = Catalogues::new(data.path()).folder;
        for _ in 0..2 {
            create_private(&folder).unwrap();
        }
        let rights = std::fs::metadata(&folder).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&rights) & 0o777, 0o700);
    }
}
