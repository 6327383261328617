//! Runs the sections one after another.

use std::time::{Duration, Instant};

use super::account::Account;
use super::part::Part;
use super::plan::{Plan, Section};
use super::redaction::Redaction;
use super::report::Report;
use super::{behaviors, cases, entra, lost_responses, panics, secondary, throttling};

/// The time limit of a section.
const LIMIT: Duration = Duration::from_secs(20 * 60);

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
        let mut part = limited(Box::pin(one(*section, plan, account, redaction))).await;
        part.requests += account.transport.requests() - before;
        part.elapsed = begin.elapsed();
        show(*section, &part, say);
        report.parts.push((*section, part));
    }
}

async fn one(section: Section, plan: &Plan, account: &Account, redaction: &Redaction) -> Part {
    match section {
        Section::Cases => cases::run(plan, account).await,
        Section::Behaviors => behaviors::run(plan, account).await,
        Section::Entra => entra::run(account, redaction).await,
        Section::Secondary => secondary::run(account).await,
        Section::Throttling => throttling::run(account, plan.sizes).await,
        Section::LostResponses => lost_responses::run(account, plan.sizes.writes).await,
    }
}

/// A section that panics or does not end is a failure, so that the clean-up and the report follow.
async fn limited(section: impl Future<Output = Part>) -> Part {
    let late = |_| Err(format!("it did not end within {} min", LIMIT.as_secs() / 60));
    let ended = tokio::time::timeout(LIMIT, panics::caught(section)).await;
    ended.unwrap_or_else(late).unwrap_or_else(|reason| {
        let mut part = Part::default();
        part.check("the section ends", Err(reason));
        part
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_panic_and_an_endless_section_are_failures() {
        for (part, reason) in [
            (limited(async { unreachable!("a bug") }).await, "a bug"),
            (limited(std::future::pending()).await, "within 20 min"),
        ] {
            assert!(part.failures[0].details[0].1.contains(reason), "{part:?}");
        }
        assert_eq!(limited(async { Part::default() }).await.failures.len(), 0);
    }
}
