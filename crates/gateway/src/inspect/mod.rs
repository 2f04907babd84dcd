//! The Inspector: what was recorded, to be looked at.
//!
//! [`page`] serves the page for browsers. It holds no data and asks for none without the key of who looks.

pub mod page;
