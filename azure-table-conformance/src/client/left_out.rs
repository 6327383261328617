//! The behaviors of the conformance list that a version or a format of the protocol cannot pass, with the reasons.

use azure_table_client::client::ServiceVersion;
use azure_table_client::{Dialect, Metadata, PayloadFormat};

use crate::client::target::Protocol;

/// A reason, and the behaviors to which it applies.
type List = (&'static str, &'static [&'static str]);

/// The behaviors that a service with the dialect of Cosmos DB cannot pass. The same clients pass them on a service of
/// Azure Storage.
const COSMOS: [List; 6] = [
    ("a filter on the Timestamp finds no row", &["queries::on_timestamp"]),
    (
        "it expects the order of keys",
        &[
            "bulk::copying",
            "bulk::every_operation_in_order",
            "filters::filters_of_several_conditions",
            "filters::filters_on_keys",
            "filters::filters_on_optional_properties",
            "filters::filters_on_text",
            "filters::filters_on_values",
            "filters::typed_filters",
            "keys::rows_come_in_key_order",
            "lists::whole_keys",
            "mapping::keys_of_every_type_are_in_order",
            "mapping::keys_of_several_parts",
            "mapping::prefixes_hold_what_begins_so",
            "paging::rows_added_between_pages",
            "projections::columns_as_tuples",
            "projections::columns_at_run_time",
            "transactions::every_operation",
        ],
    ),
    (
        "a missing table has the same code as a missing entity",
        &[
            "bulk::without_a_table",
            "entities::missing_table",
            "lists::points",
            "transactions::all_or_nothing",
        ],
    ),
    ("no key may be empty", &["keys::empty_keys"]),
    ("names of tables are case-sensitive", &["tables::names_ignore_case"]),
    ("a wrong key receives 401", &["failures::wrong_key"]),
];

/// The reasons for clients with this protocol and a service that follows this dialect.
pub(crate) fn lists(protocol: Protocol, serves: Dialect) -> impl Iterator<Item = List> {
    let of_service: &[List] = if serves == Dialect::CosmosDb { &COSMOS } else { &[] };
    let is_atom = protocol.format == PayloadFormat::Atom;
    let is_untyped = protocol.format == PayloadFormat::Json(Metadata::None);
    let is_cosmos = protocol.dialect == Dialect::CosmosDb;
    let is_first = protocol.version < ServiceVersion::V2011_08_18;
    [
        (is_atom, "it requests levels of JSON", JSON),
        (
            is_untyped,
            "it reads entities without a struct, or ETags of rows, which need more than the data",
            TYPES,
        ),
        (is_first, "it upserts, which came with 2011-08-18", UPSERTS),
        (is_first, "it selects properties, which came with 2011-08-18", SELECT),
        (is_first, "it sets CORS rules, which came with 2013-08-15", CORS),
        (is_cosmos, "it is about limits of Azure Storage that Cosmos DB does not have", LIMITS),
        (
            is_cosmos,
            "the rows of several requests are not merged, as they come in no order",
            MERGED,
        ),
        (is_cosmos, "Cosmos DB has no settings of the service", CORS),
        (is_cosmos, "Cosmos DB has no access policies of tables", POLICIES),
        (is_first, "it sets access policies, which came with 2012-02-12", POLICIES),
    ]
    .into_iter()
    .filter_map(|(is_so, why, tests)| is_so.then_some((why, tests)))
    .chain(of_service.iter().copied())
}

const JSON: &[&str] =
    &["metadata::dynamic_entities_need_types", "metadata::every_level_reads_the_same_structs"];

const CORS: &[&str] = &["service::settings", "service::settings_that_cannot_be"];

const LIMITS: &[&str] = &[
    "bulk::bad_rows_fail_alone",
    "tables::metrics_are_the_services",
    "transactions::bad_transactions_are_not_sent",
];

const MERGED: &[&str] =
    &["lists::long_lists_of_values", "lists::long_lists_are_resumed", "lists::parallel_ranges"];

const POLICIES: &[&str] = &["service::access_policies"];

const TYPES: &[&str] = &[
    "bulk::copying",
    "bulk::deleting",
    "bulk::every_operation_in_order",
    "bulk::many_rows",
    "conditions::a_lost_race_is_seen_and_done_again",
    "conditions::an_update_never_resurrects",
    "conditions::every_write_changes_the_etag",
    "conditions::stale_etag_is_refused",
    "conditions::timestamps_advance",
    "context::a_unit_of_work",
    "context::conflicts",
    "context::many_changes",
    "entities::insert_accepts_no_timestamp",
    "entities::merge_keeps_other_properties",
    "entities::none_is_not_stored",
    "entities::replace_removes_other_properties",
    "entities::typed_and_dynamic_see_the_same",
    "failures::all_filters_and_the_last_projection_count",
    "failures::bad_names_in_projections",
    "failures::service_errors_are_complete",
    "failures::too_many_properties",
    "helpers::changes_that_are_not_made",
    "helpers::get_or_insert",
    "helpers::increments_are_not_lost",
    "helpers::removed_properties_are_gone",
    "keys::empty_keys",
    "keys::keys_are_compared_exactly",
    "keys::odd_keys_survive_every_operation",
    "keys::rows_come_in_key_order",
    "mapping::fields_that_are_several_properties",
    "mapping::keys_of_every_type_are_in_order",
    "mapping::kinds_in_one_table",
    "mapping::prefixes_hold_what_begins_so",
    "paging::a_dropped_next_loses_nothing",
    "paging::continuations_travel_as_text",
    "paging::more_than_a_thousand",
    "paging::other_than_all",
    "paging::pages_of_a_size",
    "paging::resume_from_a_continuation",
    "paging::rows_added_between_pages",
    "paging::stream_over_all_pages",
    "paging::take_is_a_true_limit",
    "queries::a_missing_property_never_matches",
    "queries::and_or_not_and_parentheses",
    "queries::another_type_never_equals",
    "queries::by_key_range",
    "queries::by_partition",
    "queries::comparisons_of_every_type",
    "queries::literal_on_the_left",
    "queries::nothing_found",
    "queries::on_timestamp",
    "queries::quotes_in_literals",
    "queries::select_some_properties",
    "queries::several_spaces",
    "tables::metrics_are_the_services",
    "transactions::all_or_nothing",
    "transactions::bad_transactions_are_not_sent",
    "transactions::every_operation",
    "transactions::odd_keys_in_transactions",
    "types::date_times_keep_their_ticks",
    "types::doubles_without_a_number",
    "types::empty_values",
    "types::extremes_of_every_type",
    "types::largest_values",
    "types::negative_zero",
    "types::properties_keep_their_types_over_updates",
    "types::text_of_all_sorts",
    "types::whole_doubles_stay_doubles",
];

const UPSERTS: &[&str] = &[
    "bulk::copying",
    "bulk::deleting",
    "bulk::every_operation_in_order",
    "bulk::slices_by_bytes",
    "context::a_unit_of_work",
    "entities::insert_or_merge_both_ways",
    "entities::insert_or_replace_both_ways",
    "entities::missing_table",
    "keys::odd_keys_survive_every_operation",
    "mapping::keys_of_every_type_are_in_order",
    "transactions::every_operation",
];

const SELECT: &[&str] =
    &["failures::all_filters_and_the_last_projection_count", "queries::select_some_properties"];
