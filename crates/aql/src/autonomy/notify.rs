//! Notifications: what is open or has happened, as the store knows it, in the order of time.
//!
//! They are made anew from the facts each time, so what is open is told until it is closed, and nothing else has to be kept.

use jiff::Timestamp;

use super::directive::{Metadata, Notification, NotificationType};

/// What the notifications of one execution are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Calls of the agent that wait for a person.
    pub pending: Vec<Pending>,
    /// The pause the agent is in.
    pub pause: Option<Pause>,
    /// Agents that were blocked since this execution began, and still are.
    pub blocks: Vec<Blocked>,
    /// What happened since the last step, told once.
    pub news: Vec<News>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub operation: String,
    pub reason: String,
    /// How dangerous it is.
    pub level: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub reason: String,
    /// Where a code is waited for.
    pub verification_id: Option<String>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub agent: String,
    pub reason: String,
    /// Told to the blocked principal, who alone has any use for it.
    pub verification_id: Option<String>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    pub is_error: bool,
    pub message: String,
    pub operation: Option<String>,
    pub at: Timestamp,
}

/// The operation whose report a pause belongs to.
pub const REPORTING: &str = "record_execution_step";

/// Everything there is to tell, oldest first.
#[must_use]
pub fn notifications(facts: Facts) -> Vec<Notification> {
    let pending = facts.pending.into_iter().map(|pending| Notification {
        kind: NotificationType::PermissionPending,
        message: format!("'{}' waits until a person confirms it", pending.operation),
        metadata: Some(Metadata {
            operation: Some(pending.operation),
            reason: Some(pending.reason),
            level: Some(pending.level),
            verification_id: None,
        }),
        timestamp: pending.at,
    });
    let pause = facts.pause.into_iter().map(|pause| Notification {
        kind: NotificationType::AutonomyPause,
        message: pause.reason.clone(),
        metadata: Some(Metadata {
            operation: Some(REPORTING.to_owned()),
            reason: Some(pause.reason),
            verification_id: pause.verification_id,
            level: None,
        }),
        timestamp: pause.at,
    });
    let blocks = facts.blocks.into_iter().map(|block| Notification {
        kind: NotificationType::DangerZone,
        message: format!("Agent '{}' is blocked: {}", block.agent, block.reason),
        metadata: Some(Metadata {
            operation: None,
            reason: Some(block.reason),
            level: Some("danger_zone".to_owned()),
            verification_id: block.verification_id,
        }),
        timestamp: block.at,
    });
    let news = facts.news.into_iter().map(|news| Notification {
        kind: if news.is_error { NotificationType::Error } else { NotificationType::Status },
        message: news.message,
        metadata: news
            .operation
            .map(|operation| Metadata { operation: Some(operation), ..Metadata::default() }),
        timestamp: news.at,
    });
    let mut all: Vec<Notification> = pending.chain(pause).chain(blocks).chain(news).collect();
    all.sort_by_key(|notification| notification.timestamp);
    all
}
