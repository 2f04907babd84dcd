//! What upstreams offer besides tools: resources, templates, prompts and completions, under their server's name.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use aql::error::Error;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Upstreams,
    catalogue::Kept,
    peer::{Caller, Peer},
    server::Upstream,
    wire::{Params, Raw},
};
use crate::{session::Session, trace::OpenSpan};

/// Everything that is offered, ready to be listed.
#[derive(Default)]
pub(super) struct Offers {
    prompts: Vec<Value>,
    resources: Vec<Value>,
    templates: Vec<Value>,
    /// By the name that is listed: the server and its own name.
    prompt_names: BTreeMap<String, (Arc<Upstream>, String)>,
    /// Servers by the first part of their resources' addresses.
    servers: BTreeMap<String, Arc<Upstream>>,
    /// The addresses that servers themselves use, for links in their results.
    known: BTreeMap<String, Arc<Upstream>>,
    /// The addresses as they are listed.
    listed: HashSet<String>,
    patterns: Vec<(String, Arc<Upstream>)>,
    capabilities: HashSet<&'static str>,
    /// The server to which every address belongs, where only one is there.
    wrapped: Option<Arc<Upstream>>,
}

/// The capabilities that can be passed on.
pub(super) const CAPABILITIES: [&str; 4] = ["resources", "prompts", "completions", "logging"];

/// A request that cannot be answered: a code of the protocol and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub code: i64,
    pub message: String,
}

const INVALID_PARAMS: i64 = -32602;
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
const INTERNAL: i64 = -32603;

fn invalid(message: impl Into<String>) -> Refused {
    Refused { code: INVALID_PARAMS, message: message.into() }
}

/// What a server's addresses begin with, as a scheme may be written.
fn scheme_of(server: &str) -> String {
    server.replace('_', "-")
}

impl Offers {
    pub(super) fn add(&mut self, upstream: &Arc<Upstream>, kept: &Kept) {
        let offered = |name: &&&str| kept.capabilities.get(**name).is_some_and(|given| !given.is_null());
        self.capabilities.extend(CAPABILITIES.iter().filter(offered));
        let scheme = scheme_of(upstream.name());
        let wrapped = upstream.settings.wrapped;
        // What stands in front of one server changes none of its addresses.
        let listed = |offered: &Value, key| {
            if wrapped { offered.clone() } else { under(offered, key, &scheme) }
        };
        if wrapped {
            self.wrapped = Some(Arc::clone(upstream));
        } else {
            self.servers.insert(scheme.clone(), Arc::clone(upstream));
        }
        for prompt in &kept.prompts {
            let Some(own) = prompt.get("name").and_then(Value::as_str) else { continue };
            let wanted = format!("{}{own}", upstream.settings.prefix);
            let name = (1..)
                .map(|count| if count == 1 { wanted.clone() } else { format!("{wanted}_{count}") })
                .find(|name| !self.prompt_names.contains_key(name));
            let Some(name) = name else { continue };
            let mut listed = prompt.clone();
            if let Some(listed) = listed.as_object_mut() {
                listed.insert("name".to_owned(), name.clone().into());
            }
            self.prompts.push(listed);
            self.prompt_names.insert(name, (Arc::clone(upstream), own.to_owned()));
        }
        for resource in &kept.resources {
            let Some(uri) = resource.get("uri").and_then(Value::as_str) else { continue };
            self.known.entry(uri.to_owned()).or_insert_with(|| Arc::clone(upstream));
            self.listed.insert(format!("{scheme}+{uri}"));
            self.resources.push(listed(resource, "uri"));
        }
        for template in &kept.templates {
            let Some(pattern) = template.get("uriTemplate").and_then(Value::as_str) else { continue };
            self.patterns.push((pattern.to_owned(), Arc::clone(upstream)));
            self.templates.push(listed(template, "uriTemplate"));
        }
    }

    pub(super) fn offers(&self, capability: &str) -> bool {
        self.capabilities.contains(capability)
    }

    /// Where an address leads: the server, its own address, and whether it was given under the server's name.
    fn locate(&self, uri: &str) -> Option<(Arc<Upstream>, String, bool)> {
        if let Some((scheme, own)) = uri.split_once('+')
            && let Some(upstream) = self.servers.get(scheme)
        {
            // Only what is listed, or could have been: a server may open more than it shows.
            let same = |other: &Arc<Upstream>| Arc::ptr_eq(other, upstream);
            let listed = self.listed.contains(uri)
                || self
                    .patterns
                    .iter()
                    .any(|(pattern, server)| same(server) && (pattern == own || fits(pattern, own)));
            return listed.then(|| (Arc::clone(upstream), own.to_owned(), true));
        }
        if let Some(upstream) = self.known.get(uri) {
            return Some((Arc::clone(upstream), uri.to_owned(), false));
        }
        let fits = self.patterns.iter().find(|(pattern, _)| fits(pattern, uri));
        let found = fits.map(|(_, upstream)| upstream).or(self.wrapped.as_ref());
        found.map(|upstream| (Arc::clone(upstream), uri.to_owned(), false))
    }
}

/// The same under its server's name.
fn under(offered: &Value, key: &str, scheme: &str) -> Value {
    let mut offered = offered.clone();
    let own = offered.get(key).and_then(Value::as_str).unwrap_or_default();
    let address = format!("{scheme}+{own}");
    if let Some(offered) = offered.as_object_mut() {
        offered.insert(key.to_owned(), address.into());
    }
    offered
}

/// Whether an address could have been made of a template: its fixed parts are there in their order.
fn fits(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut parts = template.split('{');
    let Some(after) = parts.next().and_then(|first| rest.strip_prefix(first)) else { return false };
    rest = after;
    let mut open = false;
    for part in parts {
        let fixed = part.split_once('}').map_or("", |(_, fixed)| fixed);
        open = fixed.is_empty();
        if open {
            continue;
        }
        let Some((_, after)) = rest.split_once(fixed) else { return false };
        rest = after;
    }
    open || rest.is_empty()
}

impl Upstreams {
    /// Whether something besides tools is offered, or may yet turn out to be.
    #[must_use]
    pub fn may_offer(&self, capability: &str) -> bool {
        !self.all.is_empty() && (self.offers.load().offers(capability) || !self.are_known())
    }

    /// The server that such a request is for, if it is for one.
    pub(crate) fn whose(&self, method: &str, params: &Map<String, Value>) -> Option<Arc<str>> {
        let about = if method == "completion/complete" { params.get("ref")?.as_object()? } else { params };
        let offers = self.offers.load();
        let text = |key: &str| about.get(key).and_then(Value::as_str);
        let by_name = || Some(Arc::clone(&offers.prompt_names.get(text("name")?)?.0));
        let by_address = || Some(offers.locate(text("uri")?)?.0);
        Some(Arc::clone(by_name().or_else(by_address)?.label()))
    }

    /// Answers what is asked of resources, prompts and completions. The result is JSON.
    pub async fn answer(
        &self,
        session: &Arc<Session>,
        method: &str,
        params: Map<String, Value>,
        span: Option<&Arc<OpenSpan>>,
    ) -> Result<String, Refused> {
        let offers = self.offers.load_full();
        match method {
            "resources/list" => Ok(json!({"resources": offers.resources}).to_string()),
            "resources/templates/list" => Ok(json!({"resourceTemplates": offers.templates}).to_string()),
            "prompts/list" => Ok(json!({"prompts": offers.prompts}).to_string()),
            "resources/read" => self.read(&offers, session, params, span).await,
            "prompts/get" => {
                let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
                let Some((upstream, own)) = offers.prompt_names.get(name) else {
                    return Err(invalid(format!(
                        "There is no prompt '{name}'; 'prompts/list' lists them all"
                    )));
                };
                let params = replaced(params.clone(), "name", own);
                asked(upstream, session, method, &params, own, span).await.map(|raw| raw.get().to_owned())
            }
            "completion/complete" => self.complete(&offers, session, params, span).await,
            "logging/setLevel" => {
                self.set_level(&params);
                Ok("{}".to_owned())
            }
            _ => Err(Refused { code: -32601, message: format!("'{method}' is not offered") }),
        }
    }

    /// Reads a resource of a server by the address that was recorded: the server's own, or the one that we list.
    pub async fn read_again(
        &self,
        session: &Arc<Session>,
        server: Option<&str>,
        uri: &str,
    ) -> Result<String, Refused> {
        let offers = self.offers.load_full();
        let scheme = server.filter(|_| offers.wrapped.is_none()).map(scheme_of);
        let is_own =
            |scheme: &String| !uri.strip_prefix(scheme.as_str()).is_some_and(|rest| rest.starts_with('+'));
        let address = match scheme.filter(is_own) {
            Some(scheme) => format!("{scheme}+{uri}"),
            None => uri.to_owned(),
        };
        let params = Map::from_iter([("uri".to_owned(), Value::String(address))]);
        self.read(&offers, session, params, None).await
    }

    async fn read(
        &self,
        offers: &Offers,
        session: &Arc<Session>,
        params: Map<String, Value>,
        span: Option<&Arc<OpenSpan>>,
    ) -> Result<String, Refused> {
        let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some((upstream, own, named)) = offers.locate(&uri) else {
            let message = format!("Resource not found: '{uri}'; 'resources/list' lists what there is");
            return Err(Refused { code: RESOURCE_NOT_FOUND, message });
        };
        let params = replaced(params, "uri", &own);
        let raw = asked(&upstream, session, "resources/read", &params, &own, span).await?;
        if !named {
            return Ok(raw.get().to_owned());
        }
        // What was asked for under the server's name is answered under it.
        let mut result: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        for content in result.get_mut("contents").and_then(Value::as_array_mut).into_iter().flatten() {
            *content = under(content, "uri", &scheme_of(upstream.name()));
        }
        Ok(result.to_string())
    }

    async fn complete(
        &self,
        offers: &Offers,
        session: &Arc<Session>,
        mut params: Map<String, Value>,
        span: Option<&Arc<OpenSpan>>,
    ) -> Result<String, Refused> {
        let Some(reference) = params.get("ref").and_then(Value::as_object).cloned() else {
            return Err(invalid("'ref' must say which prompt or resource is meant"));
        };
        let text = |key: &str| reference.get(key).and_then(Value::as_str);
        let (upstream, key, own) = match (text("name"), text("uri")) {
            (Some(name), _) => match offers.prompt_names.get(name) {
                Some((upstream, own)) => (Arc::clone(upstream), "name", own.clone()),
                None => {
                    return Err(invalid(format!(
                        "There is no prompt '{name}'; 'prompts/list' lists them all"
                    )));
                }
            },
            (None, Some(uri)) => match offers.locate(uri) {
                Some((upstream, own, _)) => (upstream, "uri", own),
                None => return Err(invalid(format!("There is no resource '{uri}'"))),
            },
            (None, None) => return Err(invalid("'ref' must have a 'name' or a 'uri'")),
        };
        params.insert("ref".to_owned(), Value::Object(replaced(reference, key, &own)));
        let raw = asked(&upstream, session, "completion/complete", &params, &own, span).await?;
        Ok(raw.get().to_owned())
    }

    /// Tells every upstream that runs how much it shall log.
    fn set_level(&self, params: &Map<String, Value>) {
        for upstream in &self.all {
            upstream.set_level(params.get("level").cloned().unwrap_or_default());
        }
    }
}

fn replaced(mut params: Map<String, Value>, key: &str, value: &str) -> Map<String, Value> {
    params.insert(key.to_owned(), value.into());
    params
}

async fn asked(
    upstream: &Arc<Upstream>,
    session: &Arc<Session>,
    method: &str,
    params: &Map<String, Value>,
    about: &str,
    span: Option<&Arc<OpenSpan>>,
) -> Result<Raw, Refused> {
    let mut given = Params::none().about(about.into());
    for (key, value) in params.iter().filter(|(key, _)| *key != "_meta") {
        given = given.value(key, value);
    }
    let caller = Caller {
        session: Arc::clone(session),
        progress: Default::default(),
        client: session.client(),
        questions: None,
        operator: None,
        span: span.cloned(),
    };
    upstream.request(method, &given, about, &caller, None).await.map_err(|error| refused(&error))
}

/// An upstream's own words, and its code where it gave one.
fn refused(error: &Error) -> Refused {
    let upstream = error.details.get("upstream_error");
    let code = upstream.and_then(|upstream| upstream.get("code")?.as_i64()).filter(|code| *code != 0);
    let words = upstream.and_then(|upstream| upstream.get("message")?.as_str());
    let message = match (code, words) {
        (Some(_), Some(words)) => words.to_owned(),
        (None, Some(words)) => format!("{}: {words}", error.message),
        _ => error.message.clone(),
    };
    Refused { code: code.unwrap_or(INTERNAL), message }
}

/// What an upstream logs, for the client it works for. Where it works for several, nobody hears of the others.
pub(super) fn log(peer: &Peer, params: Option<&RawValue>) {
    let Ok(caller) = peer.caller() else { return };
    if let crate::client::Client::Live(client) = &caller.client {
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
        client.tell("notifications/message", params);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_fits_the_template_it_was_made_of() {
        for (template, uri, expected) in [
            ("demo://resource/{id}", "demo://resource/7", true),
            ("demo://resource/{id}", "demo://other/7", false),
            ("a://{x}/b/{y}", "a://1/b/2", true),
            ("a://{x}/b", "a://1/b", true),
            ("a://{x}/b", "a://1/c", false),
            ("a://{x}/b", "a://1/b/c", false),
            ("a://b", "a://b", true),
            ("a://b", "a://bc", false),
            ("{+all}", "anything", true),
            ("", "", true),
            ("a://{broken", "a://x", true),
        ] {
            assert_eq!(fits(template, uri), expected, "{template} {uri}");
        }
    }
}
