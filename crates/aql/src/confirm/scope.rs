//! What a consent is bound to: one call of one session, and nothing near it.

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::audit::Hash;

/// Parameters that say nothing about what a call does. What carries a token cannot be covered by it.
pub const NOT_BOUND: [&str; 5] =
    ["confirmation_token", "_confirmation", "_quota_continue", "_meta", "_request_id"];

/// The call that a consent is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    pub operation: String,
    /// Of the parameters, and of what the operation was said to be where another server says it.
    pub params_hash: Hash,
    pub adapter: String,
    pub session_id: String,
    pub principal: String,
}

/// The hash of a call's parameters in one canonical form, so that the order of keys and the way a number is written do
/// not matter. To be taken after validation, where aliases are resolved and defaults filled in.
#[must_use]
pub fn params_hash(params: &Map<String, Value>) -> Hash {
    let mut hasher = Sha256::new();
    let bound = params.iter().filter(|(name, _)| !NOT_BOUND.contains(&name.as_str()));
    object(bound, &mut hasher);
    hasher.finalize().into()
}

/// The same for an operation that another server defines: who agrees to it agrees to what it was said to be, and to
/// nothing that the server makes of it afterwards.
#[must_use]
pub fn call_hash(params: &Map<String, Value>, definition: Option<&Hash>) -> Hash {
    let params = params_hash(params);
    match definition {
        None => params,
        Some(definition) => Sha256::new().chain_update(definition).chain_update(params).finalize().into(),
    }
}

fn value(value: &Value, into: &mut Sha256) {
    match value {
        Value::Null => into.update(b"n"),
        Value::Bool(true) => into.update(b"t"),
        Value::Bool(false) => into.update(b"f"),
        Value::Number(given) => number(given, into),
        Value::String(given) => text(given, into),
        Value::Array(items) => {
            into.update(b"[");
            into.update((items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| self::value(item, into));
        }
        Value::Object(members) => object(members.iter(), into),
    }
}

fn object<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>, into: &mut Sha256) {
    let mut members: Vec<_> = members.collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    into.update(b"{");
    into.update((members.len() as u64).to_be_bytes());
    for (name, member) in members {
        text(name, into);
        value(member, into);
    }
}

/// The length stands before the text, so that no text can look like the end of one and the beginning of the next.
fn text(given: &str, into: &mut Sha256) {
    into.update(b"s");
    into.update((given.len() as u64).to_be_bytes());
    into.update(given.as_bytes());
}

/// `1` and `1.0` are one number.
fn number(given: &Number, into: &mut Sha256) {
    into.update(b"d");
    let whole = given.as_i64().map(i128::from).or_else(|| given.as_u64().map(i128::from));
    let whole = whole.or_else(|| {
        let float = given.as_f64()?;
        // Beyond this a fraction has no digits behind the point, and neighbours would be taken for each other.
        (float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0).then_some(float as i128)
    });
    match whole {
        Some(whole) => into.update(whole.to_be_bytes()),
        None => into.update(given.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn hashed(params: Value) -> Hash {
        params_hash(params.as_object().unwrap())
    }

    /// LREQ-TOKEN-05 LREQ-GATE-08
    #[test]
    fn the_order_of_keys_the_spelling_of_numbers_and_metadata_do_not_matter() {
        let one = hashed(json!({"id": "7", "options": {"a": 1, "b": [2, {"x": null}]}}));
        let other: Value =
            serde_json::from_str(r#"{"options": {"b": [2.0, {"x": null}], "a": 1.0}, "id": "7"}"#).unwrap();
        assert_eq!(one, hashed(other));
        let noted = json!({"id": "7", "options": {"a": 1, "b": [2, {"x": null}]},
            "confirmation_token": "conf_x", "_confirmation": "conf_y", "_meta": {"n": 1}, "_request_id": 4});
        assert_eq!(one, hashed(noted));
    }

    /// LREQ-TOKEN-04
    #[test]
    fn anything_else_is_another_call() {
        let calls = [
            json!({}),
            json!({"id": "7"}),
            json!({"id": 7}),
            json!({"id": "7", "force": true}),
            json!({"id": "7", "force": false}),
            json!({"id": ["7"]}),
            json!({"id": {"7": null}}),
            json!({"id": "7", "x": {"confirmation_token": "a"}}),
            json!({"id": "7", "x": {"confirmation_token": "b"}}),
            json!({"i": "d7"}),
            json!({"id": "7s\u{0}"}),
            json!({"id": [["a"], "b"]}),
            json!({"id": [["a", "b"]]}),
            json!({"id": 1e300}),
            json!({"id": 9_007_199_254_740_993_i64}),
            json!({"id": 9_007_199_254_740_992_i64}),
        ];
        let mut hashes: Vec<Hash> = calls.iter().map(|call| hashed(call.clone())).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), calls.len());
    }

    #[test]
    fn a_changed_definition_makes_another_call() {
        let params = json!({"id": "7"});
        let params = params.as_object().unwrap();
        let hashes = [
            call_hash(params, None),
            call_hash(params, Some(&[1; 32])),
            call_hash(params, Some(&[2; 32])),
            call_hash(&Map::new(), Some(&[1; 32])),
        ];
        for (at, hash) in hashes.iter().enumerate() {
            assert!(hashes.iter().skip(at + 1).all(|other| other != hash));
        }
        assert_eq!(hashes[0], params_hash(params));
        assert_eq!(hashes[1], call_hash(params, Some(&[1; 32])));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z{}\\[\\]\":,]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn two_calls_have_one_hash_exactly_if_they_are_equal(one in any_json(), other in any_json()) {
            let wrap = |value: &Value| hashed(json!({"p": value}));
            prop_assert_eq!(wrap(&one) == wrap(&other), one == other);
        }
    }
}
