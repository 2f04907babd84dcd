//! Our directories and files, and whether a path lies there.

use std::{
    borrow::Cow,
    fs,
    path::{Component, Path, PathBuf},
};

use globset::GlobBuilder;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Links to links to links are followed this far.
const LINKS_FOLLOWED: usize = 16;
/// A name with fewer parts than this is common enough to stand within other paths.
const TELLING_PARTS: usize = 3;

/// What our directory holds that no other does, so that it tells itself below a directory of the same name.
const FILES: [&str; 8] = [
    crate::operator::key::FILE,
    crate::operator::key::VIEWER_FILE,
    "cursor.key",
    "verification.key",
    "safety.db",
    "entities.db",
    "executions.db",
    "quotas.db",
];
/// What SQLite keeps beside a file.
const BESIDE: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// The same for the file of the configuration.
const CONFIGURATION: &str = "aqueduct.toml";

/// How a path lies to what is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lies {
    Within,
    /// It is a directory above one of ours.
    AboveDirectory,
    /// It is a directory above one of our files only.
    AboveFile,
}

/// What is ours, by all of its names.
pub(super) struct Owned {
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// The same in the one form that names are compared in.
    directory_forms: Vec<PathBuf>,
    file_forms: Vec<PathBuf>,
    /// The names as they could stand within a text.
    needles: Vec<Needle>,
    /// What our directories are called.
    directory_names: Vec<String>,
    /// What the directories are called that a configuration of ours is in.
    configuration_names: Vec<String>,
    /// Whether the file system takes large letters for small ones.
    folds: bool,
}

struct Needle {
    text: String,
    /// Whether it is long enough to mean nothing else, whatever stands before it.
    is_telling: bool,
}

impl Owned {
    pub(super) fn new(directories: &[PathBuf], files: &[PathBuf]) -> Self {
        let folds = directories.iter().any(|path| folds_case(path));
        Self::with_folding(directories, files, folds)
    }

    pub(super) fn with_folding(directories: &[PathBuf], files: &[PathBuf], folds: bool) -> Self {
        let names = |paths: &[PathBuf]| {
            let mut names: Vec<PathBuf> = Vec::new();
            for path in paths {
                let absolute = lexical(&std::path::absolute(path).unwrap_or_else(|_| path.clone()));
                let real = real(&absolute);
                for name in [absolute, real] {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
            names
        };
        let (mut directories, files) = (names(directories), names(files));
        let name = |path: &Path| Some(form(path.file_name()?.to_str()?, folds).into_owned());
        let directory_names = directories.iter().filter_map(|path| name(path)).collect();
        let configurations = files.iter().filter(|path| path.ends_with(CONFIGURATION));
        let configuration_names = configurations.filter_map(|path| name(path.parent()?)).collect();
        // What the system shows of our own process, its variables and its open files among it.
        if cfg!(target_os = "linux") {
            directories.push(PathBuf::from(format!("/proc/{}", std::process::id())));
        }
        let forms = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().map(|path| path_form(path, folds).into_owned()).collect()
        };
        let (directory_forms, file_forms) = (forms(&directories), forms(&files));
        let needles = directory_forms.iter().chain(&file_forms).filter_map(|path| {
            let text = path.to_str()?.to_owned();
            let is_telling = path.components().count() > TELLING_PARTS;
            (text.len() > 1).then_some(Needle { text, is_telling })
        });
        let needles = needles.collect();
        Self {
            needles,
            directories,
            files,
            directory_forms,
            file_forms,
            directory_names,
            configuration_names,
            folds,
        }
    }

    /// The names in this directory that lead to what is ours.
    pub(super) fn towards(&self, directory: &Path) -> Vec<String> {
        let real = real(directory);
        let mut names: Vec<String> = Vec::new();
        for path in [directory, &real] {
            let path = path_form(path, self.folds);
            let own = self.directory_forms.iter().chain(&self.file_forms);
            let below = own.filter_map(|own| own.strip_prefix(&path).ok());
            let next = below.filter_map(|rest| rest.components().next());
            names.extend(next.map(|name| name.as_os_str().to_string_lossy().into_owned()));
        }
        names
    }

    /// Whether a directory is ours, or in one.
    pub(super) fn is_within(&self, directory: &Path) -> bool {
        [directory, &real(directory)].iter().any(|path| self.lies(path) == Some(Lies::Within))
    }

    /// How a path lies, by its parts alone.
    pub(super) fn lies(&self, path: &Path) -> Option<Lies> {
        let path = path_form(path, self.folds);
        let within = self.directory_forms.iter().any(|own| path.starts_with(own))
            || self.file_forms.iter().any(|own| path == *own);
        if within {
            return Some(Lies::Within);
        }
        if self.directory_forms.iter().any(|own| own.starts_with(&path)) {
            return Some(Lies::AboveDirectory);
        }
        self.file_forms.iter().any(|own| own.starts_with(&path)).then_some(Lies::AboveFile)
    }

    /// Whether a path without `..` ends like one of ours: a file that only we have, in a directory of our name. It counts
    /// where nobody knows what the path starts from.
    pub(super) fn is_end_of_ours(&self, path: &Path) -> bool {
        let mut parts = path.components().rev().map(|part| part.as_os_str().to_str());
        let (Some(Some(file)), Some(Some(directory))) = (parts.next(), parts.next()) else { return false };
        let (file, directory) = (form(file, self.folds), form(directory, self.folds));
        let is_ours = |own: &str| file.strip_prefix(own).is_some_and(|rest| BESIDE.contains(&rest));
        (FILES.iter().any(|own| is_ours(own)) && self.directory_names.iter().any(|own| *own == directory))
            || (file == CONFIGURATION && self.configuration_names.iter().any(|own| *own == directory))
    }

    /// Whether the path is ours under another name: a second link to a file, a directory that is mounted twice, or
    /// other letters where the file system does not tell them apart.
    #[cfg(unix)]
    pub(super) fn is_another_name(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        let own: Vec<_> = self.directories.iter().filter_map(|own| identity(own)).collect();
        if path.ancestors().filter_map(identity).any(|found| own.contains(&found)) {
            return true;
        }
        let Some(found) = fs::metadata(path).ok().filter(|found| found.is_file()) else { return false };
        let found_identity = (found.dev(), found.ino());
        let mut files = self.files.clone();
        if found.nlink() > 1 {
            let entries = self.directories.iter().filter_map(|own| fs::read_dir(own).ok()).flatten();
            files.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
        files.iter().filter_map(|own| identity(own)).any(|own| own == found_identity)
    }

    #[cfg(not(unix))]
    pub(super) fn is_another_name(&self, path: &Path) -> bool {
        let lower = |path: &Path| PathBuf::from(path.to_string_lossy().to_lowercase());
        let path = lower(path);
        self.directories.iter().any(|own| path.starts_with(lower(own)))
            || self.files.iter().any(|own| path == lower(own))
    }

    /// Whether one of our names stands in a text whose slashes are single.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let text = form(text, self.folds);
        self.needles.iter().any(|needle| {
            memchr::memmem::find_iter(text.as_bytes(), needle.text.as_bytes()).any(|start| {
                let before = text.get(..start).and_then(|before| before.chars().next_back());
                let mut after = text.get(start + needle.text.len()..).unwrap_or_default().chars();
                let begins = needle.is_telling || !before.is_some_and(is_of_a_name);
                let ends = match (after.next(), after.next()) {
                    (Some('.'), Some(next)) => !is_of_a_name(next),
                    (Some('.'), None) | (None, _) => true,
                    (Some(next), _) => !is_of_a_name(next),
                };
                begins && ends
            })
        })
    }

    /// Whether a pattern fits something of ours. One that goes through all directories is a search where it only reads.
    pub(super) fn fits(&self, pattern: &str, reads: bool) -> bool {
        if reads && pattern.contains("**") {
            return false;
        }
        let pattern = form(pattern, self.folds);
        let Ok(glob) = GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(false).build()
        else {
            return false;
        };
        let matcher = glob.compile_matcher();
        // Below a directory that fits, everything is reached.
        let whole =
            |path: &Path| path.ancestors().any(|part| part.parent().is_some() && matcher.is_match(part));
        let inside = self.directories.iter().filter_map(|own| fs::read_dir(own).ok()).flatten();
        let inside = inside.filter_map(|entry| Some(entry.ok()?.path()));
        let mut inside = inside.map(|path| path_form(&path, self.folds).into_owned());
        match reads {
            true => {
                self.file_forms.iter().any(|path| matcher.is_match(path))
                    || inside.any(|path| matcher.is_match(path))
            }
            false => {
                self.file_forms.iter().chain(&self.directory_forms).any(|path| whole(path))
                    || inside.any(|path| matcher.is_match(path))
            }
        }
    }
}

/// The one form in which names are compared: a letter and its accent may be written as one sign or as two.
pub(super) fn form(text: &str, folds: bool) -> Cow<'_, str> {
    match (text.is_ascii(), folds) {
        (true, false) => Cow::Borrowed(text),
        (false, false) if is_nfc(text) => Cow::Borrowed(text),
        (_, false) => Cow::Owned(text.nfc().collect()),
        (_, true) => Cow::Owned(text.to_lowercase().nfc().collect()),
    }
}

fn path_form(path: &Path, folds: bool) -> Cow<'_, Path> {
    match path.to_str().map(|text| form(text, folds)) {
        Some(Cow::Owned(text)) => Cow::Owned(PathBuf::from(text)),
        Some(Cow::Borrowed(_)) | None => Cow::Borrowed(path),
    }
}

/// Whether the nearest directory that is there is found by the same name in other letters.
#[cfg(unix)]
fn folds_case(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let flipped = |name: &str| -> String {
        let flip =
            |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        name.chars().map(flip).collect()
    };
    path.ancestors().find_map(|there| {
        let found = identity(there)?;
        let name =
            there.file_name()?.to_str().filter(|name| name.contains(|c: char| c.is_ascii_alphabetic()))?;
        Some(identity(&there.with_file_name(flipped(name))) == Some(found))
    }) == Some(true)
}

#[cfg(not(unix))]
fn folds_case(_path: &Path) -> bool {
    true
}

fn is_of_a_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// The path with `.` and `..` taken out by its parts alone, as many programs do before they open anything.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// The path with every link followed, as the system does, as far as it is there; the rest as it is written.
pub(super) fn real(path: &Path) -> PathBuf {
    followed(path, LINKS_FOLLOWED)
}

fn followed(path: &Path, links_left: usize) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let mut there = PathBuf::new();
    let mut parts = path.components();
    for part in parts.by_ref() {
        if part == Component::ParentDir {
            there = fs::canonicalize(&there).unwrap_or_else(|_| lexical(&there));
            there.pop();
            continue;
        }
        there.push(part);
        match fs::symlink_metadata(&there) {
            Ok(found) if found.is_symlink() => match fs::canonicalize(&there) {
                Ok(real) => there = real,
                // A link to what is not there yet still says where it would be.
                Err(_) => {
                    let Some(target) = fs::read_link(&there).ok().filter(|_| links_left > 0) else { break };
                    let base = there.parent().map(Path::to_owned).unwrap_or_default();
                    there = followed(&base.join(target), links_left - 1);
                }
            },
            Ok(_) => {}
            Err(_) => break,
        }
    }
    lexical(&there.join(parts.as_path()))
}
