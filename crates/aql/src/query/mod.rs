//! The query language over any list of JSON: filter, sort, page, aggregate.

pub mod aggregate;
pub mod collection;
pub mod compute;
mod cursor;
pub mod filter;
#[cfg(test)]
mod fixture;
mod observe;
pub mod order;
pub mod page;
pub mod path;
mod refuse;
pub mod sort;

pub use self::{collection::Collection, cursor::CursorKey, filter::Filter};
