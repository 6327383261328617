//! The two tables, and the conditions on them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::args::{Globals, Sync};
use crate::commands::copy::SyncFiles;
use crate::connect::{Kind, is_limited_to_keys};
use crate::failure::{Failure, Result};
use crate::run_files::row_list::lock_of;
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
    pub(super) refused: PathBuf,
}

impl Pair {
    /// Opens the connections. Nothing is sent.
    pub(super) fn open(args: &Sync, globals: &Globals) -> Result<Self> {
        let clock = Arc::new(ServiceClock::default());
        let account = args.sides.first_account(&globals.connection)?;
        if let Kind::Signature(token) = account.0.kind()
            && args.delete
            && is_limited_to_keys(&token)
        {
            let message = "--delete needs all keys of the source, and its signature is limited to a range of keys";
            return Err(Failure::usage(message));
        }
        let source = clock.observe(account, &globals.connection)?;
        let source = SideTable::new(source, &args.source);
        let target = SideTable::new(args.sides.second(&globals.connection)?, &args.target);
        if source.is_same(&target) {
            return Err(Failure::usage("the source and the target are the same table"));
        }
        table_name::check(&target.service, &args.target)?;
        let refused = args.refused.clone();
        let refused = refused
            .unwrap_or_else(|| PathBuf::from(format!("{}-{}.refused", args.source, args.target)));
        Ok(Self { source, target, clock, refused })
    }

    /// Locks the files of the pair.
    pub(super) fn lock(&self, args: &Sync) -> Result<SyncFiles> {
        let lock = lock_of(&self.refused);
        let others = [
            ("the list of refused rows", &*self.refused),
            ("the lock of the list of refused rows", &*lock),
        ];
        let files = SyncFiles::lock(&self.source, &self.target, &others)?;
        if args.delete && files.position().is_none() {
            let record = files.record_path().display();
            return Err(Failure::usage(format!(
                "--delete needs {record}, the record of the rows that `copy --for-sync` copied: it deletes no other row"
            )));
        }
        Ok(files)
    }
}
