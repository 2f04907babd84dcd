//! The sections `[safety.loop]` and `[safety.agent.NAME]` as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Number, Text};
use crate::config::bounds;

/// Both sections have the same settings, and flattening one struct into the other would lose the places of values.
macro_rules! with_autonomy {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(in crate::config) struct $name {
            $($own)*
            /// How many steps may go on before a person has to look.
            #[schemars(transform = bounds::AUTONOMOUS_STEPS.into_schema())]
            pub(in crate::config) max_autonomous_steps: Option<Number>,
            /// The highest risk score that needs nobody: 25 (`conservative`), 50 (`moderate`) or 75 (`aggressive`). It can only
            /// tighten: from 31 on a person is asked in any case.
            #[schemars(extend("default" = "moderate", "enum" = ["conservative", "moderate", "aggressive"]))]
            pub(in crate::config) risk_tolerance: Option<Text>,
            /// Actions that block the agent until a person verifies it with a code. `*` stands for anything, `?` for one character;
            /// a pattern also fits where a word of the action begins, and case does not matter.
            #[schemars(extend("default" = aql::autonomy::settings::DENY_DEFAULT))]
            pub(in crate::config) deny: Option<Vec<Text>>,
            /// Actions for which a person has to agree, as patterns like those of `deny`.
            #[schemars(extend("default" = aql::autonomy::settings::REQUIRES_APPROVAL_DEFAULT))]
            pub(in crate::config) requires_approval: Option<Vec<Text>>,
            /// Actions that are not looked at any further, as patterns that have to fit the whole text.
            #[schemars(extend("default" = []))]
            pub(in crate::config) auto_approve: Option<Vec<Text>>,
            /// The stages beside the step limit, which always runs: `outcome`, `patterns`, `risk`, `tolerance`.
            #[schemars(extend("default" = ["outcome", "patterns", "risk", "tolerance"]))]
            pub(in crate::config) stages: Option<Vec<Text>>,
            /// After how many times the same deed counts as more dangerous.
            #[schemars(transform = bounds::ESCALATE_AFTER.into_schema())]
            pub(in crate::config) escalate_after: Option<Number>,
        }
    };
}

with_autonomy! {
    /// The execution safety loop: agents report what they are about to do, and are told whether they may.
    SafetyLoop {
        /// `enforcing`: reports are judged and the answer holds. `monitoring`: they are judged and hold nobody up. `logging`:
        /// they are written down. `disabled`: there is no loop.
        #[schemars(extend("default" = "disabled", "enum" = ["enforcing", "monitoring", "logging", "disabled"]))]
        pub(in crate::config) mode: Option<Text>,
        /// How many seconds a verification challenge can be answered.
        #[schemars(transform = bounds::CHALLENGE_SECONDS.into_schema())]
        pub(in crate::config) challenge_seconds: Option<Number>,
    }
}

with_autonomy! {
    /// How far an agent may go by itself. What is left out is as in `[safety.loop]`.
    Autonomy {}
}

impl SafetyLoop {
    /// What holds for agents without a section of their own.
    pub(in crate::config) fn rules(&self) -> Autonomy {
        let own = self.clone();
        Autonomy {
            max_autonomous_steps: own.max_autonomous_steps,
            risk_tolerance: own.risk_tolerance,
            deny: own.deny,
            requires_approval: own.requires_approval,
            auto_approve: own.auto_approve,
            stages: own.stages,
            escalate_after: own.escalate_after,
        }
    }
}
