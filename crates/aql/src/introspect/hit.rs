//! Operations as a search shows them: short, and with all that a call needs.

use serde_json::{Value, json};

use super::view::{self, Detail};
use crate::{listed::ListedTool, operation::Operation, param::Param, registry::Registry};

/// Optional parameters in a signature, at the most: a search is for choosing, and details tell the rest.
const OPTIONAL_MAX: usize = 6;

/// Characters of the line of text.
const LINE_CHARS_MAX: usize = 120;

/// An operation as lists show it, its description beginning with a signature.
pub(super) fn info(registry: &Registry, operation: &Operation, detail: Detail) -> Value {
    let mut info = view::narrowed_info(registry, operation, detail);
    if let (Value::Object(info), true) = (&mut info, detail.description) {
        let text = format!(
            "{} {}",
            signature(operation.name().as_str(), own_params(operation)),
            line(operation.description())
        );
        info.insert("description".to_owned(), json!(text.trim_end()));
    }
    info
}

/// A tool of a saved list in the same words.
#[must_use]
pub fn of_tool(tool: &ListedTool) -> String {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let shown = properties.into_iter().flatten().map(|(name, schema)| Shown {
        name,
        required: required.is_some_and(|names| names.iter().any(|required| required == name)),
        list: schema.get("type").is_some_and(|kind| kind == "array"),
    });
    let text = format!("{} {}", signature(&tool.name, shown), line(&tool.description));
    text.trim_end().to_owned()
}

/// A parameter in a signature.
struct Shown<'a> {
    name: &'a str,
    required: bool,
    list: bool,
}

/// The parameters of an operation, without those that every list can be asked for.
fn own_params(operation: &Operation) -> impl Iterator<Item = Shown<'_>> {
    let own = |param: &&Param| param.is_required() || !operation.is_control(param.name());
    let shown =
        |param| Shown { name: Param::name(param), required: param.is_required(), list: param.is_list() };
    operation.params().iter().filter(own).map(shown)
}

/// `create_issue(owner!, repo!, title!, body, labels[])`: `!` must be given, `[]` is a list, `…` there are more.
fn signature<'a>(name: &str, params: impl Iterator<Item = Shown<'a>>) -> String {
    let (required, optional): (Vec<Shown<'_>>, Vec<Shown<'_>>) = params.partition(|param| param.required);
    let more = optional.len() > OPTIONAL_MAX;
    let written = |param: Shown<'_>| {
        let list = if param.list { "[]" } else { "" };
        let required = if param.required { "!" } else { "" };
        format!("{}{list}{required}", param.name)
    };
    let mut params: Vec<String> =
        required.into_iter().chain(optional.into_iter().take(OPTIONAL_MAX)).map(written).collect();
    if more {
        params.push("…".to_owned());
    }
    format!("{name}({})", params.join(", "))
}

/// The first sentence of a text on one line, cut between words where it is long.
fn line(text: &str) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    let first = first.split_inclusive(". ").next().unwrap_or_default().trim();
    if first.chars().count() <= LINE_CHARS_MAX {
        return first.to_owned();
    }
    let cut: String = first.chars().take(LINE_CHARS_MAX).collect();
    let end = cut.rfind(char::is_whitespace).unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{category::Category, define};

    fn shown(operation: define::Operation) -> String {
        let name = operation.name.clone();
        let registry = Registry::builder("test").operation(operation).build().unwrap();
        let (_, operation) = registry.visible_named(&name).unwrap();
        info(&registry, operation, Detail::FULL)["description"].as_str().unwrap().to_owned()
    }

    fn issue() -> define::Operation {
        define::Operation::new(Category::Create, "github_create_issue", "Create an issue. It is open.\nMore.")
            .param(define::Param::new("body", "string", "Text"))
            .param(define::Param::new("owner", "string", "Owner").required())
            .param(define::Param::new("labels", "array", "Labels"))
            .param(define::Param::new("lines", "array", "Lines").required())
    }

    #[test]
    fn a_hit_tells_how_to_call_it_and_what_it_does() {
        assert_eq!(shown(issue()), "github_create_issue(owner!, lines[]!, body, labels[]) Create an issue.");
        let bare = define::Operation::new(Category::Read, "get_x", "Get x");
        assert_eq!(shown(bare), "get_x() Get x");
    }

    #[test]
    fn a_saved_tool_is_shown_like_an_operation() {
        let tool = json!({"name": "pick", "description": "Pick some.\nOf many.", "inputSchema": {
            "properties": {"of": {"type": "array"}, "count": {"type": "integer"}, "odd": true}, "required": ["of"]}});
        let tool: ListedTool = serde_json::from_value(tool).unwrap();
        assert_eq!(of_tool(&tool), "pick(of[]!, count, odd) Pick some.");
        let bare =
            serde_json::from_value(json!({"name": "x", "inputSchema": {"properties": 1, "required": 2}}));
        assert_eq!(of_tool(&bare.unwrap()), "x()");
    }

    #[test]
    fn long_hits_are_cut() {
        let mut operation = define::Operation::new(Category::Read, "get_x", &"word ".repeat(100));
        for n in 0..20 {
            operation = operation.param(define::Param::new(&format!("p{n:02}"), "string", "One"));
        }
        let shown = shown(operation);
        assert!(shown.starts_with("get_x(p00, p01, p02, p03, p04, p05, …) word word"), "{shown}");
        assert!(shown.ends_with("word…") && shown.chars().count() < 200, "{shown}");
    }

    #[test]
    fn one_line_is_the_first_sentence() {
        for (text, expected) in [
            ("", ""),
            ("One", "One"),
            ("\n One. Two.", "One."),
            ("One\ntwo", "One"),
            ("See v1.2 of it", "See v1.2 of it"),
            (&"é".repeat(200), &format!("{}…", "é".repeat(120))),
        ] {
            assert_eq!(line(text), expected);
        }
    }
}
