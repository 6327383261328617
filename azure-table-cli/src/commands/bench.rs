//! `bench`: the load at which the service throttles one partition.

mod cleanup;
mod load;
mod partition;
mod plan;
mod ramp;
mod report;
mod step;

use azure_table_client::{DynamicEntity, TableServiceClient};
use url::{Host, Url};

use crate::args::{Bench as Arguments, Globals, Phase};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Out, message, note};
use crate::progress::Progress;
use crate::table_name;
use load::Load;
use partition::Partition;
use ramp::{Bounds, End, Next, Ramp};
use report::Report;
use step::Step;

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    table_name::check(&service, &args.table)?;
    if args.dry_run {
        let mut out = Out::new();
        out.put(&plan::describe(&args))?;
        return out.flush();
    }
    if !globals.yes && !is_emulator(service.endpoint()) {
        let message = "bench loads a service that is not an emulator: pass --yes, or see its requests with --dry-run";
        return Err(Failure::usage(message));
    }
    let mut load = begin(&service, &args, globals).await?;
    let end = phases(&args, &mut load).await;
    if load.interrupt.exit().is_some() {
        message(&format!("removing the rows of the partition {}", load.partition.name));
    }
    let progress = Progress::new(globals.quiet, "cleanup", Some(load.partition.len()));
    let removed = cleanup::remove(&load, &progress).await;
    progress.finish();
    conclude(end, removed, load.interrupt.exit())
}

/// Creates the table, if it is requested, and names the partition.
async fn begin(service: &TableServiceClient, args: &Arguments, globals: &Globals) -> Result<Load> {
    let id = service.clock().random_id().map_err(|error| {
        Failure::new(Exit::Failed, format!("the partition has no name: {error}"))
    })?;
    let interrupt = Interrupt::install()?;
    let table = service.table_named::<DynamicEntity>(&args.table);
    if args.create {
        interrupt.stops(async { Ok(table.create_if_not_exists().await?) }).await?;
    }
    let partition = Partition::new(id);
    note(globals, &format!("partition {}", partition.name));
    Ok(Load::new(table, partition, interrupt))
}

async fn phases(args: &Arguments, load: &mut Load) -> Result<()> {
    let mut report = Report::new(args.output)?;
    for phase in args.phases() {
        let end = run_phase(phase, Bounds::of(args, phase), load, |step| report.step(phase, step))
            .await?;
        report.end(phase, end, &load.partition.name)?;
    }
    Ok(())
}

async fn run_phase(
    phase: Phase,
    bounds: Bounds,
    load: &mut Load,
    mut on_step: impl FnMut(&Step) -> Result<()>,
) -> Result<End> {
    if phase == Phase::Reads {
        load.prepare().await?;
    }
    let mut ramp = Ramp::new(bounds);
    let mut next = ramp.first();
    loop {
        match next {
            Next::End(end) => return Ok(end),
            Next::Run(rate, time) => {
                let step = load.run(phase, rate, time).await?;
                if let Some(exit) = load.interrupt.exit() {
                    return Err(Failure::new(exit, "interrupted"));
                }
                on_step(&step)?;
                next = ramp.next(&step);
            }
        }
    }
}

fn conclude(end: Result<()>, removed: Result<()>, interrupted: Option<Exit>) -> Result<()> {
    match (end, removed, interrupted) {
        (Err(failure), Err(left), _) if failure.message().is_empty() => Err(left),
        (Err(failure), Err(left), _) => {
            Err(Failure::new(failure.exit(), format!("{}; {}", failure.message(), left.message())))
        }
        (Err(failure), Ok(()), _) | (Ok(()), Err(failure), _) => Err(failure),
        // The signal came during the cleanup.
        (Ok(()), Ok(()), Some(exit)) => Err(Failure::new(exit, "interrupted")),
        (Ok(()), Ok(()), None) => Ok(()),
    }
}

/// Returns whether the address is on this machine, or has the account of an emulator.
fn is_emulator(endpoint: &str) -> bool {
    let Ok(url) = Url::parse(endpoint) else { return false };
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_loopback || url.path().trim_end_matches('/') == "/devstoreaccount1"
}

#[cfg(test)]
mod tests;
