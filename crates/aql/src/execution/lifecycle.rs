//! What an operation declares about its executions.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::name::is_snake_case;

/// The states every client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Core {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl Core {
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether an execution may go from this state to `next`. The way back from failed is a retry.
    #[must_use]
    pub fn leads_to(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Pending, Self::Running | Self::Cancelled)
                | (Self::Running, Self::Completed | Self::Failed | Self::Cancelled)
                | (Self::Failed, Self::Running)
        )
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A core state, or a declared state within one. Only a [`Lifecycle`] makes the latter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    core: Core,
    custom: Option<String>,
}

impl Status {
    /// The state that a client without knowledge of custom ones may take it for.
    #[must_use]
    pub fn core(&self) -> Core {
        self.core
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        self.custom.as_deref().unwrap_or(self.core.as_str())
    }
}

impl From<Core> for Status {
    fn from(core: Core) -> Self {
        Self { core, custom: None }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why states cannot be declared so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotALifecycle {
    #[error(
        "state '{name}' must be snake_case: a lowercase letter, then lowercase letters, digits or underscores"
    )]
    NotSnakeCase { name: String },
    #[error("state '{name}' is already there; choose another name")]
    Duplicate { name: String },
    #[error("state '{name}' cannot count as {core}, which is final; let it count as pending or running")]
    Final { name: String, core: Core },
}

/// The states an operation's executions can be in, and what callers can do about them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Declared", into = "Declared")]
pub struct Lifecycle {
    custom: Vec<(String, Core)>,
    supports_cancel: bool,
    supports_retry: bool,
    progress_reporting: bool,
}

impl Lifecycle {
    /// The core states, with nothing supported.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_cancel(self) -> Self {
        Self { supports_cancel: true, ..self }
    }

    #[must_use]
    pub fn with_retry(self) -> Self {
        Self { supports_retry: true, ..self }
    }

    #[must_use]
    pub fn with_progress(self) -> Self {
        Self { progress_reporting: true, ..self }
    }

    /// Adds a state that counts as `core`.
    pub fn with_state(mut self, name: &str, core: Core) -> Result<Self, NotALifecycle> {
        let name = name.to_owned();
        if !is_snake_case(&name) {
            return Err(NotALifecycle::NotSnakeCase { name });
        }
        if self.status(&name).is_some() {
            return Err(NotALifecycle::Duplicate { name });
        }
        if core.is_terminal() {
            return Err(NotALifecycle::Final { name, core });
        }
        self.custom.push((name, core));
        Ok(self)
    }

    #[must_use]
    pub fn supports_cancel(&self) -> bool {
        self.supports_cancel
    }

    #[must_use]
    pub fn supports_retry(&self) -> bool {
        self.supports_retry
    }

    #[must_use]
    pub fn progress_reporting(&self) -> bool {
        self.progress_reporting
    }

    /// The names of all states, the core ones first.
    pub fn states(&self) -> impl Iterator<Item = &str> {
        let custom = self.custom.iter().map(|(name, _)| name.as_str());
        Core::ALL.into_iter().map(|core| core.as_str()).chain(custom)
    }

    /// The declared state of this name. Its [`Status::core`] is what it counts as.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<Status> {
        let core = Core::ALL.into_iter().find(|core| core.as_str() == name).map(Status::from);
        core.or_else(|| {
            let (name, core) = self.custom.iter().find(|(custom, _)| custom == name)?;
            Some(Status { core: *core, custom: Some(name.clone()) })
        })
    }

    /// The names under which an execution can be in this core state.
    pub(super) fn within(&self, core: Core) -> Vec<&str> {
        let custom = self.custom.iter().filter(|(_, within)| *within == core).map(|(name, _)| name.as_str());
        std::iter::once(core.as_str()).chain(custom).collect()
    }

    /// As introspection shows it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "states": self.states().collect::<Vec<_>>(),
            "supports_cancel": self.supports_cancel,
            "supports_retry": self.supports_retry,
            "progress_reporting": self.progress_reporting,
        })
    }

    /// A sentence on what the states beyond the core ones count as, to stand in a description. Empty without any.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.custom.is_empty() {
            return String::new();
        }
        let each: Vec<_> =
            self.custom.iter().map(|(name, core)| format!("'{name}' counts as {core}")).collect();
        format!("Of its states, {}.", each.join(", "))
    }
}

/// A lifecycle as it is kept beside an execution, which goes by what was declared when it began.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    custom: Vec<(String, Core)>,
    supports_cancel: bool,
    supports_retry: bool,
    progress_reporting: bool,
}

impl From<Lifecycle> for Declared {
    fn from(lifecycle: Lifecycle) -> Self {
        let Lifecycle { custom, supports_cancel, supports_retry, progress_reporting } = lifecycle;
        Self { custom, supports_cancel, supports_retry, progress_reporting }
    }
}

impl TryFrom<Declared> for Lifecycle {
    type Error = NotALifecycle;

    fn try_from(declared: Declared) -> Result<Self, NotALifecycle> {
        let Declared { custom, supports_cancel, supports_retry, progress_reporting } = declared;
        let core = Self { custom: Vec::new(), supports_cancel, supports_retry, progress_reporting };
        custom.iter().try_fold(core, |lifecycle, (name, core)| lifecycle.with_state(name, *core))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Lifecycle {
        let custom =
            [("queued", Core::Pending), ("paused", Core::Running), ("retrying", Core::Running)].into_iter();
        custom
            .fold(Lifecycle::new(), |lifecycle, (name, core)| lifecycle.with_state(name, core).unwrap())
            .with_cancel()
    }

    /// REQ-LIFE-09 REQ-LIFE-10 REQ-LIFE-14
    #[test]
    fn introspection_shows_every_state_and_what_is_supported() {
        assert_eq!(
            job().to_value(),
            json!({
                "states":
                    ["pending", "running", "completed", "failed", "cancelled", "queued", "paused", "retrying"],
                "supports_cancel": true,
                "supports_retry": false,
                "progress_reporting": false,
            })
        );
        let all = Lifecycle::new().with_cancel().with_retry().with_progress().to_value();
        for key in ["supports_cancel", "supports_retry", "progress_reporting"] {
            assert_eq!(all[key], true, "{key}");
        }
    }

    /// REQ-LIFE-11
    #[test]
    fn custom_states_count_as_core_ones() {
        assert_eq!(
            job().describe(),
            "Of its states, 'queued' counts as pending, 'paused' counts as running, 'retrying' counts as running."
        );
        assert_eq!(Lifecycle::new().describe(), "");
        for (name, core) in [("queued", Core::Pending), ("paused", Core::Running), ("failed", Core::Failed)] {
            let status = job().status(name).unwrap();
            assert_eq!((status.core(), status.as_str()), (core, name));
        }
        assert_eq!(job().status("sleeping"), None);
    }

    /// REQ-LIFE-10 REQ-LIFE-11 REQ-LIFE-12
    #[test]
    fn a_state_is_well_named_new_and_not_final() {
        let refused = |name: &str, core| job().with_state(name, core).unwrap_err();
        for name in ["", "Queued", "on hold", "1st", "é"] {
            assert_eq!(refused(name, Core::Running), NotALifecycle::NotSnakeCase { name: name.to_owned() });
        }
        for name in ["queued", "running", "cancelled"] {
            assert_eq!(refused(name, Core::Running), NotALifecycle::Duplicate { name: name.to_owned() });
        }
        for core in Core::ALL.into_iter().filter(|core| core.is_terminal()) {
            assert_eq!(refused("archived", core), NotALifecycle::Final { name: "archived".into(), core });
        }
    }

    #[test]
    fn a_kept_lifecycle_is_read_back_and_checked() {
        let kept = serde_json::to_value(job()).unwrap();
        assert_eq!(serde_json::from_value::<Lifecycle>(kept.clone()).unwrap(), job());
        let mut broken = kept;
        broken["custom"][0][1] = json!("completed");
        assert!(serde_json::from_value::<Lifecycle>(broken).is_err());
    }
}
