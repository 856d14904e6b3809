//! Tables in several folders: all folders get about the same number of bytes.
#![allow(clippy::unwrap_used)]

mod common;

use base::{KeyspaceId, Kind};
use common::{create, options, table};
use env::{Env, MemoryEnv, ReadOptions};
use lsm::context::TreeOptions;
use quipu_kv::{Kv, KvOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Durability, Store, WriteBatch};

fn open(env: &Arc<dyn Env>, more: &[&str]) -> Kv {
    let tiny = options(Durability::Os, 1 << 20);
    // One table per keyspace and flush, which is never compacted.
    let tree = TreeOptions { level0_runs: 1000, table_bytes: 1 << 20, ..tiny.tree };
    let table_folders = more.iter().map(PathBuf::from).collect();
    Kv::open(Arc::clone(env), Path::new("/db"), KvOptions { tree, table_folders, ..tiny }).unwrap()
}

/// Bytes of the tables in each folder: the database's own, and those in `more`.
fn table_bytes(env: &Arc<dyn Env>, more: &[&str]) -> Vec<u64> {
    let inner = |path: &&str| Path::new(path).join(&env.list(Path::new(path)).unwrap()[0]);
    let own = PathBuf::from("/db/tables");
    let folders = std::iter::once(own).chain(more.iter().map(inner));
    let bytes = |folder: PathBuf| {
        let len = |name: String| {
            env.open_read(&folder.join(name), ReadOptions::default()).unwrap().len_bytes().unwrap()
        };
        env.list(&folder).unwrap().into_iter().map(len).sum()
    };
    folders.map(bytes).collect()
}

#[track_caller]
fn check_even(env: &Arc<dyn Env>, more: &[&str]) {
    let bytes = table_bytes(env, more);
    let (least, most) = (*bytes.iter().min().unwrap(), *bytes.iter().max().unwrap());
    assert!(least > 20_000 && 3 * most <= 4 * least, "{bytes:?}");
}

/// If folders took turns by table, all large tables would be in one.
#[test]
fn tables_of_unequal_lengths_fill_their_folders_evenly() {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let fill = |kv: &Kv, ids: &[KeyspaceId], times: u64| {
        for time in 0..times {
            let large: Vec<_> = (0..400).map(|i| (i, time, i as i64 * 977 % 1009)).collect();
            let tables =
                vec![table(ids[0], Kind::Put, &large), table(ids[1], Kind::Put, &large[..1])];
            kv.write(&WriteBatch { tables }, None).unwrap();
            kv.flush().unwrap();
        }
    };
    let kv = open(&env, &["/more"]);
    let ids = create(&kv, &["large", "small"]).unwrap();
    fill(&kv, &ids, 20);
    check_even(&env, &["/more"]);
    drop(kv);
    // Existing tables count when the database is opened again: a new folder is filled first.
    let kv = open(&env, &["/more", "/most"]);
    fill(&kv, &ids, 10);
    check_even(&env, &["/more", "/most"]);
    // Removed tables make room.
    kv.drop_keyspaces(&ids).unwrap();
    let ids = create(&kv, &["large again", "small again"]).unwrap();
    fill(&kv, &ids, 31);
    check_even(&env, &["/more", "/most"]);
}
