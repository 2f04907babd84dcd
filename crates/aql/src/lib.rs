//! The MCP-AQL language, pure: it never opens a file or socket, reads a clock, draws a random number or awaits.
//!
//! Operations and parameters are types; a [`registry`] of them is built, checked and frozen; a [`request`] is read,
//! routed and [validated](validate) against it; [introspection](introspect) and the [tool list](tools) are views
//! over it; a [`response`] is written once.
//!
//! ```
//! use std::sync::Arc;
//!
//! use aql::{category::Category, define::{Operation, Param}, registry::{Endpoint, Registry}, request::Call};
//!
//! let get_item = Operation::new(Category::Read, "get_item", "Get one item")
//!     .param(Param::new("item_id", "string", "The item's id").required());
//! let registry = Arc::new(Registry::builder("items").operation(get_item).build()?);
//!
//! let call = Call::read(serde_json::from_str(r#"{"operation": "get_item", "item": "7"}"#)?)?;
//! let refused = registry.validate(Endpoint::Unified, call).unwrap_err();
//! assert_eq!(refused.message, "Missing required parameter 'item_id'. Expected: string (The item's id)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod adopt;
pub mod answer_schema;
pub mod audit;
pub mod autonomy;
pub mod batch;
pub mod category;
pub mod classify;
pub mod confirm;
pub mod danger;
pub mod define;
pub mod discover;
pub mod drift;
pub mod error;
pub mod execution;
pub mod fields;
pub mod introspect;
pub mod limits;
pub mod lint;
pub mod listed;
pub mod merge;
pub mod name;
pub mod operation;
pub mod param;
pub mod policy;
pub mod profile;
pub mod query;
pub mod quota;
pub mod rate;
pub mod registry;
pub mod request;
pub mod response;
pub mod scan;
pub mod schema;
pub mod search;
pub mod shared;
pub mod suggest;
pub mod tools;
pub mod trust;
pub mod types;
pub mod validate;
pub mod warning;
pub mod workflow;
