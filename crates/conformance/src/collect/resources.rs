//! Resources of our own: created, read back, changed, read again and removed in the end.

use serde_json::{Map, Value, json};

use super::{
    Run,
    requests::{Source, is_identifier},
};
use crate::{
    DefaultCase, GeneratedRequest, RoundTrip, SelectionExample, UpdatePreservation,
    answer::{at, code, succeeded},
    catalog::{Operation, Parameter},
};

/// A resource that was created with all the fields it can have.
struct Resource {
    create: Operation,
    read: Operation,
    /// What the reader needs to find it.
    identity: Map<String, Value>,
    submitted: Map<String, Value>,
}

impl Run<'_> {
    pub(super) fn try_resources(&mut self) {
        let mut creates = self.catalog.of_category("CREATE");
        // What refers to other resources can only be created after them.
        creates.sort_by_key(|create| {
            create.required().filter(|parameter| is_identifier(&parameter.name)).count()
        });
        for create in creates {
            if !self.create_with_the_least(&create) {
                continue;
            }
            if let Some(resource) = self.create_with_everything(create) {
                self.select_fields(&resource);
                self.update(&resource);
                self.change_what_is_read_only(&resource);
            }
        }
    }

    /// Only what is required, so that defaults show.
    fn create_with_the_least(&mut self, create: &Operation) -> bool {
        let Some(mut params) = self.required(create, Source::Generated) else { return false };
        let mut answer = self.call(create, &params);
        if code(&answer).starts_with("VALIDATION_")
            && let Some(shown) = self.required(create, Source::Examples)
        {
            params = shown;
            answer = self.call(create, &params);
        }
        self.live.generated_requests.push(GeneratedRequest {
            operation: create.name.clone(),
            params: Value::Object(params),
            response: answer.clone(),
        });
        if !succeeded(&answer) {
            return false;
        }
        self.remember(at(&answer, "data"));
        for parameter in create.parameters.iter().filter(|parameter| !parameter.required) {
            let Some(default) = &parameter.default else { continue };
            let Some(path) = path_of(at(&answer, "data"), &parameter.name) else { continue };
            self.evidence.parameter_tests.optional_defaults.push(DefaultCase {
                operation: create.name.clone(),
                parameter: parameter.name.clone(),
                expected_value_path: path,
                expected_value: default.clone(),
                response: answer.clone(),
            });
        }
        true
    }

    fn create_with_everything(&mut self, create: Operation) -> Option<Resource> {
        let fields = self.catalog.fields(&create).to_vec();
        let is_field = |parameter: &&Parameter| fields.iter().any(|field| field.name == parameter.name);
        let mut submitted = Map::new();
        for parameter in
            create.parameters.iter().filter(|parameter| parameter.required || is_field(parameter))
        {
            let value = self.value(&create, parameter, Source::Generated)?;
            submitted.insert(parameter.name.clone(), value);
        }
        let read = self.reader_of(&create)?;
        let created = self.call(&create, &submitted);
        let name = format!("{}-then-{}", create.name, read.name);
        let Some(identity) = identity(&read, at(&created, "data")).filter(|_| succeeded(&created)) else {
            // What was read back is then what the creation answered: the judge finds nothing in it.
            let expected_fields = placed(&submitted, "data");
            self.evidence.round_trip_tests.push(RoundTrip { name, expected_fields, read_response: created });
            return None;
        };
        self.remember(at(&created, "data"));
        let read_response = self.call(&read, &identity);
        let mut expected = submitted.clone();
        expected.extend(identity.clone());
        let expected_fields = placed(&expected, &holder(&read_response, &submitted));
        self.evidence.round_trip_tests.push(RoundTrip { name, expected_fields, read_response });
        Some(Resource { create, read, identity, submitted })
    }

    /// The operation that reads one resource of the type, by what its creation answers.
    fn reader_of(&self, create: &Operation) -> Option<Operation> {
        let reads = self.catalog.of_category("READ");
        let fits = |read: &&Operation| {
            read.returns.name == create.returns.name
                && read.name != "introspect"
                && read.required().count() > 0
        };
        reads.iter().find(fits).cloned()
    }

    fn select_fields(&mut self, resource: &Resource) {
        if resource.read.parameter("fields").is_none() {
            return;
        }
        let Some(field) = resource.submitted.keys().next() else { return };
        let mut params = resource.identity.clone();
        params.insert("fields".to_owned(), json!([field]));
        let response = self.call(&resource.read, &params);
        let (operation, fields) = (resource.read.name.clone(), vec![field.clone()]);
        self.live.field_selection_example = Some(SelectionExample { operation, fields, response });
    }

    /// Changes one field and reads it and all the others back.
    fn update(&mut self, resource: &Resource) {
        let Some((update, identity)) = self.updater_of(resource) else { return };
        for parameter in &resource.create.parameters {
            let Some(current) = resource.submitted.get(&parameter.name) else { continue };
            let Some(changed) = self.sampler.other(parameter, &self.catalog.types, current) else { continue };
            let change = Map::from_iter([(parameter.name.clone(), changed)]);
            let answer = self.call(&update, &with_change(&update, &identity, &change));
            if !succeeded(&answer) {
                // A field need not be one that can change; the next one may be.
                continue;
            }
            let read_response = self.call(&resource.read, &resource.identity);
            let place = holder(&read_response, &resource.submitted);
            let kept = resource.submitted.iter().filter(|(name, _)| **name != parameter.name);
            let kept: Map<String, Value> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
            let name = format!("{}-of-{}", update.name, parameter.name);
            self.evidence.round_trip_tests.push(RoundTrip {
                name: name.clone(),
                expected_fields: placed(&change, &place),
                read_response: read_response.clone(),
            });
            self.evidence.update_preservation_tests.push(UpdatePreservation {
                name,
                preserved_fields: placed(&kept, &place),
                read_response,
            });
            return;
        }
    }

    fn updater_of(&self, resource: &Resource) -> Option<(Operation, Map<String, Value>)> {
        let updates = self.catalog.of_category("UPDATE");
        let same_type = |update: &&Operation| update.returns.name == resource.create.returns.name;
        let update = updates.iter().find(same_type)?.clone();
        let mut found = resource.submitted.clone();
        found.extend(resource.identity.clone());
        let identity = identity(&update, &Value::Object(found))?;
        Some((update, identity))
    }

    /// Fields of the type that no creation takes are the server's own, whatever is said of them.
    fn change_what_is_read_only(&mut self, resource: &Resource) {
        let Some((update, identity)) = self.updater_of(resource) else { return };
        for field in self.catalog.fields(&resource.create).to_vec() {
            let told = says_read_only(&field.description)
                || update
                    .parameters
                    .iter()
                    .any(|parameter| lists_read_only(&parameter.description, &field.name))
                || lists_read_only(&update.description, &field.name);
            let own = resource.create.parameter(&field.name).is_none();
            if !told && !own {
                continue;
            }
            let Some(value) = self.sampler.value(&field, &self.catalog.types) else { continue };
            let change = Map::from_iter([(field.name.clone(), value)]);
            let response = self.call(&update, &with_change(&update, &identity, &change));
            let name = format!("{}: read-only {}", update.name, field.name);
            self.note_fault(&name, vec![field.name.clone()], &response);
            self.note_constraint(name, told, response);
        }
    }

    pub(super) fn clean_up(&mut self) {
        let deletes = self.catalog.of_category("DELETE");
        while let Some(created) = self.created.pop() {
            let Some(delete) = deletes.iter().find(|delete| delete.noun() == created.noun) else { continue };
            if let Some(params) = identity(delete, &created.data) {
                self.call(delete, &params);
            }
        }
    }

    fn remember(&mut self, data: &Value) {
        let nested = data.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_object());
        for (name, value) in data.as_object().into_iter().chain(nested).flatten() {
            if value.is_string() || value.is_number() {
                self.known.insert(name.clone(), value.clone());
            }
        }
    }
}

/// The parameters an operation needs to find a resource, from the resource's own fields.
fn identity(operation: &Operation, data: &Value) -> Option<Map<String, Value>> {
    let nested = data.as_object()?.values().filter(|value| value.is_object());
    let mut objects = std::iter::once(data).chain(nested);
    objects.find_map(|object| {
        let needed = operation.required().filter(|parameter| parameter.name != "input");
        needed
            .map(|parameter| {
                let named = object.get(&parameter.name);
                let value = named.or_else(|| object.get("id").filter(|_| is_identifier(&parameter.name)))?;
                Some((parameter.name.clone(), value.clone()))
            })
            .collect()
    })
}

fn with_change(
    update: &Operation,
    identity: &Map<String, Value>,
    change: &Map<String, Value>,
) -> Map<String, Value> {
    let mut params = identity.clone();
    if update.parameter("input").is_some() {
        params.insert("input".to_owned(), Value::Object(change.clone()));
    } else {
        params.extend(change.clone());
    }
    params
}

/// Where in an answer the fields of the resource stand.
fn holder(answer: &Value, fields: &Map<String, Value>) -> String {
    let paths = fields.keys().filter_map(|name| path_of(at(answer, "data"), name));
    let holders = paths.filter_map(|path| path.rsplit_once('.').map(|(holder, _)| holder.to_owned()));
    holders.min_by_key(String::len).unwrap_or_else(|| "data".to_owned())
}

/// Where a field stands in an answer's data, one object deep.
fn path_of(data: &Value, name: &str) -> Option<String> {
    if data.get(name).is_some() {
        return Some(format!("data.{name}"));
    }
    let (outer, _) = data.as_object()?.iter().find(|(_, inner)| inner.get(name).is_some())?;
    Some(format!("data.{outer}.{name}"))
}

fn placed(fields: &Map<String, Value>, place: &str) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (format!("{place}.{name}"), value.clone())).collect()
}

fn says_read_only(text: &str) -> bool {
    let text = text.to_lowercase();
    ["read-only", "readonly", "immutable", "append-only"].iter().any(|word| text.contains(word))
}

/// Whether one sentence says it and names the field.
fn lists_read_only(text: &str, field: &str) -> bool {
    let names =
        |sentence: &str| sentence.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == field);
    text.split(". ").any(|sentence| says_read_only(sentence) && names(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_only_where_a_sentence_says_so_of_it() {
        let text = "Change fields: name, priority. Read-only: id, created_at. Objects merge";
        for (field, expected) in [("created_at", true), ("id", true), ("name", false), ("created", false)] {
            assert_eq!(lists_read_only(text, field), expected, "{field}");
        }
    }
}
