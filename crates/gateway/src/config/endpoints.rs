//! Which tools are shown: mode, profile and prefix, and the profiles that the file defines.

use std::collections::BTreeMap;

use aql::{
    name::{FamilyName, ToolPrefix},
    profile::{Family, Mode, Profile, ProfileError},
};

use super::{
    error::Error,
    file::{self, Placed},
    given::{Given, nearest, strongest},
    safety::patterns,
};

const CRUDE: &str = "crude";

/// What one source says of the endpoints.
#[derive(Debug, Clone)]
pub(super) struct Asked<'a> {
    pub(super) mode: Option<Given<'a>>,
    pub(super) profile: Option<Given<'a>>,
}

/// Mode and profile, the strongest source first. The mode `crude` asks for the profile `crude` as well.
pub(super) fn endpoints(
    sources: [Asked<'_>; 3],
    written: &BTreeMap<Placed<String>, file::Profile>,
) -> Result<(Mode, Profile), Error> {
    let known = profiles(written)?;
    for source in &sources {
        if let (Some(mode), Some(profile)) = (&source.mode, &source.profile)
            && mode.text == CRUDE
            && profile.text != CRUDE
        {
            let message = format!("mode 'crude' means the profile 'crude', not '{}'", profile.text);
            return Err(profile.wrong(message).help_with("ask for the mode 'semantic'"));
        }
    }
    let mode = strongest(sources.iter().map(|source| source.mode.clone()), |given| {
        given.text.parse().map_err(|error| given.wrong(error))
    })?;
    let profile = strongest(
        sources.into_iter().map(|source| source.profile.or(source.mode.filter(|mode| mode.text == CRUDE))),
        |given| known.get(given.text).cloned().ok_or_else(|| unknown(given, &known)),
    )?;
    Ok((mode.map_or_else(Mode::default, |(mode, _)| mode), profile.map_or_else(Profile::crude, |(p, _)| p)))
}

fn unknown(given: &Given<'_>, known: &BTreeMap<String, Profile>) -> Error {
    let names: Vec<_> = known.keys().map(|name| format!("'{name}'")).collect();
    let error = given.wrong(format!(
        "profile '{}' is not known; the known ones are {}",
        given.text,
        names.join(", ")
    ));
    match nearest(given.text, known.keys()) {
        Some(near) => error.help_with(format!("did you mean '{near}'?")),
        None => error.help_with(format!("define it under '[profile.{}]'", given.text)),
    }
}

pub(super) fn prefix(layers: [Option<Given<'_>>; 3]) -> Result<ToolPrefix, Error> {
    let parse = |given: &Given<'_>| given.text.parse().map_err(|error| given.wrong(error));
    Ok(strongest(layers, parse)?.map_or_else(ToolPrefix::default, |(prefix, _)| prefix))
}

/// The shipped profiles and those of the file.
fn profiles(written: &BTreeMap<Placed<String>, file::Profile>) -> Result<BTreeMap<String, Profile>, Error> {
    let mut known: BTreeMap<_, _> =
        [Profile::crude(), Profile::discover()].map(|profile| (profile.name().to_owned(), profile)).into();
    // From the top of the file, so that the first mistake is the one told.
    let mut written: Vec<_> = written.iter().collect();
    written.sort_by_key(|(name, _)| name.span().start);
    for (name, profile) in written {
        if known.contains_key(name.get()) {
            let message = format!("profile '{}' is shipped and cannot be redefined", name.get());
            return Err(Error::at(name.span(), message).help_with("give yours another name"));
        }
        if name.get().parse::<FamilyName>().is_err() {
            let message = format!("profile name '{}' must be snake_case", name.get());
            return Err(Error::at(name.span(), message).help_with("write it as in 'my_profile'"));
        }
        known.insert(name.get().clone(), self::profile(name.get(), &profile.families)?);
    }
    Ok(known)
}

fn profile(name: &str, written: &Placed<Vec<file::Family>>) -> Result<Profile, Error> {
    let families = written.get().iter().map(family).collect::<Result<_, _>>()?;
    Profile::new(name, families).map_err(|error| {
        let span = place_of(&error, written.get()).map_or_else(|| written.span(), Placed::span);
        Error::at(span, error)
    })
}

fn family(written: &file::Family) -> Result<Family, Error> {
    let name: FamilyName =
        written.name.get().parse().map_err(|error| Error::at(written.name.span(), error))?;
    if written.purpose.get().trim().is_empty() {
        let error = Error::at(written.purpose.span(), format!("family '{name}' has an empty purpose"));
        return Err(error.help_with("say in one sentence what its operations are for"));
    }
    let categories = written.categories.iter().flatten();
    let categories: Vec<_> = categories
        .map(|category| category.get().parse().map_err(|error| Error::at(category.span(), error)))
        .collect::<Result<_, _>>()?;
    let operations = patterns(written.operations.as_ref())?;
    if categories.is_empty() && operations.is_empty() {
        let message = format!("family '{name}' has neither categories nor operations");
        let help = "say what belongs to it, as in categories = [\"READ\"] or operations = [\"describe_*\"]";
        return Err(Error::at(written.name.span(), message).help_with(help));
    }
    Ok(Family { name, purpose: written.purpose.get().clone(), categories, operations })
}

/// The second of the two things that clash.
fn place_of<'a>(error: &ProfileError, families: &'a [file::Family]) -> Option<&'a Placed<String>> {
    match error {
        ProfileError::Empty(_) => None,
        ProfileError::Twice { family, .. } => {
            families.iter().map(|written| &written.name).filter(|name| name.get() == family).nth(1)
        }
        ProfileError::Shared { second, category, .. } => families
            .iter()
            .find(|written| written.name.get() == second)?
            .categories
            .iter()
            .flatten()
            .find(|written| written.get().eq_ignore_ascii_case(category.as_str())),
    }
}
