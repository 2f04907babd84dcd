//! What a server asks a person for: a question, and the form that its schema describes.
//!
//! The protocol allows plain values and choices only, on one level. A schema that asks for more, or for too much, makes no
//! form: the question is shown, and can be declined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::shown::line;

/// What a form may ask for, at the most.
const FIELDS_MAX: usize = 64;
const OPTIONS_MAX: usize = 256;
const MESSAGE_CHARS_MAX: usize = 4000;
const TITLE_CHARS_MAX: usize = 500;
/// The longest name or choice, in bytes. They go back as they are, so that none is cut.
const WORD_BYTES_MAX: usize = 500;
/// The longest value, in characters.
const VALUE_CHARS_MAX: usize = 16 * 1024;

/// A question of a server, as a person sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub mode: Mode,
    pub message: String,
    /// Where the server wants to send the person. It is shown and never opened by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// Why there is no form, so that the question can only be declined here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_form: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Form,
    Url,
}

impl Mode {
    /// Of the parameters of a question. What names no mode is a form.
    #[must_use]
    pub fn of(params: Option<&Value>) -> Self {
        let mode = params.and_then(|params| params.get("mode")).and_then(Value::as_str);
        if mode.is_none_or(|mode| mode == "form") { Self::Form } else { Self::Url }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Form {
    pub fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub required: bool,
    /// What the server would fill in. It is no answer until a person has agreed to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(flatten)]
    pub kind: Kind,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Kind {
    Text {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u64>,
    },
    Number {
        /// Whether it has to be a whole one.
        whole: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<f64>,
    },
    Boolean,
    /// One of these.
    Choice {
        options: Vec<Choice>,
    },
    /// Any of these.
    Choices {
        options: Vec<Choice>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_items: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_items: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// The text with its own lines, and nothing in them that steers or hides.
fn lines(text: &str, most: usize) -> String {
    let shown: Vec<String> = text.split('\n').take(100).map(|part| line(part, most)).collect();
    line_limited(shown.join("\n"), most)
}

fn line_limited(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

impl Question {
    /// Reads the parameters of `elicitation/create`, whatever they are.
    #[must_use]
    pub fn read(params: Option<&Value>) -> Self {
        let text = |name: &str| params.and_then(|params| params.get(name)).and_then(Value::as_str);
        let message = lines(text("message").unwrap_or_default(), MESSAGE_CHARS_MAX);
        let mode = Mode::of(params);
        if mode == Mode::Url {
            let url = text("url").map(|url| line(url, MESSAGE_CHARS_MAX));
            let why = "the server wants you to open an address; only its own client can do that".to_owned();
            return Self { mode, message, url, form: None, no_form: Some(why) };
        }
        let read = match params.and_then(|params| params.get("requestedSchema")) {
            Some(Value::Object(schema)) => Form::read(schema),
            _ => Err("the server describes no form".to_owned()),
        };
        let (form, no_form) = match read {
            Ok(form) => (Some(form), None),
            Err(why) => (None, Some(why)),
        };
        Self { mode, message, url: None, form, no_form }
    }
}

impl Form {
    /// Reads the schema, or says why it makes no form.
    pub fn read(schema: &Map<String, Value>) -> Result<Self, String> {
        let empty = Map::new();
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties,
            Some(_) => return Err("the form's fields cannot be read".to_owned()),
            None => &empty,
        };
        if properties.len() > FIELDS_MAX {
            return Err(format!("the form has {} fields, and {FIELDS_MAX} can be shown", properties.len()));
        }
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if let Some(missing) = required.iter().find(|name| !properties.contains_key(**name)) {
            return Err(format!("the form requires '{}' and does not describe it", line(missing, 80)));
        }
        let read = |(name, property): (&String, &Value)| {
            let Value::Object(property) = property else {
                return Err(format!("the field '{}' cannot be read", line(name, 80)));
            };
            Field::read(name, property, required.contains(&name.as_str()))
        };
        let mut fields: Vec<Field> = properties.iter().map(read).collect::<Result<_, _>>()?;
        // Their own order is lost with the object's; what has to be filled in comes first.
        fields.sort_by_key(|field| !field.required);
        Ok(Self { fields })
    }

    /// Checks what a person has filled in, and says everything that is wrong with it.
    pub fn check(&self, content: &Map<String, Value>) -> Result<(), String> {
        let mut wrong = Vec::new();
        for name in content.keys().filter(|name| self.fields.iter().all(|field| field.name != **name)) {
            wrong.push(format!("'{}' is no field of this form", line(name, 80)));
        }
        for field in &self.fields {
            let told = match content.get(&field.name) {
                None if field.required => Err("is required".to_owned()),
                None => Ok(()),
                Some(value) => field.kind.check(value),
            };
            if let Err(why) = told {
                wrong.push(format!("'{}' {why}", line(&field.name, 80)));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

impl Field {
    fn read(name: &str, property: &Map<String, Value>, required: bool) -> Result<Self, String> {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let shown = |key: &str| text(key).map(|text| line(text, TITLE_CHARS_MAX));
        let told = |why: &str| format!("the field '{}' {why}", line(name, 80));
        if name.len() > WORD_BYTES_MAX {
            return Err(told("has too long a name"));
        }
        let kind = Kind::read(property).map_err(|why| told(&why))?;
        // One that does not fit its own field would only stand in the way.
        let default = property.get("default").filter(|default| kind.check(default).is_ok()).cloned();
        let (title, description) = (shown("title"), shown("description"));
        Ok(Self { name: name.to_owned(), title, description, required, default, kind })
    }
}

impl Kind {
    fn read(property: &Map<String, Value>) -> Result<Self, String> {
        let whole = |key: &str| property.get(key).and_then(Value::as_u64);
        let number = |key: &str| property.get(key).and_then(Value::as_f64);
        let kind = property.get("type").and_then(Value::as_str);
        Ok(match kind {
            Some("string") => match options(property)? {
                Some(options) => Self::Choice { options },
                None => Self::Text {
                    format: Format::read(property.get("format").and_then(Value::as_str)),
                    min_length: whole("minLength"),
                    max_length: whole("maxLength"),
                },
            },
            Some("integer" | "number") => Self::Number {
                whole: kind == Some("integer"),
                minimum: number("minimum"),
                maximum: number("maximum"),
            },
            Some("boolean") => Self::Boolean,
            Some("array") => {
                let items = property.get("items").and_then(Value::as_object);
                let options = items.map(options).transpose()?.flatten();
                let options = options.ok_or("takes a list of anything, which no form can")?;
                Self::Choices { options, min_items: whole("minItems"), max_items: whole("maxItems") }
            }
            // Without a type there may still be choices.
            None => match options(property)? {
                Some(options) => Self::Choice { options },
                None => return Err("has no type".to_owned()),
            },
            Some(other) => return Err(format!("is of type '{}', which no form can show", line(other, 40))),
        })
    }

    /// Whether a value is one that the field takes.
    fn check(&self, value: &Value) -> Result<(), String> {
        match self {
            Self::Text { format, min_length, max_length } => {
                let Value::String(text) = value else { return Err("must be a text".to_owned()) };
                let length = text.chars().count();
                let most = max_length.map_or(VALUE_CHARS_MAX, |most| {
                    usize::try_from(most).unwrap_or(VALUE_CHARS_MAX).min(VALUE_CHARS_MAX)
                });
                if length > most {
                    return Err(format!("must not be longer than {most} characters"));
                }
                match min_length {
                    Some(least) if (length as u64) < *least => {
                        Err(format!("must have {least} characters or more"))
                    }
                    _ => format.map_or(Ok(()), |format| format.check(text)),
                }
            }
            Self::Number { whole, minimum, maximum } => {
                let number = value.as_f64().ok_or("must be a number")?;
                if *whole && number.fract() != 0.0 {
                    return Err("must be a whole number".to_owned());
                }
                match (minimum, maximum) {
                    (Some(least), _) if number < *least => Err(format!("must be {least} or more")),
                    (_, Some(most)) if number > *most => Err(format!("must be {most} or less")),
                    _ => Ok(()),
                }
            }
            Self::Boolean if value.is_boolean() => Ok(()),
            Self::Boolean => Err("must be true or false".to_owned()),
            Self::Choice { options } => chosen(options, value),
            Self::Choices { options, min_items, max_items } => {
                let Value::Array(values) = value else { return Err("must be a list".to_owned()) };
                values.iter().try_for_each(|value| chosen(options, value))?;
                let again = values
                    .iter()
                    .enumerate()
                    .any(|(index, value)| values.iter().take(index).any(|before| before == value));
                let count = values.len() as u64;
                match (min_items, max_items) {
                    _ if again => Err("has a choice twice".to_owned()),
                    (Some(least), _) if count < *least => Err(format!("must have {least} choices or more")),
                    (_, Some(most)) if count > *most => Err(format!("must have {most} choices or fewer")),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn chosen(options: &[Choice], value: &Value) -> Result<(), String> {
    match options.iter().any(|option| value == option.value.as_str()) {
        true => Ok(()),
        false => Err("must be one of the choices".to_owned()),
    }
}

/// The choices of a field, in any of the ways to write them.
fn options(property: &Map<String, Value>) -> Result<Option<Vec<Choice>>, String> {
    let list = |key: &str| property.get(key).and_then(Value::as_array);
    let title =
        |value: Option<&Value>| value.and_then(Value::as_str).map(|title| line(title, TITLE_CHARS_MAX));
    let options: Option<Vec<Choice>> = if let Some(values) = list("enum") {
        let names = list("enumNames");
        let option = |(index, value): (usize, &Value)| {
            let title = title(names.and_then(|names| names.get(index)));
            Some(Choice { value: value.as_str()?.to_owned(), title })
        };
        values.iter().take(OPTIONS_MAX + 1).enumerate().map(option).collect()
    } else if let Some(written) = list("oneOf").or_else(|| list("anyOf")) {
        let option = |option: &Value| {
            let value = option.get("const")?.as_str()?.to_owned();
            Some(Choice { value, title: title(option.get("title")) })
        };
        written.iter().take(OPTIONS_MAX + 1).map(option).collect()
    } else {
        return Ok(None);
    };
    let options = options.ok_or("has choices that are no texts")?;
    if options.is_empty() || options.len() > OPTIONS_MAX {
        return Err(format!("must have between 1 and {OPTIONS_MAX} choices"));
    }
    if options.iter().any(|option| option.value.len() > WORD_BYTES_MAX) {
        return Err("has too long a choice".to_owned());
    }
    Ok(Some(options))
}

impl Format {
    fn read(name: Option<&str>) -> Option<Self> {
        Some(match name? {
            "email" => Self::Email,
            "uri" => Self::Uri,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            _ => return None,
        })
    }

    fn check(self, text: &str) -> Result<(), String> {
        let fits = match self {
            Self::Email => {
                let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
                plain
                    && text.rsplit_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
            }
            Self::Uri => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()),
            Self::Date => text.parse::<jiff::civil::Date>().is_ok() && text.len() == "2026-01-31".len(),
            Self::DateTime => text.parse::<jiff::Timestamp>().is_ok(),
        };
        let wanted = match self {
            Self::Email => "must be an e-mail address",
            Self::Uri => "must be a URI with its scheme, as in 'https://example.com/'",
            Self::Date => "must be a date, as in '2026-01-31'",
            Self::DateTime => "must be a time with its zone, as in '2026-01-31T12:00:00Z'",
        };
        if fits { Ok(()) } else { Err(wanted.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(properties: Value, required: Value) -> Result<Form, String> {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Form::read(schema.as_object().unwrap())
    }

    fn everything() -> Form {
        let properties = json!({
            "name": {"type": "string", "title": "Your\u{202e} name", "minLength": 2, "maxLength": 5, "default": "Ada"},
            "mail": {"type": "string", "format": "email"},
            "home": {"type": "string", "format": "uri"},
            "day": {"type": "string", "format": "date"},
            "when": {"type": "string", "format": "date-time"},
            "age": {"type": "integer", "minimum": 1, "maximum": 150, "default": 0},
            "share": {"type": "number", "minimum": 0.5},
            "sure": {"type": "boolean", "default": true},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mo", "tu", "we"]}, "minItems": 1, "maxItems": 2},
            "more": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        });
        form(properties, json!(["name"])).unwrap()
    }

    #[test]
    fn every_kind_of_field_is_read_and_shown_without_what_steers() {
        let form = everything();
        let field = |name: &str| form.fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(field("name").title.as_deref(), Some("Your<U+202E> name"));
        assert!(field("name").required && !field("mail").required);
        assert_eq!(field("name").default, Some(json!("Ada")));
        assert_eq!(field("age").default, None, "a default that does not fit is none");
        assert_eq!(json!(field("colour"))["options"][1], json!({"value": "g", "title": "Green"}));
        assert_eq!(json!(field("size"))["type"], "choice");
        assert_eq!(json!(field("more"))["options"][0]["title"], "A");
        let again: Form = serde_json::from_value(json!(form)).unwrap();
        assert_eq!(again, form);
    }

    #[test]
    fn values_are_taken_as_the_schema_says_and_not_otherwise() {
        let form = everything();
        for (name, good, bad) in [
            ("name", json!("Ada"), vec![json!("A"), json!("Augusta"), json!(3), json!(null)]),
            ("mail", json!("a@b.c"), vec![json!("a"), json!("@b"), json!("a b@c"), json!("a@b\u{0}")]),
            ("home", json!("https://a.b/c"), vec![json!("a.b"), json!("not a uri")]),
            (
                "day",
                json!("2026-02-28"),
                vec![json!("2026-02-30"), json!("tomorrow"), json!("2026-02-28T00:00:00Z")],
            ),
            ("when", json!("2026-02-28T10:00:00Z"), vec![json!("2026-02-28"), json!("10:00")]),
            ("age", json!(7), vec![json!(0), json!(151), json!(1.5), json!("7"), json!(true)]),
            ("share", json!(0.5), vec![json!(0.4), json!([])]),
            ("sure", json!(false), vec![json!("false"), json!(0)]),
            ("colour", json!("r"), vec![json!("Red"), json!(""), json!(["r"])]),
            ("size", json!("l"), vec![json!("m"), json!({})]),
            (
                "days",
                json!(["mo", "we"]),
                vec![json!([]), json!(["mo", "mo"]), json!(["mo", "tu", "we"]), json!(["su"]), json!("mo")],
            ),
        ] {
            let filled = |value: &Value| {
                let mut content = json!({"name": "Ada"});
                content[name] = value.clone();
                form.check(content.as_object().unwrap())
            };
            assert_eq!(filled(&good), Ok(()), "{name}");
            for bad in bad {
                let why = filled(&bad).unwrap_err();
                assert!(why.starts_with(&format!("'{name}' ")), "{name} = {bad}: {why}");
            }
        }
        let empty = form.check(&Map::new()).unwrap_err();
        assert_eq!(empty, "'name' is required");
        let odd = form.check(json!({"name": "Ada", "admin": true}).as_object().unwrap()).unwrap_err();
        assert_eq!(odd, "'admin' is no field of this form");
    }

    #[test]
    fn what_is_no_form_or_too_much_of_one_says_why() {
        let many: Map<String, Value> =
            (0..1000).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
        let choices: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
        for (properties, required, why) in [
            (json!({"a": {"type": "object", "properties": {}}}), json!([]), "of type 'object'"),
            (json!({"a": {"type": "array", "items": {"type": "string"}}}), json!([]), "list of anything"),
            (json!({"a": {"type": "array"}}), json!([]), "list of anything"),
            (json!({"a": {"$ref": "#"}}), json!([]), "has no type"),
            (json!({"a": true}), json!([]), "cannot be read"),
            (json!([]), json!([]), "cannot be read"),
            (json!({"a": {"type": "string", "enum": [1]}}), json!([]), "no texts"),
            (json!({"a": {"type": "string", "enum": []}}), json!([]), "between 1 and"),
            (json!({"a": {"type": "string", "enum": choices}}), json!([]), "between 1 and"),
            (json!({"a": {"type": "string", "enum": ["x".repeat(501)]}}), json!([]), "too long a choice"),
            (json!({"x".repeat(501): {"type": "string"}}), json!([]), "too long a name"),
            (json!({"a": {"type": "string"}}), json!(["b"]), "does not describe"),
            (Value::Object(many), json!([]), "1000 fields"),
        ] {
            let told = form(properties, required).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn a_question_of_any_shape_is_shown_and_nothing_of_it_is_endless() {
        for params in [None, Some(json!(5)), Some(json!({"message": 3, "requestedSchema": []}))] {
            let question = Question::read(params.as_ref());
            assert!(question.form.is_none() && question.no_form.is_some(), "{question:?}");
        }
        let long = Question::read(Some(&json!({"message": "x\n".repeat(100_000)})));
        assert!(long.message.chars().count() <= MESSAGE_CHARS_MAX + 1);
        let address = json!({"mode": "url", "message": "go\u{200b}", "url": "javascript:alert(1)\u{202e}", "elicitationId": "1"});
        let question = Question::read(Some(&address));
        assert_eq!((question.mode, question.message.as_str()), (Mode::Url, "go<U+200B>"));
        assert_eq!(question.url.as_deref(), Some("javascript:alert(1)<U+202E>"));
        assert!(question.form.is_none());
    }
}
