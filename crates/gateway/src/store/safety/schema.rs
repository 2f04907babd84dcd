//! The tables of `safety.db`, each written beside the code that uses it.

use super::{agents, approvals, audit, inputs, tokens};
use crate::store::migrations::Schema;

pub(crate) const FILE: &str = "safety.db";

pub(super) const SCHEMA: Schema = Schema {
    application_id: i32::from_be_bytes(*b"AqSa"),
    steps: &[audit::TABLES, approvals::TABLES, tokens::TABLES, agents::TABLES, inputs::TABLES],
};
