//! Other servers' tools as operations of ours: every shape in the wild is taken, and what passes here is what the
//! upstream's own schema allows.

#![cfg(test)]

mod captures;
mod drive;
mod generate;
mod hostile;
mod names;
mod properties;
mod shapes;
