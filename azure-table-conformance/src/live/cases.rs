//! The cases of the wire.

use crate::report::{CaseResult, Outcome};
use crate::run::{Run, Selection};

use super::account::Account;
use super::part::{CHANGES_SETTINGS, Failure, Part};
use super::plan::Plan;

pub(super) async fn run(plan: &Plan, account: &Account) -> Part {
    let mut run = Run::new(&account.server);
    let report = run.cases(&plan.cases, &Selection::default(), |_| ()).await;
    // The end of the whole run repeats what fails.
    drop(run.clean_up().await);
    let changes = match account.known.as_str() {
        "" => Vec::new(),
        known => report.compare(known),
    };
    let is_of = |change: &String, name: &str| {
        change.strip_prefix(name).is_some_and(|rest| rest.starts_with(": "))
    };
    let mut part = Part { requests: run.requests(), ..Part::default() };
    let reason = || CHANGES_SETTINGS.to_owned();
    part.left_out.extend(plan.left_out.iter().map(|name| (name.clone(), reason())));
    for result in report.results {
        let is_changed = changes.iter().any(|change| is_of(change, &result.name));
        add(&mut part, result, !account.known.is_empty() && !is_changed);
    }
    let is_new = |change: &&String| !part.failures.iter().any(|it| is_of(change, &it.name));
    let others: Vec<String> = changes.iter().filter(is_new).cloned().collect();
    for change in others {
        part.check("the list of --known", Err(change));
    }
    part
}

fn add(part: &mut Part, result: CaseResult, is_known: bool) {
    match result.outcome {
        Outcome::Passed => part.passed += 1,
        Outcome::Differs(_) | Outcome::NotSupported { .. } if is_known => {
            part.left_out.push((result.name, "a known difference of this server".to_owned()));
        }
        Outcome::Differs(difference) => {
            let details = vec![
                ("rule", result.title),
                ("request", difference.request),
                ("expected", difference.expected),
                ("got", difference.got),
            ];
            part.failures.push(Failure { name: result.name, details });
        }
        Outcome::NotSupported { got } => {
            let details = vec![("rule", result.title), ("got", got)];
            part.failures.push(Failure { name: result.name, details });
        }
        Outcome::NotSettled { response } if !is_known && is_refusal(&response) => {
            let details = vec![("rule", result.title), ("got", response)];
            part.failures.push(Failure { name: result.name, details });
        }
        Outcome::NotSettled { response } => {
            part.settled.push((format!("{} ({})", result.title, result.name), response));
        }
    }
}

/// Whether a response settles nothing, since the service could not or did not want to process the request.
fn is_refusal(response: &str) -> bool {
    let Some(other) = response.strip_prefix("another one: ") else { return false };
    other.starts_with("429") || other.starts_with('5') || other == "403 AuthenticationFailed"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(outcome: Outcome, is_known: bool) -> Part {
        let mut part = Part::default();
        let (name, title) = ("area/name".to_owned(), "a rule".to_owned());
        add(&mut part, CaseResult { name, title, sources: Vec::new(), outcome }, is_known);
        part
    }

    #[test]
    fn refusals_settle_nothing() {
        for (response, is_failure) in [
            ("another one: 503 ServerBusy", true),
            ("another one: 429", true),
            ("another one: 403 AuthenticationFailed", true),
            ("another one: 400 InvalidInput", false),
            ("403 AuthenticationFailed", false),
        ] {
            let part = part(Outcome::NotSettled { response: response.to_owned() }, false);
            assert_eq!(part.failures.len(), usize::from(is_failure), "{response}");
        }
    }

    #[test]
    fn a_missing_function_fails_unless_it_is_known() {
        let outcome = || Outcome::NotSupported { got: "501 NotImplemented".to_owned() };
        assert_eq!(part(outcome(), false).failures.len(), 1);
        assert_eq!(part(outcome(), true).failures.len(), 0);
    }
}
