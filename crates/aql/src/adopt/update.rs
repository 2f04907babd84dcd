//! Where the parameters of an UPDATE stand: what says which thing is meant beside `input`, what changes it inside.

use super::{maker::Named, words_of_name};

/// Words that names of identifiers end in.
const IDENTIFIERS: [&str; 18] = [
    "id",
    "ids",
    "key",
    "uuid",
    "guid",
    "arn",
    "slug",
    "owner",
    "repo",
    "repository",
    "project",
    "workspace",
    "organization",
    "org",
    "path",
    "uri",
    "url",
    "number",
];

/// Which of the parameters go inside `input`, in the same order. What the upstream requires stays outside and what it
/// does not goes inside. Where it requires everything, the changes would have no place, so what does not look like an
/// identifier goes inside, or else the last.
pub(super) fn inside(params: &[Named<'_>]) -> Vec<bool> {
    let optional: Vec<bool> = params.iter().map(|param| !param.required).collect();
    if optional.contains(&true) || params.is_empty() {
        return optional;
    }
    let mut changing: Vec<bool> = params.iter().map(|param| !is_identifier(&param.outer)).collect();
    if !changing.contains(&true)
        && params.len() > 1
        && let Some(last) = changing.last_mut()
    {
        *last = true;
    }
    if params.len() > 1
        && !changing.contains(&false)
        && let Some(first) = changing.first_mut()
    {
        *first = false;
    }
    changing
}

fn is_identifier(name: &str) -> bool {
    words_of_name(name).last().is_some_and(|last| IDENTIFIERS.contains(&last.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::place::Said;

    #[test]
    fn changes_find_a_place_whatever_is_required() {
        type Row = (&'static [(&'static str, bool)], &'static [&'static str]);
        let table: [Row; 7] = [
            (&[("id", true), ("title", false)], &["title"]),
            (&[("id", true), ("title", true), ("color", false)], &["color"]),
            (&[("issue_id", true), ("title", true)], &["title"]),
            (&[("issue_id", true), ("user_id", true)], &["user_id"]),
            (&[("from", true), ("to", true)], &["to"]),
            (&[("mode", true)], &["mode"]),
            (&[("id", true)], &[]),
        ];
        for (given, expected) in table {
            let params: Vec<Named<'_>> = given
                .iter()
                .map(|(name, required)| Named {
                    original: name,
                    outer: (*name).to_owned(),
                    required: *required,
                    said: Said::Nothing,
                })
                .collect();
            let inside = inside(&params);
            let names: Vec<&str> =
                params.iter().zip(inside).filter(|(_, inside)| *inside).map(|(p, _)| p.original).collect();
            assert_eq!(names, expected, "{given:?}");
        }
    }
}
