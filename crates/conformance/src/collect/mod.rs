//! Asks an adapter everything the judge needs to know and writes the answers down.
//!
//! The order matters: what there is, then resources to try it on, then every operation and parameter, and
//! what was created goes in the end. Nothing here decides whether an answer is right.

mod discover;
mod faults;
mod features;
mod parameters;
mod requests;
mod resources;
mod routing;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    Adapter, Evidence, Live, Mode, Subject,
    answer::{at, succeeded},
    catalog::{Catalog, Operation},
    sample::Sampler,
};

/// One bundle for each connection. Each names all the modes that were seen to work.
pub fn collect(subject: &Subject, adapters: &mut [(Mode, &mut dyn Adapter)]) -> Vec<Evidence> {
    let mut bundles: Vec<Evidence> = adapters
        .iter_mut()
        .map(|(mode, adapter)| Run::new(subject, *mode, &mut **adapter).collect())
        .collect();
    let modes: Vec<String> = bundles.iter().flat_map(|bundle| bundle.endpoint_modes.clone()).collect();
    for bundle in &mut bundles {
        bundle.endpoint_modes.clone_from(&modes);
    }
    bundles
}

/// One run over one connection.
struct Run<'a> {
    adapter: &'a mut dyn Adapter,
    mode: Mode,
    catalog: Catalog,
    sampler: Sampler,
    /// Values of resources that exist, by field; requests that need one take it from here.
    known: BTreeMap<String, Value>,
    created: Vec<Created>,
    evidence: Evidence,
    live: Live,
}

/// Something this run made, to be removed again.
struct Created {
    noun: String,
    data: Value,
}

impl<'a> Run<'a> {
    fn new(subject: &Subject, mode: Mode, adapter: &'a mut dyn Adapter) -> Self {
        Self {
            adapter,
            mode,
            catalog: Catalog::default(),
            sampler: Sampler::new(subject.run),
            known: BTreeMap::new(),
            created: Vec::new(),
            evidence: Evidence {
                implementation: subject.implementation.clone(),
                version: subject.version.clone(),
                ..Evidence::default()
            },
            live: Live { mode: mode.to_string(), ..Live::default() },
        }
    }

    fn collect(mut self) -> Evidence {
        self.discover();
        self.try_resources();
        self.try_parameters();
        self.try_faults();
        self.try_other_endpoints();
        self.look_for_unlisted();
        self.try_batch();
        self.clean_up();
        self.evidence.live = Some(self.live);
        self.evidence
    }

    fn call(&mut self, operation: &Operation, params: &Map<String, Value>) -> Value {
        let answer = self.call_through(&operation.tool.clone(), &operation.name, params);
        let is_dry = params.get("dry_run") == Some(&Value::Bool(true));
        if operation.category == "CREATE" && !is_dry && succeeded(&answer) {
            let created = Created { noun: operation.noun().to_owned(), data: at(&answer, "data").clone() };
            self.created.push(created);
        }
        answer
    }

    fn call_through(&mut self, tool: &str, operation: &str, params: &Map<String, Value>) -> Value {
        self.adapter.call(tool, json!({"operation": operation, "params": params}))
    }
}
