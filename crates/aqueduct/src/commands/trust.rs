//! `aqueduct trust`: how far an adapter file is trusted, and changing it one level a time.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use gateway::aql::{
    discover::adapter,
    trust::{Block, Evidence, REVIEWS_DEFAULT, TrustLevel},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::adapt;
use crate::report::{self, Failure};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// An adapter file, as 'aqueduct adapt' writes it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Raise the trust to this level, the next one
    #[arg(long, value_name = "LEVEL", conflicts_with = "demote")]
    promote: Option<TrustLevel>,
    /// Lower the trust to this level
    #[arg(long, value_name = "LEVEL", requires = "reason")]
    demote: Option<TrustLevel>,
    /// Who changes it
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why it is lowered
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// For 'validated': a JSON file with 'tests_passed' and 'tests_total'
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// For 'community_reviewed': who reviewed it; may be given several times
    #[arg(long, value_name = "NAME")]
    review: Vec<String>,
    /// A worry about safety that a review raised; may be given several times
    #[arg(long, value_name = "TEXT")]
    flag: Vec<String>,
    /// How many reviews it takes
    #[arg(long, value_name = "COUNT", default_value_t = REVIEWS_DEFAULT)]
    reviews_needed: usize,
    /// For 'certified': a JSON file with the certificate
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let text = adapt::text(&arguments.file)?;
    let name = arguments.file.file_name().map(|name| name.to_string_lossy());
    let read = adapter::read(&text, name.as_deref()).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("- {problem}")).collect();
        Failure::usage(&format!("'{}' has mistakes", arguments.file.display()), &lines.join("\n"))
    })?;
    let now = Timestamp::now();
    let before = read.adapter.trust;
    let after = changed(arguments, &before, now)?;
    if after != before {
        let written = adapter::with_trust(&text, &after).ok_or_else(|| {
            Failure::usage("the file's settings have no end", "they stand between two lines '---'")
        })?;
        adapt::write(&arguments.file, &written)?;
    }
    show(arguments, &read.adapter.name, &before, &after, now);
    Ok(ExitCode::SUCCESS)
}

fn changed(arguments: &Arguments, block: &Block, now: Timestamp) -> Result<Block, Failure> {
    let by = arguments.by.clone().or_else(|| std::env::var("USER").ok()).unwrap_or_default();
    let refused = |refused: gateway::aql::trust::Refused| {
        Failure::usage(&format!("the trust stays as it is: {refused}"), HELP)
    };
    match (arguments.promote, arguments.demote) {
        (Some(level), _) => {
            let evidence = evidence(arguments, level)?;
            block.promoted(level, &evidence, &by, now).map_err(refused)
        }
        (_, Some(level)) => {
            let reason = arguments.reason.as_deref().unwrap_or_default();
            block.demoted(level, &by, reason, now).map_err(refused)
        }
        (None, None) => Ok(block.clone()),
    }
}

const HELP: &str = "'validated' takes --report, 'community_reviewed' --review twice, 'certified' --certificate; \
                    --by says who you are";

/// What was given for the level. The file was read without a mistake, which is all that 'generated' takes.
fn evidence(arguments: &Arguments, level: TrustLevel) -> Result<Evidence, Failure> {
    Ok(match level {
        TrustLevel::Validated => match &arguments.report {
            Some(file) => Evidence::Tests(
                serde_json::from_value(json_of(file)?).map_err(|error| unusable(file, &error))?,
            ),
            None => Evidence::Schema,
        },
        TrustLevel::CommunityReviewed => Evidence::Reviews {
            by: arguments.review.clone(),
            flags: arguments.flag.clone(),
            needed: arguments.reviews_needed,
        },
        TrustLevel::Certified => match &arguments.certificate {
            Some(file) => {
                let given = serde_json::from_value(json_of(file)?);
                Evidence::Certificate(given.map_err(|error| unusable(file, &error))?)
            }
            None => Evidence::Schema,
        },
        TrustLevel::Untested | TrustLevel::Generated => Evidence::Schema,
    })
}

fn json_of(file: &Path) -> Result<Value, Failure> {
    serde_json::from_str(&adapt::text(file)?).map_err(|error| unusable(file, &error))
}

fn unusable(file: &Path, error: &serde_json::Error) -> Failure {
    Failure::usage(&format!("'{}' cannot be used: {error}", file.display()), "correct the file")
}

fn show(arguments: &Arguments, name: &str, before: &Block, after: &Block, now: Timestamp) {
    let effective = after.effective(now);
    if arguments.json {
        report::print(&json!({"name": name, "effective": effective, "trust": after}).to_string());
        return;
    }
    let mut lines = vec![match before.level == after.level && before == after {
        true => format!("{name}: {}", after.level),
        false => format!("{name}: {} → {}", before.level, after.level),
    }];
    if effective != after.level {
        lines.push(format!("counts as {effective}: no certificate holds any more"));
    }
    lines.extend(after.promotion_history.iter().map(|change| {
        let reason = change.reason.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        format!("{} {} → {} by {}{reason}", change.at, change.from, change.to, change.by)
    }));
    report::print(&lines.join("\n"));
}
