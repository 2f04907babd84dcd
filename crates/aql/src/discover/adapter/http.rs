//! Rules that only adapters of HTTP APIs have.

use super::{
    Param,
    fields::{Field, Reader},
};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// HTTPS, or HTTP to this machine; nothing behind the last part of the path.
pub(super) fn base_url(reader: &mut Reader, field: &Field<'_>, url: &str) {
    let local = |rest: &str| {
        let host = rest.split(['/', ':']).next().unwrap_or_default();
        matches!(host, "localhost" | "127.0.0.1") || rest.starts_with("[::1]")
    };
    let problem = match url.split_once("://") {
        Some(("https", rest)) if !rest.is_empty() => None,
        Some(("http", rest)) if local(rest) => None,
        Some(("http", _)) => Some("plain HTTP is only for localhost; write https://"),
        _ => Some("must be an address with https://"),
    };
    if let Some(problem) = problem {
        reader.note(field.line, &field.path, problem);
    }
    if url.ends_with('/') {
        reader.note(field.line, &field.path, "must not end with a slash");
    }
    if url.contains('@') || url.contains('?') {
        reader.note(field.line, &field.path, "must hold neither a user nor a query");
    }
}

/// `METHOD /path/{param}`, every placeholder a parameter.
pub(super) fn maps_to(reader: &mut Reader, line: usize, path: &str, maps_to: &str, params: &[Param]) {
    let route =
        maps_to.split_once(' ').filter(|(method, route)| METHODS.contains(method) && route.starts_with('/'));
    let Some((_, route)) = route else {
        let message = format!("'{maps_to}' is no mapping (PROTOCOL_INVALID_MAPPING)");
        let help = "write a method of GET, POST, PUT, PATCH, DELETE and a path, as in 'GET /items/{id}'";
        return reader.note_with(line, path, message, Some(help.to_owned()));
    };
    for placeholder in route.split('{').skip(1) {
        match placeholder.split_once('}') {
            Some((name, _)) if params.iter().any(|param| param.name == name) => {}
            Some((name, _)) => {
                reader.note(line, path, format!("'{{{name}}}' is no parameter of the operation"))
            }
            None => reader.note(line, path, "a placeholder is not closed with '}'"),
        }
    }
}
