//! `whoami`: the credential and its permissions, by read requests only.

mod probe;
mod signature;

use crate::args::{Globals, Whoami};
use crate::connect::{Kind, table_of};
use crate::failure::{Exit, Failure, Result};
use crate::output::Out;
use crate::terminal::escaped;
use probe::Access;

/// The width of the names, unless a field has a longer one.
const WIDTH: usize = 15;

pub(crate) async fn run(args: Whoami, globals: &Globals) -> Result<()> {
    let target = globals.connection.target()?;
    let (origin, kind) = (target.origin.clone(), target.kind());
    let service = target.service(&globals.connection, globals.connection.dialect)?;
    let fields = match &kind {
        Kind::Signature(token) => signature::fields(token),
        _ => Vec::new(),
    };
    let width = fields.iter().map(|(name, _)| name.len()).fold(WIDTH, usize::max);
    let line = |out: &mut Out, name: &str, value: &str| {
        out.put(&format!("{name:width$}  {}\n", escaped(value)))
    };
    let mut out = Out::new();
    line(&mut out, "endpoint", service.endpoint())?;
    line(&mut out, "credential", &format!("{}, from {origin}", describe(&kind)))?;
    for (name, value) in &fields {
        line(&mut out, name, value)?;
    }
    let table = args.table.or_else(|| match &kind {
        Kind::Signature(token) => table_of(token),
        _ => None,
    });
    out.flush()?;
    let probes = probe::all(&service, table.as_deref()).await;
    for (name, access) in &probes {
        line(&mut out, name, &access.to_string())?;
    }
    if table.is_none() {
        line(&mut out, "read rows", "not tested: pass --table TABLE")?;
    }
    line(
        &mut out,
        "write",
        &format!("not tested, because whoami never writes{}", expectation(&kind)),
    )?;
    out.flush()?;
    verdict(&probes)
}

/// Fails if no request was permitted.
fn verdict(probes: &[(&str, Access)]) -> Result<()> {
    let of = |matching: fn(&Access) -> bool| probes.iter().any(|(_, access)| matching(access));
    if of(|access| matches!(access, Access::Permitted)) {
        return Ok(());
    }
    if of(|access| matches!(access, Access::Refused(_))) {
        return Err(Failure::new(
            Exit::Denied,
            "the service refused all requests of this credential",
        ));
    }
    Err(Failure::new(
        Exit::Failed,
        "the service was not reached, or did not decide about the credential",
    ))
}

fn describe(kind: &Kind) -> String {
    match kind {
        Kind::Key(Some(account)) => format!("key of the account {account}"),
        Kind::Key(None) => "key of the account".to_owned(),
        Kind::Signature(_) => "shared access signature".to_owned(),
        Kind::Token => "token of Microsoft Entra ID".to_owned(),
    }
}

/// The expected result of writes, which are not tested.
fn expectation(kind: &Kind) -> &'static str {
    match kind {
        Kind::Key(_) => "; a valid key permits everything",
        Kind::Signature(_) => "; the permissions of the signature are above",
        Kind::Token => "; the roles of the identity decide",
    }
}
