//! Which part of a list is wanted: by cursor, by offset or by page number.
//!
//! Without a size a page has [`PAGE_DEFAULT`] items; more than [`PAGE_MAX`] are given as that many; below 1 or above
//! [`PAGE_ACCEPTED_MAX`] is refused. Parameters of two styles are never mixed. Totals cost a whole reading of the list
//! and are told only with `include_total`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    collection::{Collection, Style},
    sort::Place,
};
use crate::{
    error::{Code, Error},
    shared::{PAGE_ACCEPTED_MAX, PAGE_DEFAULT, PAGE_MAX},
};

/// No more items than this are skipped: those before a page that storage cannot order have to be held to be counted.
pub const SKIP_MAX: usize = 1_000_000;

/// The part of a list that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Window {
    /// From the start, or behind a cursor.
    First {
        size: usize,
        after: Option<Place<'static>>,
    },
    /// From the end, or before a cursor.
    Last {
        size: usize,
        before: Option<Place<'static>>,
    },
    Offset {
        limit: usize,
        offset: usize,
    },
    /// Pages are numbered from 1.
    Page {
        page: usize,
        page_size: usize,
    },
}

impl Window {
    /// How many items the page can have.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::First { size, .. } | Self::Last { size, .. } => *size,
            Self::Offset { limit, .. } => *limit,
            Self::Page { page_size, .. } => *page_size,
        }
    }

    /// How many items lie before the page, where that is how it is asked for.
    #[must_use]
    pub fn skip(&self) -> usize {
        match self {
            Self::First { .. } | Self::Last { .. } => 0,
            Self::Offset { offset, .. } => *offset,
            Self::Page { page, page_size } => page.saturating_sub(1).saturating_mul(*page_size),
        }
    }
}

/// Where a page stands, as its style tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Info {
    #[serde(rename_all = "camelCase")]
    Cursor {
        has_next_page: bool,
        has_previous_page: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        start_cursor: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        end_cursor: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_count: Option<usize>,
    },
    Offset {
        limit: usize,
        offset: usize,
        returned: usize,
        has_more: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<usize>,
    },
    Page {
        page: usize,
        page_size: usize,
        has_more: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_pages: Option<usize>,
    },
}

impl Info {
    /// The key it stands under in `data`.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Cursor { .. } => "pageInfo",
            Self::Offset { .. } | Self::Page { .. } => "pagination",
        }
    }
}

/// Reads the paging parameters; `open` opens a cursor given under a name.
pub(super) fn read(
    params: &Map<String, Value>,
    collection: &Collection,
    open: impl Fn(&str, &str) -> Result<Place<'static>, Error>,
) -> Result<Window, Error> {
    let given = |style: &Style| style.params().iter().copied().filter(|name| params.contains_key(*name));
    let used: Vec<Style> =
        collection.styles().iter().copied().filter(|style| given(style).next().is_some()).collect();
    let style = match used.as_slice() {
        [] => match collection.styles().first() {
            Some(style) => *style,
            // The names of all styles mean something else to the operation.
            None => return Ok(Window::First { size: usize::MAX, after: None }),
        },
        [one] => *one,
        several => {
            let provided: Vec<&str> = several.iter().flat_map(given).collect();
            let names = provided.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
            let ways: Vec<String> = collection
                .styles()
                .iter()
                .map(|style| format!("'{}'", style.params().join("', '")))
                .collect();
            return Err(conflict(&format!("Cannot mix pagination styles: {names}"), &provided)
                .hint(format!("Use only one of the styles: {}.", ways.join("; or "))));
        }
    };
    let (window, name) = match style {
        Style::Cursor => return by_cursor(params, open),
        Style::Offset => (
            Window::Offset {
                limit: size(params, "limit")?.unwrap_or(PAGE_DEFAULT),
                offset: whole(params, "offset", 0)?.unwrap_or(0),
            },
            "offset",
        ),
        Style::Page => (
            Window::Page {
                page: whole(params, "page", 1)?.unwrap_or(1),
                page_size: size(params, "page_size")?.unwrap_or(PAGE_DEFAULT),
            },
            "page",
        ),
    };
    if window.skip() > SKIP_MAX { Err(too_far(&window, name, collection)) } else { Ok(window) }
}

fn too_far(window: &Window, name: &str, collection: &Collection) -> Error {
    let maximum = match window {
        Window::Page { page_size, .. } => SKIP_MAX / (*page_size).max(1) + 1,
        _ => SKIP_MAX,
    };
    let value = match window {
        Window::Page { page, .. } => *page,
        other => other.skip(),
    };
    let message =
        format!("Parameter '{name}' must be {maximum} or less, for up to {SKIP_MAX} items can be skipped");
    let error = Error::new(Code::OutOfRange, message)
        .with("param_name", name)
        .with("maximum", maximum)
        .with("value", value);
    if collection.styles().contains(&Style::Cursor) {
        error.hint("Go through a long list with 'first' and 'after', or narrow it with 'filter'.")
    } else {
        error.hint("Narrow the list with 'filter', or sort it the other way round.")
    }
}

fn by_cursor(
    params: &Map<String, Value>,
    open: impl Fn(&str, &str) -> Result<Place<'static>, Error>,
) -> Result<Window, Error> {
    let has = |name: &str| params.contains_key(name);
    let provided: Vec<&str> = Style::Cursor.params().iter().copied().filter(|name| has(name)).collect();
    let refused = |message: &str, hint: &str| Err(conflict(message, &provided).hint(hint));
    const EITHER: &str = "Use 'first' for forward pagination or 'last' for backward pagination";
    match (has("first"), has("after"), has("last"), has("before")) {
        (true, _, true, _) => return refused("Cannot use 'first' and 'last' together", EITHER),
        (true, _, _, true) => {
            return refused("Cannot use 'first' and 'before' together", "Use 'first' with 'after'");
        }
        (_, true, true, _) => {
            return refused("Cannot use 'last' and 'after' together", "Use 'last' with 'before'");
        }
        (_, true, _, true) => return refused("Cannot use 'after' and 'before' together", EITHER),
        (false, true, ..) => {
            return refused("Cannot use 'after' without 'first'", "Add 'first', the size of the page");
        }
        (_, _, false, true) => {
            return refused("Cannot use 'before' without 'last'", "Add 'last', the size of the page");
        }
        _ => {}
    }
    let cursor = |name: &str| match params.get(name) {
        None => Ok(None),
        Some(Value::String(cursor)) => open(name, cursor).map(Some),
        Some(other) => Err(Error::invalid_type(name, "string", other)),
    };
    Ok(match size(params, "last")? {
        Some(size) => Window::Last { size, before: cursor("before")? },
        None => {
            Window::First { size: size(params, "first")?.unwrap_or(PAGE_DEFAULT), after: cursor("after")? }
        }
    })
}

fn conflict(message: &str, provided: &[&str]) -> Error {
    Error::new(Code::InvalidType, message)
        .with("param_name", "pagination")
        .with("expected_type", "valid pagination combination")
        .with("actual_type", "conflicting parameters")
        .with("provided", provided.to_vec())
}

/// A page size: cut to the largest page, refused where it cannot be meant.
fn size(params: &Map<String, Value>, name: &str) -> Result<Option<usize>, Error> {
    match whole(params, name, 1)? {
        Some(size) if size > PAGE_ACCEPTED_MAX => Err(Error::new(
            Code::OutOfRange,
            format!("Parameter '{name}' must be between 1 and {PAGE_ACCEPTED_MAX}"),
        )
        .with("param_name", name)
        .with("minimum", 1)
        .with("maximum", PAGE_ACCEPTED_MAX)
        .with("value", size)
        .hint(format!(
            "A page holds {PAGE_MAX} items or less; ask for the next page with its cursor or number."
        ))),
        Some(size) => Ok(Some(size.min(PAGE_MAX))),
        None => Ok(None),
    }
}

fn whole(params: &Map<String, Value>, name: &str, minimum: usize) -> Result<Option<usize>, Error> {
    let Some(value) = params.get(name) else { return Ok(None) };
    // 5.0 is an integer, as it is to validation.
    let number = match value {
        Value::Number(number) => match super::order::Num::of(number) {
            super::order::Num::Whole(whole) => Some(whole),
            super::order::Num::Other(_) => None,
        },
        _ => None,
    };
    let Some(number) = number else { return Err(Error::invalid_type(name, "integer", value)) };
    match usize::try_from(number) {
        Ok(number) if number >= minimum => Ok(Some(number)),
        _ => Err(Error::new(Code::OutOfRange, format!("Parameter '{name}' must be {minimum} or more"))
            .with("param_name", name)
            .with("minimum", minimum)
            .with("value", value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::{fixture, order::Key};

    fn window(params: Value) -> Result<Window, Error> {
        read(params.as_object().unwrap(), &fixture::tasks(), |_, cursor| {
            Ok(Place { keys: vec![], id: Key::Text(cursor.to_owned().into()) })
        })
    }

    fn place(cursor: &str) -> Option<Place<'static>> {
        Some(Place { keys: vec![], id: Key::Text(cursor.to_owned().into()) })
    }

    /// LREQ-PAGE-01 LREQ-PAGE-05 REQ-PARAM-14
    #[test]
    fn parameters_combine_as_specified_and_sizes_are_cut() {
        for (params, expected) in [
            (json!({}), Window::First { size: 25, after: None }),
            (json!({"first": 5.0}), Window::First { size: 5, after: None }),
            (json!({"first": 500}), Window::First { size: 100, after: None }),
            (json!({"first": 1000, "after": "c"}), Window::First { size: 100, after: place("c") }),
            (json!({"last": 3}), Window::Last { size: 3, before: None }),
            (json!({"last": 3, "before": "c"}), Window::Last { size: 3, before: place("c") }),
            (json!({"limit": 300}), Window::Offset { limit: 100, offset: 0 }),
            (json!({"offset": 7}), Window::Offset { limit: 25, offset: 7 }),
            (json!({"page": 3}), Window::Page { page: 3, page_size: 25 }),
            (json!({"page_size": 10}), Window::Page { page: 1, page_size: 10 }),
        ] {
            assert_eq!(window(params.clone()).unwrap(), expected, "{params}");
        }
        assert_eq!(window(json!({"page": 3, "page_size": 10})).unwrap().skip(), 20);
    }

    /// LREQ-PAGE-02 LREQ-QUERY-05
    #[test]
    fn contradicting_parameters_are_refused() {
        for (params, provided) in [
            (json!({"first": 1, "last": 1}), json!(["first", "last"])),
            (json!({"after": "c"}), json!(["after"])),
            (json!({"before": "c"}), json!(["before"])),
            (json!({"first": 1, "before": "c"}), json!(["first", "before"])),
            (json!({"last": 1, "after": "c"}), json!(["after", "last"])),
            (json!({"after": "c", "before": "c"}), json!(["after", "before"])),
            (json!({"first": 5, "limit": 5}), json!(["first", "limit"])),
            (json!({"page": 1, "after": "x"}), json!(["after", "page"])),
            (json!({"page": 1, "offset": 1}), json!(["offset", "page"])),
        ] {
            let error = window(params.clone()).unwrap_err();
            assert_eq!((error.code, &error.details["provided"]), (Code::InvalidType, &provided), "{params}");
            assert!(error.details.contains_key("hint"), "{params}");
        }
        assert_eq!(
            window(json!({"first": 1, "last": 1})).unwrap_err().message,
            "Cannot use 'first' and 'last' together"
        );
    }

    #[test]
    fn sizes_out_of_range_or_of_another_type_are_refused() {
        for (params, code) in [
            (json!({"first": 0}), Code::OutOfRange),
            (json!({"first": -1}), Code::OutOfRange),
            (json!({"last": 1001}), Code::OutOfRange),
            (json!({"limit": 1e30}), Code::InvalidType),
            (json!({"first": 1.5}), Code::InvalidType),
            (json!({"first": "5"}), Code::InvalidType),
            (json!({"first": null}), Code::InvalidType),
            (json!({"first": 1, "after": 5}), Code::InvalidType),
            (json!({"offset": -1}), Code::OutOfRange),
            (json!({"page": 0}), Code::OutOfRange),
            (json!({"page_size": 0}), Code::OutOfRange),
            (json!({"offset": 1_000_001}), Code::OutOfRange),
            (json!({"page": 10_002, "page_size": 100}), Code::OutOfRange),
            (json!({"page": u64::MAX, "page_size": 100}), Code::OutOfRange),
        ] {
            assert_eq!(window(params.clone()).unwrap_err().code, code, "{params}");
        }
        assert!(window(json!({"offset": 1_000_000})).is_ok());
        assert!(window(json!({"page": 10_001, "page_size": 100})).is_ok());
        let error = window(json!({"page": 10_002, "page_size": 100})).unwrap_err();
        assert_eq!(error.details["maximum"], 10_001);
        assert!(error.details["hint"].as_str().unwrap().contains("'after'"));
    }
}
