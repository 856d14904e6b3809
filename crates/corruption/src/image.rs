//! The files of a database as bytes, to be changed and opened.

use env::{Env, MemoryEnv};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All files below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Content by path; paths are those that the database was opened with.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Image {
    /// Reads the current files. Of an open database, these are what a killed process leaves.
    ///
    /// # Errors
    /// A failed read.
    pub fn of(env: &dyn Env, folder: &Path) -> env::Result<Self> {
        let mut image = Self::default();
        image.take(env, folder)?;
        Ok(image)
    }

    fn take(&mut self, env: &dyn Env, folder: &Path) -> env::Result<()> {
        for name in env.list(folder)? {
            let path = folder.join(name);
            if env.list(&path).is_ok() {
                self.take(env, &path)?;
            } else {
                let bytes = env.read_file(&path)?;
                self.files.insert(path, bytes);
            }
        }
        Ok(())
    }

    /// Another machine with these files, one of them replaced (`None`: missing).
    ///
    /// # Errors
    /// None today; the environment's calls can fail.
    pub fn with(&self, replaced: &Path, bytes: Option<&[u8]>) -> env::Result<Arc<dyn Env>> {
        let env = MemoryEnv::new(1);
        for (path, whole) in &self.files {
            if let Some(folder) = path.parent() {
                env.create_folder(folder)?;
            }
            let content = if path == replaced { bytes } else { Some(whole.as_slice()) };
            if let Some(content) = content {
                env.create(path)?.append(content)?;
            }
        }
        Ok(Arc::new(env))
    }

    /// Another machine with these files.
    ///
    /// # Errors
    /// As [`Image::with`].
    pub fn whole(&self) -> env::Result<Arc<dyn Env>> {
        self.with(Path::new(""), None)
    }
}
