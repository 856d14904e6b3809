//! Every database that an earlier build froze opens in this one, with the same content. The
//! databases are in `tests/formats`; `examples/freeze.rs` writes them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use kv::{Kv, KvOptions};
use quipu_corruption::image::Image;
use quipu_corruption::specimen::{content, options};
use std::fs;
use std::path::{Path, PathBuf};
use store::{ErrorKind, Store};

const DB: &str = "/db";

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats")
}

/// Adds all files below a folder to the image.
fn take(folder: &Path, under: &Path, image: &mut Image) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = under.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            take(&entry.path(), &path, image);
        } else {
            image.files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

/// Calls `check` with name, files and expected content of each sample.
fn each(mut check: impl FnMut(&str, &Image, &str)) -> usize {
    let mut count = 0;
    for version in fs::read_dir(samples()).unwrap() {
        for entry in fs::read_dir(version.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                continue;
            }
            let mut image = Image::default();
            take(&path, Path::new(DB), &mut image);
            let want = fs::read_to_string(path.with_extension("txt")).unwrap();
            check(&path.display().to_string(), &image, &want);
            count += 1;
        }
    }
    count
}

fn read(image: &Image, options: KvOptions) -> store::Result<String> {
    let kv = Kv::open(image.whole().unwrap(), Path::new(DB), options)?;
    let found = content(&kv)?;
    let report = kv.check(&|_, _| true)?;
    assert!(report.is_sound(), "{report:?}");
    Ok(found)
}

#[test]
fn a_frozen_database_opens_and_holds_what_it_held() {
    let count = each(|name, image, want| {
        for read_only in [false, true] {
            match read(image, KvOptions { read_only, create: false, ..options() }) {
                Ok(found) => assert!(found == want, "{name} holds something else:\n{found}"),
                Err(error) => {
                    assert!(name.ends_with("damaged"), "{name}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                    assert!(error.to_string().contains(want), "{error}");
                }
            }
        }
    });
    assert!(count >= 5, "{count} samples");
}

#[test]
fn a_frozen_database_can_be_written_and_opened_again() {
    each(|name, image, want| {
        if name.ends_with("damaged") {
            return;
        }
        let env = image.whole().unwrap();
        for _ in 0..2 {
            let kv = Kv::open(std::sync::Arc::clone(&env), Path::new(DB), options()).unwrap();
            kv.compact().unwrap();
            assert!(content(&kv).unwrap() == want, "{name} changed by a compaction");
        }
    });
}
