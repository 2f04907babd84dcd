//! One call's parameters, followed to where they lead.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{
    Directory, Guard, OwnPlace, Reach,
    addresses::Listeners,
    places::{Lies, lexical, real},
    spellings,
};

/// A longer text is no path as a whole.
const PATH_BYTES_MAX: usize = 4096;
/// A longer word is no name of a file.
const NAME_BYTES_MAX: usize = 255;
/// So many paths within texts are looked up in one call. Beyond it they are compared by their parts only.
const LOOKED_UP_MAX: usize = 512;
/// Deeper than any parameters that are taken.
const DEPTH_MAX: usize = 128;

pub(super) struct Search<'a> {
    guard: &'a Guard,
    listeners: &'a Listeners,
    reach: Reach,
    directory: Option<&'a Directory>,
    looked_up: usize,
    /// Directories above ours that are named: a second parameter may lead on from there.
    above: Vec<PathBuf>,
    /// Whether the number of one of our ports is among the values.
    port: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        guard: &'a Guard,
        listeners: &'a Listeners,
        reach: Reach,
        directory: Option<&'a Directory>,
    ) -> Self {
        Self { guard, listeners, reach, directory, looked_up: 0, above: Vec::new(), port: false }
    }

    pub(super) fn object(&mut self, object: &Map<String, Value>, depth: usize) -> Result<(), OwnPlace> {
        for (key, value) in object {
            // A key is text like any other, but for the names that parameters have.
            if spellings::leads(key) {
                self.text("", key, depth)?;
            }
            self.value(key, value, depth)?;
        }
        Ok(())
    }

    fn value(&mut self, key: &str, value: &Value, depth: usize) -> Result<(), OwnPlace> {
        match value {
            Value::String(text) => self.text(key, text, depth),
            Value::Array(values) if depth < DEPTH_MAX => {
                values.iter().try_for_each(|value| self.value(key, value, depth + 1))
            }
            Value::Object(object) if depth < DEPTH_MAX => self.object(object, depth + 1),
            Value::Number(number) => {
                self.port |= number.as_u64().is_some_and(|number| self.listeners.have_port(number));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn text(&mut self, key: &str, text: &str, depth: usize) -> Result<(), OwnPlace> {
        if !spellings::leads(text) {
            if let Some(directory) = self.directory {
                let is_name = text.len() <= NAME_BYTES_MAX && !text.is_empty();
                if is_name && (directory.leads(text) || names_a_path(key)) {
                    self.word(text)?;
                }
                if self.reach.executes && directory.is_near() {
                    let mut words = spellings::words(text).filter(|word| directory.leads(word));
                    words.try_for_each(|word| self.compared(Path::new(word)))?;
                }
            }
            self.port |= text.len() <= 5 && text.parse().is_ok_and(|number| self.listeners.have_port(number));
            return Ok(());
        }
        // Parameters within a text are parameters.
        if depth < DEPTH_MAX
            && text.trim_start().starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            self.value(key, &value, depth + 1)?;
        }
        for spelling in spellings::spellings(text) {
            self.spelling(&spelling)?;
        }
        Ok(())
    }

    fn spelling(&mut self, text: &str) -> Result<(), OwnPlace> {
        if self.listeners.are_reached_by(text) {
            return Err(OwnPlace::Listener);
        }
        let here = self.directory.and_then(|directory| directory.path().to_str());
        let filled = self.guard.names.filled(text, here);
        let text = filled.as_deref().unwrap_or(text);
        if self.guard.owned.is_named_in(text) || self.guard.owned.is_named_in(&single_slashes(text)) {
            return Err(OwnPlace::Files);
        }
        let whole = text.trim();
        if whole.len() <= PATH_BYTES_MAX {
            self.path(whole, true)?;
            if let Some(path) = of_file_url(whole) {
                self.path(&path, true)?;
            }
        }
        if text.contains(['*', '?', '[', '{']) {
            spellings::patterns(text).try_for_each(|pattern| self.pattern(pattern))?;
        }
        let bare_words = self.reach.executes && self.directory.is_some_and(Directory::is_near);
        for word in spellings::words(text) {
            let is_path = word.contains(['/', '\\']);
            if word.len() <= PATH_BYTES_MAX && word != whole && (is_path || bare_words) {
                self.path(word, false)?;
            }
        }
        Ok(())
    }

    /// A word that is no path by its looks: only what is there counts, or what is ours by name.
    fn word(&mut self, word: &str) -> Result<(), OwnPlace> {
        let Some(directory) = self.directory else { return Ok(()) };
        let path = directory.path().join(word);
        self.compared(Path::new(word))?;
        match path.symlink_metadata().is_ok() {
            true => self.path(word, true),
            false => Ok(()),
        }
    }

    /// Compares a word by its name only.
    fn compared(&self, word: &Path) -> Result<(), OwnPlace> {
        let Some(directory) = self.directory else { return Ok(()) };
        let path = lexical(&directory.path().join(word));
        match self.guard.owned.lies(&path) {
            // A directory of ours that a server runs in is no reason to take every word for a file.
            Some(Lies::Within) if !directory.is_ours => Err(OwnPlace::Files),
            _ => Ok(()),
        }
    }

    /// Follows one path. `is_all` says that it is the whole of a value, so that a directory above ours counts.
    fn path(&mut self, text: &str, is_all: bool) -> Result<(), OwnPlace> {
        if text.is_empty() || text.contains('\0') {
            return Ok(());
        }
        let given = Path::new(text);
        match given.is_absolute() {
            true => self.absolute(given, is_all),
            false => match self.directory {
                Some(directory) => self.absolute(&directory.path().join(given), is_all),
                None => Ok(()),
            },
        }
    }

    fn absolute(&mut self, path: &Path, is_all: bool) -> Result<(), OwnPlace> {
        let path = self.out_of_proc(path);
        let plain = lexical(&path);
        self.judge(&plain, is_all)?;
        if !is_all {
            self.looked_up += 1;
            if self.looked_up > LOOKED_UP_MAX {
                return Ok(());
            }
        }
        if is_of_own_process(&plain) {
            return Ok(());
        }
        for real in [real(&path), real(&plain)] {
            self.judge(&real, is_all)?;
            if self.guard.owned.is_another_name(&real) {
                return Err(OwnPlace::Files);
            }
        }
        Ok(())
    }

    fn judge(&mut self, path: &Path, is_all: bool) -> Result<(), OwnPlace> {
        let Some(lies) = self.guard.owned.lies(path) else { return Ok(()) };
        match lies {
            Lies::Within => return Err(OwnPlace::Files),
            Lies::AboveDirectory if is_all && !self.reach.reads => return Err(OwnPlace::Above),
            Lies::AboveFile if is_all && self.reach.destroys => return Err(OwnPlace::Above),
            Lies::AboveDirectory | Lies::AboveFile => {}
        }
        if is_all && !self.above.iter().any(|known| known == path) {
            self.above.push(path.to_owned());
        }
        Ok(())
    }

    fn pattern(&self, pattern: &str) -> Result<(), OwnPlace> {
        let directory = self.directory.map(Directory::path);
        let pattern = match (Path::new(pattern).is_absolute(), directory) {
            (true, _) => lexical(Path::new(pattern)),
            (false, Some(directory)) => lexical(&directory.join(pattern)),
            (false, None) => return Ok(()),
        };
        match self.guard.owned.fits(&pattern.to_string_lossy(), self.reach.reads) {
            true => Err(OwnPlace::Files),
            false => Ok(()),
        }
    }

    /// Paths through what the system shows of processes: the root and the working directory of the server itself.
    fn out_of_proc(&self, path: &Path) -> PathBuf {
        if memchr::memmem::find(path.as_os_str().as_encoded_bytes(), b"proc").is_none() {
            return path.to_owned();
        }
        let mut led = PathBuf::new();
        for part in path.components() {
            led.push(part);
            match (through_process(&lexical(&led)), self.directory) {
                (Some(Through::Root), _) => led = PathBuf::from("/"),
                (Some(Through::Working), Some(directory)) => led = directory.path().to_owned(),
                _ => {}
            }
        }
        led
    }

    /// What parameters say together: a directory above ours and a name in it, a host and its port.
    pub(super) fn combined(&mut self, params: &Map<String, Value>) -> Result<(), OwnPlace> {
        if self.port {
            let mut found = false;
            texts(params, &mut |text| found |= self.listeners.are_at(text));
            if found {
                return Err(OwnPlace::Listener);
            }
        }
        let above = std::mem::take(&mut self.above);
        if above.is_empty() {
            return Ok(());
        }
        let mut names: Vec<&str> = Vec::new();
        texts(params, &mut |text| {
            let is_relative =
                !text.is_empty() && text.len() <= PATH_BYTES_MAX && !Path::new(text).is_absolute();
            if is_relative {
                names.push(text);
            }
        });
        for directory in above.iter().take(LOOKED_UP_MAX) {
            for name in names.iter().take(LOOKED_UP_MAX) {
                let path = directory.join(name);
                if self.guard.owned.lies(&lexical(&path)) == Some(Lies::Within)
                    || (name.contains('/') && self.guard.owned.lies(&real(&path)) == Some(Lies::Within))
                    || (name.contains(['*', '?', '[', '{'])
                        && self.guard.owned.fits(&path.to_string_lossy(), self.reach.reads))
                {
                    return Err(OwnPlace::Files);
                }
            }
        }
        Ok(())
    }
}

/// Calls for every text among the values.
fn texts<'v>(object: &'v Map<String, Value>, found: &mut impl FnMut(&'v str)) {
    fn of<'v>(value: &'v Value, found: &mut impl FnMut(&'v str)) {
        match value {
            Value::String(text) => found(text),
            Value::Array(values) => values.iter().for_each(|value| of(value, found)),
            Value::Object(object) => object.values().for_each(|value| of(value, found)),
            _ => {}
        }
    }
    object.values().for_each(|value| of(value, found));
}

/// Whether a parameter's name says that its value is a path, be it a bare word.
fn names_a_path(key: &str) -> bool {
    (0..key.len()).any(|start| {
        let Some(rest) = key.as_bytes().get(start..) else { return false };
        let names: &[&[u8]] = match rest.first().map(u8::to_ascii_lowercase) {
            Some(b'p') => &[b"path"],
            Some(b'f') => &[b"file", b"folder"],
            Some(b'd') => &[b"dir", b"dest"],
            Some(b's') => &[b"source", b"src"],
            Some(b't') => &[b"target"],
            Some(b'u') => &[b"uri", b"url"],
            Some(b'l') => &[b"location"],
            _ => &[],
        };
        names.iter().any(|name| rest.get(..name.len()).is_some_and(|part| part.eq_ignore_ascii_case(name)))
    })
}

enum Through {
    Root,
    Working,
}

/// What a path like `/proc/self/cwd` stands for.
fn through_process(path: &Path) -> Option<Through> {
    let mut parts = path.strip_prefix("/proc").ok()?.components().map(|part| part.as_os_str().to_str());
    let process = parts.next()??;
    let is_process =
        matches!(process, "self" | "thread-self") || process.bytes().all(|byte| byte.is_ascii_digit());
    let mut last = parts.next().filter(|_| is_process)??;
    if last == "task" {
        parts.next()??;
        last = parts.next()??;
    }
    match (last, parts.next()) {
        ("root", None) => Some(Through::Root),
        ("cwd", None) => Some(Through::Working),
        _ => None,
    }
}

/// What the system shows of the asking process is that of the server, not ours.
fn is_of_own_process(path: &Path) -> bool {
    path.starts_with("/proc/self") || path.starts_with("/proc/thread-self")
}

fn single_slashes(text: &str) -> String {
    let mut single = String::with_capacity(text.len());
    for character in text.chars() {
        if character != '/' || !single.ends_with('/') {
            single.push(character);
        }
    }
    single.replace("/./", "/")
}

/// The path of a `file:` address, whatever host it names.
fn of_file_url(text: &str) -> Option<String> {
    let is_file = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let url = reqwest::Url::parse(text).ok().filter(|_| is_file)?;
    Some(percent_encoding::percent_decode_str(url.path()).decode_utf8_lossy().into_owned())
}
