//! The section `[entities]`.

use aql::query::path::{PATH_STEPS_MAX, Path};

use super::{
    checked::Entities,
    error::Error,
    file::{self, Placed},
};

/// Every index makes every write dearer.
pub(super) const INDEXES_MAX: usize = 16;
const WITHIN: &str = "metadata.";

/// `used` tells whether there is room for the workspace at all.
pub(super) fn entities(written: &file::Entities, used: bool) -> Result<Entities, Error> {
    let mut index: Vec<String> = Vec::new();
    for given in written.index.iter().flatten() {
        let path = path(given)?;
        if index.contains(&path) {
            let error = Error::at(given.span(), format!("'{path}' is listed twice"));
            return Err(error.help_with("list each path once"));
        }
        if index.len() == INDEXES_MAX {
            let message = format!("more than {INDEXES_MAX} paths are listed");
            return Err(Error::at(given.span(), message)
                .help_with("keep those filtered or sorted by most; the others work too, but slower"));
        }
        index.push(path);
    }
    Ok(Entities { enabled: used && written.enabled.unwrap_or(true), index })
}

fn path(given: &Placed<String>) -> Result<String, Error> {
    let text = given.get();
    let wrong = |message: String| {
        Error::at(given.span(), message)
            .help_with("write the keys with dots between, as in 'metadata.owner.team'")
    };
    if !text.starts_with(WITHIN) {
        return Err(wrong(format!("'{text}' is not a path within 'metadata'")));
    }
    if Path::parse(text).is_none() {
        return Err(wrong(format!("'{text}' has an empty step")));
    }
    if text.split('.').count() > PATH_STEPS_MAX {
        return Err(wrong(format!("'{text}' has more than {PATH_STEPS_MAX} steps")));
    }
    if text.chars().any(char::is_control) {
        return Err(wrong(format!("'{text}' holds a control character")));
    }
    Ok(text.clone())
}
