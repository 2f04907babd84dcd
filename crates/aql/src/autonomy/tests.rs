//! The stages in their order, the operations as they are published, and agents against a model of them.

mod machine;
mod published;
mod stages;
