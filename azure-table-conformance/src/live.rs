//! `live`: everything that the workspace can check on a real account, with a question before and a report after.
//!
//! Each module uses only modules to its left: `(account, part, redaction) <- (clean_up, plan) <- (behaviors, cases,
//! entra, lost_responses, secondary, throttling) <- report <- sections`.

mod account;
mod behaviors;
mod cases;
mod clean_up;
mod entra;
mod lost_responses;
mod part;
mod plan;
mod redaction;
mod report;
mod secondary;
mod sections;
mod throttling;

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use crate::signals::Signals;
use crate::wire::Server;

use self::account::Account;
use self::clean_up::Settings;
use self::plan::Plan;
use self::redaction::Redaction;
use self::report::Report;

pub use self::plan::Section;

/// The help of the subcommand.
pub const HELP: &str = include_str!("live/help.txt");

/// The arguments of a run.
#[derive(Debug)]
pub struct Options {
    /// The account. Its prefix of tables has at most 22 characters.
    pub server: Server,
    /// Trusted certificates in the form of PEM, besides those of the platform.
    pub ca: Option<Vec<u8>>,
    /// The sections to run; all of them if empty.
    pub sections: Vec<Section>,
    /// The list of the cases that are expected to differ, as in the folder `differences`.
    pub known: String,
    /// The file of the report instead of the default one.
    pub report: Option<PathBuf>,
    /// Begins without a question.
    pub yes: bool,
    /// Names the account in the report.
    pub name_account: bool,
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everything passed or was skipped.
    Passed,
    /// Something failed, or a table could not be removed.
    Failed,
    /// A signal stopped the run.
    Interrupted,
}

/// Runs the sections on an account and writes the report. `print` receives the lines for the user, without secrets.
///
/// # Errors
/// The user declined, the account cannot be used, or the report cannot be written.
pub async fn run(options: Options, print: &dyn Fn(&str)) -> Result<Ending, String> {
    let redaction = Redaction::new(&options.server, options.name_account);
    let (sections, report_path) = (options.sections.clone(), options.report.clone());
    let account = Account::new(options).map_err(|error| redaction.apply(&error))?;
    let plan = Plan::new(&sections, &account.server)?;
    let say = |text: &str| print(&redaction.apply(text));
    ask(&plan, &account, print, &say)?;
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    account.check().await.map_err(|error| redaction.apply(&error))?;
    let settings = Settings::read(&account).await.map_err(|error| redaction.apply(&error))?;
    let mut report = Report::new(&account);
    let is_interrupted = tokio::select! {
        () = sections::run(&plan, &account, &redaction, &mut report, &say) => false,
        () = signals.next() => true,
    };
    if is_interrupted {
        say("stopping: the tables are removed; press Ctrl-C again to end at once\n");
    }
    let left = tokio::select! {
        left = clean_up::run(&account, &settings) => left,
        () = signals.next() => vec![format!("tables that begin with {}", account.server.prefix)],
    };
    for name in &left {
        say(&format!("not removed: {name}\n"));
    }
    report.left = left;
    if is_interrupted {
        return Ok(Ending::Interrupted);
    }
    let path = report_path.unwrap_or_else(|| report.default_path());
    let text = redaction.apply(&report.to_markdown(&account));
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    say(&format!("report: {}\n", path.display()));
    Ok(if report.is_passed() { Ending::Passed } else { Ending::Failed })
}

/// Asks the user, who sees the account's name. Only the lines of an unattended run are without it.
fn ask(
    plan: &Plan,
    account: &Account,
    print: &dyn Fn(&str),
    say: &dyn Fn(&str),
) -> Result<(), String> {
    let estimate = plan.estimate(account.kind());
    if account.is_confirmed {
        say(&format!("This run sends {estimate}.\n"));
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err("without a terminal, live needs --yes".to_owned());
    }
    print(&format!("This run sends {estimate} to {}. Continue? [y/N] ", account.server.endpoint()));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| format!("input: {error}"))?;
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err("stopped: nothing was sent".to_owned()),
    }
}
