//! Runs the sections one after another.

use std::time::Instant;

use super::account::Account;
use super::part::Part;
use super::plan::{Plan, Section};
use super::redaction::Redaction;
use super::report::Report;
use super::{behaviors, cases, entra, lost_responses, secondary, throttling};

/// Runs the sections of a plan, and adds their results to the report.
pub(super) async fn run(
    plan: &Plan,
    account: &Account,
    redaction: &Redaction,
    report: &mut Report,
    say: &dyn Fn(&str),
) {
    for section in &plan.sections {
        let (begin, before) = (Instant::now(), account.transport.requests());
        let mut part = match section {
            Section::Cases => cases::run(plan, account).await,
            Section::Behaviors => behaviors::run(account).await,
            Section::Entra => entra::run(account, redaction).await,
            Section::Secondary => secondary::run(account).await,
            Section::Throttling => throttling::run(account, plan.sizes).await,
            Section::LostResponses => lost_responses::run(account, plan.sizes.writes).await,
        };
        part.requests += account.transport.requests() - before;
        part.elapsed = begin.elapsed();
        show(*section, &part, say);
        report.parts.push((*section, part));
    }
}

fn show(section: Section, part: &Part, say: &dyn Fn(&str)) {
    let seconds = part.elapsed.as_secs_f64();
    say(&format!("{}: {} ({seconds:.1} s)\n", section.name(), part.result()));
    for failure in &part.failures {
        say(&format!("  failed  {}\n", failure.name));
        for (name, text) in &failure.details {
            say(&format!("    {name}: {}\n", text.replace('\n', " ")));
        }
    }
    for figure in &part.figures {
        say(&format!("  {figure}\n"));
    }
}
