//! Adapter files: operations as their operator describes them. A bundle is never served, only what somebody could review.

use std::path::Path;

use aql::{
    adopt::{self, Adopted, Severity, Taken},
    discover::adapter::{self, Adapter, Transport},
    listed::ListedTool,
    registry::{Problem, Problems},
};

/// Makes the operations that an adapter file describes, and tells what else stands there. It is read each time operations are published.
pub(super) fn adopt(
    file: &Path,
    tools: &[ListedTool],
    options: &adopt::Options<'_>,
    taken: &mut Taken,
) -> Result<(Adopted, Adapter), Problems> {
    let adapter = read(file, options.server)?;
    let applied = adapter::adopt(&adapter, tools, options, taken);
    for note in &applied.notes {
        let (tool, field) =
            (note.tool.as_deref().unwrap_or_default(), note.field.as_deref().unwrap_or_default());
        if note.severity == Severity::Info {
            tracing::info!(upstream = options.server, code = note.code, tool, field, note.message);
        } else {
            tracing::warn!(upstream = options.server, code = note.code, tool, field, note.message);
        }
    }
    Ok((applied.adopted, adapter))
}

pub(super) fn read(file: &Path, server: &str) -> Result<Adapter, Problems> {
    let subject = format!("adapter file '{}'", file.display());
    let problem =
        |field: &str, message: String| Problem { subject: subject.clone(), field: field.to_owned(), message };
    let text = std::fs::read_to_string(file)
        .map_err(|error| Problems(vec![problem(server, format!("cannot be read: {error}"))]))?;
    let name = file.file_name().map(|name| name.to_string_lossy());
    let read = adapter::read(&text, name.as_deref()).map_err(|problems| {
        Problems(
            problems
                .into_iter()
                .map(|wrong| {
                    let help = wrong.help.map(|help| format!("; {help}")).unwrap_or_default();
                    problem(
                        &format!("line {}", wrong.line),
                        format!("{}: {}{help}", wrong.path, wrong.message),
                    )
                })
                .collect(),
        )
    })?;
    match &read.adapter.transport {
        Transport::Mcp { server: meant } => {
            if meant != server {
                tracing::warn!(
                    upstream = server,
                    meant,
                    "the adapter file was made for a server of another name"
                );
            }
            Ok(read.adapter)
        }
        Transport::Http => {
            let message = "is for an HTTP API, and not for an MCP server".to_owned();
            Err(Problems(vec![problem("target.transport", message)]))
        }
    }
}
