//! All kinds of damage: the check finds it and names the file. A repair keeps what is sound,
//! invents nothing, and produces a sound database.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // tests damage files
#![allow(clippy::unwrap_used)]

use env::{Env, RealEnv};
use quipu::{
    Check, Database, Durability, ErrorKind, GraphOptions, Options, RepairReport, VertexColumn,
    VertexList, VertexType, WeightType, Weights, WeightsRef,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type Edges<V> = BTreeMap<(V, V), i64>;

/// Contents of a database: a graph of integers and one of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Content {
    numbers: Edges<u64>,
    texts: Edges<String>,
}

/// Files of a database, copied while it was open, so that the log contains commits.
struct Sample {
    _home: TempDir,
    folder: PathBuf,
    now: Content,
    /// Everything that was ever written.
    ever: BTreeSet<(u64, u64, i64)>,
    ever_texts: BTreeSet<(String, String, i64)>,
}

fn options() -> Options {
    let (durability, threads) = (Durability::Os, 2);
    Options { durability, threads, memory_limit_bytes: 64 << 20, ..Options::default() }
}

/// A folder for databases, in memory if possible, because each repair syncs its writes. In a
/// container `/dev/shm` is often too small or not accessible.
fn home() -> TempDir {
    const BYTES_MIN: u64 = 1 << 30;
    let memory = Path::new("/dev/shm");
    let free_bytes = RealEnv::default().free_bytes(memory).unwrap_or(0);
    let in_memory = (free_bytes >= BYTES_MIN).then(|| TempDir::new_in(memory).ok()).flatten();
    in_memory.unwrap_or_else(|| TempDir::new().unwrap())
}

impl Sample {
    fn new() -> Self {
        let home = home();
        let (open, folder) = (home.path().join("open"), home.path().join("db"));
        let mut sample = Self {
            _home: home,
            folder,
            now: Content::default(),
            ever: BTreeSet::new(),
            ever_texts: BTreeSet::new(),
        };
        let db = Database::open(&open, options()).unwrap();
        let weight = WeightType::Int;
        let numbers = db.graph("numbers", GraphOptions { weight, ..Default::default() }).unwrap();
        let options = GraphOptions { weight, vertex: VertexType::Str, ..GraphOptions::default() };
        let texts = db.graph("texts", options).unwrap();
        // Two generations in tables, the second above the first, and one in the log.
        for (generation, edges) in [(1_u64, 12_000_u64), (2, 6_000), (3, 300)] {
            let step = |i: u64| (i * 7919 * generation) % 16_381;
            let ends: Vec<_> = (0..edges).map(|i| (step(i) / 20, step(i) % 997)).collect();
            let (us, vs): (Vec<_>, Vec<_>) = ends.iter().copied().unzip();
            let ws: Vec<i64> = (0..edges).map(|i| (i * 10 + generation) as i64).collect();
            numbers.upsert_many(&us, &vs, Some(WeightsRef::Int(&ws))).unwrap();
            for (&(u, v), &w) in ends.iter().zip(&ws) {
                sample.now.numbers.insert((u, v), w);
                sample.ever.insert((u, v, w));
            }
            let gone: BTreeSet<_> = ends.iter().step_by(17).copied().collect();
            let (us, vs): (Vec<_>, Vec<_>) = gone.iter().copied().unzip();
            numbers.remove_many(&us, &vs, &mut Vec::new()).unwrap();
            sample.now.numbers.retain(|ends, _| !gone.contains(ends));

            let names: Vec<_> =
                ends.iter().take(400).map(|(u, v)| (format!("v{u}"), format!("v{v}"))).collect();
            let us: Vec<_> = names.iter().map(|(u, _)| u.as_str()).collect();
            let vs: Vec<_> = names.iter().map(|(_, v)| v.as_str()).collect();
            let weights = WeightsRef::Int(&ws[..names.len()]);
            texts.upsert_list(VertexList::Str(&us), VertexList::Str(&vs), Some(weights)).unwrap();
            for ((u, v), &w) in names.iter().zip(&ws) {
                sample.now.texts.insert((u.clone(), v.clone()), w);
                sample.ever_texts.insert((u.clone(), v.clone(), w));
            }
            if generation < 3 {
                db.flush().unwrap();
            }
        }
        copy_folder(&open, &sample.folder);
        assert_eq!(content(&db), sample.now);
        db.close().unwrap();
        sample
    }

    /// A copy to be damaged.
    fn copy(&self) -> (TempDir, PathBuf) {
        let home = home();
        let folder = home.path().join("db");
        copy_folder(&self.folder, &folder);
        (home, folder)
    }

    /// Files of the database: tables, log and manifest.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for folder in ["", "tables", "wal"] {
            for entry in fs::read_dir(self.folder.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() && !path.ends_with("LOCK") {
                    files.push(path.strip_prefix(&self.folder).unwrap().to_owned());
                }
            }
        }
        files.sort();
        files
    }

    /// Fails if the content has a row that was never written.
    #[track_caller]
    fn holds_nothing_invented(&self, found: &Content, case: &str) {
        for (&(u, v), &w) in &found.numbers {
            assert!(self.ever.contains(&(u, v, w)), "{case}: {u} -> {v} weighs {w}");
        }
        for ((u, v), &w) in &found.texts {
            assert!(self.ever_texts.contains(&(u.clone(), v.clone(), w)), "{case}: {u} -> {v}");
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            // The log is preallocated: keep its zeros as a hole, to save time.
            let bytes = fs::read(&path).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            fs::write(&target, &bytes[..used]).unwrap();
            fs::File::options()
                .write(true)
                .open(&target)
                .unwrap()
                .set_len(bytes.len() as u64)
                .unwrap();
        }
    }
}

fn content(db: &Database) -> Content {
    let mut content = Content::default();
    if let Some(graph) = db.existing_graph("numbers").unwrap() {
        let edges = graph.edges_all();
        for ((u, v), w) in edges {
            content.numbers.insert((u, v), w);
        }
    }
    if let Some(graph) = db.existing_graph("texts").unwrap() {
        for ((u, v), w) in graph.edges_all() {
            content.texts.insert((name(&graph, u), name(&graph, v)), w);
        }
    }
    content
}

fn name(graph: &quipu::Graph, word: u64) -> String {
    match graph.to_vertices(&[word]).unwrap() {
        VertexColumn::Str(names) => String::from_utf8(names.get(0).to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// All edges of a graph.
trait AllEdges {
    fn edges_all(&self) -> Vec<((u64, u64), i64)>;
}

impl AllEdges for quipu::Graph {
    fn edges_all(&self) -> Vec<((u64, u64), i64)> {
        let mut scan = self.scan_edges().unwrap();
        let mut all = Vec::new();
        let mut edges = quipu::Edges::default();
        while scan.next_edges(4096, &mut edges).unwrap() {
            let Weights::Int(weights) = &edges.weight else { panic!("weights are integers") };
            let ends = edges.src.iter().copied().zip(edges.dst.iter().copied());
            all.extend(ends.zip(weights.iter().copied()));
        }
        all
    }
}

fn check(folder: &Path) -> quipu::Result<Check> {
    quipu::check(folder, options(), &|_, _| true)
}

fn repair(folder: &Path, target: &Path) -> quipu::Result<RepairReport> {
    quipu::repair(folder, target, options(), &|_, _| true)
}

/// The check must fail and name the file.
#[track_caller]
fn finds(folder: &Path, file: &Path, case: &str) {
    let error = check(folder).expect_err(case);
    assert_eq!(error.kind(), ErrorKind::Corruption, "{case}: {error}");
    let found = Check::of_error(&error).expect(case);
    let names =
        |problem: &quipu::Problem| problem.file.as_ref().is_some_and(|named| named.ends_with(file));
    assert!(found.problems().iter().any(names), "{case}: {file:?} is not in {error}");
}

/// Contents of the repaired database, and the report.
#[track_caller]
fn repaired(folder: &Path, case: &str) -> (Content, RepairReport) {
    let target = folder.with_file_name("repaired");
    let before = bytes_of(folder);
    let report = repair(folder, &target).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(before == bytes_of(folder), "{case}: the source was changed");
    let db = Database::open(&target, options()).unwrap();
    db.check(&|_, _| true).unwrap_or_else(|error| panic!("{case}: {error}"));
    (content(&db), report)
}

fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(bytes_of(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn flip(file: &Path, at: u64, bit: u8) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at as usize] ^= 1 << (bit % 8);
    fs::write(file, bytes).unwrap();
}

fn is_table(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "sst")
}

/// A pseudorandom sequence that is the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

#[test]
fn a_sound_database_is_repaired_into_the_same() {
    let sample = Sample::new();
    let (_home, folder) = sample.copy();
    let found = check(&folder).unwrap();
    assert!(found.files.blocks > 8 && found.files.log_commits > 0, "{found:?}");
    assert_eq!(found.graphs.len(), 2);
    let (content, report) = repaired(&folder, "sound");
    assert_eq!(content, sample.now);
    assert!(report.complete && report.damages.is_empty(), "{report:?}");
    assert!(report.commits_kept > 0);
}

#[test]
fn each_table_damaged_anywhere_is_named_and_its_graph_comes_back_whole() {
    let sample = Sample::new();
    for file in sample.files().into_iter().filter(|file| is_table(file)) {
        let bytes = fs::metadata(sample.folder.join(&file)).unwrap().len();
        // The first block, one in the middle, the filters, the index, and each part of the footer.
        let places = [
            0,
            bytes / 3,
            bytes / 2,
            bytes - 300,
            bytes - 60,
            bytes - 47,
            bytes - 36,
            bytes - 30,
            bytes - 1,
        ];
        for at in places {
            let case = format!("{} flipped at {at} of {bytes}", file.display());
            let (_home, folder) = sample.copy();
            flip(&folder.join(&file), at, 3);
            finds(&folder, &file, &case);
            let (content, report) = repaired(&folder, &case);
            assert!(content == sample.now, "{case}: {report:?}");
            assert!(report.complete && !report.damages.is_empty(), "{case}: {report:?}");
        }
    }
}

#[test]
fn a_table_that_is_missing_or_cut_is_named_and_its_graph_comes_back_whole() {
    let sample = Sample::new();
    for file in sample.files().into_iter().filter(|file| is_table(file)) {
        let bytes = fs::metadata(sample.folder.join(&file)).unwrap().len();
        for keep in [None, Some(0), Some(bytes / 2), Some(bytes - 1)] {
            let case = format!("{} cut to {keep:?}", file.display());
            let (_home, folder) = sample.copy();
            let path = folder.join(&file);
            match keep {
                None => fs::remove_file(&path).unwrap(),
                Some(keep) => {
                    fs::File::options().write(true).open(&path).unwrap().set_len(keep).unwrap();
                }
            }
            finds(&folder, &file, &case);
            let (content, report) = repaired(&folder, &case);
            assert!(content == sample.now, "{case}: {report:?}");
            assert_eq!(report.files_skipped.len(), 1, "{case}");
        }
    }
}

#[test]
fn rows_lost_in_both_directions_are_counted_and_named() {
    let sample = Sample::new();
    let (_home, folder) = sample.copy();
    let tables: Vec<_> = sample.files().into_iter().filter(|file| is_table(file)).collect();
    for file in &tables {
        flip(&folder.join(file), 40, 1);
    }
    let error = check(&folder).unwrap_err();
    assert_eq!(Check::of_error(&error).unwrap().problems().len(), tables.len(), "{error}");
    let (content, report) = repaired(&folder, "every table");
    sample.holds_nothing_invented(&content, "every table");
    assert!(!report.complete);
    let lost: u64 = report.keyspaces.iter().map(|keyspace| keyspace.rows_lost).sum();
    assert!(lost > 0 && report.keyspaces.iter().any(|keyspace| !keyspace.lost.is_empty()));
    // Rows of sound blocks in either direction are kept, unless they were removed since.
    assert!(content.numbers.len() > 1000, "{}", content.numbers.len());
}

#[test]
fn a_damaged_log_keeps_the_commits_before_and_behind() {
    let sample = Sample::new();
    let log = sample.files().into_iter().rfind(|file| file.starts_with("wal")).unwrap();
    let (_home, folder) = sample.copy();
    // In the first commit that is not in a table.
    flip(&folder.join(&log), 200, 0);
    let (content, report) = repaired(&folder, "log");
    sample.holds_nothing_invented(&content, "log");
    if let Err(error) = check(&folder) {
        assert!(error.to_string().contains(log.file_name().unwrap().to_str().unwrap()), "{error}");
        assert!(!report.complete && report.log_lost_bytes > 0, "{report:?}");
    }
}

#[test]
fn without_a_pointer_to_the_manifest_the_manifest_is_found() {
    let sample = Sample::new();
    for damage in ["remove", "flip"] {
        let (_home, folder) = sample.copy();
        let current = folder.join("CURRENT");
        if damage == "remove" {
            fs::remove_file(&current).unwrap();
        } else {
            flip(&current, 3, 2);
        }
        finds(&folder, Path::new("CURRENT"), damage);
        let (content, _) = repaired(&folder, damage);
        assert_eq!(content, sample.now, "{damage}");
    }
}

#[test]
fn a_lost_manifest_is_said_and_a_damaged_one_gives_an_earlier_list_of_tables() {
    let sample = Sample::new();
    let manifest =
        sample.files().into_iter().find(|file| file.starts_with("MANIFEST-000001")).unwrap();
    let (_home, folder) = sample.copy();
    fs::remove_file(folder.join(&manifest)).unwrap();
    assert_eq!(check(&folder).unwrap_err().kind(), ErrorKind::Corruption);
    let error = repair(&folder, &folder.with_file_name("repaired")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");

    let (_home, folder) = sample.copy();
    let bytes = fs::metadata(folder.join(&manifest)).unwrap().len();
    flip(&folder.join(&manifest), bytes - 3, 0);
    finds(&folder, &manifest, "last edit");
    let (content, report) = repaired(&folder, "last edit");
    sample.holds_nothing_invented(&content, "last edit");
    assert!(!report.manifest_whole && !report.complete);
}

#[test]
fn any_single_damage_is_survived() {
    let sample = Sample::new();
    let files = sample.files();
    let mut random = Random(7);
    let mut outcomes = [0; 3];
    for round in 0..200 {
        let file = &files[random.below(files.len() as u64) as usize];
        let (_home, folder) = sample.copy();
        let path = folder.join(file);
        let bytes = fs::read(&path).unwrap();
        // Only the written part of the log: the rest is zeros.
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1) as u64;
        let at = random.below(used);
        let case = match random.below(4) {
            0 => {
                fs::File::options().write(true).open(&path).unwrap().set_len(at).unwrap();
                format!("{round}: {} cut to {at}", file.display())
            }
            1 => {
                let mut bytes = bytes;
                let end = (at as usize + 512).min(used as usize);
                bytes[at as usize..end].fill(0);
                fs::write(&path, bytes).unwrap();
                format!("{round}: {} zeroed from {at} to {end}", file.display())
            }
            _ => {
                flip(&path, at, random.below(8) as u8);
                format!("{round}: {} flipped at {at}", file.display())
            }
        };
        let sound = match check(&folder) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{case}: {error}");
                false
            }
        };
        let target = folder.with_file_name("repaired");
        match repair(&folder, &target) {
            Ok(_) => {
                let db = Database::open(&target, options()).unwrap();
                let content = content(&db);
                sample.holds_nothing_invented(&content, &case);
                if is_table(file) {
                    assert!(content == sample.now, "{case}: an edge is lost or changed");
                }
                outcomes[usize::from(!sound)] += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{case}: {error}");
                assert!(!sound && !is_table(file), "{case}: {error}");
                outcomes[2] += 1;
            }
        }
    }
    assert!(outcomes[1] > 100, "{outcomes:?}");
}
