//! The guard of the stored form.

mod chaos;
mod definitions;
mod files;
mod rules;
