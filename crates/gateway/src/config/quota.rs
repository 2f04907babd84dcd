//! `[[safety.quota]]`, `api_limits` and `cost`.

use std::collections::BTreeMap;

use aql::{
    category::Category,
    quota::{Amount, ApiLimit, ApiScope, Cost, HeaderNames, Limits, Quota, Unit},
};

use super::{
    bounds,
    error::Error,
    file::{self, File, Fraction, Placed},
    safety,
    upstream::{self, Upstream},
};

/// Far more than anybody needs, and little enough to look through with every call.
const QUOTAS_MAX: usize = 64;
const CURRENCY: &str = "USD";

/// Everything that is counted, for the upstreams that are used.
pub(super) fn limits(file: &File, used: &[Upstream]) -> Result<Limits, Error> {
    let mut limits = Limits {
        upstreams: used.iter().map(|upstream| upstream.name.clone()).collect(),
        ..Limits::default()
    };
    for (given, written) in &file.upstream {
        let Some(name) = upstream::normal(given.get()) else { continue };
        let is_used = limits.upstreams.contains(&name);
        let api = written.api_limits.iter().flatten().map(|limit| api_limit(&name, limit));
        let api: Vec<ApiLimit> = api.collect::<Result<_, _>>()?;
        let costs: Vec<Cost> =
            written.cost.iter().flatten().map(|written| cost(&name, written)).collect::<Result<_, _>>()?;
        if is_used {
            limits.api.extend(api);
            limits.costs.extend(costs);
        }
    }
    let names: Vec<String> = file.upstream.keys().filter_map(|name| upstream::normal(name.get())).collect();
    if let Some(beyond) = file.safety.quota.get(QUOTAS_MAX) {
        let error = Error::at(beyond.metric.span(), format!("there are more than {QUOTAS_MAX} quotas"));
        return Err(error.help_with("keep those that matter; one quota can count many operations"));
    }
    let mut known = BTreeMap::new();
    for written in &file.safety.quota {
        let quota = quota(written, &names)?;
        if known.insert(quota.identity(), ()).is_some() {
            let message = format!("there are two quotas of '{}' for the same calls", quota.metric.as_str());
            return Err(Error::at(written.metric.span(), message).help_with("keep one of them"));
        }
        if written.enabled.unwrap_or(true) {
            limits.quotas.push(quota);
        }
    }
    Ok(limits)
}

fn quota(written: &file::Quota, upstreams: &[String]) -> Result<Quota, Error> {
    let metric: aql::quota::Metric =
        written.metric.get().parse().map_err(|error| Error::at(written.metric.span(), error))?;
    let upstream = match &written.upstream {
        None => None,
        Some(given) if given.get() == "*" => Some("*".to_owned()),
        Some(given) => {
            let name = upstream::normal(given.get()).filter(|name| upstreams.contains(name));
            let unknown = || {
                Error::at(given.span(), format!("there is no upstream '{}'", given.get()))
                    .help_with("name one under '[upstream.NAME]', or write '*' for each on its own")
            };
            Some(name.ok_or_else(unknown)?)
        }
    };
    if let Some(given) = written.caller.as_ref().filter(|given| given.get().trim().is_empty()) {
        return Err(Error::at(given.span(), "the caller is empty")
            .help_with("name a principal, write '*' for each on its own, or leave it out"));
    }
    if let Some(given) = written.currency.as_ref().filter(|_| metric.unit != Unit::Cost) {
        return Err(Error::at(given.span(), format!("'{}' is not counted in a currency", metric.as_str()))
            .help_with("leave out 'currency', or choose a metric of costs"));
    }
    let is_whole = metric.unit != Unit::Cost;
    let warn = amount("warn", &written.warn, is_whole)?;
    let pause = amount("pause", &written.pause, is_whole)?;
    let hard_stop = written.hard_stop.as_ref().map(|stop| amount("hard_stop", stop, is_whole)).transpose()?;
    let order = "they are reached in the order warn, pause, hard_stop";
    if warn > pause {
        return Err(Error::at(written.pause.span(), "'pause' is below 'warn'").help_with(order));
    }
    if let (Some(stop), Some(given)) = (hard_stop, &written.hard_stop)
        && pause > stop
    {
        return Err(Error::at(given.span(), "'hard_stop' is below 'pause'").help_with(order));
    }
    Ok(Quota {
        metric,
        upstream,
        category: written.category.as_ref().map(category).transpose()?,
        caller: written.caller.as_ref().map(|given| given.get().clone()),
        operations: safety::patterns(written.operations.as_ref())?,
        warn,
        pause,
        hard_stop,
        currency: currency(written.currency.as_ref())?,
    })
}

fn amount(key: &str, given: &Fraction, is_whole: bool) -> Result<Amount, Error> {
    let number = *given.get();
    let Some(amount) = Amount::of(number) else {
        return Err(Error::at(
            given.span(),
            format!("'{key}' is {number}, but must be between 0 and 1000000000000"),
        ));
    };
    if is_whole && number.fract() != 0.0 {
        return Err(Error::at(given.span(), format!("'{key}' is {number}, but must be a whole number here")));
    }
    Ok(amount)
}

fn category(given: &Placed<String>) -> Result<Category, Error> {
    given.get().parse().map_err(|error| Error::at(given.span(), error))
}

fn currency(given: Option<&Placed<String>>) -> Result<String, Error> {
    let Some(given) = given else { return Ok(CURRENCY.to_owned()) };
    let text = given.get();
    match text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        true => Ok(text.clone()),
        false => Err(Error::at(given.span(), format!("currency '{text}' is not one like 'USD' or 'EUR'"))),
    }
}

fn api_limit(upstream: &str, written: &file::ApiLimit) -> Result<ApiLimit, Error> {
    let needs = |key: &str| {
        let message = format!("the scope '{}' needs '{key}'", written.scope.get());
        Error::at(written.scope.span(), message)
            .help_with(format!("set '{key}', or choose the scope 'global'"))
    };
    let foreign = |key: &str, given: &Option<Placed<String>>| match given {
        None => Ok(()),
        Some(given) => {
            let message = format!("'{key}' means nothing with the scope '{}'", written.scope.get());
            Err(Error::at(given.span(), message).help_with(format!("remove it, or choose the scope '{key}'")))
        }
    };
    let scope = match written.scope.get().as_str() {
        "global" => {
            foreign("endpoint", &written.endpoint)?;
            foreign("category", &written.category)?;
            ApiScope::Global
        }
        "endpoint" => {
            foreign("category", &written.category)?;
            let given = written.endpoint.clone().ok_or_else(|| needs("endpoint"))?;
            ApiScope::Endpoint(safety::patterns(Some(&vec![given]))?.concat())
        }
        "category" => {
            foreign("endpoint", &written.endpoint)?;
            ApiScope::Category(category(written.category.as_ref().ok_or_else(|| needs("category"))?)?)
        }
        other => {
            let message = format!("scope '{other}' is none of global, endpoint, category");
            return Err(Error::at(written.scope.span(), message));
        }
    };
    Ok(ApiLimit {
        upstream: upstream.to_owned(),
        scope,
        limit: bounds::API_LIMIT.check(&written.limit)?,
        window: written.window.get().parse().map_err(|error| Error::at(written.window.span(), error))?,
    })
}

fn cost(upstream: &str, written: &file::Cost) -> Result<Cost, Error> {
    Ok(Cost {
        upstream: upstream.to_owned(),
        operations: safety::patterns(written.operations.as_ref())?,
        per_call: amount("cost_per_call", &written.cost_per_call, false)?,
        currency: currency(written.currency.as_ref())?,
    })
}

/// The headers of an upstream's own that say how much is left, and when there is more.
pub(super) fn headers(written: Option<&Vec<file::ApiLimit>>) -> Result<Vec<HeaderNames>, Error> {
    let name = |given: &Option<Placed<String>>| match given {
        None => Ok(None),
        Some(given) => match given.get().parse::<http::HeaderName>() {
            Ok(name) => Ok(Some(name.as_str().to_owned())),
            Err(_) => Err(Error::at(given.span(), format!("'{}' is no name of an HTTP header", given.get()))),
        },
    };
    let mut names = Vec::new();
    for limit in written.into_iter().flatten() {
        let (remaining, reset) = (name(&limit.remaining_header)?, name(&limit.reset_header)?);
        if remaining.is_some() || reset.is_some() {
            names.push(HeaderNames { remaining, reset });
        }
    }
    Ok(names)
}
