//! What the commands are built from. A command turns its arguments into steps of the engine, and its results into a report.

pub(crate) mod account;
pub(crate) mod checkpoint;
pub(crate) mod checksum;
pub(crate) mod compare;
pub(crate) mod copy_rows;
pub(crate) mod end;
pub(crate) mod estimate;
pub(crate) mod files;
pub(crate) mod found_rows;
pub(crate) mod input;
pub(crate) mod lock;
pub(crate) mod mode;
pub(crate) mod no_match;
pub(crate) mod permissions;
pub(crate) mod row_list;
pub(crate) mod scan;
pub(crate) mod stages;
pub(crate) mod sync_position;
pub(crate) mod write_run;
