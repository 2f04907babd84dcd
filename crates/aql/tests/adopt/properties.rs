//! What holds for every schema.

use aql::adopt::Taken;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{
    drive::{adopt_as, listed, outer, registry, sent},
    generate::{self, Dice},
};

fn tool(name: &str, schema: &Value) -> Value {
    json!({"name": name, "description": "Does something", "inputSchema": schema})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// What an upstream's schema allows is accepted here and arrives as it was meant. REQ-DISC-10 REQ-DISC-18
    #[test]
    fn whatever_the_upstream_allows_arrives(
        schema in generate::schema(),
        name in prop::sample::select(vec!["list_things", "update_thing", "createThing", "delete-thing"]),
        seed in any::<u64>(),
    ) {
        let adopted = adopt_as("up", &listed(json!([tool(name, &schema)])), &mut Taken::default());
        let registry = registry(&adopted);
        let operation = &adopted.operations[0];
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut dice = Dice::new(seed);
        let mut tried = 0;
        for _ in 0..20 {
            let arguments = generate::object(schema.as_object().unwrap(), &schema, &mut dice, 0);
            let arguments = Value::Object(arguments);
            if !validator.is_valid(&arguments) {
                continue;
            }
            tried += 1;
            let params = outer(arguments.as_object().unwrap(), operation, &adopted.types);
            let arrived = sent(&registry, operation, params.clone());
            prop_assert_eq!(arrived.as_ref(), Ok(&arguments), "{:#}\n{:#}", params, schema);
        }
        prop_assume!(tried > 0);
    }

    /// Nothing that a server lists is an error, and the registry always takes what becomes of it. REQ-DISC-12
    #[test]
    fn rubbish_is_adopted(
        schemas in prop::collection::vec(generate::rubbish(), 1..4),
        names in prop::collection::vec(".{0,8}", 4),
        output in generate::rubbish(),
    ) {
        let tools: Vec<Value> = schemas
            .iter()
            .zip(&names)
            .map(|(schema, name)| {
                let input = if schema.is_object() { schema.clone() } else { json!({"properties": {name: schema}}) };
                let mut tool = tool(name, &input);
                if output.is_object() {
                    tool["outputSchema"] = output.clone();
                }
                tool
            })
            .collect();
        let tools = listed(Value::from(tools));
        let adopted = adopt_as("up", &tools, &mut Taken::default());
        prop_assert!(adopted.operations.len() >= tools.len());
        registry(&adopted);
        let again = adopt_as("up", &tools, &mut Taken::default());
        prop_assert_eq!(format!("{adopted:?}").len(), format!("{again:?}").len());
        for operation in &adopted.operations {
            prop_assert!(operation.wiring.arguments(Map::new()).len() <= 1);
        }
    }
}

/// An alternative that does not name a field takes it with any value, unless it says that there are no others.
#[test]
fn what_one_alternative_says_of_a_field_does_not_bind_the_other() {
    for (sealed, taken) in [(None, true), (Some(false), false)] {
        let mut other = json!({"properties": {"id": {"type": "integer"}}});
        if let Some(others) = sealed {
            other["additionalProperties"] = json!(others);
        }
        let first = json!({"properties": {"login": {"type": "string", "pattern": "^[a-z]*$"}}});
        let schema = json!({"type": "object", "properties": {"who": {"anyOf": [first, other]}}});
        let adopted = adopt_as("up", &listed(json!([tool("list_things", &schema)])), &mut Taken::default());
        let arrived = sent(&registry(&adopted), &adopted.operations[0], json!({"who": {"login": "ABC"}}));
        assert_eq!(arrived.is_ok(), taken, "{schema}: {arrived:?}");
    }
}
