//! The whole way from captures to operations.

mod bundles;
mod differences;
mod hostile;
mod published;

pub(super) use self::{hostile::looks_like_a_frame, published::of_server};

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Bundle, Capture, Error, Options, Reached, bundle};
use crate::classify::{Overrides, Trust};

const NOW: &str = "2026-04-15T12:00:00Z";

/// A capture of a server over HTTP with these tools.
pub(super) fn capture(tools: Value) -> Capture {
    Capture {
        name: "sample".to_owned(),
        reached: Reached::Http { url: "https://api.example.com/mcp".to_owned() },
        captured_at: NOW.to_owned(),
        pages: vec![json!({"tools": tools})],
        ..Capture::default()
    }
}

pub(super) fn made_of(capture: &Capture) -> Result<Bundle, Error> {
    let overrides = Overrides::default();
    bundle(capture, &Options { prefix: "", strict: false, trust: Trust::Claimed, overrides: &overrides })
}

pub(super) fn bundled(tools: Value) -> Bundle {
    made_of(&capture(tools)).unwrap()
}

fn written(bundle: &Bundle) -> Value {
    serde_json::from_str(&bundle.to_json()).unwrap()
}

/// A document of the specification's, where it lies beside the project.
fn shared(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    if !path.exists() {
        eprintln!("skipped: ../shared is not there");
        return None;
    }
    Some(path)
}

pub(super) fn schema(name: &str) -> Option<jsonschema::Validator> {
    let text = std::fs::read_to_string(shared(&format!("spec-data/schemas/{name}.schema.json"))?).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    Some(jsonschema::options().should_validate_formats(true).build(&schema).unwrap())
}

pub(super) fn faults(schema: &jsonschema::Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The settings of an adapter file without its trust. The published schema names other levels than the specification's
/// own text, whose levels we write.
pub(super) fn without_trust(settings: &Value) -> Value {
    let mut settings = settings.clone();
    settings.as_object_mut().and_then(|settings| settings.remove("trust")).expect("a trust block");
    settings
}

/// Every captured server: its folder's name, its saved list, what was noted with it.
pub(super) fn captured() -> Vec<(String, String, Value)> {
    let Some(folder) = shared("eval/captures") else { return Vec::new() };
    let mut captured: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let list = std::fs::read_to_string(entry.path().join("raw-tools-list.json")).ok()?;
            let noted =
                std::fs::read_to_string(entry.path().join("capture-metadata.json")).unwrap_or_default();
            let noted = serde_json::from_str(&noted).unwrap_or_default();
            Some((entry.file_name().to_string_lossy().into_owned(), list, noted))
        })
        .collect();
    captured.sort_by(|one, other| one.0.cmp(&other.0));
    captured
}
