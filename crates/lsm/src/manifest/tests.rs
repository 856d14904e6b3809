use super::edit::tests::table;
use super::*;
use crate::version::TreeEdit;
use base::{ColumnShape, KeyShape, KeyspaceId, Merge, Shape, TableId};
use env::MemoryEnv;

fn folder() -> PathBuf {
    PathBuf::from("/db")
}

fn new_env() -> Arc<dyn Env> {
    let env = MemoryEnv::new(1);
    env.create_folder(&folder()).unwrap();
    Arc::new(env)
}

fn add_keyspace(id: u32, name: &str) -> VersionEdit {
    let values = vec![ColumnShape::Word { merge: Some(Merge::AddInt) }, ColumnShape::Bytes];
    let shape = Shape { key: KeyShape::Words(2), values };
    VersionEdit {
        keyspaces_added: vec![AddedKeyspace {
            id: KeyspaceId(id),
            name: name.into(),
            shape,
            definition: b"d".to_vec(),
        }],
        ..VersionEdit::default()
    }
}

/// Table `id` joins level 0; the one before it leaves.
fn replace_table(id: u64) -> VersionEdit {
    let removed = if id > 1 { vec![TableId(id - 1)] } else { Vec::new() };
    let added = vec![table(id, 0, id, &[id], &[id, 9])];
    VersionEdit {
        last_seq: Some(base::SeqNo(id * 10)),
        wal_first_live: Some(id),
        ..VersionEdit::of_tree(KeyspaceId(1), TreeEdit { added, removed })
    }
}

fn edits() -> Vec<VersionEdit> {
    vec![
        add_keyspace(1, "edges"),
        replace_table(1),
        replace_table(2),
        VersionEdit { folders: Some(vec!["tables".into(), "/more".into()]), ..Default::default() },
        VersionEdit {
            keyspaces_changed: vec![ChangedKeyspace {
                id: KeyspaceId(1),
                name: "arcs".into(),
                definition: b"new".to_vec(),
            }],
            ..Default::default()
        },
        VersionEdit { keyspaces_dropped: vec![KeyspaceId(1)], ..Default::default() },
    ]
}

/// States after 0, 1, … edits, and the length of the file in each.
fn write_all(env: &Arc<dyn Env>) -> (Vec<State>, Vec<u64>) {
    let mut manifest = Manifest::create(env.clone(), &folder()).unwrap();
    let mut states = vec![manifest.state().clone()];
    let mut ends = vec![manifest.file.len_bytes()];
    for edit in edits() {
        manifest.append(&edit).unwrap();
        states.push(manifest.state().clone());
        ends.push(manifest.file.len_bytes());
    }
    (states, ends)
}

/// A database whose manifest is exactly these bytes, and was acknowledged up to a length.
fn with_manifest(bytes: &[u8], acknowledged: u64) -> Arc<dyn Env> {
    let env = new_env();
    let mut file = env.create(&folder().join(file_name(1))).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
    point_to(&*env, &folder(), 1, acknowledged).unwrap();
    env
}

fn manifest_files(env: &dyn Env) -> Vec<String> {
    env.list(&folder()).unwrap()
}

#[test]
fn what_was_appended_is_there_after_reopening() {
    let env = new_env();
    let (states, _) = write_all(&env);
    assert_eq!(&Manifest::read(&*env, &folder()).unwrap(), states.last().unwrap());
    let (mut manifest, state) = Manifest::open(env.clone(), &folder()).unwrap();
    assert_eq!(&state, states.last().unwrap());
    manifest.append(&add_keyspace(2, "again")).unwrap();
    let (manifest, state) = Manifest::open(env, &folder()).unwrap();
    assert_eq!(state.keyspace("again").unwrap().id, KeyspaceId(2));
    assert_eq!(manifest.state(), &state);
}

#[test]
fn an_edit_torn_at_any_byte_is_as_if_it_had_not_been_written() {
    let env = new_env();
    let (states, ends) = write_all(&env);
    let bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    for cut in 0..=bytes.len() {
        let whole = ends.iter().filter(|&&end| end <= cut as u64).count();
        let Some(last) = whole.checked_sub(1) else {
            // Not even the snapshot that was synced before `CURRENT` is whole.
            let error = Manifest::open(with_manifest(&bytes[..cut], 0), &folder()).unwrap_err();
            assert!(matches!(error, Error::Corruption(_)), "cut at {cut}: {error}");
            continue;
        };
        let env = with_manifest(&bytes[..cut], ends[last]);
        assert_eq!(&Manifest::read(&*env, &folder()).unwrap(), &states[last], "cut at {cut}");
        let (mut manifest, state) = Manifest::open(env.clone(), &folder()).unwrap();
        assert_eq!(state, states[last], "cut at {cut}");
        // Appending goes on where the sound records end.
        manifest.append(&add_keyspace(77, "later")).unwrap();
        assert!(Manifest::read(&*env, &folder()).unwrap().keyspace("later").is_some());
    }
}

/// An append that was synced but not yet acknowledged when the power went; or an append whose sync
/// failed, so that only the page cache has it and no later sync of that file would write it.
#[test]
fn a_whole_edit_behind_the_acknowledged_ones_counts_and_opening_writes_it_to_a_new_file() {
    let env = new_env();
    let (states, ends) = write_all(&env);
    let bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    let env = with_manifest(&bytes, ends[ends.len() - 2]);
    let (manifest, state) = Manifest::open(env.clone(), &folder()).unwrap();
    assert_eq!(&state, states.last().unwrap());
    let current = read_current(&*env, &folder()).unwrap();
    assert_eq!(current, Current { number: 2, bytes: manifest.file.len_bytes() });
    assert_eq!(manifest_files(&*env), [CURRENT.to_owned(), file_name(2)]);
    // Nothing is in doubt any more: the next opening writes nothing.
    drop(manifest);
    assert_eq!(Manifest::open(env.clone(), &folder()).unwrap().1, state);
    assert_eq!(read_current(&*env, &folder()).unwrap(), current);
}

#[test]
fn a_manifest_cut_within_what_was_acknowledged_is_corruption() {
    let env = new_env();
    let (_, ends) = write_all(&env);
    let bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    for cut in 0..bytes.len() {
        let env = with_manifest(&bytes[..cut], bytes.len() as u64);
        let Err(Error::Corruption(damage)) = Manifest::read(&*env, &folder()) else {
            panic!("a cut at {cut} went unnoticed");
        };
        let start = ends.iter().rfind(|&&end| end <= cut as u64).copied();
        assert!(
            [0, log::FILE_HEADER_BYTES as u64].contains(&damage.offset)
                || start == Some(damage.offset)
        );
    }
    let env = with_manifest(&bytes, bytes.len() as u64);
    env.remove(&folder().join(file_name(1))).unwrap();
    let error = Manifest::read(&*env, &folder()).unwrap_err();
    assert!(matches!(error, Error::Corruption(_)), "{error}");
}

/// Found by reading: a damaged last edit was taken for an append that a crash cut short, and the
/// tables it had added were lost silently.
#[test]
fn a_flipped_byte_is_corruption_also_in_the_last_edit() {
    let env = new_env();
    let (_, ends) = write_all(&env);
    let bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    for at in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= bit;
            let env = with_manifest(&damaged, bytes.len() as u64);
            let Err(Error::Corruption(corruption)) = Manifest::read(&*env, &folder()) else {
                panic!("a flip at {at} went unnoticed");
            };
            assert_eq!(corruption.file, folder().join(file_name(1)));
            let record = ends.iter().rfind(|&&end| end <= at as u64);
            let header_end = log::FILE_HEADER_BYTES as u64;
            let start = if (at as u64) < header_end { 0 } else { header_end };
            assert_eq!(corruption.offset, record.copied().unwrap_or(start));
        }
    }
}

#[test]
fn each_append_is_acknowledged_in_current() {
    let env = new_env();
    let mut manifest = Manifest::create(env.clone(), &folder()).unwrap();
    for edit in edits() {
        manifest.append(&edit).unwrap();
        let want = Current { number: 1, bytes: manifest.file.len_bytes() };
        assert_eq!(read_current(&*env, &folder()).unwrap(), want);
    }
}

#[test]
fn a_damaged_current_is_corruption() {
    let env = new_env();
    drop(Manifest::create(env.clone(), &folder()).unwrap());
    let bytes = env.read_file(&folder().join(CURRENT)).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        env.remove(&folder().join(CURRENT)).unwrap();
        env.create(&folder().join(CURRENT)).unwrap().append(&damaged).unwrap();
        let error = Manifest::read(&*env, &folder()).unwrap_err();
        assert!(matches!(error, Error::Corruption(_)), "byte {at}: {error}");
    }
}

#[test]
fn a_sound_record_that_contradicts_the_state_is_corruption() {
    let env = new_env();
    let (_, ends) = write_all(&env);
    let mut bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    let end = *ends.last().unwrap();
    log::put_record(&mut bytes, end, &replace_table(5).encode()).unwrap();
    let error = Manifest::read(&*with_manifest(&bytes, end), &folder()).unwrap_err();
    let Error::Corruption(corruption) = error else { panic!("{error}") };
    assert_eq!(corruption.offset, end);
}

#[test]
fn a_grown_manifest_begins_a_new_file_and_leaves_no_old_one() {
    let env = new_env();
    let mut manifest = Manifest::create(env.clone(), &folder()).unwrap();
    manifest.rotate_bytes = 2000;
    manifest.append(&add_keyspace(1, "edges")).unwrap();
    for id in 1..200 {
        manifest.append(&replace_table(id)).unwrap();
        assert!(manifest.file.len_bytes() < 4000);
        assert_eq!(&Manifest::read(&*env, &folder()).unwrap(), manifest.state());
        assert_eq!(manifest_files(&*env), [CURRENT.to_owned(), file_name(manifest.number)]);
    }
    assert!(manifest.number > 2);
}

#[test]
fn opening_removes_what_an_interrupted_rotation_left() {
    let env = new_env();
    let (states, _) = write_all(&env);
    env.create(&folder().join(file_name(2))).unwrap().append(b"cut short").unwrap();
    env.create(&folder().join(CURRENT_NEW)).unwrap();
    let (_, state) = Manifest::open(env.clone(), &folder()).unwrap();
    assert_eq!(&state, states.last().unwrap());
    assert_eq!(manifest_files(&*env), [CURRENT.to_owned(), file_name(1)]);
}

#[test]
fn a_database_is_created_once() {
    let env = new_env();
    drop(Manifest::create(env.clone(), &folder()).unwrap());
    assert!(matches!(Manifest::create(env, &folder()), Err(Error::Invalid(_))));
}

#[test]
fn a_refused_edit_writes_nothing() {
    let env = new_env();
    let mut manifest = Manifest::create(env.clone(), &folder()).unwrap();
    manifest.append(&add_keyspace(1, "edges")).unwrap();
    let bytes = manifest.file.len_bytes();
    assert!(matches!(manifest.append(&replace_table(2)), Err(Error::Invalid(_))));
    assert_eq!(manifest.file.len_bytes(), bytes);
    manifest.append(&replace_table(1)).unwrap();
    assert_eq!(&Manifest::read(&*env, &folder()).unwrap(), manifest.state());
}

#[test]
fn the_worked_example_of_the_format_page_is_what_is_written() {
    let env = new_env();
    let mut manifest = Manifest::create(env.clone(), &folder()).unwrap();
    manifest.append(&add_keyspace(1, "e")).unwrap();
    let bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    let hex: Vec<String> = bytes
        .chunks(16)
        .map(|line| line.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(hex, EXAMPLE, "docs/formats/manifest.md shows these bytes");
}

const EXAMPLE: [&str; 5] = [
    "51 75 69 70 75 4d 61 6e 01 00 00 00 f3 dd 36 07",
    "0b 00 00 00 e1 af ee 13 98 8b 97 23 1d 93 65 1a",
    "01 04 00 05 00 06 00 07 00 08 00 0c 00 00 00 51",
    "43 db f0 c0 88 30 3c fc 4c 26 70 01 01 01 01 01",
    "65 02 02 02 00 01 64",
];

/// A power cut keeps any part of the unsynced bytes: each of them is there or not, at random.
#[test]
fn edits_that_were_not_synced_may_be_lost_from_any_of_them_on() {
    let env = new_env();
    let mut manifest = Manifest::create(env.clone(), &folder()).unwrap();
    manifest.append(&add_keyspace(1, "synced")).unwrap();
    let acknowledged = manifest.file.len_bytes();
    let (mut states, mut ends) = (vec![manifest.state().clone()], vec![acknowledged]);
    for id in 2..6 {
        manifest.append_unsynced(&add_keyspace(id, &format!("k{id}"))).unwrap();
        states.push(manifest.state().clone());
        ends.push(manifest.file.len_bytes());
    }
    assert_eq!(read_current(&*env, &folder()).unwrap().bytes, acknowledged);
    let bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    // A killed process loses nothing.
    assert_eq!(&Manifest::read(&*env, &folder()).unwrap(), states.last().unwrap());
    for lost in acknowledged as usize..bytes.len() {
        let whole = ends.iter().filter(|&&end| end <= lost as u64).count() - 1;
        let mut found = bytes.clone();
        found[lost] ^= 0xFF;
        let env = with_manifest(&found, acknowledged);
        let (_, state) = Manifest::open(env.clone(), &folder()).unwrap();
        assert_eq!(state, states[whole], "byte {lost}");
        assert_eq!(Manifest::read(&*env, &folder()).unwrap(), states[whole], "byte {lost}");
    }
    // Once they are synced, and only `CURRENT` was taken back, damage to them is told by the next
    // edit.
    manifest.sync().unwrap();
    assert_eq!(read_current(&*env, &folder()).unwrap().bytes, bytes.len() as u64);
    manifest.append(&add_keyspace(9, "later")).unwrap();
    let mut bytes = env.read_file(&folder().join(file_name(1))).unwrap();
    bytes[acknowledged as usize + 20] ^= 1;
    let error = Manifest::read(&*with_manifest(&bytes, acknowledged), &folder()).unwrap_err();
    assert!(matches!(error, Error::Corruption(_)), "{error}");
}
