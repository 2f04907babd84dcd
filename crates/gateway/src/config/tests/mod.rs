//! The whole way from a file on disk, an environment and flags to a configuration or a mistake.

mod bounds;
mod clients;
mod endpoints;
mod found;
mod hostile;
mod inspector;
mod mistakes;
mod operator;
mod remote;
mod upstreams;

use std::time::Duration;

use aql::{
    autonomy::{Mode, Tolerance},
    category::Category,
    danger::DangerLevel,
    limits::Limits,
    policy::{Behaviour, Matrix, Minimums, Policy, Then, WantOfTrust},
    trust::TrustLevel,
    validate::Strictness,
};

use super::*;

/// Every key of the file, away from its default.
pub(super) const FULL: &str = include_str!("full.toml");

/// A place with a home, a configuration file and nothing else.
struct Place {
    directory: tempfile::TempDir,
    sources: Sources,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let sources = Sources { environment: variables(&directory, &[]), ..Sources::default() };
    Place { directory, sources }
}

fn variables(directory: &tempfile::TempDir, given: &[(&str, &str)]) -> Environment {
    let home = [("HOME", "/home/a")];
    Environment::new(home.iter().chain(given).copied()).in_directory(directory.path())
}

impl Place {
    fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn environment(mut self, given: &[(&str, &str)]) -> Self {
        self.sources.environment = variables(&self.directory, given);
        self
    }

    fn flags(mut self, change: impl FnOnce(&mut Overrides)) -> Self {
        change(&mut self.sources.flags);
        self
    }

    fn config(mut self, path: &str) -> Self {
        self.sources.file = Some(path.into());
        self
    }

    fn load(self) -> Result<Checked, Error> {
        load(self.sources)
    }
}

fn load_text(text: impl AsRef<[u8]>) -> Result<Checked, Error> {
    place().file("aqueduct.toml", text).load()
}

/// LREQ-MODE-03 REQ-VALID-12
#[test]
fn without_any_source_the_defaults_hold() {
    let nothing = place().load().unwrap();
    assert_eq!(nothing.file, None);
    let empty = load_text("").unwrap();
    assert!(empty.file.is_some());
    for checked in [nothing, empty] {
        let server = &checked.server;
        assert_eq!(server.http.to_string(), "127.0.0.1:7171");
        assert_eq!(
            (server.mode.as_str(), server.profile.name(), server.prefix.as_str()),
            ("semantic", "crude", "")
        );
        assert_eq!(server.strictness, Strictness::Reject);
        assert_eq!(server.max_concurrent_requests, 256);
        assert_eq!((server.session_idle.as_secs(), server.shutdown_grace.as_secs()), (1800, 10));
        assert!(server.allowed_hosts.is_empty() && server.allowed_origins.is_empty() && server.fast_path);
        assert_eq!(checked.limits, Limits::default());
        assert_eq!(checked.store.data.to_str(), Some("/home/a/.local/share/aqueduct"));
        assert_eq!(checked.store.max_database_bytes, None);
        assert_eq!(checked.policy, Policy { gating: true, ..Policy::default() });
        assert_eq!(checked.confirmation, crate::safety::Settings::default());
        assert!(checked.upstreams.is_empty() && server.pinned.is_empty());
        assert!(checked.entities.enabled && checked.auth.tokens.is_empty() && checked.warnings.is_empty());
    }
}

#[test]
fn every_key_of_a_full_file_takes_effect() {
    let checked = load_text(FULL).unwrap();
    let server = &checked.server;
    assert_eq!(server.http.to_string(), "[::1]:8080");
    assert_eq!((server.mode.as_str(), server.profile.name()), ("all", "review"));
    assert_eq!(server.prefix.as_str(), "github_");
    assert_eq!(server.strictness, Strictness::Warn);
    assert_eq!(server.max_concurrent_requests, 8);
    assert_eq!(server.session_idle, Duration::from_mins(5));
    assert_eq!(server.shutdown_grace, Duration::from_secs(3));
    assert_eq!(server.allowed_hosts, ["aqueduct.example.com", "127.0.0.2:8080"]);
    assert_eq!(server.allowed_origins, ["https://app.example.com:8443", "app://local"]);
    assert_eq!(server.pinned, ["github_create_issue", "list_entities"]);
    assert!(!server.fast_path);
    let limits = serde_json::to_value(checked.limits).unwrap();
    assert_eq!(
        limits,
        serde_json::json!({
            "max_request_size": 2_097_152, "max_response_size": 3_145_728, "max_string_length": 131_072,
            "max_array_elements": 500, "max_nesting_depth": 16
        })
    );
    assert_eq!(checked.store.data, checked.file.unwrap().parent().unwrap().join("data"));
    assert_eq!(checked.store.max_database_bytes, Some(1 << 30));
    assert!(!checked.entities.enabled);
    assert_eq!(checked.entities.index, ["metadata.status", "metadata.owner.team"]);
    assert_eq!(
        checked.policy.allow,
        ["*_item", "introspect", "*_execution*", "execute_agent", "verify_challenge"]
    );
    assert_eq!(checked.policy.deny, ["delete_*"]);
    assert_eq!(checked.policy.max_danger, Some(DangerLevel::Reversible));
    assert_eq!(checked.policy.calls_per_minute, Some(600));
    let asked = &checked.confirmation;
    assert_eq!((asked.confirmation, asked.hold.as_secs()), (crate::safety::Confirmation::Token, 20));
    assert_eq!((asked.waits.as_mins(), asked.lifetimes.usual.as_secs()), (60, 200));
    assert_eq!((asked.lifetimes.forbidden.as_secs(), asked.lifetimes.tolerance.as_secs()), (60, 5));
    assert!(asked.persist_tokens && asked.elicitation && asked.token_uses == 2);
    assert!(checked.policy.gating && checked.policy.tokens);
    safety(&checked.policy);
    let quotas = &checked.quotas;
    assert_eq!((quotas.quotas.len(), quotas.api.len(), quotas.costs.len()), (1, 3, 2), "one is switched off");
    assert_eq!(quotas.quotas[0].hard_stop, Some(aql::quota::Amount::whole(7)));
    assert_eq!(quotas.costs[1].per_call, aql::quota::Amount::of(0.01).unwrap());
    let supervised = &checked.safety_loop;
    assert_eq!((supervised.mode, supervised.challenge.as_secs()), (Mode::Enforcing, 60));
    let rules = &supervised.rules;
    assert_eq!((rules.max_autonomous_steps, rules.escalate_after), (7, 3));
    assert_eq!(rules.risk_tolerance, Tolerance::Conservative);
    let lists = [&rules.deny, &rules.requires_approval, &rules.auto_approve].map(|list| list.concat());
    assert_eq!(lists, ["launch*", "*slack*", "npm *"]);
    assert!(rules.stages.risk && !rules.stages.tolerance);
    let own = &supervised.agents["careful"];
    assert_eq!((own.max_autonomous_steps, own.deny.len(), own.stages.patterns), (1, 0, false));
    assert_eq!(checked.policy.rules.last().unwrap().operations, ["execute_agent"]);
    let principals: Vec<_> = checked.auth.tokens.iter().map(|token| token.principal.as_str()).collect();
    assert_eq!(principals, ["alice", "bob"]);
    assert_eq!(checked.auth.tokens[0].sha256[..3], [0x2b, 0xd8, 0x06]);
    assert_eq!(checked.auth.tokens[1].sha256, [0xab; 32]);
    let names: Vec<_> = checked.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    assert_eq!(names, ["github", "docs"]);
    assert_eq!(checked.warnings.len(), 2, "strict mode is off, and callers get tokens");
}

/// LREQ-GATE-04 LREQ-DANGER-17 LREQ-TRUST-08
fn safety(policy: &Policy) {
    let set = Matrix::default().with(DangerLevel::Destructive, TrustLevel::Certified, Behaviour::Allow);
    assert_eq!((policy.gating, policy.want_of_trust, &policy.matrix), (true, WantOfTrust::Confirm, &set));
    let minimums = policy.minimums.unwrap();
    assert_eq!((minimums.read, minimums.dangerous), (TrustLevel::Untested, TrustLevel::CommunityReviewed));
    assert_eq!(policy.danger_patterns, [("rotate_*".to_owned(), DangerLevel::Dangerous)]);
    let [rule, ..] = policy.rules.as_slice() else { panic!("{:?}", policy.rules) };
    assert_eq!((rule.then, rule.danger), (Then::Deny, Some(DangerLevel::Destructive)));
    assert_eq!(rule.reason.as_deref(), Some("guests only look"));
    assert_eq!(rule.categories, [Category::Delete, Category::Execute]);
    let conditions: Vec<String> =
        rule.when.iter().map(|one| format!("{} {:?} {}", one.path, one.test, one.not)).collect();
    assert_eq!(conditions.len(), 7);
    assert_eq!(conditions.first().unwrap(), "owner.name Equals(String(\"root\")) true");
    assert_eq!(conditions.get(1).unwrap(), "kind OneOf([String(\"a\"), Number(2), Bool(true)]) false");
    assert_eq!(conditions.get(4).unwrap(), "count Greater(Number(10.0)) false");
}

#[test]
fn minimums_are_on_if_they_are_wanted_or_one_is_set() {
    let minimums = |text: &str| load_text(format!("[safety]\n{text}")).unwrap().policy.minimums;
    assert_eq!(minimums(""), None);
    assert_eq!(minimums("trust_minimums = true"), Some(Minimums::default()));
    assert_eq!(minimums("minimum_trust.read = 'certified'").unwrap().read, TrustLevel::Certified);
    assert_eq!(minimums("trust_minimums = false\nminimum_trust.read = 'certified'"), None);
}

#[test]
fn the_full_file_leaves_no_key_out() {
    fn missing(schema: &serde_json::Value, value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{key}");
            match value.get(key) {
                Some(value) => missing(inner, value, &path, found),
                None => found.push(path),
            }
        }
        // Conditions have one test each, so each key has to stand in one of the elements only.
        if let Some((first, others)) = value.as_array().and_then(|elements| elements.split_first()) {
            let of = |element: &serde_json::Value| {
                let mut here = Vec::new();
                missing(&schema["items"], element, path, &mut here);
                here
            };
            let all = others
                .iter()
                .map(of)
                .fold(of(first), |all, here| all.into_iter().filter(|key| here.contains(key)).collect());
            found.extend(all);
        }
        if let (Some(any), Some(table)) = (schema.get("additionalProperties"), value.as_object()) {
            // Two links exclude each other, so each key has to stand in one of the tables only.
            let mut all: Option<Vec<String>> = None;
            for value in table.values() {
                let mut here = Vec::new();
                missing(any, value, path, &mut here);
                all = Some(match all {
                    None => here,
                    Some(all) => all.into_iter().filter(|key| here.contains(key)).collect(),
                });
            }
            found.extend(all.unwrap_or_default());
        }
    }
    let full: serde_json::Value = toml::from_str(FULL).unwrap();
    let mut found = Vec::new();
    missing(&schema(), &full, "", &mut found);
    assert_eq!(found, [""; 0]);
}
