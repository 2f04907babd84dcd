//! `quotas.db`: what was counted, and which servers are not to be asked for a while.
//!
//! It is written with every call that counts, so a power cut may lose the last second; a crash of the process loses
//! nothing. Several processes share the file: what a call depends on is read in the transaction that counts it.

use std::path::Path;

use aql::quota::{Amount, ApiCount, Counts, Plan, QuotaCount, Slot, Unit, Verdict, decide};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::Error;
use super::columns::{all, count, time};
use super::database::{Database, Options};
use super::migrations::Schema;
use super::writer::Effect;
use crate::failpoint;

const FILE: &str = "quotas.db";

const TABLES: &str = "
CREATE TABLE counts (
    key TEXT NOT NULL,
    begins_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (key, begins_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX counts_old ON counts (ends_at);
CREATE TABLE held (
    upstream TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

const SCHEMA: Schema = Schema { application_id: i32::from_be_bytes(*b"AqQu"), steps: &[TABLES] };

/// A cheap handle on `quotas.db`.
#[derive(Clone)]
pub struct QuotaStore {
    database: Database,
}

impl QuotaStore {
    /// Opens the store in `dir` and creates both if missing. Blocks: meant for the start of the process.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        let database = Database::open_lighter(dir, FILE, &SCHEMA, options)?;
        Ok(Self { database })
    }

    /// Refuses new calls on every handle and returns once all queued writes are done and the file is closed.
    pub async fn close(self) {
        self.database.close().await;
    }

    /// Decides about a call and counts it if it is to be made, in one step.
    pub async fn admit(&self, plan: Plan, continued: bool, now: Timestamp) -> Result<Verdict, Error> {
        let admitted = self
            .database
            .write(Effect::default(), move |connection| {
                forget(connection, now)?;
                let verdict = decide(&plan, &counts(connection, &plan, now)?, continued, now);
                if matches!(verdict, Verdict::Admitted(_)) {
                    for counted in &plan.api {
                        add(connection, &counted.key, counted.limit.window.sliding(now), Amount::ONE)?;
                    }
                    for counted in plan.quotas.iter().filter(|counted| counted.amount > Amount::ZERO) {
                        let slot = counted.quota.metric.window.of_calendar(now);
                        add(connection, &counted.key, slot, counted.amount)?;
                    }
                }
                failpoint::hit("quota.counting");
                Ok(verdict)
            })
            .await;
        failpoint::hit("quota.counted");
        admitted
    }

    /// Counts the tokens of an answer for the quotas that count them.
    pub async fn count_tokens(
        &self,
        quotas: Vec<QuotaCount>,
        tokens: u64,
        now: Timestamp,
    ) -> Result<(), Error> {
        let work = move |connection: &Connection| {
            for counted in quotas.iter().filter(|counted| counted.quota.metric.unit == Unit::Tokens) {
                let slot = counted.quota.metric.window.of_calendar(now);
                add(connection, &counted.key, slot, Amount::whole(tokens))?;
            }
            Ok(())
        };
        self.database.write(Effect::default(), work).await
    }

    /// What was counted of a plan.
    pub async fn counts(&self, plan: Plan, now: Timestamp) -> Result<Counts, Error> {
        self.database.read(move |connection| counts(connection, &plan, now)).await
    }

    /// Keeps that a server is not to be asked until then.
    pub async fn hold(&self, upstream: &str, until: Timestamp) -> Result<(), Error> {
        let upstream = upstream.to_owned();
        let work = move |connection: &Connection| {
            connection
                .prepare_cached(
                    "INSERT INTO held (upstream, until) VALUES (?1, ?2)
                     ON CONFLICT (upstream) DO UPDATE SET until = max(until, excluded.until)",
                )?
                .execute((&upstream, until.as_microsecond()))?;
            Ok(())
        };
        self.database.write(Effect::default(), work).await
    }

    /// Which servers are not to be asked, and until when. Blocks: meant for the start of the process.
    pub fn held(&self, now: Timestamp) -> Result<Vec<(String, Timestamp)>, Error> {
        let held = std::cell::RefCell::new(Vec::new());
        self.database.prepare(|connection| {
            connection.execute("DELETE FROM held WHERE until <= ?1", [now.as_microsecond()])?;
            let statement = connection.prepare_cached("SELECT upstream, until FROM held")?;
            *held.borrow_mut() = all(statement, [], |row| Ok((row.get(0)?, time(row, 1)?)))?;
            Ok(())
        })?;
        Ok(held.into_inner())
    }
}

/// What is over for more than a month helps nobody; until then it is harmless, should a clock have been wrong.
fn forget(connection: &Connection, now: Timestamp) -> Result<(), Error> {
    const KEPT_MICROS: i64 = 40 * 24 * 60 * 60 * 1_000_000;
    connection
        .prepare_cached("DELETE FROM counts WHERE ends_at < ?1")?
        .execute([now.as_microsecond().saturating_sub(KEPT_MICROS)])?;
    Ok(())
}

fn counts(connection: &Connection, plan: &Plan, now: Timestamp) -> Result<Counts, Error> {
    let api = plan.api.iter().map(|counted| parts(connection, counted, now)).collect::<Result<_, _>>()?;
    let quotas =
        plan.quotas.iter().map(|counted| amount(connection, counted, now)).collect::<Result<_, _>>()?;
    Ok(Counts { api, quotas })
}

fn parts(connection: &Connection, counted: &ApiCount, now: Timestamp) -> Result<Vec<(Slot, u64)>, Error> {
    let statement = connection.prepare_cached(
        "SELECT begins_at, amount FROM counts WHERE key = ?1 AND ends_at > ?2 ORDER BY begins_at",
    )?;
    let rows: Vec<(i64, u64)> =
        all(statement, (&counted.key, now.as_microsecond()), |row| Ok((row.get(0)?, count(row, 1)?)))?;
    let one = u64::try_from(Amount::ONE.millionths()).unwrap_or(1);
    let parts = rows.into_iter().map(|(begins, amount)| (counted.limit.window.slot_of(begins), amount / one));
    Ok(parts.collect())
}

fn amount(connection: &Connection, counted: &QuotaCount, now: Timestamp) -> Result<Amount, Error> {
    let begins = counted.quota.metric.window.of_calendar(now).begins_at.as_microsecond();
    let amount = connection
        .prepare_cached("SELECT amount FROM counts WHERE key = ?1 AND begins_at = ?2")?
        .query_row((&counted.key, begins), |row| row.get(0))
        .optional()?;
    Ok(Amount::from_millionths(amount.unwrap_or_default()))
}

fn add(connection: &Connection, key: &str, slot: Slot, amount: Amount) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO counts (key, begins_at, ends_at, amount) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key, begins_at) DO UPDATE SET amount = min(amount + excluded.amount, 9000000000000000000)",
        )?
        .execute((
            key,
            slot.begins_at.as_microsecond(),
            slot.ends_at.as_microsecond(),
            amount.millionths().min(1_000_000_000_000_000_000),
        ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use aql::{
        category::Category,
        quota::{ApiLimit, ApiScope, Called, Limits, Window},
    };

    use super::*;

    const CALLED: Called<'static> =
        Called { operation: "x_read", category: Category::Read, server: Some("x"), principal: "local" };

    fn plan() -> Plan {
        let limit =
            ApiLimit { upstream: "x".to_owned(), scope: ApiScope::Global, limit: 25, window: Window::Hour };
        Limits { api: vec![limit], ..Limits::default() }.plan(&CALLED)
    }

    /// LREQ-RATE-01 LREQ-RATE-11
    #[tokio::test]
    async fn two_stores_on_one_directory_never_go_beyond_a_limit_together() {
        let dir = tempfile::tempdir().unwrap();
        let open = || QuotaStore::open(dir.path(), Options::default()).unwrap();
        let now: Timestamp = "2026-02-04T12:00:00Z".parse().unwrap();
        let stores = [open(), open()];
        let calls = (0..60).map(|number| {
            let store = stores[number % 2].clone();
            tokio::spawn(async move { store.admit(plan(), false, now).await.unwrap() })
        });
        let verdicts = futures_util::future::join_all(calls).await;
        let admitted = verdicts.iter().filter(|verdict| matches!(verdict, Ok(Verdict::Admitted(_)))).count();
        assert_eq!(admitted, 25);
        for store in stores {
            store.close().await;
        }
        assert!(
            matches!(open().admit(plan(), true, now).await, Ok(Verdict::Refused(_))),
            "after a restart too"
        );
    }

    /// LREQ-RATE-11
    #[tokio::test]
    async fn what_a_server_asked_for_is_kept_until_it_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = QuotaStore::open(dir.path(), Options::default()).unwrap();
        let until: Timestamp = "2026-02-04T12:00:00Z".parse().unwrap();
        let earlier = until - jiff::SignedDuration::from_secs(30);
        store.hold("x", until).await.unwrap();
        store.hold("x", earlier).await.unwrap();
        store.clone().close().await;
        let store = QuotaStore::open(dir.path(), Options::default()).unwrap();
        assert_eq!(store.held(earlier), Ok(vec![("x".to_owned(), until)]));
        assert_eq!(store.held(until), Ok(vec![]));
    }
}
