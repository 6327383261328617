//! The two tables, and the conditions on them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::args::{Globals, Sync};
use crate::connect::{Kind, Target, is_limited_to_keys};
use crate::engine::row_list::{self, lock_of};
use crate::engine::sync_position::SyncFile;
use crate::failure::{Exit, Failure, Result};
use crate::service_clock::ServiceClock;
use crate::side_table::SideTable;
use crate::table_name;

/// The tables of a command.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) source: SideTable,
    pub(super) target: SideTable,
    /// The clock of the source.
    pub(super) clock: Arc<ServiceClock>,
    /// The list of failed rows.
    pub(super) list: PathBuf,
}

impl Pair {
    /// Opens the connections. Nothing is sent.
    pub(super) fn open(args: &Sync, globals: &Globals) -> Result<Self> {
        let clock = Arc::new(ServiceClock::default());
        let account = args.sides.first_account(&globals.connection)?;
        let second = args.sides.second_account(&globals.connection)?;
        check_signature(args, "source", &account.0)?;
        check_signature(args, "target", &second.0)?;
        let source = clock.observe(account, &globals.connection)?;
        let source = SideTable::new(source, &args.source);
        let target = second.0.service(&globals.connection, second.1)?;
        let target = SideTable::new(target, &args.target);
        if source.is_same(&target) {
            return Err(Failure::usage("the source and the target are the same table"));
        }
        table_name::check(&target.service, &args.target)?;
        let list = args.failed.clone().unwrap_or_else(|| {
            PathBuf::from(format!("{}-{}{}", args.source, args.target, row_list::SUFFIX))
        });
        Ok(Self { source, target, clock, list })
    }

    /// Returns the failure of a pass that did not find a table.
    pub(super) async fn without_target(&self, failure: Failure) -> Failure {
        let table = &self.target.rows;
        match table.table_exists().await {
            Ok(false) => Failure::new(
                Exit::NotFound,
                format!(
                    "the target table {1} does not exist any more: delete {0}-{1}.sync, and copy again",
                    self.source.rows.name(),
                    table.name(),
                ),
            ),
            _ => failure,
        }
    }

    /// Locks the files of the pair.
    pub(super) fn lock(&self) -> Result<SyncFile> {
        let lock = lock_of(&self.list);
        let others = [("the list of failed rows", &*self.list), ("the lock of that list", &*lock)];
        SyncFile::lock(&self.source, &self.target, &others)
    }
}

/// Checks that the signature of a side permits all keys, if the command compares them.
fn check_signature(args: &Sync, side: &str, account: &Target) -> Result<()> {
    let option = match (args.delete, args.until_equal) {
        (true, _) => "--delete",
        (false, true) => "--until-equal",
        (false, false) => return Ok(()),
    };
    match account.kind() {
        Kind::Signature(token) if is_limited_to_keys(&token) => Err(Failure::usage(format!(
            "{option} needs all keys of the {side}, and its signature is limited to a range of keys"
        ))),
        _ => Ok(()),
    }
}
