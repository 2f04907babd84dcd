//! Decisions about calls: the operator's settings in, allow, confirm or deny out.

#![cfg(test)]

mod danger;
mod facts;
mod properties;
mod rules;
mod trust;
mod world;
