//! A session or a trace as a tree.

use std::{
    collections::{HashMap, HashSet},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use gateway::{
    operator::shown,
    store::{
        TraceStore,
        traces::{HappeningRow, Piece, SpanFull, SpanRow},
    },
    trace::TraceId,
};
use serde_json::{Map, Value, json};

use super::{duration, short, time, trouble};
use crate::report::{self, Failure};

#[derive(clap::Args)]
pub(super) struct Show {
    /// The id of a session, as 'aqueduct trace ls' shows it, or of a trace
    id: String,
    /// Show attributes and events too
    #[arg(long)]
    full: bool,
    /// Print one JSON object a line, with everything that is known of each span
    #[arg(long)]
    json: bool,
}

/// Deeper than this nothing is moved further to the right.
const INDENT_MAX: usize = 30;

impl Show {
    pub(super) async fn run(&self, store: &TraceStore) -> Result<ExitCode, Failure> {
        let session = store.session(&self.id).await.map_err(|error| trouble(&error))?;
        let traces: Vec<TraceId> = match (&session, self.id.parse::<TraceId>()) {
            (Some((_, spans)), _) => {
                let mut seen = HashSet::new();
                let traces = spans.iter().filter(|span| seen.insert(span.trace_id.clone()));
                traces.filter_map(|span| span.trace_id.parse().ok()).collect()
            }
            (None, Ok(trace)) => vec![trace],
            (None, Err(_)) => Vec::new(),
        };
        let mut spans = Vec::new();
        for trace in traces {
            spans.extend(all(store, trace).await?);
        }
        if spans.is_empty() {
            let help = "'aqueduct trace ls' lists the sessions; what is too old was removed";
            return Err(Failure::usage("there is no session and no trace of that id", help));
        }
        if self.json {
            let lines: Vec<_> = spans.iter().map(|span| shown::json(&json!(span).to_string())).collect();
            report::print(&lines.join("\n"));
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = Vec::new();
        if let Some((session, _)) = &session {
            let (title, status, engine) = (short(&session.title), session.status, session.engine);
            let took = duration(session.duration_us);
            lines.push(format!("{title}  {status}  {engine}  {}  {took}", time(session.started_us)));
        }
        for (depth, span) in tree(&spans) {
            lines.push(self.line(depth, &span.row));
            if self.full {
                lines.extend(details(depth, &span.attributes, &span.events));
            }
        }
        report::print(&lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }

    fn line(&self, depth: usize, row: &SpanRow) -> String {
        let mut words = vec![
            format!("{}{}", indent(depth), short(&row.name)),
            row.status.to_owned(),
            duration(row.duration_us),
        ];
        if row.waited_us > 0 {
            words.push(format!("waited {}", duration(Some(row.waited_us))));
        }
        words.extend(row.peer.as_deref().map(|peer| format!("→ {}", short(peer))));
        words.extend(row.error.as_deref().map(|error| format!("error {}", short(error))));
        words.push(row.span_id.clone());
        words.join("  ")
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth.min(INDENT_MAX))
}

fn details(depth: usize, attributes: &Map<String, Value>, events: &[HappeningRow]) -> Vec<String> {
    let indent = format!("{}    ", indent(depth));
    let mut lines: Vec<String> = shown_attributes(&indent, attributes).collect();
    for event in events {
        lines.push(format!("{indent}* {} {}", time(event.at_us), short(&event.name)));
        lines.extend(shown_attributes(&format!("{indent}    "), &event.attributes));
    }
    lines
}

fn shown_attributes<'a>(
    indent: &'a str,
    attributes: &'a Map<String, Value>,
) -> impl Iterator<Item = String> + 'a {
    attributes.iter().map(move |(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{indent}{} = {}", short(name), shown::line(&value, 400))
    })
}

async fn all(store: &TraceStore, trace: TraceId) -> Result<Vec<SpanFull>, Failure> {
    let spans: Arc<Mutex<Vec<SpanFull>>> = Arc::default();
    let taken = Arc::clone(&spans);
    let read = store.trace(trace, true, move |piece| {
        if let Piece::Full(span) = piece {
            taken.lock().unwrap_or_else(PoisonError::into_inner).push(*span);
        }
        true
    });
    read.await.map_err(|error| trouble(&error))?;
    let spans = std::mem::take(&mut *spans.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(spans)
}

/// Spans below their parents, with how deep they are. One whose parent is not here stands at the top, and one that is its own
/// ancestor does too.
fn tree(spans: &[SpanFull]) -> Vec<(usize, &SpanFull)> {
    let key = |span: &SpanFull| (span.row.trace_id.clone(), span.row.span_id.clone());
    let known: HashSet<_> = spans.iter().map(key).collect();
    let mut children: HashMap<_, Vec<&SpanFull>> = HashMap::new();
    let mut waiting = Vec::new();
    for span in spans {
        let parent = span.row.parent_id.clone().map(|parent| (span.row.trace_id.clone(), parent));
        match parent.filter(|parent| known.contains(parent)) {
            Some(parent) => children.entry(parent).or_default().push(span),
            None => waiting.push((0, span)),
        }
    }
    waiting.reverse();
    let mut shown = Vec::new();
    let mut seen = HashSet::new();
    let mut rest = spans.iter();
    loop {
        while let Some((depth, span)) = waiting.pop() {
            if seen.insert(key(span)) {
                shown.push((depth, span));
                let below = children.get(&key(span)).into_iter().flatten().rev();
                waiting.extend(below.map(|child| (depth + 1, *child)));
            }
        }
        // Whoever is left goes round in a circle.
        match rest.find(|span| !seen.contains(&key(span))) {
            Some(span) => waiting.push((0, span)),
            None => return shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_shown_with_its_attributes() {
        let given = |value: Value| value.as_object().cloned().unwrap();
        let attributes = given(json!({"tries": 2, "why": "a\u{1b}[31m\nb"}));
        let retry = HappeningRow { name: "retry".to_owned(), at_us: 1_000_000, attributes };
        let lines = details(1, &given(json!({"method": "ping"})), &[retry]);
        assert_eq!(lines[0], "      method = ping");
        assert_eq!(lines[1], "      * 1970-01-01 00:00:01 retry");
        assert_eq!(lines[2], "          tries = 2");
        assert!(
            lines[3].starts_with("          why = a") && !lines[3].contains(['\u{1b}', '\n']),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 4);
    }
}
