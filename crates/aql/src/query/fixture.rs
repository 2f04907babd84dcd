//! One collection for the tests of this module.

use jiff::Timestamp;

use super::{
    collection::{Collection, Kind, Style},
    compute::Computed,
    path::Path,
};

pub(super) fn tasks() -> Collection {
    Collection::builder("tasks")
        .id("id")
        .distinct("id", Kind::Number)
        .field("status", Kind::Text)
        .distinct("title", Kind::Text)
        .field("priority", Kind::Number)
        .field("done", Kind::Boolean)
        .field("created_at", Kind::Time)
        .field("tags", Kind::List)
        .field("owner.login", Kind::Text)
        .open("metadata")
        .computed(
            Computed::age_days("age_days", "Days since creation", Path::parse("created_at").unwrap())
                .filterable()
                .sortable(),
        )
        .computed(Computed::estimated_tokens("tokens", "Tokens of the whole item"))
        .paged_by(Style::Cursor)
        .paged_by(Style::Offset)
        .paged_by(Style::Page)
        .build()
        .unwrap()
}

pub(super) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}
