//! Documents through the Rust API: from several threads, and as lines of JSON.
// The user's files, and threads that begin together.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use quipu::{
    Database, DocumentOptions, Documents, ErrorKind, Format, Isolation, Json, KeyList, KeyType,
    Options, Pointer,
};
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::sync::Barrier;

fn memory() -> Database {
    Database::in_memory(Options { threads: 1, ..Options::default() }).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn users(db: &Database) -> Documents {
    db.documents("users", DocumentOptions::default()).unwrap()
}

#[test]
fn threads_that_create_the_same_documents_at_once_all_get_them() {
    for _ in 0..50 {
        let (db, barrier) = (memory(), Barrier::new(4));
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (db, barrier) = (&db, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    users(db).put(thread.into(), json("{}")).unwrap();
                });
            }
        });
        assert_eq!(users(&db).len().unwrap(), 4);
    }
}

#[test]
fn threads_that_write_one_document_are_told_of_no_conflict() {
    let db = memory();
    let documents = users(&db);
    documents.put(1_u64.into(), json("0")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let documents = &documents;
            scope.spawn(move || {
                for number in 0..500 {
                    let document = || vec![json(&number.to_string())];
                    documents.put(1_u64.into(), json("-1")).unwrap();
                    documents.put_many(KeyList::U64(&[1]), document()).unwrap();
                    documents.update_many(KeyList::U64(&[1]), document()).unwrap();
                    let own = [1000 * (thread + 1) + number];
                    documents.insert_many(KeyList::U64(&own), document()).unwrap();
                }
            });
        }
    });
    assert_eq!(documents.get(1_u64.into()).unwrap(), Some(json("499")));
    assert_eq!(documents.len().unwrap(), 2001);
}

#[test]
fn a_transaction_with_documents_that_others_wrote_still_conflicts() {
    let db = memory();
    let documents = users(&db);
    let tx = db.transaction(Isolation::Snapshot);
    tx.documents("users").unwrap().put(1_u64.into(), json("1")).unwrap();
    documents.put(1_u64.into(), json("2")).unwrap();
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(documents.get(1_u64.into()).unwrap(), Some(json("2")));
}

#[test]
fn an_import_in_a_transaction_leaves_earlier_lines_in_it() {
    let db = memory();
    let documents = users(&db);
    let key = || Pointer::of_field("id").unwrap();
    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.documents("users").unwrap();
    let mut import = inside.import(Format::Json, key()).unwrap();
    import.push(&[r#"{"id": 1}"#]).unwrap();
    assert!(import.push(&["{"]).unwrap_err().to_string().contains("line 2"));
    drop(import);
    assert_eq!((inside.len().unwrap(), documents.len().unwrap()), (1, 0));
    let mut again = inside.import(Format::Json, key()).unwrap();
    again.push(&[r#"{"id": 2}"#]).unwrap();
    assert_eq!(again.finish().unwrap(), 1);
    assert_eq!(documents.len().unwrap(), 0, "the transaction is not committed");
    tx.commit().unwrap();
    assert_eq!(documents.len().unwrap(), 2);

    let mut import = documents.import(Format::Json, key()).unwrap();
    import.push(&[r#"{"id": 3}"#]).unwrap();
    drop(import);
    assert_eq!(documents.len().unwrap(), 2, "outside of a transaction nothing is kept");
}

#[test]
fn an_import_of_several_commits_keeps_those_before_a_wrong_line() {
    let db = memory();
    let documents = users(&db);
    let import = documents.import(Format::Json, Pointer::of_field("id").unwrap()).unwrap();
    let mut import = import.with_commits_of(NonZeroU64::new(2).unwrap());
    for id in 0..5 {
        import.push(&[format!(r#"{{"id": {id}}}"#)]).unwrap();
    }
    assert_eq!((import.committed(), documents.len().unwrap()), (4, 4));
    let error = import.push_bytes(b"{\n").unwrap_err().to_string();
    assert!(
        error.starts_with("line 6: ") && error.ends_with("4 documents before are committed"),
        "{error}"
    );
    drop(import);
    assert_eq!(documents.len().unwrap(), 4);

    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.documents("users").unwrap();
    let import = inside.import(Format::Json, Pointer::of_field("id").unwrap()).unwrap();
    let mut import = import.with_commits_of(NonZeroU64::new(1).unwrap());
    import.push(&[r#"{"id": 8}"#, r#"{"id": 9}"#]).unwrap();
    assert_eq!(
        (import.finish().unwrap(), documents.len().unwrap()),
        (2, 4),
        "the transaction commits"
    );
}

/// A disk without room.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_export_whose_output_fails_is_an_input_output_error() {
    let documents = users(&memory());
    documents.put(1_u64.into(), json("1")).unwrap();
    let error = documents.export(Format::Json, None, &mut Full, &|_| true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.cause::<io::Error>().unwrap().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn an_export_that_fails_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.ndjson");
    let options = || Options { threads: 1, ..Options::default() };
    let db = Database::open(folder.path().join("db"), options()).unwrap();
    let documents = users(&db);
    documents.put(1_u64.into(), json("1")).unwrap();
    assert_eq!(documents.export_file(Format::Json, None, &path, &|_| true).unwrap(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
    documents.put(1_u64.into(), json("2")).unwrap();

    let stopped = documents.export_file(Format::Json, None, &path, &|_| false).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    let field = Pointer::of_field("id").unwrap();
    let no_field = documents.export_file(Format::Json, Some(&field), &path, &|_| true).unwrap_err();
    assert_eq!(no_field.kind(), ErrorKind::InvalidInput);
    assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no part is left");

    let inside = folder.path().join("db/out.ndjson");
    let refused = documents.export_file(Format::Json, None, &inside, &|_| true).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(!inside.exists());
}

#[test]
fn a_document_that_is_deleted_twice_was_there_once() {
    let db = memory();
    let texts = db.documents("texts", DocumentOptions { key: KeyType::Str }).unwrap();
    texts.put_many(KeyList::Str(&["a", "b", "c"]), vec![json("1"), json("2"), json("3")]).unwrap();
    let had = texts.delete_many(KeyList::Str(&["b", "x", "a", "b"])).unwrap();
    assert_eq!(had, [true, false, true, false]);
    let tx = db.transaction(Isolation::Snapshot);
    let inside = tx.documents("texts").unwrap();
    assert_eq!(inside.delete_many(KeyList::Str(&["a", "c"])).unwrap(), [false, true]);
    assert_eq!((inside.len().unwrap(), texts.len().unwrap()), (0, 1));
}
