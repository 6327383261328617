//! `live`: everything that the workspace can check on a real account, with a question before and a report after.
//!
//! Each module uses only modules to its left: `(account, panics, part, redaction, report_file, settings) <- (clean_up, plan) <-
//! (behaviors, cases, entra, lost_responses, secondary, throttling) <- report <- sections`.

mod account;
mod behaviors;
mod cases;
mod clean_up;
mod entra;
mod lost_responses;
mod panics;
mod part;
mod plan;
mod redaction;
mod report;
mod report_file;
mod secondary;
mod sections;
mod settings;
mod throttling;

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use crate::signals::Signals;
use crate::wire::Server;

use self::account::{Account, Kind};
use self::panics::QuietPanics;
use self::plan::Plan;
use self::redaction::Redaction;
use self::report::Report;
use self::report_file::ReportFile;
use self::settings::Settings;

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
    /// Runs the checks that change the settings of the service on an account, too; on an emulator, they always run.
    pub change_settings: bool,
    /// Restores the settings of the service from this file, and runs nothing.
    pub restore_settings: Option<PathBuf>,
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
    let result = Box::pin(run_redacted(options, &redaction, print)).await;
    result.map_err(|error| redaction.apply(&error))
}

async fn run_redacted(
    options: Options,
    redaction: &Redaction,
    print: &dyn Fn(&str),
) -> Result<Ending, String> {
    let _quiet = QuietPanics::install();
    let (sections, report_path) = (options.sections.clone(), options.report.clone());
    let may_change_settings = options.change_settings;
    let restored = options.restore_settings.clone();
    let account = Account::new(options)?;
    let say = |text: &str| print(&redaction.apply(text));
    if let Some(path) = restored {
        Settings::of_file(&path)?.write(&account.server).await?;
        account.unlock().await?;
        say(&format!("the settings are restored; {} is not needed any more\n", path.display()));
        return Ok(Ending::Passed);
    }
    let may_change_settings = may_change_settings || account.kind() == Kind::Emulator;
    let plan = Plan::new(&sections, &account.server, may_change_settings)?;
    ask(&plan, &account, print, &say)?;
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    let mut report = Report::new(&account, !sections.is_empty());
    let mut file = match report_path {
        Some(path) => ReportFile::named(&path)?,
        None => ReportFile::create(&report.default_stem())?,
    };
    account.check().await?;
    if plan.changes_settings {
        Settings::check_file()?;
    }
    account.lock().await?;
    let changes_settings = plan.changes_settings;
    let kept =
        if changes_settings { Settings::keep(&account.server).await.map(Some) } else { Ok(None) };
    let settings = match kept {
        Ok(settings) => settings,
        Err(error) => {
            account.unlock().await?;
            return Err(error);
        }
    };
    let is_interrupted = tokio::select! {
        () = sections::run(&plan, &account, redaction, &mut report, &say) => false,
        () = signals.next() => true,
    };
    if is_interrupted {
        say(
            "stopping: settings are restored and tables removed; press Ctrl-C again to end at once\n",
        );
    }
    let cleaned = panics::caught(clean_up::run(&account, settings.as_ref(), is_interrupted));
    report.left = tokio::select! {
        left = cleaned => left.unwrap_or_else(|panic| remainder(&account, changes_settings, &panic)),
        () = signals.next() => remainder(&account, changes_settings, "stopped by a second signal"),
    };
    for name in &report.left {
        say(&format!("not removed or restored: {name}\n"));
    }
    if is_interrupted {
        return Ok(Ending::Interrupted);
    }
    let text = report.to_markdown(&account, redaction);
    file.write(&text)?;
    say(&format!("{}\nreport: {}\n", report.result(), file.path().display()));
    Ok(if report.is_passed() { Ending::Passed } else { Ending::Failed })
}

/// The settings and tables that may remain after an unfinished clean-up.
fn remainder(account: &Account, changes_settings: bool, reason: &str) -> Vec<String> {
    let settings = changes_settings.then(|| settings::left(reason));
    let tables = format!("tables that begin with {} ({reason})", account.server.prefix);
    settings.into_iter().chain([tables, format!("table {}", account.lock)]).collect()
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
    let endpoint = account.server.endpoint();
    let changed = if plan.changes_settings {
        " It changes the CORS rules and the settings of logging and metrics for some minutes."
    } else {
        ""
    };
    print(&format!("This run sends {estimate} to {endpoint}.{changed} Continue? [y/N] "));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| format!("input: {error}"))?;
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err("stopped: nothing was sent".to_owned()),
    }
}
