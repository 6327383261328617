//! Runnable examples of `azure-table-client`.
