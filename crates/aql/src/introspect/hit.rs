//! Operations as a search shows them: short, and with all that a call needs.

use std::fmt;

use serde_json::{Value, json};

use super::view::{self, Detail};
use crate::{listed::ListedTool, operation::Operation, param::Param, registry::Registry, shared};

/// Optional parameters in a signature, at the most: a search is for choosing, and details tell the rest.
const OPTIONAL_MAX: usize = 6;

/// A signature that is longer than this gets no further optional parameter.
const SIGNATURE_CHARS_MAX: usize = 130;

/// Words and characters of the line of text.
const LINE_WORDS_MAX: usize = 20;
const LINE_CHARS_MAX: usize = 120;

/// An operation as lists show it, its description beginning with a signature.
pub(super) fn info(registry: &Registry, operation: &Operation, detail: Detail) -> Value {
    let mut info = view::narrowed_info(registry, operation, detail);
    if let (Value::Object(info), true) = (&mut info, detail.description) {
        let text = format!("{} {}", of_operation(registry, operation), line(operation.description()));
        info.insert("description".to_owned(), json!(text.trim_end()));
    }
    info
}

/// The compact signature of an operation: its own parameters, without those that all of its kind have.
pub(crate) fn of_operation(registry: &Registry, operation: &Operation) -> String {
    let shown = |param: &'_ Param| Shown {
        name: param.name().to_owned(),
        required: param.is_required(),
        list: param.is_list(),
        // What an UPDATE changes is all in there, so its name alone would tell nothing.
        inside: match param.name() {
            shared::INPUT => fields(registry, param),
            _ => String::new(),
        },
    };
    signature(operation.name().as_str(), operation.own_params().iter().map(|param| shown(param)))
}

fn fields(registry: &Registry, param: &Param) -> String {
    let fields = param.record().and_then(|id| registry.types().fields(id)).unwrap_or_default();
    let mut names: Vec<&str> = fields.iter().take(OPTIONAL_MAX).map(|field| field.name()).collect();
    if fields.len() > OPTIONAL_MAX {
        names.push("…");
    }
    if names.is_empty() { String::new() } else { format!("{{{}}}", names.join(", ")) }
}

/// A tool of a saved list in the same words.
#[must_use]
pub fn of_tool(tool: &ListedTool) -> String {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let shown = properties.into_iter().flatten().map(|(name, schema)| Shown {
        name: name.clone(),
        required: required.is_some_and(|names| names.iter().any(|required| required == name)),
        list: schema.get("type").is_some_and(|kind| kind == "array"),
        inside: String::new(),
    });
    let text = format!("{} {}", signature(&tool.name, shown), line(&tool.description));
    text.trim_end().to_owned()
}

/// A parameter in a signature.
struct Shown {
    name: String,
    required: bool,
    list: bool,
    inside: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = if self.list { "[]" } else { "" };
        let required = if self.required { "!" } else { "" };
        write!(f, "{}{}{list}{required}", self.name, self.inside)
    }
}

/// `create_issue(owner!, repo!, title!, body, labels[])`: `!` must be given, `[]` is a list, `{}` has these fields, `…`
/// there are more.
fn signature(name: &str, params: impl Iterator<Item = Shown>) -> String {
    let (required, optional): (Vec<Shown>, Vec<Shown>) = params.partition(|param| param.required);
    let mut shown: Vec<String> = required.iter().map(Shown::to_string).collect();
    let mut chars = name.len() + shown.iter().map(|param| param.len() + 2).sum::<usize>();
    for (count, param) in optional.iter().map(Shown::to_string).enumerate() {
        chars += param.len() + 2;
        if count == OPTIONAL_MAX || chars > SIGNATURE_CHARS_MAX {
            shown.push("…".to_owned());
            break;
        }
        shown.push(param);
    }
    format!("{name}({})", shown.join(", "))
}

/// The first sentence of a text on one line, cut between words where it is long.
fn line(text: &str) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    let first = first.split_inclusive(". ").next().unwrap_or_default().trim();
    let mut line = String::new();
    for (count, word) in first.split_whitespace().enumerate() {
        if count == LINE_WORDS_MAX || count > 0 && line.len() + word.len() >= LINE_CHARS_MAX {
            return format!("{}…", line.trim_end_matches([',', ';', ':', '-', '(']).trim_end());
        }
        if count > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() <= LINE_CHARS_MAX {
        return line;
    }
    format!("{}…", line.chars().take(LINE_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{category::Category, define};

    fn shown(operation: define::Operation) -> String {
        let name = operation.name.clone();
        let registry = Registry::builder("test").operation(operation).build().unwrap();
        let (_, operation) = registry.visible_named(&name).unwrap();
        info(&registry, operation, Detail::USUAL)["description"].as_str().unwrap().to_owned()
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
