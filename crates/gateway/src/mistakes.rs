//! What a configuration says of servers that their tools do not know: names that nothing has, patterns that match nothing.
//!
//! Only servers that were asked once can be judged; nothing is started here.

use aql::{policy::Rule, profile::matches_pattern, registry::Registry, shared, suggest};

use crate::{
    adapters::upstream,
    config::{Checked, Upstream},
};

/// Something in the configuration that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The section and key.
    pub place: String,
    /// For machines, in snake_case.
    pub rule: &'static str,
    pub message: String,
}

/// The servers that were never asked what they offer.
#[must_use]
pub fn unasked(config: &Checked) -> Vec<&str> {
    let unknown = |settings: &&Upstream| upstream::pinned(&config.store.data, settings).is_none();
    config.upstreams.iter().filter(unknown).map(|settings| settings.name.as_str()).collect()
}

/// Everything that has no effect, in the order of the configuration.
#[must_use]
pub fn mistakes(config: &Checked, registry: &Registry) -> Vec<Mistake> {
    let mut mistakes = pinned(config, registry);
    if unasked(config).is_empty() {
        mistakes.extend(config.policy.rules.iter().flat_map(|rule| of_rule(rule, registry)));
    }
    for settings in &config.upstreams {
        let Some(kept) = upstream::pinned(&config.store.data, settings) else { continue };
        let tools: Vec<&str> = kept.tools.iter().filter(|tool| !tool.gone).map(|tool| tool.name()).collect();
        // One of several deeds of a tool goes by its operation's name.
        let own = registry.operations().map(|(_, operation)| operation);
        let own = own.filter(|operation| operation.server() == Some(settings.name.as_str()));
        let deeds: Vec<&str> =
            own.filter_map(|operation| operation.name().as_str().strip_prefix(&settings.prefix)).collect();
        mistakes.extend(of_server(settings, &tools, &deeds));
    }
    mistakes
}

/// Pinned names that no operation has. One that a server may have which was never asked is no mistake yet.
fn pinned(config: &Checked, registry: &Registry) -> Vec<Mistake> {
    let unasked = unasked(config);
    let may_come = |name: &&str| {
        let mut unknown =
            config.upstreams.iter().filter(|settings| unasked.contains(&settings.name.as_str()));
        unknown.any(|settings| name.starts_with(&settings.prefix))
    };
    let names: Vec<&str> = registry.visible().map(|operation| operation.name().as_str()).collect();
    let in_vain = registry.pinned_in_vain().filter(|name| !may_come(name));
    in_vain
        .map(|name| Mistake {
            place: "[server] pinned".to_owned(),
            rule: "pinned_in_vain",
            message: format!("there is no operation '{name}'{}", meant(name, &names)),
        })
        .collect()
}

/// Conditions on parameters that no operation has which the rule is about.
fn of_rule(rule: &Rule, registry: &Registry) -> Vec<Mistake> {
    let met: Vec<_> = registry
        .operations()
        .map(|(_, operation)| operation)
        .filter(|operation| rule.meets(operation, operation.category(), operation.danger().level))
        .collect();
    let params = || met.iter().flat_map(|operation| operation.params());
    // What is inside is not looked for; it may be there.
    if met.is_empty() || params().any(|param| param.name() == shared::INPUT) {
        return Vec::new();
    }
    let in_vain =
        rule.when.iter().filter(|condition| !params().any(|param| condition.is_about(param.name())));
    in_vain
        .map(|condition| {
            let known: Vec<&str> = params().map(|param| param.name()).collect();
            let path = &condition.path;
            Mistake {
                place: "[[safety.rule]] when".to_owned(),
                rule: "unknown_param",
                message: format!("no operation of this rule has a parameter '{path}'{}", meant(path, &known)),
            }
        })
        .collect()
}

fn of_server(settings: &Upstream, tools: &[&str], deeds: &[&str]) -> Vec<Mistake> {
    let Upstream { name, .. } = settings;
    let is_known = |tool: &str| tools.contains(&tool) || deeds.contains(&tool);
    let overrides = settings.overrides.0.keys().filter(|tool| !is_known(tool));
    let overrides = overrides.map(|tool| Mistake {
        place: format!("[upstream.{name}.tools.{tool}]"),
        rule: "unknown_tool",
        message: format!("'{name}' has no tool '{tool}'{}", meant(tool, tools)),
    });
    let rules = [("allow", &settings.tools.allow), ("deny", &settings.tools.deny)];
    let patterns = rules.into_iter().flat_map(|(key, patterns)| patterns.iter().map(move |one| (key, one)));
    let patterns = patterns.filter(|(_, pattern)| !tools.iter().any(|tool| matches_pattern(pattern, tool)));
    let patterns = patterns.map(|(key, pattern)| Mistake {
        place: format!("[upstream.{name}] {key}"),
        rule: "matches_nothing",
        message: format!("'{pattern}' matches no tool of '{name}'{}", meant(pattern, tools)),
    });
    overrides.chain(patterns).collect()
}

/// What was probably meant, as the rest of a sentence.
fn meant(given: &str, known: &[&str]) -> String {
    suggest::nearest(given, known.iter().copied())
        .map(|near| format!("; did you mean '{near}'?"))
        .unwrap_or_default()
}
