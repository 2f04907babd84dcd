//! Parameters that mean the same on every operation, defined once.

use crate::define::Param;

pub const FIELDS: &str = "fields";
pub const DRY_RUN: &str = "dry_run";
pub const IF_MATCH: &str = "if_match";
pub const CONFIRMATION_TOKEN: &str = "confirmation_token";
/// Where the token that goes on after a quota's pause stands. Published names begin with a letter, so this one is the alias.
pub const QUOTA_CONTINUE: &str = "_quota_continue";
pub const QUOTA_CONTINUE_PUBLISHED: &str = "quota_continue";
pub const INPUT: &str = "input";

/// How many items a page has when nobody says.
pub const PAGE_DEFAULT: usize = 25;
/// More than this is never sent on one page; larger wishes are cut to it.
pub const PAGE_MAX: usize = 100;
/// Larger wishes than this are a mistake and refused.
pub const PAGE_ACCEPTED_MAX: usize = 1000;

#[must_use]
pub fn fields() -> Param {
    Param::new(
        FIELDS,
        "string | string[]",
        "Field selection: a preset ('minimal', 'standard', 'full') or an array of field paths; dots reach into objects",
    )
}

#[must_use]
pub fn dry_run() -> Param {
    Param::new(DRY_RUN, "boolean", "Check everything and show the result, but change nothing")
        .default_value(false)
}

#[must_use]
pub fn if_match() -> Param {
    Param::new(
        IF_MATCH,
        "string",
        "The _etag last seen; the call is refused with CONFLICT_VERSION_MISMATCH if the resource has changed since",
    )
}

#[must_use]
pub fn confirmation_token() -> Param {
    Param::new(CONFIRMATION_TOKEN, "string", "The token of a CONFIRMATION_REQUIRED answer")
        .alias("_confirmation")
        .sensitive()
}

#[must_use]
pub fn quota_continue() -> Param {
    let about = "The token of a RATE_LIMIT_QUOTA_PAUSE answer, to make the call after all; '_quota_continue' is accepted too";
    Param::new(QUOTA_CONTINUE_PUBLISHED, "string", about).alias(QUOTA_CONTINUE).sensitive()
}

#[must_use]
pub fn first() -> Param {
    let mut param = Param::new(
        "first",
        "integer",
        "Maximum results to return from the start; more than 100 are given as 100",
    )
    .default_value(PAGE_DEFAULT);
    (param.minimum, param.maximum) = (Some(1.0), Some(PAGE_ACCEPTED_MAX as f64));
    param
}

#[must_use]
pub fn after() -> Param {
    Param::new("after", "string", "Opaque cursor to continue after: the endCursor of the page before")
}
