//! Where the relative paths of a server may start: in its working directory, in the directories that it is told of, and in
//! the customary ones.

use std::path::{Path, PathBuf};

use super::{
    Started,
    names::Names,
    places::{Owned, form},
};

/// So many directories of one server are tried.
const BASES_MAX: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The server runs there.
    Working,
    /// Its arguments or variables name it.
    Named,
    /// It might start there. Only what certainly leads to us counts.
    Guessed,
}

#[derive(Clone)]
pub(super) struct Base {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// Whether everything there is ours.
    pub(super) is_ours: bool,
    /// What a bare word would have to be there to lead towards what is ours.
    towards: Vec<String>,
}

impl Base {
    /// Whether a bare word could name something of ours there.
    pub(super) fn is_near(&self) -> bool {
        self.is_ours || !self.towards.is_empty()
    }

    /// Whether this word could.
    pub(super) fn leads(&self, word: &str) -> bool {
        let word = form(word, false);
        self.is_ours || self.towards.iter().any(|name| name.eq_ignore_ascii_case(&word))
    }
}

/// The directories of one server, the working directory first.
pub(super) fn of(started: &Started, names: &Names, owned: &Owned) -> Vec<Base> {
    let working = std::path::absolute(&started.directory).unwrap_or_else(|_| started.directory.clone());
    let mut bases = Vec::new();
    let mut add = |path: PathBuf, kind: Kind| {
        if bases.len() < BASES_MAX && !bases.iter().any(|base: &Base| base.path == path) {
            let (towards, is_ours) = (owned.towards(&path), owned.is_within(&path));
            bases.push(Base { path, kind, is_ours, towards });
        }
    };
    add(working.clone(), Kind::Working);
    add(PathBuf::from("/"), Kind::Guessed);
    if let Some(home) = names.home() {
        add(PathBuf::from(home), Kind::Guessed);
    }
    for text in &started.texts {
        for path in paths_in(text, &working, names) {
            match (path.is_file(), path.parent()) {
                // What is told of a file may be meant beside it.
                (true, Some(parent)) => add(parent.to_owned(), Kind::Guessed),
                _ => add(path, Kind::Named),
            }
        }
    }
    bases
}

/// Everything in an argument that is a path by its looks, or a directory in the working directory.
fn paths_in(text: &str, working: &Path, names: &Names) -> Vec<PathBuf> {
    let parts = text.split([':', ',', ';', '=']).chain([text]);
    let mut paths: Vec<PathBuf> = Vec::new();
    for part in parts.map(str::trim).filter(|part| !part.is_empty() && !part.contains('\0')) {
        let filled = names.filled(part, working.to_str());
        let path = PathBuf::from(filled.as_deref().unwrap_or(part));
        let path = match path.is_absolute() {
            true => path,
            false => Some(working.join(path)).filter(|path| path.is_dir()).unwrap_or_default(),
        };
        if path.is_absolute() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_apart() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("below")).unwrap();
        let names = Names::new([("HOME".to_owned(), "/home/ada".to_owned())].into());
        for (text, found) in [
            ("/srv/files", vec!["/srv/files"]),
            ("--root=/srv/files", vec!["/srv/files"]),
            ("~/files", vec!["/home/ada/files"]),
            ("--mount=src=/a,dst=/b", vec!["/a", "/b"]),
            ("/a:/b", vec!["/a", "/b", "/a:/b"]),
            ("--verbose", vec![]),
            ("not-there", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<_> = found.into_iter().map(PathBuf::from).collect();
            assert_eq!(paths_in(text, place.path(), &names), found, "{text}");
        }
        assert_eq!(paths_in("below", place.path(), &names), [place.path().join("below")]);
        assert_eq!(paths_in(".", place.path(), &names), [place.path().join(".")]);
    }
}
