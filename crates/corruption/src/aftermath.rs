//! Repairs damaged databases, and reads them with a follower.
//!
//! # What must hold
//! 1. A repair ends with a database that passes a check, or with an error of kind `Corruption`.
//! 2. It invents nothing: each of its rows was written once. Of a sum with lost parts, the other
//!    parts are left.
//! 3. If it reports to be complete, every row is as it was.
//! 4. A follower's answers are right, or its error names file and offset. At the log's end it may
//!    wait at an earlier state.

use crate::damage::{Damage, Outcome, Subject, difference, named};
use crate::specimen::{by_keyspace, content, options};
use env::Env;
use kv::{Kv, KvOptions};
use quipu::{Options, repair_in};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use store::{Error, ErrorKind, Store};

const TARGET: &str = "/repaired";

impl Subject {
    /// Damages a file and repairs the database into another folder.
    ///
    /// # Errors
    /// The promise that is broken.
    pub fn judge_repair(&self, path: &Path, damage: Damage) -> Result<Outcome, String> {
        let bytes = damage.done_to(&self.image.files[path]);
        let env = self.image.with(path, bytes.as_deref()).map_err(|error| error.to_string())?;
        let repaired = AssertUnwindSafe(|| self.repair(&env));
        catch_unwind(repaired).map_err(|_| "a repair panics".to_owned())?
    }

    fn repair(&self, env: &Arc<dyn Env>) -> Result<Outcome, String> {
        let target = Path::new(TARGET);
        let options = Options { memory_limit_bytes: 1 << 20, threads: 1, ..Options::default() };
        let report = match repair_in(env, &self.folder, target, options, &|_, _| true) {
            Ok(report) => report,
            Err(error)
                if error.kind() == ErrorKind::Corruption
                    && !env.exists(&target.join("CURRENT")) =>
            {
                return Ok(Outcome::RepairRefused);
            }
            Err(error) => return Err(format!("a repair ends in {:?}: {error}", error.kind())),
        };
        let content =
            sound_content(env, target).map_err(|error| format!("a repaired database: {error}"))?;
        let mut found = BTreeMap::new();
        by_keyspace(&content, &mut found);
        for (keyspace, rows) in &found {
            let known = self.ever.get(keyspace).ok_or_else(|| format!("invented: {keyspace}"))?;
            if let Some(row) = rows.difference(known).next() {
                return Err(format!("invented in {keyspace}: {row}"));
            }
        }
        match report.complete {
            true if content == self.want => Ok(Outcome::RepairedWhole),
            true => Err(format!("complete, but {}", difference(&self.want, &content))),
            false => Ok(Outcome::RepairedInPart),
        }
    }

    /// Opens the damaged database as a follower without a writer, and reads it twice. Then damages
    /// it under a follower that has read it.
    ///
    /// # Errors
    /// The promise that is broken.
    pub fn judge_follower(&self, path: &Path, damage: Damage) -> Result<Outcome, String> {
        let bytes = damage.done_to(&self.image.files[path]);
        let followed = AssertUnwindSafe(|| {
            let env = self.image.with(path, bytes.as_deref()).map_err(|error| error.to_string())?;
            let opened = self.judge_read(path, &follow(env).and_then(|kv| read_twice(&kv)))?;
            let env = self.image.whole().map_err(|error| error.to_string())?;
            let kv = follow(Arc::clone(&env)).map_err(|error| error.to_string())?;
            content(&kv).map_err(|error| error.to_string())?;
            replace(&*env, path, bytes.as_deref()).map_err(|error| error.to_string())?;
            let under = self
                .judge_read(path, &read_twice(&kv))
                .map_err(|what| format!("refreshed: {what}"))?;
            match under {
                Outcome::FollowedEarlier => Err("a follower went back".to_owned()),
                _ => Ok(opened),
            }
        });
        catch_unwind(followed).map_err(|_| "a follower panics".to_owned())?
    }

    fn judge_read(&self, path: &Path, read: &store::Result<String>) -> Result<Outcome, String> {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let waits = self.kind(path) == "log";
        match read {
            Ok(content) if *content == self.want => Ok(Outcome::FollowedRight),
            Ok(content) if waits && self.states.contains(content) => Ok(Outcome::FollowedEarlier),
            Ok(content) => Err(format!("a follower answers {}", difference(&self.want, content))),
            Err(error) => named(error, file).map(|()| Outcome::FollowerRefused),
        }
    }
}

fn follow(env: Arc<dyn Env>) -> store::Result<Kv> {
    let read_only = KvOptions { read_only: true, create: false, ..options() };
    Kv::open(env, Path::new("/db"), read_only)
}

fn read_twice(kv: &Kv) -> store::Result<String> {
    kv.refresh()?;
    content(kv)?;
    kv.refresh()?;
    content(kv)
}

/// Overwrites a file that may be open.
fn replace(env: &dyn Env, path: &Path, bytes: Option<&[u8]>) -> env::Result<()> {
    match bytes {
        Some(bytes) => env.open_append(path, 0)?.append(bytes),
        None => env.remove(path),
    }
}

/// All rows of a database that passes a check.
fn sound_content(env: &Arc<dyn Env>, folder: &Path) -> store::Result<String> {
    let kv = Kv::open(Arc::clone(env), folder, KvOptions { create: false, ..options() })?;
    let content = content(&kv)?;
    let report = kv.check(&|_, _| true)?;
    match report.is_sound() {
        true => Ok(content),
        false => Err(Error::new(ErrorKind::Corruption, format!("{:?}", report.problems))),
    }
}
