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
    let known = account.known.lines().filter_map(|line| line.split_once('\t'));
    let known: Vec<&str> = known
        .filter_map(|(name, outcome)| outcome.starts_with("differs").then_some(name))
        .collect();
    let mut part = Part { requests: plan.case_requests, ..Part::default() };
    let reason = || CHANGES_SETTINGS.to_owned();
    part.left_out.extend(plan.left_out.iter().map(|name| (name.clone(), reason())));
    for result in report.results {
        let is_known = known.contains(&result.name.as_str());
        add(&mut part, result, is_known);
    }
    part
}

fn add(part: &mut Part, result: CaseResult, is_known: bool) {
    match result.outcome {
        Outcome::Passed => part.passed += 1,
        Outcome::Differs(_) if is_known => {
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
        Outcome::NotSupported { got } => part.left_out.push((result.name, got)),
        Outcome::NotSettled { response } => {
            part.settled.push((format!("{} ({})", result.title, result.name), response));
        }
    }
}
