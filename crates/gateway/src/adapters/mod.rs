//! What stands behind operations. An adapter is a set of definitions, each with the handler that does its work.

pub mod entities;
pub mod executions;
pub mod safety_loop;
pub mod typed;
pub mod upstream;

use std::sync::{Arc, OnceLock};

use aql::{define, introspect::AdapterInfo, registry::Problems, schema};

use crate::{
    dispatch::{Context, Handler, Surface, Work},
    gate::Permitted,
};

/// Everything that is built in, without anything behind it, to be looked at.
#[must_use]
pub fn built_in() -> (Vec<define::Operation>, Vec<define::Type>) {
    let operations = entities::definitions().into_iter().chain(executions::definitions()).collect();
    let types = entities::types().into_iter().chain(executions::types()).collect();
    (operations, types)
}

/// Does no work, for operations that are only looked at.
pub(crate) struct Nobody;

impl Handler for Nobody {
    fn call(&self, _permitted: Permitted, _context: Context) -> Work {
        Box::pin(async { Err(aql::error::Error::internal("this operation is only described here")) })
    }
}

/// The type of one page of a collection.
pub(crate) fn page_type(name: &str, item: &str, description: &str) -> define::Type {
    let param = define::Param::new;
    define::Type::object(
        name,
        description,
        vec![
            param("items", &format!("{item}[]"), "The items; beside aggregations only with 'include_items'"),
            param("pageInfo", "PageInfo", "Where a page by cursor stands"),
            param("pagination", "object", "Where a page by 'limit' or 'page' stands"),
            param("aggregations", "object", "What 'aggregate' asked for, by its labels"),
        ],
    )
}

/// Definitions and their handlers, on the way to a [`Surface`].
#[derive(Clone, Default)]
pub struct Operations {
    pub(crate) operations: Vec<(define::Operation, Arc<dyn Handler>)>,
    pub(crate) types: Vec<define::Type>,
    pub(crate) servers: Vec<AdapterInfo>,
}

/// Why operations cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Problems(#[from] Problems),
    #[error("operation '{operation}': {source}")]
    Schema { operation: String, source: schema::Error },
}

impl Operations {
    /// Adds an operation with its handler.
    pub fn add(&mut self, operation: define::Operation, handler: impl Handler + 'static) {
        self.operations.push((operation, Arc::new(handler)));
    }

    pub fn add_types(&mut self, types: impl IntoIterator<Item = define::Type>) {
        self.types.extend(types);
    }

    /// Adds what is told of a server that does some of the work.
    pub fn add_server(&mut self, server: AdapterInfo) {
        self.servers.push(server);
    }

    /// Puts everything of another set in.
    pub fn extend(&mut self, other: Self) {
        self.operations.extend(other.operations);
        self.types.extend(other.types);
        self.servers.extend(other.servers);
    }

    /// Checks all definitions and binds them to their handlers.
    pub fn publish(self, builder: aql::registry::Builder) -> Result<Surface, Problems> {
        let (definitions, handlers): (Vec<_>, Vec<_>) = self.operations.into_iter().unzip();
        let builder = builder.operations(definitions).types(self.types).servers(self.servers);
        let registry = Arc::new(builder.build()?);
        // `introspect` stands first in every registry and is answered by it.
        let handlers = std::iter::once(None).chain(handlers.into_iter().map(Some)).collect();
        Ok(Surface { registry, handlers, listed: OnceLock::default(), introduction: None })
    }
}
