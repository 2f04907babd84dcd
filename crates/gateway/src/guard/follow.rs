//! One call's parameters, followed to where they lead.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{
    Guard, OwnPlace, Reach,
    addresses::Listeners,
    bases::{Base, Kind},
    places::{Lies, lexical, real},
    processes, spellings,
};

/// No system takes a longer path, once `..` and the like are out of it.
const PATH_BYTES_MAX: usize = 4096;
/// A longer text is no path as a whole, however it is padded.
const PADDED_BYTES_MAX: usize = 256 * 1024;
/// A longer word is no name of a file.
const NAME_BYTES_MAX: usize = 255;
/// So many paths within texts are looked up in one call. Beyond it they are compared by their parts only.
const LOOKED_UP_MAX: usize = 2048;
/// A path in more parts than this is no list of parts.
const PARTS_MAX: usize = 32;
/// Deeper than any parameters that are taken.
const DEPTH_MAX: usize = 128;

pub(super) struct Search<'a> {
    guard: &'a Guard,
    listeners: &'a Listeners,
    reach: Reach,
    bases: &'a [Base],
    looked_up: usize,
    /// Directories above ours that are named: a second parameter may lead on from there.
    above: Vec<PathBuf>,
    /// Whether the number of one of our ports is among the values.
    port: bool,
    /// Parameters that were written within texts.
    within: Vec<Value>,
    /// Paths that were given in parts.
    joined: Vec<String>,
}

/// How one path is followed.
#[derive(Clone, Copy)]
struct Way {
    /// Whether it is the whole of a value.
    is_all: bool,
    /// Whether a directory above ours counts.
    above: bool,
    /// Whether the file system is asked.
    looks: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(guard: &'a Guard, listeners: &'a Listeners, reach: Reach, bases: &'a [Base]) -> Self {
        let (above, within, joined) = (Vec::new(), Vec::new(), Vec::new());
        Self { guard, listeners, reach, bases, looked_up: 0, above, port: false, within, joined }
    }

    fn working(&self) -> impl Iterator<Item = &'a Base> + use<'a> {
        self.bases.iter().filter(|base| base.kind == Kind::Working)
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
                values.iter().try_for_each(|value| self.value(key, value, depth + 1))?;
                self.parts(values)
            }
            Value::Object(object) if depth < DEPTH_MAX => self.object(object, depth + 1),
            Value::Number(number) => {
                self.port |= number.as_u64().is_some_and(|number| self.listeners.have_port(number));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A path may be given in parts. They are not taken for one by any name of ours: such lists are mostly lists.
    fn parts(&mut self, values: &[Value]) -> Result<(), OwnPlace> {
        let parts: Option<Vec<&str>> = match (2..=PARTS_MAX).contains(&values.len()) {
            true => {
                values.iter().map(|part| part.as_str().filter(|part| part.len() <= NAME_BYTES_MAX)).collect()
            }
            false => None,
        };
        let Some(parts) = parts else { return Ok(()) };
        let joined = parts.join("/");
        if self.guard.owned.is_end_of_ours(&lexical(Path::new(&joined))) {
            return Err(OwnPlace::Files);
        }
        self.joined.push(joined);
        Ok(())
    }

    fn text(&mut self, key: &str, text: &str, depth: usize) -> Result<(), OwnPlace> {
        // Parameters within a text are parameters.
        if depth < DEPTH_MAX
            && text.trim_start().starts_with(['{', '[', '"'])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            self.value(key, &value, depth + 1)?;
            self.within.push(value);
        }
        if self.reach.executes && self.listeners.are_words_of(text) {
            return Err(OwnPlace::Listener);
        }
        if !spellings::leads(text) {
            let is_name = text.len() <= NAME_BYTES_MAX && !text.is_empty();
            let names_a_path = is_name && !self.bases.is_empty() && names_a_path(key);
            for base in self.bases {
                let is_working = base.kind == Kind::Working;
                if is_name && (names_a_path || (is_working && base.leads(text))) {
                    self.word(base, text)?;
                }
                if is_working && self.reach.executes && base.is_near() {
                    let mut words = spellings::words(text).filter(|word| base.leads(word));
                    words.try_for_each(|word| self.compared(base, word))?;
                }
            }
            self.port |= text.len() <= 5 && text.parse().is_ok_and(|number| self.listeners.have_port(number));
            return Ok(());
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
        let here = self.working().next().and_then(|base| base.path.to_str());
        let filled = self.guard.names.filled(text, here);
        let text = filled.as_deref().unwrap_or(text);
        if self.guard.owned.is_named_in(text) || self.guard.owned.is_named_in(&single_slashes(text)) {
            return Err(OwnPlace::Files);
        }
        let whole = text.trim();
        self.path(whole, true)?;
        if let Some(path) = of_file_url(whole) {
            self.path(&path, true)?;
        }
        if let Some(rest) = after_data(whole) {
            self.path(rest, true)?;
        }
        if text.contains(['*', '?', '[', '{']) {
            spellings::patterns(text).try_for_each(|pattern| self.pattern(pattern))?;
        }
        let bare_words = self.reach.executes && self.working().any(Base::is_near);
        // What an address holds itself is in none of our directories, be one of them called `data`.
        let worded = after_data(whole).filter(|rest| is_of_data_url(rest)).unwrap_or(text);
        for word in spellings::words(worded) {
            let is_path = word.contains(['/', '\\']);
            if word != whole && (is_path || bare_words) {
                self.path(word, false)?;
            }
        }
        Ok(())
    }

    /// A word that is no path by its looks: only what is there counts, or what is ours by name.
    fn word(&mut self, base: &Base, word: &str) -> Result<(), OwnPlace> {
        self.compared(base, word)?;
        let path = base.path.join(word);
        match path.symlink_metadata().is_ok() {
            true => {
                let above = base.kind != Kind::Guessed;
                self.absolute(&path, Way { is_all: true, above, looks: true })
            }
            false => Ok(()),
        }
    }

    /// Compares a word by its name only.
    fn compared(&self, base: &Base, word: &str) -> Result<(), OwnPlace> {
        match self.guard.owned.lies(&lexical(&base.path.join(word))) {
            // A directory of ours that a server runs in is no reason to take every word for a file.
            Some(Lies::Within) if !base.is_ours => Err(OwnPlace::Files),
            _ => Ok(()),
        }
    }

    /// Follows one path. `is_all` says that it is the whole of a value, so that a directory above ours counts.
    fn path(&mut self, text: &str, is_all: bool) -> Result<(), OwnPlace> {
        if text.is_empty() || text.len() > PADDED_BYTES_MAX || text.contains('\0') {
            return Ok(());
        }
        let given = Path::new(text);
        let below = Path::new(text.trim_start_matches('/'));
        let is_absolute = given.is_absolute();
        if is_absolute {
            self.absolute(given, Way { is_all, above: is_all, looks: true })?;
        }
        // Where a server starts from is known of none but those that we start.
        if (!is_absolute || self.bases.is_empty()) && self.guard.owned.is_end_of_ours(&lexical(below)) {
            return Err(OwnPlace::Files);
        }
        for base in self.bases {
            let path = base.path.join(below);
            let is_guessed = is_absolute || base.kind == Kind::Guessed;
            // What a server is told of may be ours. Only what is there is meant then.
            let is_idle = base.is_ours
                && (is_absolute || base.kind != Kind::Working)
                && path.symlink_metadata().is_err();
            // A server may take its own directory for the root of everything.
            let is_same = is_absolute && base.path.parent().is_none();
            if !is_idle && !is_same {
                let way = Way { is_all, above: is_all && !is_guessed, looks: is_all || !is_guessed };
                self.absolute(&path, way)?;
            }
        }
        Ok(())
    }

    fn absolute(&mut self, path: &Path, way: Way) -> Result<(), OwnPlace> {
        if path.as_os_str().len() > PATH_BYTES_MAX {
            let plain = lexical(path);
            return match plain.as_os_str().len() <= PATH_BYTES_MAX {
                true => self.absolute(&plain, way),
                false => Ok(()),
            };
        }
        self.followed(path, way)?;
        if processes::is_there(path) {
            let mut working = self.working().map(|base| Some(base.path.as_path())).collect::<Vec<_>>();
            working.resize(working.len().max(1), None);
            for working in working {
                let led = processes::led_out(path, working);
                if led != path {
                    self.followed(&led, way)?;
                }
            }
        }
        Ok(())
    }

    fn followed(&mut self, path: &Path, way: Way) -> Result<(), OwnPlace> {
        let plain = lexical(path);
        if processes::is_secret(&plain) {
            return Err(OwnPlace::Files);
        }
        self.judge(&plain, way)?;
        if !way.looks || processes::is_own(&plain) {
            return Ok(());
        }
        if !way.is_all {
            self.looked_up += 1;
            if self.looked_up > LOOKED_UP_MAX {
                return Ok(());
            }
        }
        for real in [real(path), real(&plain)] {
            self.judge(&real, way)?;
            if processes::is_secret(&real) || self.guard.owned.is_another_name(&real) {
                return Err(OwnPlace::Files);
            }
        }
        Ok(())
    }

    fn judge(&mut self, path: &Path, way: Way) -> Result<(), OwnPlace> {
        let Some(lies) = self.guard.owned.lies(path) else { return Ok(()) };
        match lies {
            Lies::Within => return Err(OwnPlace::Files),
            Lies::AboveDirectory if way.above && !self.reach.reads => return Err(OwnPlace::Above),
            Lies::AboveFile if way.above && self.reach.destroys => return Err(OwnPlace::Above),
            Lies::AboveDirectory | Lies::AboveFile => {}
        }
        if way.above && !self.above.iter().any(|known| known == path) {
            self.above.push(path.to_owned());
        }
        Ok(())
    }

    fn pattern(&self, pattern: &str) -> Result<(), OwnPlace> {
        let given = Path::new(pattern);
        let fits = |path: &Path, reads| self.guard.owned.fits(&lexical(path).to_string_lossy(), reads);
        let is_ours = match given.is_absolute() {
            true => fits(given, self.reach.reads),
            false => self.bases.iter().any(|base| match base.kind {
                Kind::Working => fits(&base.path.join(given), self.reach.reads),
                // Too much would fit if all of a directory were meant that may not be.
                _ => pattern.contains('/') && names_something(pattern) && fits(&base.path.join(given), true),
            }),
        };
        if is_ours { Err(OwnPlace::Files) } else { Ok(()) }
    }

    /// What parameters say together: a directory above ours and a name in it, a host and its port.
    pub(super) fn combined(&mut self, params: &Map<String, Value>) -> Result<(), OwnPlace> {
        let within = std::mem::take(&mut self.within);
        let objects = || params.values().chain(&within);
        if self.port {
            let mut found = false;
            objects().for_each(|value| texts(value, &mut |text| found |= self.listeners.are_at(text)));
            if found {
                return Err(OwnPlace::Listener);
            }
        }
        let above = std::mem::take(&mut self.above);
        if above.is_empty() {
            return Ok(());
        }
        let mut names: Vec<&str> = self.joined.iter().map(String::as_str).collect();
        for value in objects() {
            texts(value, &mut |text| {
                // One that takes a directory for the root of everything leads on with a slash.
                let text = text.trim_start_matches('/');
                if !text.is_empty() && text.len() <= PATH_BYTES_MAX {
                    names.push(text);
                }
            });
        }
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

/// Calls for every text in a value.
fn texts<'v>(value: &'v Value, found: &mut impl FnMut(&'v str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(object) => object.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// Whether a pattern has letters of a name, and does not fit everything.
fn names_something(pattern: &str) -> bool {
    pattern.chars().filter(|letter| letter.is_alphanumeric()).count() > 1
}

/// Whether a parameter is nothing but a few plain words, as most are, so that there is nothing to follow. Short digits may
/// be the number of a port.
pub(super) fn is_plain(key: &str, value: &Value, bases: &[Base]) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => {
            (text.len() > 5 || !text.bytes().all(|byte| byte.is_ascii_digit()))
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-'))
                && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && !names_a_path(key)
                && !bases.iter().any(|base| base.kind == Kind::Working && base.leads(text))
        }
        Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
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

/// What follows the scheme of addresses that hold what they lead to, if the text begins with it.
fn after_data(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_at_checked("data:".len())?;
    scheme.eq_ignore_ascii_case("data:").then_some(rest)
}

/// Whether it is such an address in truth: a media type or `;base64`, and a comma.
fn is_of_data_url(rest: &str) -> bool {
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let Some((header, _)) = rest.split_once(',') else { return false };
    let (media, rest) = header.split_once(';').unwrap_or((header, ""));
    let is_media = media.split_once('/').is_some_and(|(kind, name)| is_token(kind) && is_token(name));
    is_media || (media.is_empty() && rest.split(';').any(|part| part.eq_ignore_ascii_case("base64")))
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
