//! The suite against an adapter of our own making that is right, or wrong in one thing.

#![cfg(test)]

mod fake;
mod faults;
mod levels;
