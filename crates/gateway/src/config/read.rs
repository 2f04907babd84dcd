//! From a file's bytes to [`File`].

use std::{fs, io::Read as _, path::Path};

use serde::Deserialize as _;
use toml::de::{DeTable, Deserializer};

use super::{
    clients,
    error::{Error, Place, Source},
    file::File,
    shape,
};

/// Far above any honest configuration, far below what would hurt to read.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Opens and reads a configuration file. `name` is what errors call it.
pub(super) fn read(path: &Path, name: String) -> Result<Source, Failure> {
    let file = fs::File::open(path).map_err(Failure::Closed)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(Failure::Closed)?;
    text(bytes).map(|text| Source { name: name.clone(), text }).map_err(|message| {
        let source = Source { name, text: String::new() };
        Failure::Wrong(Error::new(Place::File(None), message).in_source(&source))
    })
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("the file is larger than {FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!("the file is not UTF-8 text from byte {} on", error.utf8_error().valid_up_to())
    })
}

/// Why there is no text.
#[derive(Debug)]
pub(super) enum Failure {
    /// The system gave no bytes.
    Closed(std::io::Error),
    /// The bytes are no configuration.
    Wrong(Error),
}

impl File {
    /// Reads a configuration from its text. `name` is what errors call the file.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        Self::from_source(&Source { name: name.to_owned(), text: text.to_owned() }, None)
    }

    /// `path` is where the file lies, if it lies anywhere.
    pub(super) fn from_source(source: &Source, path: Option<&Path>) -> Result<Self, Error> {
        let file = if clients::is_json(&source.name, &source.text) {
            clients::configuration(&source.text, path.and_then(clients::workspace))
        } else {
            from_text(&source.text)
        };
        file.map_err(|error| error.in_source(source))
    }
}

fn from_text(text: &str) -> Result<File, Error> {
    let told = |error: &toml::de::Error| {
        let message = error.message().replace('`', "'").replace('\n', ", ");
        Error::new(Place::File(error.span()), format!("the file is not valid TOML: {message}"))
    };
    let document = DeTable::parse(text).map_err(|error| told(&error))?;
    shape::check(&document)?;
    File::deserialize(Deserializer::from(document)).map_err(|error| told(&error))
}
