//! The tables of `executions.db`.

use crate::store::migrations::Schema;

pub(super) const FILE: &str = "executions.db";

pub(super) const SCHEMA: Schema = Schema { application_id: i32::from_be_bytes(*b"AqEx"), steps: &[FORMAT_1] };

/// Times are microseconds since 1970; `lifecycle`, `progress`, `error` and `json` are JSON.
///
/// - What may be large lies in `documents`: a row is written anew with every report of progress, and its parameters or
///   result must not be written with it.
/// - Ids grow with the time they were made, so their order is that of creation.
/// - The executions that are not over are few, however many are kept. Their index has no lease in it, because
///   renewing would have to move every one of its entries.
const FORMAT_1: &str = "
CREATE TABLE executions (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    session_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    owner TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    lifecycle TEXT NOT NULL,
    progress TEXT,
    error TEXT
) STRICT;
CREATE INDEX executions_by_principal ON executions (principal, id);
CREATE INDEX executions_alive ON executions (owner) WHERE finished_at IS NULL;
CREATE INDEX executions_over ON executions (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE documents (
    row INTEGER PRIMARY KEY,
    execution INTEGER NOT NULL REFERENCES executions (row) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (execution, kind)
) STRICT;
";
