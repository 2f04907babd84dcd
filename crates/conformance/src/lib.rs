//! Tests any MCP-AQL adapter from outside.
//!
//! Everything is discovered by introspection; nothing is known of the adapter beforehand, and nothing of
//! Aqueduct is linked. [`collect`] asks the adapter and writes down what it answered as [`Evidence`], in
//! the shape of the specification's own bundles; [`report`] judges such bundles, whoever collected them.
//!
//! The adapter is written to: point it at an instance that may be. What was created is deleted again, and
//! calls that document `dry_run` are made with it.
//!
//! ```
//! use conformance::{Adapter, Level, Mode, Subject, collect, report};
//! use serde_json::{Value, json};
//!
//! struct Silent;
//!
//! impl Adapter for Silent {
//!     fn tools(&mut self) -> Vec<Value> {
//!         Vec::new()
//!     }
//!
//!     fn call(&mut self, _tool: &str, _arguments: Value) -> Value {
//!         json!({"success": false, "error": {"code": "INTERNAL_ERROR", "message": "nobody is here"}})
//!     }
//! }
//!
//! let subject = Subject { implementation: "silent".into(), version: "1".into(), run: 0 };
//! let evidence = collect(&subject, &mut [(Mode::Crude, &mut Silent)]);
//! assert_eq!(report(&evidence, Level::One).exit_code(), 1);
//! ```

mod answer;
mod catalog;
mod collect;
mod evidence;
mod judge;
mod pattern;
mod report;
mod sample;
mod shape;

use std::fmt;

use serde_json::Value;

pub use crate::{
    collect::collect,
    evidence::{
        Capabilities, ConstraintCase, DefaultCase, Error, ErrorCase, Evidence, GeneratedRequest,
        Introspection, Live, MisroutedCall, ParameterCase, ParameterTests, RoundTrip, SelectionExample,
        SemanticCase, SemanticExpectation, StructuralExpectation, UnlistedOperation, UpdatePreservation,
    },
    judge::report,
    report::{Category, Level, Outcome, Report, Summary, Test},
};

/// One connection to an adapter, in one endpoint mode.
pub trait Adapter {
    /// The tools as `tools/list` gives them.
    fn tools(&mut self) -> Vec<Value>;

    /// Calls a tool and gives the MCP-AQL answer in its result, parsed.
    fn call(&mut self, tool: &str, arguments: Value) -> Value;
}

/// What is tested.
#[derive(Debug, Clone)]
pub struct Subject {
    pub implementation: String,
    pub version: String,
    /// Makes the names of this run's resources differ from those of runs before it.
    pub run: u32,
}

/// How the adapter was started; the names are those of the evidence bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One tool for each endpoint family.
    Crude,
    /// One tool for everything.
    Single,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crude => "crude",
            Self::Single => "single",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
