//! The list of behaviors, and one function for each in the module of its area. To add a behavior, write a function in a module
//! and list it here.

use std::pin::Pin;

use crate::client::target::Target;

pub(crate) mod bulk;
pub(crate) mod conditions;
pub(crate) mod context;
pub(crate) mod entities;
pub(crate) mod failures;
pub(crate) mod filters;
pub(crate) mod helpers;
pub(crate) mod keys;
pub(crate) mod lists;
pub(crate) mod mapping;
pub(crate) mod metadata;
pub(crate) mod paging;
pub(crate) mod projections;
pub(crate) mod queries;
pub(crate) mod service;
pub(crate) mod tables;
pub(crate) mod transactions;
pub(crate) mod types;

/// Passes the list of all behaviors to the macro `$run`, such as [`tests!`](crate::tests).
#[macro_export]
macro_rules! for_each_behavior {
    ($run:ident) => {
        $run! {
            service { settings, settings_that_cannot_be, access_policies }
            tables {
                create_and_delete, create_twice, create_if_not_exists, delete_missing,
                delete_if_exists, exists, names_ignore_case, list_by_filter, list_in_pages,
                metrics_are_the_services,
            }
            entities {
                insert_and_get, insert_twice, get_missing, get_if_exists, missing_table,
                merge_keeps_other_properties, replace_removes_other_properties,
                insert_or_merge_both_ways, insert_or_replace_both_ways, delete, delete_if_exists,
                none_is_not_stored, typed_and_dynamic_see_the_same, insert_accepts_no_timestamp,
            }
            conditions {
                every_write_changes_the_etag, stale_etag_is_refused, any_needs_the_entity,
                an_update_never_resurrects, a_lost_race_is_seen_and_done_again,
                timestamps_advance,
            }
            types {
                extremes_of_every_type, whole_doubles_stay_doubles, doubles_without_a_number,
                date_times_keep_their_ticks, text_of_all_sorts, largest_values, empty_values,
                negative_zero, properties_keep_their_types_over_updates, types_without_an_edm_type,
            }
            filters {
                typed_filters, filters_on_values, filters_on_text, filters_on_optional_properties,
                filters_on_keys, filters_of_several_conditions,
            }
            mapping {
                keys_of_every_type_are_in_order, prefixes_hold_what_begins_so,
                keys_of_several_parts, fields_that_are_several_properties, kinds_in_one_table,
                a_key_over_several_partitions,
            }
            keys {
                odd_keys_survive_every_operation, empty_keys, keys_are_compared_exactly,
                rows_come_in_key_order, forbidden_characters,
            }
            queries {
                by_partition, comparisons_of_every_type, and_or_not_and_parentheses,
                literal_on_the_left, another_type_never_equals, a_missing_property_never_matches,
                select_some_properties, select_a_missing_property, by_key_range, on_timestamp,
                quotes_in_literals, nothing_found, several_spaces,
            }
            paging {
                pages_of_a_size, take_is_a_true_limit, stream_over_all_pages,
                resume_from_a_continuation, continuations_travel_as_text, other_than_all, a_dropped_next_loses_nothing, more_than_a_thousand, rows_added_between_pages,
            }
            projections {
                columns_as_tuples, columns_are_read_as_the_entity_reads_them, columns_as_a_struct,
                columns_at_run_time, missing_columns_are_missing,
            }
            lists {
                long_lists_of_keys, long_lists_of_values, long_lists_are_resumed, lists_of_partitions,
                a_filter_too_long_for_a_url, points, parallel_ranges, whole_keys,
            }
            transactions {
                every_operation, all_or_nothing, bad_transactions_are_not_sent,
                odd_keys_in_transactions, several_types_in_one,
            }
            context { a_unit_of_work, conflicts, many_changes, }
            helpers {
                increments_are_not_lost, changes_that_are_not_made, removed_properties_are_gone,
                get_or_insert, transfers_conserve_the_total, rows_that_were_read_are_fenced,
                rows_are_inserted_and_deleted_together,
            }
            bulk {
                many_rows, every_operation_in_order, bad_rows_fail_alone, a_run_that_is_repeated,
                slices_by_bytes, without_a_table, deleting, copying,
            }
            metadata {
                every_level_reads_the_same_structs, dynamic_entities_need_types,
            }
            failures {
                wrong_key, service_errors_are_complete, too_many_properties,
                unknown_functions_are_refused_before_sending, bad_page_sizes,
                all_filters_and_the_last_projection_count, bad_names_in_projections,
            }
        }
    };
}

/// A behavior of the service.
#[derive(Debug, Clone, Copy)]
pub struct Behavior {
    /// The name, `area::name`.
    pub name: &'static str,
    test: for<'a> fn(&'a Target) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

macro_rules! table {
    ($($area:ident { $($name:ident),* $(,)? })*) => {
        /// All behaviors. Each is compiled once, and each target calls it by its name.
        pub const BEHAVIORS: &[Behavior] = &[$($(
            Behavior {
                name: concat!(stringify!($area), "::", stringify!($name)),
                test: |target| Box::pin($area::$name(target)),
            },
        )*)*];
    };
}

for_each_behavior!(table);

/// Checks a behavior, `area::name`, on a target, unless the protocol of the target does not support it.
///
/// # Panics
/// The service lacks the behavior, or no behavior has this name.
pub async fn run(behavior: &str, target: &Target) {
    let found = BEHAVIORS.iter().find(|known| known.name == behavior).expect("a behavior");
    if !target.leaves_out(behavior) {
        (found.test)(target).await;
    }
}

/// Creates a test for each behavior. It calls the function `check` of the module with the name of the behavior.
#[macro_export]
macro_rules! tests {
    ($($area:ident { $($name:ident),* $(,)? })*) => {$(
        mod $area {
            $(
                #[test]
                fn $name() {
                    super::check(concat!(stringify!($area), "::", stringify!($name)));
                }
            )*
        }
    )*};
}
