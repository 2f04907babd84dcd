//! What stands between a decision and a person: the channels through which they are asked.

pub mod channels;
