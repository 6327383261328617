//! `azure-table-conformance`: runs the cases on a server, and prints the differences.

mod options;

use std::io::Write as _;
use std::process::ExitCode;

#[cfg(feature = "live")]
use azure_table_conformance::live;
use azure_table_conformance::{
    Case, CaseResult, Outcome, Report, Run, Selection, Signals, cases, is_unsafe,
};

use self::options::{Command, HELP, Options};

/// Cases differ.
const DIFFERS: u8 = 1;
/// The arguments are wrong, or the report cannot be written.
const USAGE: u8 = 2;
/// The code of programs that a signal ends.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    match begin() {
        Ok(code) => code.into(),
        Err(message) => {
            eprintln!("azure-table-conformance: {message}");
            USAGE.into()
        }
    }
}

fn begin() -> Result<u8, String> {
    let options = match options::parse(lexopt::Parser::from_env()).map_err(|it| it.to_string())? {
        Command::Help => return print(HELP).map(|()| 0),
        Command::Version => {
            let version = env!("CARGO_PKG_VERSION");
            return print(&format!("azure-table-conformance {version}\n")).map(|()| 0);
        }
        Command::List => return list().map(|()| 0),
        Command::Run(options) => options,
        #[cfg(feature = "live")]
        Command::LiveHelp => return print(live::HELP).map(|()| 0),
        #[cfg(feature = "live")]
        Command::Live(options) => return run_live(*options),
    };
    let cases = cases().map_err(|error| error.to_string())?;
    let selection = Selection::new(options.only.iter().cloned());
    if !cases.iter().any(|case| selection.has(case, &options.server)) {
        return Err("no case is selected: --list prints the names".to_owned());
    }
    runtime()?.block_on(run(&options, &cases, &selection))
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("runtime: {error}"))
}

#[cfg(feature = "live")]
fn run_live(options: live::Options) -> Result<u8, String> {
    // Without a reader, the report is still written.
    let ending = runtime()?.block_on(live::run(options, &|text| drop(print(text))))?;
    Ok(match ending {
        live::Ending::Passed => 0,
        live::Ending::Failed => DIFFERS,
        live::Ending::Interrupted => INTERRUPTED,
    })
}

async fn run(options: &Options, cases: &[Case], selection: &Selection) -> Result<u8, String> {
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    let mut run = Run::new(&options.server);
    let finished = tokio::select! {
        report = run.cases(cases, selection, show) => Some(report),
        () = signals.next() => None,
    };
    let left = tokio::select! {
        result = run.clean_up() => result.err().map(|left| left.join(" ")),
        // A second signal ends the clean-up.
        () = signals.next() => Some(format!("tables that begin with {}", run.prefix())),
    };
    if let Some(left) = left {
        eprintln!("azure-table-conformance: not deleted or restored: {left}");
    }
    let Some(report) = finished else { return Ok(INTERRUPTED) };
    print(&format!("\n{}", report.to_table()))?;
    for path in &options.reports {
        write(path, &report)?;
    }
    let Some(known) = &options.known else { return Ok(if report.differs() { DIFFERS } else { 0 }) };
    let changes = report.compare(known);
    for change in &changes {
        print(&format!("{change}\n"))?;
    }
    Ok(if changes.is_empty() { 0 } else { DIFFERS })
}

/// Prints a case that did not pass.
fn show(result: &CaseResult) {
    let text = match &result.outcome {
        Outcome::Passed => return,
        Outcome::Differs(it) => format!(
            "differs        {}: {}\n  {}\n  expected {}\n  got      {}\n",
            result.name, result.title, it.request, it.expected, it.got
        ),
        Outcome::NotSupported { got } => format!("not supported  {}: {got}\n", result.name),
        Outcome::NotSettled { response } => format!("not settled    {}: {response}\n", result.name),
    };
    // Without a reader, the report is still written.
    drop(print(&text));
}

/// Prints a text without the characters that a terminal may obey, which a server may have sent, except line breaks.
fn print(text: &str) -> Result<(), String> {
    let is_bad = |it: char| is_unsafe(it) && it != '\n';
    let text: String = text.chars().map(|it| if is_bad(it) { ' ' } else { it }).collect();
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("output: {error}"))
}

fn list() -> Result<(), String> {
    for case in cases().map_err(|error| error.to_string())? {
        let open = if case.is_settled { "" } else { " (not settled)" };
        print(&format!("{}: {}{open}\n", case.name, case.title))?;
    }
    Ok(())
}

fn write(path: &std::path::Path, report: &Report) -> Result<(), String> {
    let text = match path.extension().and_then(|it| it.to_str()) {
        Some("json") => report.to_json(),
        Some("tsv") => report.to_list(),
        _ => report.to_markdown(),
    };
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
