//! The parameters and metadata that introspection shows for a collection: what they list is what is accepted.

use serde_json::{Value, json};

use super::{
    aggregate::FUNCTIONS,
    collection::{Collection, Style, Use},
    filter::OPERATORS,
    page::SKIP_MAX,
};
use crate::{
    define::Param,
    shared::{self, PAGE_ACCEPTED_MAX, PAGE_DEFAULT, PAGE_MAX},
};

/// Every control that a collection offers, to be added to its operation.
#[must_use]
pub fn all(collection: &Collection) -> Vec<Param> {
    let mut params =
        vec![filter(collection), sort(collection), aggregate(collection), include_items(), include_total()];
    params.extend(collection.styles().iter().flat_map(|style| paging(*style)));
    params.retain(|param| collection.offers(&param.name));
    params
}

/// The controls over a list that a handler returned: without `first` it is as long as it may be.
#[must_use]
pub fn returned(collection: &Collection) -> Vec<Param> {
    let mut params = all(collection);
    for first in params.iter_mut().filter(|param| param.name == "first") {
        first.default = None;
        first.description.push_str("; without it as many as fit into an answer");
    }
    params
}

/// Everything that can be asked of a result of which nothing is known.
#[must_use]
pub fn of_anything() -> Vec<Param> {
    let mut params = returned(&Collection::of_anything(""));
    params.push(shared::fields());
    params
}

#[must_use]
pub fn filter(collection: &Collection) -> Param {
    let description = format!(
        "Structured filtering criteria: {{field: value}} or {{field: {{operator: value}}}}, combined with 'and', 'or' \
         (arrays of filters) and 'not'. Operators: {}. Fields: {}",
        OPERATORS.join(", "),
        names(collection, Use::Filter)
    );
    Param::new("filter", "object", &description)
}

#[must_use]
pub fn sort(collection: &Collection) -> Param {
    let description = format!(
        "Sort object with 'field' and 'order' ('asc', the default, or 'desc'), or an array of them; ties go by id. \
         Fields: {}",
        names(collection, Use::Sort)
    );
    Param::new("sort", "object | object[]", &description)
}

#[must_use]
pub fn aggregate(collection: &Collection) -> Param {
    let description = format!(
        "Summaries over all matches, as labels with expressions of {}: {{\"total\": {{\"count\": true}}, \
         \"by_x\": {{\"group_by\": \"x\", \"count\": true}}}}. sum, avg: {}. group_by: {}. min, max: any of these",
        FUNCTIONS.join(", "),
        names(collection, Use::Sum),
        names(collection, Use::Group)
    );
    Param::new("aggregate", "object", &description)
}

#[must_use]
pub fn include_items() -> Param {
    Param::new("include_items", "boolean", "Beside 'aggregate': give a page of the items as well")
        .default_value(false)
}

#[must_use]
pub fn include_total() -> Param {
    Param::new("include_total", "boolean", "Tell how many items match altogether, which costs a full count")
        .default_value(false)
}

/// The parameters of a paging style.
#[must_use]
pub fn paging(style: Style) -> Vec<Param> {
    match style {
        Style::Cursor => vec![shared::first(), shared::after(), last(), before()],
        Style::Offset => vec![
            sized("limit", "Maximum results to return").default_value(PAGE_DEFAULT),
            from("offset", "Number of results to skip", 0),
        ],
        Style::Page => vec![
            from("page", "Page number, counted from 1", 1),
            sized("page_size", "Items per page").default_value(PAGE_DEFAULT),
        ],
    }
}

fn last() -> Param {
    sized("last", "Maximum results to return from the end")
}

fn before() -> Param {
    Param::new("before", "string", "Opaque cursor to continue before: the startCursor of the page behind")
}

fn sized(name: &str, description: &str) -> Param {
    let description = format!("{description}; more than {PAGE_MAX} are given as {PAGE_MAX}");
    Param::new(name, "integer", &description).range(1.0, PAGE_ACCEPTED_MAX as f64)
}

fn from(name: &str, description: &str, minimum: u8) -> Param {
    let description = format!("{description}; up to {SKIP_MAX} items can be skipped, cursors go further");
    Param::new(name, "integer", &description)
        .default_value(minimum)
        .range(minimum.into(), SKIP_MAX as f64 + f64::from(minimum))
}

fn names(collection: &Collection, wanted: Use) -> String {
    let accepted = collection.accepted(wanted);
    match accepted.as_slice() {
        [] => "(none)".to_owned(),
        [only] if only == "*" => "any of the items'".to_owned(),
        several => several.join(", "),
    }
}

/// `computed_fields` of an operation's details.
#[must_use]
pub fn computed_fields(collection: &Collection) -> Value {
    collection.computed().iter().map(|field| field.info()).collect()
}

/// `aggregation_support` of an operation's details.
#[must_use]
pub fn aggregation_support(collection: &Collection) -> Value {
    if !collection.offers("aggregate") {
        return json!({"supported": false});
    }
    json!({
        "supported": true,
        "default_mode": "summary_only",
        "functions": FUNCTIONS,
        "groupable_fields": collection.accepted(Use::Group),
        "numeric_fields": collection.accepted(Use::Sum),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Collection, collection::Kind, fixture};

    /// LREQ-QUERY-06 LREQ-QUERY-09 LREQ-PAGE-09 REQ-PARAM-14
    #[test]
    fn parameters_list_what_is_accepted() {
        let params = all(&fixture::tasks());
        let names: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "filter",
                "sort",
                "aggregate",
                "include_items",
                "include_total",
                "first",
                "after",
                "last",
                "before",
                "limit",
                "offset",
                "page",
                "page_size"
            ]
        );
        let described = |name: &str| &params.iter().find(|param| param.name == name).unwrap().description;
        for accepted in fixture::tasks().accepted(Use::Filter) {
            assert!(described("filter").contains(&accepted), "{accepted}");
        }
        assert!(described("sort").ends_with(
            "Fields: id, status, title, priority, done, created_at, owner.login, metadata.*, _computed.age_days"
        ));
        let defaults: Vec<_> = ["first", "limit", "offset", "page", "page_size", "last"]
            .map(|name| params.iter().find(|param| param.name == name).unwrap().default.clone())
            .into();
        assert_eq!(
            defaults,
            [Some(25.into()), Some(25.into()), Some(0.into()), Some(1.into()), Some(25.into()), None]
        );
        let bare = Collection::builder("x").field("a", Kind::List).without("filter").build().unwrap();
        assert!(all(&bare).iter().all(|param| param.name != "filter"));
    }
}
