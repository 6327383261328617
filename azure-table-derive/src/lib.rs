//! Derive macros of `azure-table-client`.
