//! A call of an operation that nobody defined: what was probably meant, and through which tool it is called.

use super::{Endpoint, Registry};
use crate::{error::Error, operation::Operation, profile::Mode, suggest};

/// Operations that are told, at the most.
const CLOSE_MAX: usize = 5;

/// A name that is this much like another is that one, written differently.
const SAME: f64 = 0.95;

const LOOK_UP: &str = "Find operations with { operation: \"introspect\", params: { query: \"operations\", search: \"words\" } }.";

/// The operations that come closest to a name that none has.
struct Close<'a> {
    operations: Vec<&'a Operation>,
    /// Whether the first is what was meant, as far as can be told.
    meant: bool,
}

/// The error for a name that no operation has. What is suggested can be called at once: its tool and parameters are told.
pub(super) fn operation(registry: &Registry, endpoint: Endpoint, name: &str) -> Error {
    let error = Error::not_found_operation(name);
    let close = close(registry, name);
    let Some((best, others)) = close.operations.split_first() else { return error.hint(LOOK_UP) };
    let names: Vec<&str> = close.operations.iter().map(|operation| operation.name().as_str()).collect();
    let mut error = error.with("available", names);
    let call = |operation: &Operation| match registry.other_tool(endpoint, operation) {
        Some(tool) => format!("'{}' (through the tool '{tool}')", operation.name()),
        None => format!("'{}'", operation.name()),
    };
    let others: Vec<String> = others.iter().map(|operation| call(operation)).collect();
    if !close.meant {
        return error
            .hint(format!("The closest are {}. {LOOK_UP}", [vec![call(best)], others].concat().join(", ")));
    }
    if let Some(tool) = registry.other_tool(endpoint, best) {
        error = error.with("tool", tool);
    }
    let also = if others.is_empty() { String::new() } else { format!(" Also close: {}.", others.join(", ")) };
    error.with("signature", best.signature()).hint(format!("Did you mean {}?{also} {LOOK_UP}", call(best)))
}

/// By spelling first, with and without the server's name before it, then by meaning.
fn close<'a>(registry: &'a Registry, name: &str) -> Close<'a> {
    let bare = |operation: &'a Operation| {
        let name = operation.name().as_str();
        operation.server().and_then(|server| name.strip_prefix(server)?.strip_prefix('_'))
    };
    let forms = registry.visible().flat_map(|operation| {
        let forms = [Some(operation.name().as_str()), bare(operation)];
        forms.into_iter().flatten().map(move |form| (form, operation))
    });
    let mut spelled = suggest::closest(name, forms);
    let same = spelled.iter().filter(|(likeness, _)| *likeness >= SAME).count();
    if same > 0 {
        spelled.truncate(same);
    }
    let mut operations: Vec<&Operation> = spelled.into_iter().map(|(_, operation)| operation).collect();
    let mut meant = !operations.is_empty();
    if same == 0 {
        let (by_meaning, sure) = registry.introspection.near(registry, name);
        // Words say more than letters where they say it surely.
        match sure {
            true => operations.splice(0..0, by_meaning).for_each(drop),
            false => operations.extend(by_meaning),
        }
        meant |= sure;
    }
    let mut seen = Vec::new();
    operations.retain(|operation| {
        let new = !seen.contains(&operation.name());
        seen.push(operation.name());
        new
    });
    operations.truncate(CLOSE_MAX);
    Close { operations, meant }
}

/// What to say of a tool that is not listed. Some callers take an operation for one, or misspell one.
pub(super) fn tool(registry: &Registry, name: &str) -> String {
    let unknown = format!("Unknown tool: '{name}'");
    if registry.mode == Mode::Discrete {
        let bare = name.strip_prefix(registry.prefix.as_str()).unwrap_or(name);
        let close = close(registry, bare).operations;
        let tools: Vec<String> = close.iter().map(|op| format!("'{}'", registry.tool_name(op))).collect();
        return if tools.is_empty() {
            unknown
        } else {
            format!("{unknown}. The closest are {}", tools.join(", "))
        };
    }
    match registry.visible_named(name) {
        Some((_, operation)) => format!(
            "{unknown}. It is an operation: call the tool '{}' with {{ operation: \"{name}\", params: {{ … }} }}",
            registry.tool_name(operation)
        ),
        None => unknown,
    }
}
