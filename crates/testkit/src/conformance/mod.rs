//! The conformance suite of storage engines: one function for each promise of the store trait.
//!
//! An engine runs it with [`conformance!`](crate::conformance!), which makes one test per promise,
//! so a failed test names the promise that the engine breaks. The promises are those that the
//! documentation of [`store`] makes. What an engine may choose (which rows an estimate counts,
//! whether a snapshot knows what changed) is checked only as far as the trait says.
//!
//! ```
//! # use quipu_testkit as testkit;
//! use std::sync::Arc;
//! use testkit::ModelStore;
//! use testkit::conformance::Place;
//!
//! struct InMemory(Arc<ModelStore>);
//!
//! impl Place for InMemory {
//!     fn open(&self) -> Arc<dyn store::Store> {
//!         Arc::clone(&self.0) as _
//!     }
//! }
//!
//! testkit::conformance!(|| InMemory(Arc::new(ModelStore::new())));
//! ```

mod catalog;
mod data;
mod places;
mod random;
mod reads;
mod threads;
mod transactions;
mod writes;

pub use catalog::*;
pub use places::*;
pub use random::*;
pub use reads::*;
pub use threads::*;
pub use transactions::*;
pub use writes::*;

use std::sync::Arc;
use store::Store;

/// A place where an engine keeps one store, such as a folder. It starts empty.
pub trait Place {
    /// Opens the store. Called again only after the store that it returned before was closed and
    /// dropped; then all commits are there.
    fn open(&self) -> Arc<dyn Store>;
}

/// Makes one test for each promise. The argument is a function that returns a new, empty
/// [`Place`](crate::conformance::Place) at each call.
#[macro_export]
macro_rules! conformance {
    ($place:expr) => {
        $crate::conformance!($place;
            keyspaces_are_listed_by_id_and_found_by_name
            names_are_unique_among_live_keyspaces
            a_keyspace_replaces_another_under_its_name
            a_keyspace_that_is_not_there_is_refused
            an_older_transaction_uses_a_newer_keyspace
            rows_come_in_key_order_for_every_shape_of_keys
            ranges_and_limits_select_what_they_say
            a_backward_scan_is_the_forward_scan_reversed
            a_stream_returns_what_a_scan_returns
            many_lookups_keep_the_order_asked
            a_projection_leaves_other_columns_empty
            prefixes_return_their_rows_in_the_order_asked
            first_words_are_distinct_and_ascend
            nulls_differ_from_empty_strings_and_zeros
            long_values_come_back_whole
            counts_are_exact_and_samples_are_rows
            the_later_write_of_a_key_wins
            merges_apply_their_operators
            a_sum_out_of_range_can_come_back
            deletes_tell_what_existed
            a_range_is_deleted_before_the_rows_of_its_batch
            a_batch_is_atomic_across_keyspaces
            a_bulk_load_is_visible_at_its_commit
            a_snapshot_keeps_its_moment
            a_stream_holds_its_snapshot
            equal_change_numbers_mean_equal_rows
            a_transaction_sees_its_writes_and_others_do_not
            the_first_committer_wins
            merges_never_conflict
            a_deleted_range_conflicts_with_writes_in_it
            savepoints_undo_later_writes
            snapshot_isolation_allows_write_skew
            serializable_transactions_refuse_write_skew
            serializable_transactions_refuse_phantoms
            a_transaction_without_writes_commits
            transfers_of_threads_keep_the_sum
            increments_of_threads_are_all_counted
            serializable_threads_keep_an_invariant
            readers_see_whole_commits
            random_histories_equal_the_model
            a_reopened_store_has_every_commit
        );
    };
    ($place:expr; $($promise:ident)*) => {
        $(
            #[test]
            fn $promise() {
                $crate::conformance::$promise(&$place());
            }
        )*
    };
}
