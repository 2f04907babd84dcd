//! Batches: results in order, exact counts, and a halt where a person has to confirm first.

use serde_json::{Value, json};

use crate::{
    error::{Code, Error},
    limits::{self, Limits},
    request::Entry,
    response::Answer,
};

/// Collects the results of a batch while it runs.
#[derive(Debug)]
pub struct Batch {
    results: Vec<Vec<u8>>,
    succeeded: usize,
    failed: usize,
    halted: Option<Vec<u8>>,
    /// Bytes that results may still take; one that does not fit is replaced by the failure that says so.
    room: usize,
    allowed: usize,
}

/// What every entry can have for itself, however large the others are: enough for a failure.
const ENTRY_BYTES_RESERVED: usize = 400;

/// Whether the batch goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Continue,
    Halt,
}

impl Batch {
    /// A batch of that many entries, whose answer fits into the limits.
    #[must_use]
    pub fn new(entries: usize, limits: &Limits) -> Self {
        let allowed = limits.max_response_size();
        let room = allowed.saturating_sub(entries * ENTRY_BYTES_RESERVED);
        Self { results: Vec::new(), succeeded: 0, failed: 0, halted: None, room, allowed }
    }

    /// Takes the answer to one entry. A call that waits for confirmation is no failure; it halts the batch.
    pub fn record(&mut self, index: usize, operation: &str, answer: &Answer) -> Next {
        let too_large;
        let mut answer = answer;
        if answer.size() > ENTRY_BYTES_RESERVED {
            if answer.size() > self.room {
                let error = Error::too_large(&limits::RESPONSE_SIZE, self.allowed, answer.size());
                too_large = Answer::bare_failure(&error);
                answer = &too_large;
            } else {
                self.room -= answer.size();
            }
        }
        let mut entry =
            format!("{{\"index\":{index},\"operation\":{},\"result\":", json!(operation)).into_bytes();
        answer.write(&mut entry);
        entry.push(b'}');
        match answer.code() {
            Some(Code::ConfirmationRequired) => {
                self.halted = Some(entry);
                return Next::Halt;
            }
            Some(_) => self.failed += 1,
            None => self.succeeded += 1,
        }
        self.results.push(entry);
        Next::Continue
    }

    /// The whole answer. `pending` are the entries behind a halt, with their places.
    #[must_use]
    pub fn finish(self, pending: &[(usize, Entry)], limits: &Limits) -> Answer {
        let total = self.results.len() + usize::from(self.halted.is_some()) + pending.len();
        let mut summary = json!({"total": total, "succeeded": self.succeeded, "failed": self.failed});
        let mut out = b"{\"success\":true,\"data\":null,\"results\":[".to_vec();
        out.extend_from_slice(&self.results.join(&b','));
        out.push(b']');
        if let Some(halted) = self.halted {
            if let Value::Object(summary) = &mut summary {
                summary.insert("halted".to_owned(), 1.into());
                summary.insert("pending".to_owned(), pending.len().into());
            }
            let pending: Vec<Value> =
                pending.iter().map(|(index, entry)| pending_entry(*index, entry)).collect();
            out.extend_from_slice(b",\"halted_at\":");
            out.extend_from_slice(&halted);
            out.extend_from_slice(format!(",\"pending_operations\":{}", Value::Array(pending)).as_bytes());
        }
        out.extend_from_slice(format!(",\"summary\":{summary}}}").as_bytes());
        within(Answer::from_json(out), limits)
    }
}

/// A failure of the whole batch carries only its code and message.
fn within(answer: Answer, limits: &Limits) -> Answer {
    match answer.oversize(limits) {
        Some(error) => Answer::bare_failure(&Error::new(error.code, error.message)),
        None => answer,
    }
}

/// What the caller sent, so that it can be sent again behind the halted call.
fn pending_entry(index: usize, entry: &Entry) -> Value {
    let mut pending = json!({"index": index, "operation": entry.operation()});
    let params = match (&entry.given, &entry.call) {
        (_, Ok(call)) if !call.params.is_empty() => Some(Value::Object(call.params.clone())),
        (Value::Object(given), Err(_)) => given.get("params").filter(|params| params.is_object()).cloned(),
        _ => None,
    };
    if let (Value::Object(pending), Some(params)) = (&mut pending, params) {
        pending.insert("params".to_owned(), params);
    }
    pending
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::{request::Request, response::Data};

    fn entries(given: Value) -> Vec<Entry> {
        let arguments: Map<String, Value> = [("operations".to_owned(), given)].into_iter().collect();
        match Request::read(arguments).unwrap() {
            Request::Batch(entries) => entries,
            Request::One(_) => panic!("a batch"),
        }
    }

    fn parsed(answer: &Answer) -> Value {
        serde_json::from_str(&answer.to_text()).unwrap()
    }

    /// REQ-BATCH-09 REQ-BATCH-10 REQ-BATCH-11 REQ-BATCH-15
    #[test]
    fn a_call_to_confirm_halts_the_batch_and_the_rest_is_handed_back() {
        let limits = Limits::default();
        let all = entries(json!([
            {"operation": "update_user", "params": {"user_id": "a"}},
            {"operation": "delete_user", "params": {"user_id": "a"}},
            {"operation": "send_notification", "user_id": "a", "params": {"message": "gone"}},
        ]));
        let mut batch = Batch::new(3, &limits);
        let ok = Answer::success(&Data::Value(json!({"id": "a"})), &[], &limits);
        assert_eq!(batch.record(0, "update_user", &ok), Next::Continue);
        let gated = Answer::bare_failure(&Error::new(
            Code::ConfirmationRequired,
            "This operation requires confirmation",
        ));
        assert_eq!(batch.record(1, "delete_user", &gated), Next::Halt);
        let pending: Vec<_> = all.into_iter().enumerate().skip(2).collect();
        let answer = parsed(&batch.finish(&pending, &limits));
        assert_eq!(answer["success"], true);
        assert_eq!(answer["results"].as_array().unwrap().len(), 1);
        assert_eq!(answer["halted_at"]["index"], 1);
        assert_eq!(answer["halted_at"]["result"]["error"]["code"], "CONFIRMATION_REQUIRED");
        assert_eq!(
            answer["pending_operations"],
            json!([{"index": 2, "operation": "send_notification", "params": {"user_id": "a", "message": "gone"}}])
        );
        assert_eq!(
            answer["summary"],
            json!({"total": 3, "succeeded": 1, "failed": 0, "halted": 1, "pending": 1})
        );
    }

    /// REQ-LIMIT-02
    #[test]
    fn results_that_do_not_fit_together_are_replaced_one_by_one() {
        let limits = Limits::default().with_max_response_size(1024 * 1024).unwrap();
        let mut batch = Batch::new(4, &limits);
        let large = Answer::success(&Data::Value("x".repeat(500_000).into()), &[], &limits);
        let small = Answer::success(&Data::Value(json!(1)), &[], &limits);
        for (index, answer) in [&large, &large, &large, &small].into_iter().enumerate() {
            assert_eq!(batch.record(index, "get_bytes", answer), Next::Continue);
        }
        let answer = batch.finish(&[], &limits);
        assert!(answer.size() <= limits.max_response_size());
        let answer = parsed(&answer);
        assert_eq!(answer["summary"], json!({"total": 4, "succeeded": 3, "failed": 1}));
        assert_eq!(answer["results"][2]["result"]["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
        assert_eq!(answer["results"][3]["result"]["data"], 1);
    }

    /// REQ-BATCH-03 REQ-BATCH-05
    #[test]
    fn failures_are_counted_and_stop_nothing() {
        let limits = Limits::default();
        let mut batch = Batch::new(3, &limits);
        let ok = Answer::success(&Data::Value(Value::Null), &[], &limits);
        let failed = Answer::failure(Error::new(Code::AlreadyExists, "exists"), Some("s"));
        for (index, answer) in [&ok, &failed, &ok].into_iter().enumerate() {
            assert_eq!(batch.record(index, "create_item", answer), Next::Continue);
        }
        let answer = parsed(&batch.finish(&[], &limits));
        assert_eq!(answer["summary"], json!({"total": 3, "succeeded": 2, "failed": 1}));
        assert_eq!(answer["results"][1]["index"], 1);
        assert_eq!(answer["results"][1]["result"]["success"], false);
        assert_eq!(answer["data"], Value::Null);
    }
}
