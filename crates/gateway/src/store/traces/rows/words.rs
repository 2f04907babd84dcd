//! The words that columns are told in, for who reads descriptions of them.

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::trace::{Engine, Kind, Status};

fn one_of(all: impl Iterator<Item = &'static str>) -> Schema {
    json_schema!({"type": "string", "enum": all.collect::<Vec<_>>()})
}

pub(super) fn status(_: &mut SchemaGenerator) -> Schema {
    one_of(Status::ALL.iter().map(|status| status.as_str()))
}

pub(super) fn engine(_: &mut SchemaGenerator) -> Schema {
    one_of(Engine::ALL.iter().map(|engine| engine.as_str()))
}

pub(super) fn kind(_: &mut SchemaGenerator) -> Schema {
    one_of(Kind::ALL.iter().map(|kind| kind.as_str()))
}
