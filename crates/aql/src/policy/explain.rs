//! placeholder
pub struct Explanation;
