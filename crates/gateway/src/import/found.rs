//! What is in a client's file: its servers, those that can be taken over and those that cannot.

use std::path::{Path, PathBuf};

use jsonc_parser::ast::{Object, Value};

use super::{
    error::Error,
    files,
    places::{Client, Place},
};
use crate::config::{
    Environment, Hidden, Secret, Text, check_form,
    clients::{self, Entry, SERVERS},
};

/// A client's file that holds servers.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) text: String,
    pub(super) sections: Vec<Section>,
    pub(super) notes: Vec<String>,
}

/// One object of servers in a file.
#[derive(Debug)]
pub(super) struct Section {
    /// The keys that lead to it.
    pub(super) keys: Vec<String>,
    pub(super) entries: Vec<Entry>,
    /// Where each of them stands among all. A name may stand there twice.
    pub(super) positions: Vec<usize>,
    /// The name of an entry that is Aqueduct itself.
    pub(super) own: Option<String>,
}

/// Where servers may stand in a client's file. Editors keep other things under the same names.
fn ways(place: &Place) -> Vec<&'static [&'static str]> {
    let settings = place.path.file_name().is_some_and(|name| name == "settings.json");
    match (place.client, settings) {
        (Client::VsCode, true) => vec![&["mcp", "servers"]],
        (Client::Zed, _) => vec![&["context_servers"]],
        _ => SERVERS.to_vec(),
    }
}

/// Reads a file. `None` where there is no file, or nothing in it that could hold servers.
pub(super) fn find(place: Place, environment: &Environment) -> Result<Option<Found>, Error> {
    let Some(text) = files::read(&place.path)? else { return Ok(None) };
    let shown = place.path.display().to_string();
    let told = |error: crate::config::Error| {
        let place = error.line_column_in(&text).map(|(line, column)| format!(":{line}:{column}"));
        Error::new(
            format!("{shown}{}: {}", place.unwrap_or_default(), error.message()),
            "mend the file, or leave it out",
        )
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    let plain = clients::without_mark(&text);
    let root = clients::parse(&plain).map_err(told)?;
    let mut found = Found { sections: Vec::new(), notes: Vec::new(), text: String::new(), place };
    let way = ways(&found.place).into_iter().find_map(|keys| Some((keys, clients::find(&root, keys)?)));
    if let Some((keys, value)) = way {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let project = found.place.project.clone();
        found.section(keys, value, project.as_deref(), environment);
    }
    if found.place.client == Client::ClaudeCode {
        found.projects(&root, environment);
    }
    if found.sections.is_empty() && found.notes.is_empty() {
        return Ok(None);
    }
    found.text = text;
    Ok(Some(found))
}

impl Found {
    /// Claude Code keeps servers for each project in its one file too.
    fn projects(&mut self, root: &Object<'_>, environment: &Environment) {
        for project in root.get_object("projects").into_iter().flat_map(|projects| &projects.properties) {
            let Value::Object(settings) = &project.value else { continue };
            let Some(servers) = settings.get("mcpServers") else { continue };
            let path = project.name.as_str().to_owned();
            let keys = vec!["projects".to_owned(), path.clone(), "mcpServers".to_owned()];
            self.section(keys, &servers.value, Some(Path::new(&path)), environment);
        }
    }

    fn section(
        &mut self,
        keys: Vec<String>,
        value: &Value<'_>,
        project: Option<&Path>,
        environment: &Environment,
    ) {
        let path = keys.join(".");
        let Value::Object(servers) = value else {
            let message = "is not an object of servers by their names, so nothing in it is taken over";
            self.note(&format!("'{path}' {message}"));
            return;
        };
        let workspace = project.or_else(|| clients::workspace(&self.place.path)).map(Path::to_owned);
        let (mut entries, mut positions, mut own) = (Vec::new(), Vec::new(), None);
        let all = clients::entries(servers, &path, workspace.as_deref());
        for (position, entry) in all.into_iter().enumerate() {
            let checked = entry.and_then(|entry| check_form(&entry, &path, environment).map(|()| entry));
            let written = servers.properties.get(position).map(|property| &property.value);
            match checked {
                Ok(entry) if is_aqueduct(&entry) => own = Some(entry.name.get().clone()),
                Ok(entry) if entry.sse => self.note(&format!(
                    "'{path}.{}' is of the type 'sse', which we do not speak, so it stays with the client; many servers \
                     also offer streamable HTTP, often under '/mcp'",
                    entry.name.get()
                )),
                Ok(entry) if let Some(variable) = self.editor_variable(written, project) => self.note(&format!(
                    "'{path}.{}' uses '{variable}', which only the client can fill in, so it stays with the client",
                    entry.name.get()
                )),
                Ok(entry) => {
                    entries.push(in_project(entry, project));
                    positions.push(position);
                }
                Err(error) => self.note(&format!("{}, so it stays with the client", error.message())),
            }
        }
        if let (Some(project), false) = (project, entries.is_empty()) {
            let names: Vec<String> = entries.iter().map(|entry| format!("'{}'", entry.name.get())).collect();
            self.note(&format!(
                "{} belonged to the project {} and will be offered everywhere",
                names.join(", "),
                project.display()
            ));
        }
        self.sections.push(Section { keys, entries, positions, own });
    }

    /// Only editors have such variables; elsewhere `${file}` is one of the environment.
    fn editor_variable(&self, written: Option<&Value<'_>>, project: Option<&Path>) -> Option<String> {
        let Some(Value::Object(server)) = written else { return None };
        let by_editor = matches!(self.place.client, Client::VsCode | Client::Cursor);
        by_editor.then(|| clients::editor_variable(server, project.is_some())).flatten()
    }

    fn note(&mut self, text: &str) {
        self.notes.push(format!("{}: {text}", self.place.path.display()));
    }
}

/// Serving itself would never end.
fn is_aqueduct(entry: &Entry) -> bool {
    let program = entry.command.as_ref().map(|command| PathBuf::from(command.get().replace('\\', "/")));
    let stem = program.as_deref().and_then(Path::file_stem).and_then(|stem| stem.to_str());
    let by_command = stem.is_some_and(|stem| stem.eq_ignore_ascii_case("aqueduct"));
    let by_address = entry.url.as_ref().is_some_and(|url| {
        let url = url.get().expose();
        ["http://127.0.0.1:7171/", "http://localhost:7171/", "http://[::1]:7171/"]
            .iter()
            .any(|own| url.starts_with(own))
    });
    by_command || by_address
}

/// Clients start a project's servers in its directory, so ours are started there as well.
fn in_project(mut entry: Entry, project: Option<&Path>) -> Entry {
    let Some(project) = project else { return entry };
    let Some(command) = &entry.command else { return entry };
    let directory = project.to_string_lossy().replace('$', "$$");
    let text = command.get();
    if text.contains('/') && !Path::new(text).is_absolute() && !text.starts_with(['~', '$']) {
        let whole = Path::new(&directory).join(text).to_string_lossy().into_owned();
        entry.command = Some(Text::new(command.span(), whole));
    }
    if entry.cwd.is_none() {
        entry.cwd = Some(Hidden::new(entry.name.span(), Secret::new(directory)));
    }
    entry
}
