//! The `introspect` operation: views over the registry, prepared when it is published.
//!
//! Every answer to the two standard queries is valid against the specification's closed schemas, whatever it is
//! narrowed by: `fields` empties or drops what may be missing there, and a page's `pageInfo` stands in `_protocol`.

mod adapter;
mod definition;
mod hit;
mod page;
mod view;

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use self::view::Detail;
pub use self::{adapter::AdapterInfo, definition::definition, hit::of_tool};
use crate::{
    category::Category,
    error::{Code, Error},
    operation::Operation,
    param::Param,
    quota,
    registry::Registry,
    response::{Answer, Spliced},
    search::{Document, Index},
};

/// Everything about a registry that introspection answers with, written out once.
#[derive(Debug, Default)]
pub struct Prepared {
    /// The whole list, to be completed with the session's id.
    list: Arc<Spliced>,
    /// `_protocol` of the list, open at its end.
    protocol: String,
    types: String,
    /// Each operation in full, by its place in the registry. Written when first asked for: most never are.
    details: Vec<OnceLock<String>>,
    index: Index,
}

impl Prepared {
    pub(crate) fn new(registry: &Registry) -> Self {
        let operations: Vec<&Operation> = registry.visible().collect();
        let protocol = view::protocol(registry);
        let entries: Vec<String> = operations.iter().map(|op| view::info(registry, op).to_string()).collect();
        let list = Spliced::new(
            format!(
                "{{\"success\":true,\"data\":{{\"_protocol\":{protocol}{},\"session_id\":\"",
                view::danger_levels(&operations)
            ),
            format!("\"}},\"operations\":[{}]}}}}", entries.join(",")),
        );
        let types: Vec<Value> = registry.types().iter().map(|known| json!(known.info())).collect();
        Self {
            list: Arc::new(list),
            protocol,
            types: json!({"types": types}).to_string(),
            details: vec![OnceLock::new(); registry.operations.len()],
            index: Index::new(&operations.iter().copied().map(Document::from).collect::<Vec<_>>()),
        }
    }
}

impl Prepared {
    /// The operations that mean about the same as a name that none has, best first, and whether the first is surely
    /// the one.
    pub(crate) fn near<'a>(&self, registry: &'a Registry, name: &str) -> (Vec<&'a Operation>, bool) {
        let operations: Vec<&Operation> = registry.visible().collect();
        let meant = self.index.meant_by(name);
        let places = meant.into_iter().chain(self.index.near(name));
        (places.filter_map(|place| operations.get(place).copied()).collect(), meant.is_some())
    }
}

/// The compact signature of an operation, as hits of a search begin with it.
pub(crate) fn signature(registry: &Registry, operation: &Operation) -> String {
    hit::of_operation(registry, operation)
}

/// The one control that is listed for all that an operation of another server takes, and what is said of it.
pub(crate) fn control_for_all(operation: &Operation) -> Option<(&Param, String)> {
    view::control_for_all(operation)
}

/// The query for quotas and limits.
pub const QUOTA_STATUS: &str = "quota_status";

/// Answers an introspect call whose parameters were validated.
pub fn answer(registry: &Registry, params: &Map<String, Value>, session: &str) -> Result<Answer, Error> {
    let text = |key: &str| params.get(key).and_then(Value::as_str);
    match (text("query").unwrap_or_default(), text("name")) {
        ("operations", Some(name)) => Ok(one(registry, name, Detail::read(params)?)),
        ("operations", None) => list(registry, params, session),
        ("types", Some(name)) => {
            let details = registry.types().named(name).map(|known| json!(known.details()));
            Ok(Answer::from_data(&json!({"type": details})))
        }
        ("types", None) => Ok(Answer::from_data_text(&registry.introspection.types)),
        ("danger", name) => danger(registry, name),
        ("adapter_info", name) => Ok(adapter::answer(registry, name)),
        // Whoever keeps count answers this instead; here there is nothing to count.
        (QUOTA_STATUS, _) => Ok(Answer::from_data(&quota::status(
            registry.adapter(),
            &quota::Plan::default(),
            &quota::Counts::default(),
            jiff::Timestamp::UNIX_EPOCH,
        ))),
        (other, _) => Err(Error::new(Code::Introspection, format!("The query '{other}' has no answer"))),
    }
}

fn one(registry: &Registry, name: &str, detail: Detail) -> Answer {
    let Some((id, operation)) = registry.visible_named(name) else {
        return Answer::from_data(&json!({"operation": null}));
    };
    let write = || json!({"operation": view::details(registry, operation, detail)}).to_string();
    match registry.introspection.details.get(id.index()) {
        Some(kept) if detail == Detail::USUAL => Answer::from_data_text(kept.get_or_init(write)),
        _ => Answer::from_data_text(&write()),
    }
}

fn list(registry: &Registry, params: &Map<String, Value>, session: &str) -> Result<Answer, Error> {
    let narrowed =
        ["search", "filter", "first", "after", "fields"].iter().any(|key| params.contains_key(*key));
    let prepared = &registry.introspection;
    if !narrowed {
        return Ok(Answer::spliced(Arc::clone(&prepared.list), session));
    }
    let operations: Vec<&Operation> = registry.visible().collect();
    let search = params.get("search").and_then(Value::as_str);
    let mut chosen: Vec<&Operation> = match search {
        Some(text) => {
            prepared.index.find(text).into_iter().filter_map(|i| operations.get(i).copied()).collect()
        }
        None => operations,
    };
    if let Some(filter) = params.get("filter").and_then(Value::as_object) {
        let filter = Filter::read(filter)?;
        chosen.retain(|operation| filter.accepts(registry, operation));
    }
    let page = page::cut(&chosen, params)?;
    let detail = Detail::read(params)?;
    let info = |operation: &&Operation| match search {
        Some(_) => hit::info(registry, operation, detail).to_string(),
        None => view::narrowed_info(registry, operation, detail).to_string(),
    };
    let entries: Vec<String> = page.operations.iter().map(info).collect();
    // A question is answered, a list is introduced: only the beginning of one tells what else there is to know.
    let asked = search.is_some() || params.contains_key("filter");
    let mut protocol = match asked || params.contains_key("after") {
        true => view::brief_protocol(),
        false => format!("{},\"session_id\":\"{session}\"", prepared.protocol),
    };
    if !asked {
        protocol.push_str(&view::danger_levels(page.operations));
    }
    if let Some(info) = page.info {
        protocol.push_str(&format!(",\"pageInfo\":{info}"));
    }
    Ok(Answer::from_data_text(&format!(
        "{{\"_protocol\":{protocol}}},\"operations\":[{}]}}",
        entries.join(",")
    )))
}

/// What `filter` narrows a list by.
#[derive(Default)]
struct Filter<'a> {
    category: Option<Category>,
    endpoint: Option<&'a str>,
    server: Option<&'a str>,
}

impl<'a> Filter<'a> {
    fn read(given: &'a Map<String, Value>) -> Result<Self, Error> {
        let text = |key: &str| given.get(key).and_then(Value::as_str);
        let category = match text("category") {
            Some(category) => Some(category.parse().map_err(|_| {
                let message = format!("Parameter 'filter.category' must be one of CREATE, READ, UPDATE, DELETE, EXECUTE, got '{category}'");
                Error::new(Code::InvalidEnum, message).with("param_name", "filter.category")
            })?),
            None => None,
        };
        Ok(Self { category, endpoint: text("endpoint"), server: text("server") })
    }

    fn accepts(&self, registry: &Registry, operation: &Operation) -> bool {
        self.category.is_none_or(|category| operation.category() == category)
            && self.endpoint.is_none_or(|name| registry.family_name(operation).eq_ignore_ascii_case(name))
            && self.server.is_none_or(|server| operation.server() == Some(server))
    }
}

/// How dangerous operations are, and why. Not one of the standard queries.
fn danger(registry: &Registry, name: Option<&str>) -> Result<Answer, Error> {
    let entry = |operation: &Operation| {
        let danger = operation.danger();
        let mut entry = json!({
            "name": operation.name(),
            "level": danger.level,
            "number": danger.level.number(),
            "reasons": danger.reasons,
        });
        if let Value::Object(entry) = &mut entry {
            let message = danger.confirmation_message.as_deref();
            entry.extend(message.map(|text| ("confirmation_message".to_owned(), text.into())));
            let cooldown = danger.cooldown_seconds;
            entry.extend(cooldown.map(|seconds| ("cooldown_seconds".to_owned(), seconds.into())));
            if danger.requires_reauth {
                entry.insert("requires_reauth".to_owned(), true.into());
            }
        }
        entry
    };
    let data = match name {
        Some(name) => {
            let found = registry.visible_named(name);
            json!({"danger": found.map(|(_, operation)| entry(operation))})
        }
        None => json!({"dangers": registry.visible().map(entry).collect::<Vec<_>>()}),
    };
    Ok(Answer::from_data(&data))
}
