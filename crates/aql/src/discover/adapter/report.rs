//! What an adapter was made of, for people.

use std::{collections::BTreeMap, fmt::Write};

use super::build::Built;
use crate::adopt::Severity;

/// Longer lists of the same warning are cut in the report; the sidecar has all of them.
const SHOWN_MAX: usize = 20;

pub(super) fn report(built: &Built) -> String {
    let (adapter, source) = (&built.adapter, &built.bundle.source);
    let mut text = format!(
        "# {}\n\nMade of `{}`, captured on {}: {} tools, {} operations.\n",
        adapter.name,
        code(&source.server_url),
        source.captured_at,
        built.bundle.raw_capture.tools.len(),
        adapter.operations.len(),
    );
    let unreviewed: Vec<_> = built.unreviewed().collect();
    if !unreviewed.is_empty() {
        let _ = write!(text, "\n## To look over ({})\n\n", unreviewed.len());
        for operation in unreviewed {
            let reasons: Vec<String> = operation.review_reasons.iter().map(|reason| plain(reason)).collect();
            let _ = writeln!(
                text,
                "- `{}`: {} and {}, confidence {}; {}",
                operation.operation_name,
                operation.endpoint,
                operation.danger_level,
                operation.endpoint_confidence.as_str(),
                reasons.join("; ")
            );
        }
    }
    decided(built, &mut text);
    let _ = write!(
        text,
        "\n## Operations\n\n| operation | endpoint | danger | confidence | tool |\n| --- | --- | --- | --- | --- |\n"
    );
    for made in &built.made {
        let (operation, source) = (&made.operation, built.source(made));
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | `{}` |",
            operation.name,
            operation.category,
            operation.danger.map_or("", |level| level.as_str()),
            source.map_or("", |source| source.endpoint_confidence.as_str()),
            code(source.map_or("", |source| &source.source_tool_name)),
        );
    }
    warned(built, &mut text);
    text
}

/// What a person decided otherwise than the rules suggested.
fn decided(built: &Built, text: &mut String) {
    let mut lines = Vec::new();
    for made in &built.made {
        let (Some(source), operation) = (built.source(made), &made.operation) else { continue };
        let mut said = Vec::new();
        let mut differs = |field: &str, was: &str, is: &str| {
            if was != is {
                said.push(format!("{field} {was} → {is}"));
            }
        };
        differs("name", &source.operation_name, &operation.name);
        differs("endpoint", source.endpoint.as_str(), operation.category.as_str());
        differs("danger", source.danger_level.as_str(), operation.danger.map_or("", |level| level.as_str()));
        if made.given.description.is_some() {
            said.push("description".to_owned());
        }
        for (name, param) in &made.given.params {
            match &param.name {
                _ if param.omit => said.push(format!("without {name}")),
                Some(renamed) => said.push(format!("{name} → {renamed}")),
                None => said.push(format!("description of {name}")),
            }
        }
        if !said.is_empty() {
            lines.push(format!("- `{}`: {}", operation.name, said.join(", ")));
        }
    }
    for (name, why) in &built.omitted {
        lines.push(format!("- `{name}` is left out ({why})"));
    }
    if !lines.is_empty() {
        let _ = write!(text, "\n## Decided by hand, or left out\n\n{}\n", lines.join("\n"));
    }
}

fn warned(built: &Built, text: &mut String) {
    let mut by_code: BTreeMap<(std::cmp::Reverse<Severity>, &str), Vec<String>> = BTreeMap::new();
    for warning in &built.warnings {
        let tool = warning.tool.as_deref().map(|tool| format!("`{}`: ", code(tool))).unwrap_or_default();
        let field = warning.field.as_deref().map(|field| format!("`{}`: ", code(field))).unwrap_or_default();
        let key = (std::cmp::Reverse(warning.severity), warning.code.as_str());
        by_code.entry(key).or_default().push(format!("- {tool}{field}{}", plain(&warning.message)));
    }
    if !by_code.is_empty() {
        text.push_str("\n## Warnings\n");
    }
    for ((severity, code), lines) in by_code {
        let severity = match severity.0 {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let _ = write!(text, "\n### {code} ({severity}, {})\n\n", lines.len());
        let shown: Vec<&str> = lines.iter().take(SHOWN_MAX).map(String::as_str).collect();
        let _ = writeln!(text, "{}", shown.join("\n"));
        if lines.len() > SHOWN_MAX {
            let _ = writeln!(
                text,
                "- and {} more in `{}.provenance.json`",
                lines.len() - SHOWN_MAX,
                built.adapter.name
            );
        }
    }
}

/// A server's words as Markdown that shows nothing but words.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '[' | ']' | '`' | '*' | '_' | '|' | '\\' | '#' => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// The same inside backticks.
fn code(text: &str) -> String {
    text.chars()
        .map(|letter| if letter == '`' || letter == '|' || letter.is_control() { '\'' } else { letter })
        .collect()
}
