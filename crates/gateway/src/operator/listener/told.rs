//! What is answered about approvals, blocks, challenges, the audit log and the rules. The document is made from these types.

use aql::{
    policy::{
        Verdict,
        explain::{Explanation, Layer},
    },
    trust::TrustLevel,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::words;
use crate::{
    operator::desk::{ShownBlock, ShownChallenge, ShownEntry},
    store::safety::{Approval, ApprovalKind, ApprovalState, Input},
};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Approvals {
    pub(super) approvals: Vec<ShownApproval>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct OneApproval {
    pub(super) approval: ShownApproval,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Revoked {
    /// The approval's id.
    pub(super) revoked: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct NewToken {
    pub(super) approval: ShownApproval,
    /// It is in this one answer and nowhere else.
    pub(super) confirmation_token: String,
}

/// What waits for the operator.
#[derive(Serialize, JsonSchema)]
pub(crate) struct News {
    /// Stands for all of this; who has seen it hands it in as `seen`.
    pub(super) seen: String,
    pub(super) approvals: Vec<ShownApproval>,
    pub(super) challenges: Vec<ShownChallenge>,
    /// Without question and form for who may only look.
    pub(super) inputs: Vec<Input>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Blocks {
    pub(super) blocks: Vec<ShownBlock>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Unblocked {
    /// As it was.
    pub(super) unblocked: ShownBlock,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Challenges {
    pub(super) challenges: Vec<ShownChallenge>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Code {
    pub(super) challenge: ShownChallenge,
    /// It is in this one answer and nowhere else.
    pub(super) code: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Audit {
    pub(super) entries: Vec<ShownEntry>,
    /// The number of the last entry that there is.
    pub(super) last: u64,
}

/// What a person is asked.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownApproval {
    id: String,
    #[schemars(schema_with = "words::approval_kind")]
    kind: ApprovalKind,
    #[schemars(schema_with = "words::approval_state")]
    state: ApprovalState,
    operation: String,
    adapter: String,
    session_id: String,
    principal: String,
    agent: Option<String>,
    #[schemars(schema_with = "words::danger")]
    danger_level: aql::danger::DangerLevel,
    #[schemars(schema_with = "words::trust_or_none")]
    trust: Option<TrustLevel>,
    reasons: Vec<String>,
    message: String,
    /// As they may be shown.
    params: Value,
    #[schemars(schema_with = "words::time")]
    asked_at: Timestamp,
    /// While it waits, until when it may be answered; once approved, until when the call has to come.
    #[schemars(schema_with = "words::time")]
    expires_at: Timestamp,
    /// Before this an approved call does not run yet.
    #[schemars(schema_with = "words::time_or_none")]
    not_before: Option<Timestamp>,
    #[schemars(schema_with = "words::time_or_none")]
    answered_at: Option<Timestamp>,
    answered_by: Option<String>,
    channel: Option<String>,
}

impl From<Approval> for ShownApproval {
    fn from(approval: Approval) -> Self {
        Self {
            id: approval.id,
            kind: approval.kind,
            state: approval.state,
            operation: approval.operation,
            adapter: approval.adapter,
            session_id: approval.session_id,
            principal: approval.principal,
            agent: approval.agent,
            danger_level: approval.danger,
            trust: approval.trust,
            reasons: approval.reasons,
            message: approval.message,
            params: approval.params,
            asked_at: approval.asked_at,
            expires_at: approval.expires_at,
            not_before: approval.not_before,
            answered_at: approval.answered_at,
            answered_by: approval.answered_by,
            channel: approval.channel,
        }
    }
}

/// A decision with everything that led to it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Decided {
    /// The operation.
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(schema_with = "words::danger")]
    danger: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(schema_with = "words::trust")]
    trust: Option<&'static str>,
    caller: String,
    #[schemars(schema_with = "words::verdict")]
    decision: Verdict,
    /// What a caller is told, or a person is asked for.
    reasons: Vec<String>,
    layers: Vec<Voice>,
}

/// One voice.
#[derive(Serialize, JsonSchema)]
struct Voice {
    /// Whose: names, minimum_trust, matrix, danger, rule 3, blocks, execution.
    layer: String,
    #[schemars(schema_with = "words::verdict")]
    says: Verdict,
    because: String,
    /// Whether the decision is this one's.
    decides: bool,
}

impl From<Explanation> for Decided {
    fn from(explanation: Explanation) -> Self {
        let Explanation { subject, danger, trust, caller, decision, reasons, layers } = explanation;
        let voice = |Layer { layer, says, because, decides }| Voice { layer, says, because, decides };
        let layers = layers.into_iter().map(voice).collect();
        Self { subject, danger, trust, caller, decision, reasons, layers }
    }
}
