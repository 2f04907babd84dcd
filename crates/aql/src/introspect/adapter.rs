//! What is told of an adapter as a whole, and of the servers behind it.

use serde_json::{Value, json};

use crate::{
    registry::Registry,
    response::Answer,
    trust::{Block, TrustLevel},
};

/// Who does the work of some operations, and how far they are trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterInfo {
    /// The server's name.
    pub name: String,
    /// Empty where nothing is known of it.
    pub version: String,
    /// With the level that counts, which need not be the one that somebody claims.
    pub trust: Block,
}

/// Answers for the adapter itself, or for one of its servers; a name that none has finds nothing. Not one of the standard queries.
pub(super) fn answer(registry: &Registry, name: Option<&str>) -> Answer {
    let own = AdapterInfo {
        name: registry.adapter().to_owned(),
        version: registry.version.clone(),
        trust: Block::of_level(TrustLevel::Certified),
    };
    let servers = &registry.servers;
    match name.filter(|name| *name != registry.adapter()) {
        None => {
            let mut data = told(&own);
            if let (Value::Object(data), false) = (&mut data, servers.is_empty()) {
                let brief = |server: &AdapterInfo| json!({"name": server.name, "trust": {"level": server.trust.level}});
                data.insert("servers".to_owned(), servers.iter().map(brief).collect());
            }
            Answer::from_data(&data)
        }
        Some(name) => match servers.iter().find(|server| server.name == name) {
            Some(server) => Answer::from_data(&told(server)),
            None => {
                let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
                Answer::from_data(&json!({"adapter": null, "servers": names}))
            }
        },
    }
}

fn told(info: &AdapterInfo) -> Value {
    json!({"name": info.name, "version": info.version, "trust": info.trust})
}
