//! The query language over any list of JSON: filter, sort, page, aggregate.

pub mod order;
