//! Writes of a transaction that nobody has read are kept as they were given. A commit makes the
//! same of them as of writes that were read, whatever repeats and whatever was rolled back.
#![allow(clippy::unwrap_used)]

mod common;

use base::{KeyspaceId, Kind};
use common::{create, delete_range, options, scan, table};
use env::MemoryEnv;
use proptest::prelude::*;
use quipu_kv::Kv;
use std::path::Path;
use std::sync::Arc;
use store::{Durability, Isolation, Store, TableWrites, Transaction, WriteBatch};

/// An operation of a transaction.
#[derive(Clone, Debug)]
enum Step {
    Write(Kind, Vec<(u64, u64, i64)>),
    DeleteRange(u64),
    Savepoint,
    /// To a savepoint, by its share of those there are.
    RollBack(f64),
}

fn step() -> impl Strategy<Value = Step> {
    let rows = |len| prop::collection::vec((0..20_u64, 0..8_u64, -9..9_i64), len);
    let kind = prop_oneof![4 => Just(Kind::Put), 2 => Just(Kind::Delete), 1 => Just(Kind::Merge)];
    let rows = prop_oneof![1 => rows(1..4), 3 => rows(60..140)];
    prop_oneof![
        8 => (kind, rows).prop_map(|(kind, rows)| Step::Write(kind, rows)),
        1 => (0..20_u64).prop_map(Step::DeleteRange),
        2 => Just(Step::Savepoint),
        1 => (0.0..1.0).prop_map(Step::RollBack),
    ]
}

/// Takes the steps in a transaction, which is read after each one if `reads`.
fn run(kv: &Kv, keyspace: KeyspaceId, steps: &[Step], reads: bool) {
    let transaction = kv.begin(Isolation::Snapshot);
    let mut savepoints = Vec::new();
    let write = |transaction: &dyn Transaction, table: TableWrites| {
        transaction.write(&WriteBatch { tables: vec![table] }).unwrap();
    };
    for step in steps {
        match step {
            Step::Write(kind, rows) => write(&*transaction, table(keyspace, *kind, rows)),
            Step::DeleteRange(first) => {
                transaction.write(&delete_range(keyspace, *first, first + 2)).unwrap();
            }
            Step::Savepoint => savepoints.push(transaction.savepoint()),
            Step::RollBack(share) => {
                let place = (share * savepoints.len() as f64) as usize;
                if let Some(&savepoint) = savepoints.get(place) {
                    transaction.roll_back_to(savepoint);
                    savepoints.truncate(place + 1);
                }
            }
        }
        if reads {
            scan(&*transaction, keyspace).unwrap();
        }
    }
    transaction.commit().unwrap();
}

proptest! {
    #[test]
    fn a_commit_of_unread_writes_is_that_of_read_ones(
        before in prop::collection::vec((0..20_u64, 0..8_u64, -9..9_i64), 0..40),
        steps in prop::collection::vec(step(), 1..9),
    ) {
        let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(1));
        let kv = Kv::open(env, Path::new("/db"), options(Durability::Os, 1 << 20)).unwrap();
        let ids = create(&kv, &["read", "unread"]).unwrap();
        for (&keyspace, reads) in ids.iter().zip([true, false]) {
            let tables = vec![table(keyspace, Kind::Put, &before)];
            kv.write(&WriteBatch { tables }, None).unwrap();
            run(&kv, keyspace, &steps, reads);
        }
        let snapshot = kv.snapshot();
        prop_assert_eq!(scan(&*snapshot, ids[0]).unwrap(), scan(&*snapshot, ids[1]).unwrap());
    }
}
