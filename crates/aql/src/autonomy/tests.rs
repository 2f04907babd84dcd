//! The stages in their order, hints that evade and hints that only look bad, the operations as they are published, and agents
//! against a model of them.

mod hints;
mod machine;
mod published;
mod stages;
