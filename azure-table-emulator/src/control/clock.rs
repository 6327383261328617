//! The clock of the service.

use std::time::{Duration, SystemTime};

use azure_table_client::edm::EdmDateTime;
use azure_table_client::mock::MockTableService;
use http::Method;
use serde_json::{Map, Value, json};

use super::{Query, Refusal};
use crate::shared::Shared;

/// A change of the clock.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Shifts the clock by seconds, ahead or behind.
    Shift(f64),
    /// The clock continues from this time.
    Set(SystemTime),
    /// `None` stops the clock at its present time.
    Freeze(Option<SystemTime>),
}

/// Changes or resets the clocks. Returns the clock of each account.
pub(super) fn respond(
    shared: &Shared,
    method: &Method,
    query: &Query,
    body: &str,
) -> Result<Value, Refusal> {
    query.allow(&["account"])?;
    let accounts = query.accounts(shared)?;
    if method == Method::POST {
        let (change, checks_dates) = read(body)?;
        for account in &accounts {
            apply(&account.service, change, checks_dates);
        }
    } else if method == Method::DELETE {
        for account in &accounts {
            account.service.faults().reset_clock();
        }
    }
    let clocks: Vec<_> = accounts
        .iter()
        .map(|account| {
            let faults = account.service.faults();
            let (now, of_clients) = (account.service.now(), account.service.clock().now());
            let shift = match now.duration_since(of_clients) {
                Ok(ahead) => ahead.as_secs_f64(),
                Err(behind) => -behind.duration().as_secs_f64(),
            };
            json!({
                "account": account.name,
                "now": EdmDateTime::from_system_time(now).unwrap_or(EdmDateTime::MIN).to_string(),
                // Two readings of an exact clock differ by less.
                "shift": (shift * 1e3).round() / 1e3,
                "frozen": faults.is_clock_frozen(),
                "check_dates": faults.checks_dates(),
            })
        })
        .collect();
    Ok(json!({ "accounts": clocks }))
}

fn apply(service: &MockTableService, change: Change, checks_dates: Option<bool>) {
    let faults = service.faults();
    match change {
        Change::Shift(seconds) => {
            let by = Duration::try_from_secs_f64(seconds.abs()).unwrap_or(Duration::MAX);
            if seconds < 0.0 { faults.clock_behind(by) } else { faults.clock_ahead(by) }
        }
        Change::Set(time) => match time.duration_since(service.clock().now()) {
            Ok(ahead) => faults.clock_ahead(ahead),
            Err(behind) => faults.clock_behind(behind.duration()),
        },
        Change::Freeze(time) => faults.freeze_clock(time.unwrap_or_else(|| service.now())),
    }
    if let Some(checks_dates) = checks_dates {
        faults.check_dates(checks_dates);
    }
}

fn system_time(time: EdmDateTime) -> Option<SystemTime> {
    let epoch = EdmDateTime::from_system_time(SystemTime::UNIX_EPOCH).ok()?;
    let ticks = time.ticks() - epoch.ticks();
    let by = |ticks: u64| {
        Duration::from_nanos(100)
            .checked_mul(u32::try_from(ticks % 10_000_000).ok()?)
            .and_then(|rest| rest.checked_add(Duration::from_secs(ticks / 10_000_000)))
    };
    let by = by(ticks.unsigned_abs())?;
    if ticks < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(by)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(by)
    }
}

fn read(body: &str) -> Result<(Change, Option<bool>), Refusal> {
    let members: Map<String, Value> = serde_json::from_str(body)
        .map_err(|error| Refusal::bad(format!("the body is not a JSON object: {error}")))?;
    let mut change = None;
    let mut checks_dates = None;
    for (name, value) in &members {
        let wrong = |kind: &str| Refusal::bad(format!("{name} must be {kind}, not {value}"));
        let time = || {
            let time = value.as_str().and_then(|text| text.parse::<EdmDateTime>().ok());
            time.and_then(system_time)
        };
        let read = match &**name {
            "shift" => Change::Shift(value.as_f64().ok_or_else(|| wrong("a number of seconds"))?),
            "set" => Change::Set(time().ok_or_else(|| wrong("a time in UTC"))?),
            "freeze" if *value == true => Change::Freeze(None),
            "freeze" => Change::Freeze(Some(time().ok_or_else(|| wrong("true or a time in UTC"))?)),
            "check_dates" => {
                checks_dates = Some(value.as_bool().ok_or_else(|| wrong("true or false"))?);
                continue;
            }
            _ => {
                let text = format!(
                    "unknown member {name:?}: the clock has shift, set, freeze and check_dates"
                );
                return Err(Refusal::bad(text));
            }
        };
        if change.replace(read).is_some() {
            return Err(Refusal::bad("shift, set and freeze exclude each other"));
        }
    }
    let change = change.ok_or_else(|| Refusal::bad("shift, set or freeze is missing"))?;
    Ok((change, checks_dates))
}
