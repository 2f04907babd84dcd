//! What can be asked of entities: the fields, and what is computed of them.

use aql::query::{
    Collection, Computed, Kind, Order, Style,
    collection::{Builder, Error},
    path::{Path, find},
};
use serde_json::Value;

/// The number of relations of an entity, which it brings along when asked.
pub const RELATIONS: &str = "_relations";
/// The row of an entity, the order of creation.
pub(super) const ROW: &str = "_row";
/// How well an entity matches the words of a search.
pub(super) const SCORE: &str = "_score";
pub const RELATION_COUNT: &str = "relation_count";
pub(super) const RELEVANCE: &str = "relevance";

const STALE_AFTER_DAYS: i64 = 30;
/// English prose and JSON have about this many bytes a token.
const BYTES_A_TOKEN: usize = 4;

/// All entities, by id unless sorted otherwise.
pub fn list() -> Result<Collection, Error> {
    fields(Collection::builder("entities").id("entity_id"))
        .paged_by(Style::Cursor)
        .paged_by(Style::Offset)
        .paged_by(Style::Page)
        .build()
}

/// The entities that words find, the best first. Equally good ones stand in the order of their creation.
pub fn search() -> Result<Collection, Error> {
    let relevance = "How well it matches: the sum of the words found, the rarer and the nearer to the name the more; \
                     comparable within one series of pages";
    let score = Path::parse(SCORE).map(|path| Computed::count(RELEVANCE, relevance, path));
    let mut builder = fields(Collection::builder("entities_found").id(ROW)).carried(ROW).carried(SCORE);
    if let Some(score) = score {
        builder = builder.computed(score.filterable().sortable());
    }
    builder.default_sort("_computed.relevance", Order::Desc).default_sort(ROW, Order::Asc).build()
}

fn fields(builder: Builder) -> Builder {
    let builder = builder
        .distinct("entity_id", Kind::Text)
        .field("entity_type", Kind::Text)
        .distinct("entity_name", Kind::Text)
        .distinct("description", Kind::Text)
        .field("priority", Kind::Number)
        .field("tags", Kind::List)
        .field("created_at", Kind::Time)
        .field("updated_at", Kind::Time)
        .open("metadata")
        .carried(RELATIONS);
    computed().into_iter().fold(builder, |builder, field| builder.computed(field.filterable().sortable()))
}

fn computed() -> Vec<Computed> {
    let of = |path: &str, make: &dyn Fn(Path) -> Computed| Path::parse(path).map(make);
    [
        of("created_at", &|path| Computed::age_days("age_days", "Whole days since its creation", path)),
        of("updated_at", &|path| {
            Computed::is_stale(
                "is_stale",
                "Whether its last change lies more than 30 days back",
                path,
                STALE_AFTER_DAYS,
            )
        }),
        of(RELATIONS, &|path| Computed::count(RELATION_COUNT, "Relations from and to it", path)),
    ]
    .into_iter()
    .flatten()
    .chain([Computed::new(
        "estimated_tokens",
        Kind::Number,
        "About how many tokens the whole entity costs to read",
        |item, _| estimated_tokens(item).into(),
    )])
    .collect()
}

/// A quarter of its bytes as JSON, without what is only carried along.
fn estimated_tokens(item: &Value) -> usize {
    let carried: usize = [RELATIONS, ROW, SCORE]
        .iter()
        .filter_map(|key| {
            let value = find(&Path::parse(key)?, item)?;
            // The quotes, the colon and a comma.
            Some(key.len() + value.to_string().len() + 4)
        })
        .sum();
    item.to_string().len().saturating_sub(carried).div_ceil(BYTES_A_TOKEN)
}
