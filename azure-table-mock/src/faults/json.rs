//! Fault plans as JSON.

mod members;

use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::effects::{Break, FaultKind, Replacement, ReplacementBody, RetryAfter};
use super::fault::Fault;
use super::scope::Scope;
use super::throttle::ThrottleLimit;
use super::{ActiveFault, AddedFault, Faults};
use crate::error::Error;
use crate::lock::lock;
use crate::wire::Operation;
use members::ObjectReader;

/// The errors that have their own constructor.
const ERRORS: [(&str, Fault); 4] = [
    ("busy", Fault::busy()),
    ("too_many_requests", Fault::too_many_requests()),
    ("internal_error", Fault::internal_error()),
    ("timed_out", Fault::timed_out()),
];
const KINDS: &str = "refuse_connection, lose_request, lose_reply, hang, delay_request, delay_reply, busy, \
    too_many_requests, internal_error, timed_out, error, proxy_page, captive_portal, deliver_twice, \
    swap_reply, truncate_reply, page_of, split_page, table_being_deleted, throttle or \
    throttle_account";

impl Faults<'_> {
    /// Adds the faults of a plan in JSON, and returns them in their order. The plan is a fault, an array of
    /// faults, or an object with `faults` and a `seed`.
    ///
    /// The member `fault` is the name of a constructor of [`Fault`]. Its arguments are `milliseconds`
    /// (delays and [`table_being_deleted`](Fault::table_being_deleted)), `status`, `code`, `rows`
    /// ([`page_of`](Fault::page_of)) and `entities_per_second`. All other members are optional:
    ///
    /// | member | value |
    /// |---|---|
    /// | `after_commit`, `without_body` | `true` |
    /// | `retry_after`, `retry_after_date`, `retry_after_ms` | a number of seconds, of seconds from now, or of milliseconds |
    /// | `on` | the name of an [`Operation`], `reads`, `writes`, or an array of these |
    /// | `table`, `partition`, `row` | a name, a PartitionKey and a RowKey |
    /// | `probability` | from 0 to 1 |
    /// | `skip`, `times` | a number of requests |
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    ///
    /// let mock = MockTableService::new();
    /// let added = mock.faults().add_json(r#"{"seed": 42, "faults": [
    ///     {"fault": "busy", "retry_after": 2, "on": "Insert", "table": "Blogs", "times": 2},
    ///     {"fault": "delay_reply", "milliseconds": 15, "on": ["reads", "Transaction"]}
    /// ]}"#)?;
    /// assert_eq!(added[0].struck(), 0);
    ///
    /// let error = mock.faults().add_json(r#"{"fault": "busy", "tabel": "Blogs"}"#).unwrap_err();
    /// assert!(error.to_string().starts_with("fault 0: unknown member \"tabel\""));
    /// # Ok::<(), azure_table_client::Error>(())
    /// ```
    ///
    /// # Errors
    /// The plan is malformed, or it has an unknown fault or member. No fault is added then.
    pub fn add_json(&self, plan: &str) -> Result<Vec<AddedFault>, Error> {
        let plan: Value = serde_json::from_str(plan)
            .map_err(|error| invalid(format!("the fault plan is malformed: {error}")))?;
        let (faults, seed) = match plan {
            Value::Array(faults) => (faults, None),
            Value::Object(plan) if plan.contains_key("faults") => {
                let mut plan = ObjectReader::of(plan);
                let faults = plan.remove("faults");
                let seed = plan.count("seed").map_err(invalid)?;
                plan.end("the fault plan").map_err(invalid)?;
                let Some(Value::Array(faults)) = faults else {
                    return Err(invalid("faults must be an array"));
                };
                (faults, seed)
            }
            Value::Object(fault) if fault.contains_key("fault") => {
                (vec![Value::Object(fault)], None)
            }
            _ => return Err(invalid("the fault plan has no member \"faults\"")),
        };
        let read = faults.into_iter().enumerate().map(|(index, fault)| {
            read(fault).map_err(|message| invalid(format!("fault {index}: {message}")))
        });
        let faults = read.collect::<Result<Vec<_>, _>>()?;
        if let Some(seed) = seed {
            self.seed(seed);
        }
        Ok(faults.into_iter().map(|fault| self.add(fault)).collect())
    }

    /// Returns the plan in the form of [`add_json`](Self::add_json). Each fault also has the number of
    /// requests that it has `struck`, which `add_json` ignores.
    ///
    /// ```
    /// use azure_table_client::mock::{Fault, MockTableService};
    ///
    /// let mock = MockTableService::new();
    /// mock.faults().add(Fault::busy().table("Blogs").times(2));
    /// assert_eq!(
    ///     mock.faults().to_json(),
    ///     r#"{"faults":[{"fault":"busy","struck":0,"table":"Blogs","times":2}],"seed":0}"#
    /// );
    /// ```
    pub fn to_json(&self) -> String {
        let state = lock(&self.plan.state);
        let faults: Vec<_> = state.active.iter().map(write_active).collect();
        json!({ "seed": state.seed, "faults": faults }).to_string()
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid_input(message.into())
}

/// Removes the member that a fault needs.
fn need<T>(value: Result<Option<T>, String>, name: &str) -> Result<T, String> {
    value?.ok_or_else(|| format!("{name} is missing"))
}

fn read(fault: Value) -> Result<Fault, String> {
    let Value::Object(object) = fault else {
        return Err("a fault is an object".into());
    };
    let members = &mut ObjectReader::of(object);
    let kind = need(members.text("fault"), "fault")?;
    let mut fault = read_kind(&kind, members)?;
    if matches!(fault.kind, FaultKind::Replace(_) | FaultKind::Throttle(..)) {
        fault = read_response(fault, members)?;
    }
    fault = read_scope(fault, members)?;
    if let Some(probability) = members.take("probability", "a number", Value::as_f64)? {
        if !(0.0..=1.0).contains(&probability) {
            return Err(format!("probability must be from 0 to 1, not {probability}"));
        }
        fault = fault.probability(probability);
    }
    if let Some(skip) = members.count("skip")? {
        fault = fault.skip(skip);
    }
    if let Some(times) = members.count("times")? {
        fault = fault.times(usize::try_from(times).unwrap_or(usize::MAX));
    }
    // `to_json` writes it.
    members.ignore("struck");
    members.end("a fault of this name").map(|()| fault)
}

fn read_kind(kind: &str, members: &mut ObjectReader) -> Result<Fault, String> {
    if let Some((_, fault)) = ERRORS.into_iter().find(|(name, _)| *name == kind) {
        return Ok(fault);
    }
    let mut time =
        || need(members.count("milliseconds"), "milliseconds").map(Duration::from_millis);
    Ok(match kind {
        "refuse_connection" => Fault::refuse_connection(),
        "lose_request" => Fault::lose_request(),
        "lose_reply" => Fault::lose_reply(),
        "hang" => Fault::hang(),
        "delay_request" => Fault::delay_request(time()?),
        "delay_reply" => Fault::delay_reply(time()?),
        "table_being_deleted" => Fault::table_being_deleted(time()?),
        "error" => {
            let code = need(members.text("code"), "code")?;
            Fault::error(read_status(members)?, code)
        }
        "proxy_page" => Fault::proxy_page(read_status(members)?),
        "captive_portal" => Fault::captive_portal(read_status(members)?),
        "deliver_twice" => Fault::deliver_twice(),
        "swap_reply" => Fault::swap_reply(),
        "truncate_reply" => Fault::truncate_reply(),
        "page_of" => {
            let rows = need(members.count("rows"), "rows")?;
            Fault::page_of(usize::try_from(rows).unwrap_or(usize::MAX))
        }
        "split_page" => Fault::split_page(),
        "throttle" | "throttle_account" => {
            let is_rate = |value: &Value| value.as_u64().and_then(|rate| rate.try_into().ok());
            let rate = members.take("entities_per_second", "a whole number", is_rate);
            let rate = need(rate, "entities_per_second")?;
            if kind == "throttle" { Fault::throttle(rate) } else { Fault::throttle_account(rate) }
        }
        _ => return Err(format!("unknown fault {kind:?}: it is {KINDS}")),
    })
}

fn read_status(members: &mut ObjectReader) -> Result<u16, String> {
    let is_status = |value: &Value| {
        let status = value.as_u64().and_then(|status| u16::try_from(status).ok())?;
        StatusCode::from_u16(status).is_ok().then_some(status)
    };
    need(members.take("status", "a status from 100 to 999", is_status), "status")
}

/// Reads the options of faults that send a response in place of the service's own.
fn read_response(mut fault: Fault, members: &mut ObjectReader) -> Result<Fault, String> {
    if members.flag("without_body")? {
        fault = fault.without_body();
    }
    if matches!(fault.kind, FaultKind::Replace(_)) && members.flag("after_commit")? {
        fault = fault.after_commit();
    }
    let mut waits = Vec::new();
    for name in ["retry_after", "retry_after_date", "retry_after_ms"] {
        waits.extend(members.count(name)?.map(|wait| (name, wait)));
    }
    match waits[..] {
        [] => Ok(fault),
        [("retry_after", wait)] => Ok(fault.retry_after(Duration::from_secs(wait))),
        [("retry_after_date", wait)] => Ok(fault.retry_after_date(Duration::from_secs(wait))),
        [(_, wait)] => Ok(fault.retry_after_ms(Duration::from_millis(wait))),
        _ => Err("a fault has one retry_after".into()),
    }
}

fn read_scope(mut fault: Fault, members: &mut ObjectReader) -> Result<Fault, String> {
    let names = match members.remove("on") {
        None => Vec::new(),
        Some(Value::Array(names)) => names,
        Some(name) => vec![name],
    };
    for name in &names {
        let name =
            name.as_str().ok_or_else(|| format!("on has names of operations, not {name}"))?;
        fault = match name {
            "reads" => fault.on_reads(),
            "writes" => fault.on_writes(),
            name => fault.on(operation(name)?),
        };
    }
    if let Some(table) = members.text("table")? {
        fault = fault.table(table);
    }
    match (members.text("partition")?, members.text("row")?) {
        (Some(partition_key), Some(row_key)) => Ok(fault.key(partition_key, row_key)),
        (Some(partition_key), None) => Ok(fault.partition(partition_key)),
        (None, Some(_)) => Err("row needs a partition".into()),
        (None, None) => Ok(fault),
    }
}

fn operation(name: &str) -> Result<Operation, String> {
    let found = Operation::ALL.iter().find(|operation| operation.as_str() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.as_str()).collect();
        format!("unknown operation {name:?}: it is reads, writes, {}", names.join(", "))
    })
}

fn write_active(active: &ActiveFault) -> Value {
    let fault = &active.fault;
    let mut members = Map::new();
    write_kind(&fault.kind, &mut members);
    write_scope(&fault.scope, &mut members);
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    #[expect(clippy::float_cmp, reason = "1 is the default")]
    if fault.probability != 1.0 {
        add("probability", fault.probability.into());
    }
    if fault.skip > 0 {
        add("skip", fault.skip.into());
    }
    if fault.times != usize::MAX {
        add("times", fault.times.into());
    }
    add("struck", AddedFault(active.struck.clone()).struck().into());
    Value::Object(members)
}

/// A fault without its scope.
pub(super) fn kind_text(kind: &FaultKind) -> String {
    let mut members = Map::new();
    write_kind(kind, &mut members);
    Value::Object(members).to_string()
}

fn write_kind(kind: &FaultKind, members: &mut Map<String, Value>) {
    let milliseconds = |time: &Duration| json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let (name, argument) = match kind {
        FaultKind::Break(Break::Refused) => ("refuse_connection", None),
        FaultKind::Break(Break::LosesRequest) => ("lose_request", None),
        FaultKind::Break(Break::LosesReply) => ("lose_reply", None),
        FaultKind::Break(Break::Hangs) => ("hang", None),
        FaultKind::DelayRequest(by) => ("delay_request", Some(("milliseconds", milliseconds(by)))),
        FaultKind::DelayReply(by) => ("delay_reply", Some(("milliseconds", milliseconds(by)))),
        FaultKind::HoldName(time) => {
            ("table_being_deleted", Some(("milliseconds", milliseconds(time))))
        }
        FaultKind::CutBody => ("truncate_reply", None),
        FaultKind::DeliverTwice => ("deliver_twice", None),
        FaultKind::SwapReply => ("swap_reply", None),
        FaultKind::EndPage(Some(rows)) => ("page_of", Some(("rows", json!(rows)))),
        FaultKind::EndPage(None) => ("split_page", None),
        FaultKind::Throttle(limit, replacement) => {
            write_response(replacement, members);
            let (name, rate) = match limit {
                ThrottleLimit::Partition(rate) => ("throttle", rate),
                ThrottleLimit::Account(rate) => ("throttle_account", rate),
            };
            (name, Some(("entities_per_second", json!(rate))))
        }
        FaultKind::Replace(replacement) => {
            write_response(replacement, members);
            match &replacement.body {
                ReplacementBody::Html(status) => {
                    ("proxy_page", Some(("status", json!(status.as_u16()))))
                }
                ReplacementBody::Failure(failure) => {
                    let is_same = |fault: &Fault| match &fault.kind {
                        FaultKind::Replace(Replacement {
                            body: ReplacementBody::Failure(other),
                            ..
                        }) => other == failure,
                        _ => false,
                    };
                    match ERRORS.into_iter().find(|(_, fault)| is_same(fault)) {
                        Some((name, _)) => (name, None),
                        None => {
                            members.insert("code".to_owned(), json!(failure.code));
                            ("error", Some(("status", json!(failure.status.as_u16()))))
                        }
                    }
                }
            }
        }
    };
    members.insert("fault".to_owned(), name.into());
    if let Some((name, value)) = argument {
        members.insert(name.to_owned(), value);
    }
}

fn write_response(replacement: &Replacement, members: &mut Map<String, Value>) {
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    if replacement.is_applied {
        add("after_commit", true.into());
    }
    if !replacement.has_body {
        add("without_body", true.into());
    }
    match replacement.retry_after {
        None => None,
        Some(RetryAfter::Seconds(wait)) => add("retry_after", wait.into()),
        Some(RetryAfter::Date(wait)) => add("retry_after_date", wait.as_secs().into()),
        Some(RetryAfter::Milliseconds(wait)) => add("retry_after_ms", wait.into()),
    };
}

fn write_scope(scope: &Scope, members: &mut Map<String, Value>) {
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    if !scope.operations.is_empty() {
        let names: Vec<_> = scope.operations.iter().map(|operation| operation.as_str()).collect();
        add("on", json!(names));
    }
    let names =
        [("table", &scope.table), ("partition", &scope.partition_key), ("row", &scope.row_key)];
    for (name, value) in names {
        if let Some(value) = value {
            add(name, json!(value));
        }
    }
}

#[cfg(test)]
mod tests;
