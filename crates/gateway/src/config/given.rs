//! Who said what: a setting's values from the flag, the environment and the file, the strongest first.

use aql::suggest;

use super::{
    environment::Environment,
    error::{Error, Place},
    file::Placed,
};

/// A value as somebody gave it.
#[derive(Debug, Clone)]
pub(super) struct Given<'a> {
    pub(super) text: &'a str,
    pub(super) place: Place,
}

impl<'a> Given<'a> {
    pub(super) fn flag(name: &'static str, value: &'a Option<String>) -> Option<Self> {
        value.as_deref().map(|text| Self { text, place: Place::Flag(name) })
    }

    pub(super) fn variable(name: &'static str, environment: &'a Environment) -> Result<Option<Self>, Error> {
        Ok(environment.text(name)?.map(|text| Self { text, place: Place::Variable(name) }))
    }

    pub(super) fn written(value: &'a Option<Placed<String>>) -> Option<Self> {
        value.as_ref().map(|value| Self { text: value.get(), place: Place::File(Some(value.span())) })
    }

    pub(super) fn wrong(&self, message: impl std::fmt::Display) -> Error {
        Error::new(self.place.clone(), message)
    }
}

/// The first value given, and where. The others are parsed as well, so that no mistake waits behind a stronger source.
pub(super) fn strongest<'a, T>(
    layers: impl IntoIterator<Item = Option<Given<'a>>>,
    parse: impl Fn(&Given<'a>) -> Result<T, Error>,
) -> Result<Option<(T, Place)>, Error> {
    let mut chosen = None;
    for given in layers.into_iter().flatten() {
        let value = parse(&given)?;
        chosen.get_or_insert((value, given.place));
    }
    Ok(chosen)
}

/// Comparing takes time with the length of the text, and nobody mistypes a name of ours into this many bytes.
const MISTYPED_BYTES_MAX: usize = 64;

/// The known name that was probably meant.
pub(super) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
    let known = known.into_iter().map(String::as_str);
    if given.len() > MISTYPED_BYTES_MAX { None } else { suggest::nearest(given, known) }
}
