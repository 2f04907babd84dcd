//! Values made from what introspection says of a parameter: ones that fit it, and ones that do not.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    catalog::{Parameter, Type},
    pattern::Pattern,
};

/// Longer texts are not sent to find out whether a limit holds.
const TEXT_CHARACTERS_MAX: usize = 100_000;

/// Types within types are followed this far.
const DEPTH_MAX: usize = 4;

/// Makes values; no two texts of one run are the same if their constraints allow it.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    run: u32,
    made: u32,
}

/// A value that breaks one documented constraint.
pub(crate) struct Violation {
    /// Which constraint, as in `maximum`.
    pub(crate) kind: &'static str,
    pub(crate) value: Value,
    /// What a useful message names besides the parameter.
    pub(crate) mention: Vec<String>,
}

impl Sampler {
    pub(crate) fn new(run: u32) -> Self {
        Self { run, made: 0 }
    }

    /// A word of letters alone, which most patterns allow.
    pub(crate) fn word(&mut self) -> String {
        self.made += 1;
        format!("probe{}x{}", letters(self.run), letters(self.made))
    }

    /// A value that fits, or nothing if the constraints are beyond understanding.
    pub(crate) fn value(&mut self, parameter: &Parameter, types: &BTreeMap<String, Type>) -> Option<Value> {
        self.fitting(parameter, types, 0)
    }

    fn fitting(
        &mut self,
        parameter: &Parameter,
        types: &BTreeMap<String, Type>,
        depth: usize,
    ) -> Option<Value> {
        if let Some(allowed) = &parameter.allowed {
            return allowed.first().cloned();
        }
        let kind = parameter.kind.split('|').next().unwrap_or_default().trim();
        if let Some(inner) = kind.strip_suffix("[]") {
            let item = Parameter { kind: inner.to_owned(), ..Parameter::default() };
            return Some(Value::from(vec![self.fitting(&item, types, depth + 1)?]));
        }
        match kind {
            "string" => self.text(parameter).map(Value::from),
            "integer" => number(parameter).map(|number| json!(number.ceil() as i64)),
            "number" => number(parameter).map(Value::from),
            "boolean" => Some(Value::from(true)),
            "array" => match &parameter.items {
                Some(item) => Some(Value::from(vec![self.fitting(item, types, depth + 1)?])),
                None => Some(Value::from(vec![self.word()])),
            },
            "object" => Some(json!({"note": self.word()})),
            named => {
                let kind = types.get(named).filter(|_| depth < DEPTH_MAX)?;
                if let Some(value) = kind.values.first() {
                    return Some(value.clone());
                }
                let mut object = Map::new();
                for field in kind.fields.iter().filter(|field| field.required) {
                    object.insert(field.name.clone(), self.fitting(field, types, depth + 1)?);
                }
                Some(Value::Object(object))
            }
        }
    }

    fn text(&mut self, parameter: &Parameter) -> Option<String> {
        let word = self.word();
        let longest = parameter.max_length.unwrap_or(usize::MAX);
        if let Some(pattern) = &parameter.pattern {
            return Pattern::parse(pattern)?.sample(&word, longest);
        }
        match parameter.format.as_deref() {
            None => {}
            Some("date-time") => return Some("2026-01-02T03:04:05Z".to_owned()),
            Some("date") => return Some("2026-01-02".to_owned()),
            Some("email") => return Some(format!("{word}@example.org")),
            Some("uri" | "url") => return Some(format!("https://example.org/{word}")),
            Some("uuid") => return Some(format!("00000000-0000-4000-8000-{:012}", self.made)),
            Some(_) => return None,
        }
        let shortest = parameter.min_length.unwrap_or(0).min(TEXT_CHARACTERS_MAX);
        // What tells words apart is their end, which a short text keeps this way.
        let mut text: String = word.chars().rev().take(longest).collect();
        while text.len() < shortest {
            text.push('x');
        }
        Some(text)
    }

    /// Another value that fits, to change the current one into.
    pub(crate) fn other(
        &mut self,
        parameter: &Parameter,
        types: &BTreeMap<String, Type>,
        current: &Value,
    ) -> Option<Value> {
        let mut values = parameter.allowed.clone().unwrap_or_default();
        if values.is_empty() {
            values.extend(self.value(parameter, types));
            values.extend(
                parameter.maximum.filter(|_| parameter.kind == "integer").map(|most| json!(most as i64)),
            );
            values.extend((parameter.kind == "boolean").then_some(Value::from(false)));
        }
        values.into_iter().find(|value| value != current)
    }
}

fn letters(mut number: u32) -> String {
    let mut text = String::new();
    loop {
        text.extend(char::from_digit(10 + number % 26, 36));
        number /= 26;
        if number == 0 {
            return text;
        }
    }
}

/// The smallest number allowed, since numbers are often amounts of work.
fn number(parameter: &Parameter) -> Option<f64> {
    let number = parameter.minimum.unwrap_or_else(|| parameter.maximum.map_or(1.0, |most| most.min(1.0)));
    parameter.maximum.is_none_or(|most| number <= most).then_some(number)
}

/// Every way to break what is documented of the parameter, one at a time.
pub(crate) fn violations(parameter: &Parameter) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut add = |kind, value, mention| found.push(Violation { kind, value, mention });
    let wrong = match parameter.kind.as_str() {
        "string" => Some(json!(17)),
        "integer" | "number" | "boolean" | "array" | "object" => Some(json!("text")),
        _ => None,
    };
    if let Some(wrong) = wrong {
        add("type", wrong, vec![parameter.kind.clone()]);
    }
    if let Some(allowed) = &parameter.allowed {
        let mention = allowed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        add("enum", json!("no_such_value"), mention);
    }
    let bound = |number: f64| if number.fract() == 0.0 { json!(number as i64) } else { json!(number) };
    if let Some(least) = parameter.minimum {
        add("minimum", bound(least - 1.0), vec![bound(least).to_string()]);
    }
    if let Some(most) = parameter.maximum {
        add("maximum", bound(most + 1.0), vec![bound(most).to_string()]);
    }
    if let Some(least) = parameter.min_length.filter(|least| (1..TEXT_CHARACTERS_MAX).contains(least)) {
        add("minLength", json!("x".repeat(least - 1)), vec![least.to_string()]);
    }
    if let Some(most) = parameter.max_length.filter(|&most| most < TEXT_CHARACTERS_MAX) {
        add("maxLength", json!("x".repeat(most + 1)), vec![most.to_string()]);
    }
    if let Some(pattern) = &parameter.pattern {
        let length = parameter.min_length.unwrap_or(1);
        if let Some(misfit) = Pattern::parse(pattern).and_then(|pattern| pattern.misfit(length)) {
            add("pattern", json!(misfit), vec![pattern.clone()]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn parameter(text: Value) -> Parameter {
        Parameter::deserialize(text).unwrap()
    }

    #[test]
    fn samples_keep_the_constraints() {
        let mut sampler = Sampler::default();
        let mut sample = |text: Value| sampler.value(&parameter(text), &BTreeMap::new());
        assert_eq!(sample(json!({"type": "string", "enum": ["b", "a"]})), Some(json!("b")));
        assert_eq!(sample(json!({"type": "integer", "minimum": 3, "maximum": 9})), Some(json!(3)));
        assert_eq!(sample(json!({"type": "number", "maximum": 0.5})), Some(json!(0.5)));
        assert_eq!(sample(json!({"type": "integer", "minimum": 9, "maximum": 3})), None);
        assert_eq!(sample(json!({"type": "string", "format": "barcode"})), None);
        assert_eq!(sample(json!({"type": "string", "pattern": "^(a)$"})), None);
        let short = sample(json!({"type": "string", "maxLength": 3})).unwrap();
        assert_eq!(short.as_str().unwrap().len(), 3);
        let long = sample(json!({"type": "string", "minLength": 40})).unwrap();
        assert_eq!(long.as_str().unwrap().len(), 40);
        let list = sample(json!({"type": "array", "items": {"type": "integer", "minimum": 2}}));
        assert_eq!(list, Some(json!([2])));
    }

    #[test]
    fn samples_differ_and_so_does_another_value() {
        let mut sampler = Sampler::default();
        let text = parameter(json!({"type": "string", "pattern": "^[a-z]+$", "maxLength": 20}));
        let first = sampler.value(&text, &BTreeMap::new()).unwrap();
        assert_ne!(Some(&first), sampler.value(&text, &BTreeMap::new()).as_ref());
        let number = parameter(json!({"type": "integer", "minimum": 1, "maximum": 10}));
        assert_eq!(sampler.other(&number, &BTreeMap::new(), &json!(1)), Some(json!(10)));
        let word = parameter(json!({"type": "string", "enum": ["only"]}));
        assert_eq!(sampler.other(&word, &BTreeMap::new(), &json!("only")), None);
    }

    #[test]
    fn every_documented_constraint_can_be_broken() {
        let text = json!({
            "type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$", "enum": ["ab", "cd"]
        });
        let kinds: Vec<&str> = violations(&parameter(text)).iter().map(|broken| broken.kind).collect();
        assert_eq!(kinds, ["type", "enum", "minLength", "maxLength", "pattern"]);
        let number = violations(&parameter(json!({"type": "integer", "minimum": 1, "maximum": 10})));
        assert_eq!(number[1].value, json!(0));
        assert_eq!(number[2].mention, ["10"]);
    }
}
