//! How much is recorded of which calls.

use std::collections::HashMap;

use aql::profile::matches_pattern;

/// How much of a call is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing, not even that it was made.
    Off,
    /// That it was made, by whom, how long it took and how it came out.
    Metadata,
    /// The beginnings of its arguments and of its result as well, without what is secret.
    #[default]
    Preview,
}

/// The level of everything, of servers and of operations. The most particular one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels {
    pub usual: Level,
    pub servers: HashMap<String, Level>,
    /// By patterns of operations' names; the first that fits counts.
    pub operations: Vec<(String, Level)>,
}

impl Levels {
    /// Whether nothing is recorded of anything.
    #[must_use]
    pub fn is_off(&self) -> bool {
        let levels = self.servers.values().chain(self.operations.iter().map(|(_, level)| level));
        self.usual == Level::Off && levels.into_iter().all(|level| *level == Level::Off)
    }

    #[must_use]
    pub fn of(&self, server: Option<&str>, operation: Option<&str>) -> Level {
        let by_operation = operation
            .and_then(|name| self.operations.iter().find(|(pattern, _)| matches_pattern(pattern, name)))
            .map(|(_, level)| *level);
        let by_server = || server.and_then(|server| self.servers.get(server)).copied();
        by_operation.or_else(by_server).unwrap_or(self.usual)
    }
}
