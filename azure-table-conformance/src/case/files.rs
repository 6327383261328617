//! The files of the cases.

macro_rules! files {
    ($($area:literal),* $(,)?) => {
        /// The areas with their texts, in the order of reports.
        pub(super) const FILES: &[(&str, &str)] =
            &[$(($area, include_str!(concat!("../../cases/", $area, ".http")))),*];
    };
}

files! {
    "tables",
    "inserts",
    "gets",
    "filters",
    "literals",
    "paging",
    "updates",
    "transactions",
    "headers",
    "authorization",
    "service",
    "limits",
    "cosmos",
}
