//! Conditions on parameters. They are met by what validation left, so that no spelling of a call avoids them, and they
//! are read in the operator's favour: a rule that tightens is met by any value that fits, one that loosens only if every
//! value does.

use regex::Regex;
use serde_json::{Map, Number, Value};

use super::glob::Glob;
use crate::{adopt, shared};

/// One condition on what stands behind a dotted path. Lists on the way are looked into; what an UPDATE takes in `input` is
/// found without naming it, too. Another server's own spelling of a name is as good as ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub path: String,
    pub test: Test,
    /// Turned around.
    pub not: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    Equals(Value),
    OneOf(Vec<Value>),
    /// `*` stands for any run of characters.
    Pattern(String),
    Regex(String),
    Greater(Number),
    Less(Number),
    /// Whether it is given at all, `null` included.
    Present(bool),
}

/// Why a condition cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the path '{0}' has an empty step")]
    Path(String),
    #[error("'{0}' is no regular expression")]
    Regex(String),
    #[error("it lists no value, so nothing could fit")]
    NoValue,
}

/// A condition ready to be asked.
#[derive(Debug, Clone)]
pub struct Compiled {
    path: Vec<Step>,
    test: Ready,
    not: bool,
}

#[derive(Debug, Clone)]
enum Ready {
    OneOf(Vec<Value>),
    Pattern(Glob),
    Regex(Regex),
    Greater(f64),
    Less(f64),
    Present(bool),
}

/// One step of a path.
#[derive(Debug, Clone)]
struct Step {
    name: String,
    /// What becomes of the name where another server's tool has it, if that is another.
    outer: Option<String>,
}

impl Step {
    fn new(name: &str) -> Self {
        let outer = Some(adopt::outer_name(name)).filter(|outer| outer != name);
        Self { name: name.to_owned(), outer }
    }

    /// What stands under either spelling. Where both are there, both count.
    fn of<'a>(&self, object: &'a Map<String, Value>) -> impl Iterator<Item = &'a Value> {
        object.get(&self.name).into_iter().chain(self.outer.as_ref().and_then(|outer| object.get(outer)))
    }
}

impl Condition {
    #[must_use]
    pub fn new(path: &str, test: Test) -> Self {
        Self { path: path.to_owned(), test, not: false }
    }

    /// Whether its path begins with this parameter, in either spelling.
    #[must_use]
    pub fn is_about(&self, param: &str) -> bool {
        let first = self.path.split('.').next().unwrap_or_default();
        first == param || adopt::outer_name(first) == param
    }

    /// Checks the condition and makes it ready.
    pub fn compiled(&self) -> Result<Compiled, Fault> {
        if self.path.split('.').any(str::is_empty) {
            return Err(Fault::Path(self.path.clone()));
        }
        let path = self.path.split('.').map(Step::new).collect();
        let test = match &self.test {
            Test::Equals(value) => Ready::OneOf(vec![value.clone()]),
            Test::OneOf(values) if values.is_empty() => return Err(Fault::NoValue),
            Test::OneOf(values) => Ready::OneOf(values.clone()),
            Test::Pattern(pattern) => Ready::Pattern(Glob::new(pattern)),
            Test::Regex(text) => Ready::Regex(Regex::new(text).map_err(|_| Fault::Regex(text.clone()))?),
            Test::Greater(bound) => Ready::Greater(bound.as_f64().unwrap_or(f64::NAN)),
            Test::Less(bound) => Ready::Less(bound.as_f64().unwrap_or(f64::NAN)),
            Test::Present(wanted) => Ready::Present(*wanted),
        };
        Ok(Compiled { path, test, not: self.not })
    }
}

impl Compiled {
    /// Whether the condition holds. For a rule that tightens one value that fits is enough.
    #[must_use]
    pub fn holds(&self, params: &Map<String, Value>, tightens: bool) -> bool {
        // Nearly always it is one plain value.
        if let ([only], false) = (self.path.as_slice(), params.contains_key(shared::INPUT))
            && only.outer.is_none()
            && let Some(value) = params.get(&only.name).filter(|value| !value.is_array())
            && !matches!(self.test, Ready::Present(_))
        {
            return self.test.fits(value, tightens != self.not) != self.not;
        }
        let mut found = Vec::new();
        if let Some((first, rest)) = self.path.split_first() {
            let inside = params.get(shared::INPUT).and_then(Value::as_object);
            for object in std::iter::once(params).chain(inside) {
                first.of(object).for_each(|value| collect(value, rest, &mut found));
            }
        }
        if let Ready::Present(wanted) = self.test {
            return (found.is_empty() != wanted) != self.not;
        }
        if found.is_empty() {
            // Nothing is there to fit. What must not fit is then met where that is the stricter reading.
            return self.not && tightens;
        }
        let fits = |value: &&Value| self.test.fits(value, tightens != self.not) != self.not;
        if tightens { found.iter().any(fits) } else { found.iter().all(fits) }
    }
}

/// Every value behind the path, lists on the way and behind it opened.
fn collect<'a>(value: &'a Value, path: &[Step], found: &mut Vec<&'a Value>) {
    match (value, path.split_first()) {
        (Value::Array(all), None) if all.is_empty() => found.push(value),
        (Value::Array(all), _) => all.iter().for_each(|one| collect(one, path, found)),
        (Value::Object(object), Some((first, rest))) => {
            first.of(object).for_each(|inner| collect(inner, rest, found));
        }
        (_, None) => found.push(value),
        (_, Some(_)) => {}
    }
}

impl Ready {
    /// `any`: one text or number inside an object is enough.
    fn fits(&self, value: &Value, any: bool) -> bool {
        if let Value::Object(object) = value {
            if let Self::OneOf(wanted) = self
                && wanted.contains(value)
            {
                return true;
            }
            let inner = |inner: &Value| self.fits(inner, any);
            return if any {
                object.values().any(inner)
            } else {
                !object.is_empty() && object.values().all(inner)
            };
        }
        if let Value::Array(all) = value {
            return all.iter().any(|one| self.fits(one, any));
        }
        match self {
            Self::OneOf(wanted) => wanted.iter().any(|wanted| same(wanted, value)),
            Self::Pattern(pattern) => with_text(value, |text| pattern.matches(text)),
            Self::Regex(regex) => with_text(value, |text| regex.is_match(text)),
            Self::Greater(bound) => {
                number(value).map_or(any && is_odd_number(value), |number| number > *bound)
            }
            Self::Less(bound) => number(value).map_or(any && is_odd_number(value), |number| number < *bound),
            Self::Present(wanted) => *wanted,
        }
    }
}

/// `5` and `5.0` are the same number, and so is `"5"` where another server takes either.
fn same(wanted: &Value, value: &Value) -> bool {
    wanted == value
        || match (wanted, value) {
            (Value::Number(_), _) => number(wanted) == number(value) && number(value).is_some(),
            (Value::String(wanted), Value::Number(_) | Value::Bool(_)) => {
                with_text(value, |text| text == wanted)
            }
            (Value::Bool(_), Value::String(value)) => with_text(wanted, |text| text == value),
            _ => false,
        }
}

fn with_text(value: &Value, fits: impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => fits(text),
        Value::Number(number) => fits(&number.to_string()),
        Value::Bool(flag) => fits(if *flag { "true" } else { "false" }),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

/// Whether a text may be a number to whoever reads it next, written in a way that is none here, as `1_000` or `0x100`.
fn is_odd_number(value: &Value) -> bool {
    let Value::String(text) = value else { return false };
    text.chars().any(char::is_numeric)
        || text.trim().trim_start_matches(['+', '-']).to_lowercase().starts_with("inf")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(path: &str, test: Test, params: Value, tightens: bool) -> bool {
        let Value::Object(params) = params else { panic!("no object") };
        Condition::new(path, test).compiled().unwrap().holds(&params, tightens)
    }

    fn pattern(text: &str) -> Test {
        Test::Pattern(text.to_owned())
    }

    /// LREQ-GATE-04
    #[test]
    fn each_test_fits_what_it_should() {
        let ten = || Number::from(10);
        for (test, fits, others) in [
            (Test::Equals(json!("root")), vec![json!("root")], vec![json!("Root"), json!(1), json!(null)]),
            (Test::Equals(json!(5)), vec![json!(5), json!(5.0), json!("5")], vec![json!(6), json!("x")]),
            (Test::Equals(json!(true)), vec![json!(true), json!("true")], vec![json!(false), json!(1)]),
            (Test::OneOf(vec![json!("a"), json!(2)]), vec![json!("a"), json!(2)], vec![json!("b")]),
            (pattern("prod*"), vec![json!("prod"), json!("production")], vec![json!("a prod"), json!(null)]),
            (Test::Regex("^v[0-9]+$".into()), vec![json!("v10")], vec![json!("v"), json!("xv1")]),
            (Test::Greater(ten()), vec![json!(11), json!(10.5), json!("11")], vec![json!(10), json!("many")]),
            (Test::Less(ten()), vec![json!(9), json!(-1)], vec![json!(10), json!([]), json!(null)]),
        ] {
            for tightens in [true, false] {
                for value in &fits {
                    assert!(holds("x", test.clone(), json!({"x": value}), tightens), "{test:?} {value}");
                }
                for value in &others {
                    assert!(!holds("x", test.clone(), json!({"x": value}), tightens), "{test:?} {value}");
                }
                assert!(!holds("x", test.clone(), json!({}), tightens), "{test:?} of nothing");
            }
        }
        assert!(holds("x", Test::Present(true), json!({"x": null}), true));
        assert!(!holds("x", Test::Present(true), json!({}), true));
        assert!(holds("x", Test::Present(false), json!({}), false));
    }

    /// LREQ-GATE-08
    #[test]
    fn one_bad_value_is_enough_to_tighten_and_every_value_must_be_good_to_loosen() {
        let hidden = [
            json!({"branch": ["dev", "main"]}),
            json!({"branch": [["dev"], ["main"]]}),
            json!({"branch": "dev", "input": {"branch": "main"}}),
            json!({"branch": {"name": "main", "kind": "x"}}),
            json!({"branch": {"x": [["main"], "dev"], "y": 1}}),
        ];
        for params in hidden {
            assert!(holds("branch", pattern("main"), params.clone(), true), "{params}");
            assert!(!holds("branch", pattern("main"), params.clone(), false), "{params}");
        }
        for odd in ["1_000", "Infinity", "\u{ff11}\u{ff10}\u{ff11}", "0x100"] {
            let (test, params) = (Test::Greater(Number::from(10)), json!({"count": odd}));
            assert!(holds("count", test.clone(), params.clone(), true), "{odd} may be more");
            assert!(!holds("count", test, params, false), "{odd} need not be");
        }
        assert!(holds("a.b", pattern("x"), json!({"a": [{"c": 1}, {"b": "x"}]}), true));
        assert!(holds("branch", pattern("main"), json!({"input": {"branch": "main"}}), true));
        assert!(!holds("a.b", pattern("x"), json!({"a": "b"}), true));
    }

    #[test]
    fn turned_around_it_stays_in_the_operators_favour() {
        let not = |params: Value, tightens: bool| {
            let Value::Object(params) = params else { panic!("no object") };
            let condition = Condition { not: true, ..Condition::new("branch", pattern("feature/*")) };
            condition.compiled().unwrap().holds(&params, tightens)
        };
        assert!(!not(json!({"branch": "feature/x"}), true));
        assert!(not(json!({"branch": "main"}), true) && not(json!({"branch": "main"}), false));
        assert!(not(json!({}), true), "what is left out is not on a feature branch");
        assert!(!not(json!({}), false));
        assert!(not(json!({"branch": ["feature/x", "main"]}), true));
        assert!(!not(json!({"branch": ["feature/x", "main"]}), false));
    }

    /// LREQ-GATE-08
    #[test]
    fn another_servers_spelling_of_a_parameter_is_understood() {
        for (path, params) in [
            ("repoName", json!({"repo_name": "main"})),
            ("repo-name", json!({"repo_name": "main"})),
            ("RepoName", json!({"input": {"repo_name": "main"}})),
            ("repoInfo.headBranch", json!({"repo_info": {"head_branch": "main"}})),
            ("repoInfo.headBranch", json!({"repo_info": [{"headBranch": "main"}]})),
            ("repo_info.headBranch", json!({"repo_info": {"headBranch": "main"}})),
        ] {
            for tightens in [true, false] {
                assert!(holds(path, pattern("main"), params.clone(), tightens), "{path} {params}");
                assert!(holds(path, Test::Present(true), params.clone(), tightens), "{path} {params}");
                assert!(!holds(path, pattern("dev"), params.clone(), tightens), "{path} {params}");
            }
        }
        // Where both are given, neither hides the other.
        let both = json!({"a": {"headBranch": "dev", "head_branch": "main"}});
        assert!(holds("a.headBranch", pattern("main"), both.clone(), true));
        assert!(!holds("a.headBranch", pattern("dev"), both, false));
        assert!(!holds("head_branch", pattern("main"), json!({"headBranch": "main"}), true), "ours is ours");
    }

    #[test]
    fn what_cannot_be_used_says_so() {
        let fault = |path: &str, test: Test| Condition::new(path, test).compiled().unwrap_err().to_string();
        assert!(fault("a..b", Test::Present(true)).contains("'a..b'"));
        assert!(fault("", Test::Present(true)).contains("empty step"));
        assert!(fault("a", Test::Regex("(".into())).contains("'('"));
        assert!(fault("a", Test::OneOf(vec![])).contains("no value"));
    }
}
