//! Writes the frozen samples: `cargo run -p quipu-corruption --example freeze -- tests/formats/vN
//! [sample ...]`, once per format. Without names, all samples. Existing samples are never
//! overwritten, because they must keep the bytes of their format's version.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a tool beside the engine")]

use env::{Env, MemoryEnv};
use quipu_corruption::image::Image;
use quipu_corruption::specimen::{SAMPLES, Specimen, content};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("which folder?")?);
    let named: Vec<String> = std::env::args().skip(2).collect();
    for name in
        SAMPLES.into_iter().filter(|&name| named.is_empty() || named.iter().any(|n| n == name))
    {
        let target = folder.join(name);
        if target.exists() {
            return Err(format!("{} already exists", target.display()).into());
        }
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let specimen = Specimen::new(&env, Path::new("/db"))?;
        specimen.sample(name)?;
        let holds = content(&*specimen.store)?;
        let killed = (name == "killed").then(|| Image::of(&*env, Path::new("/db")));
        drop(specimen);
        let mut image = killed.unwrap_or_else(|| Image::of(&*env, Path::new("/db")))?;
        let mut holds = holds;
        if name == "damaged" {
            // Damages a row of the first table. The expected error is written here, so the engine
            // does not decide what is expected of it.
            let table = image
                .files
                .iter_mut()
                .find(|(path, _)| path.extension().is_some_and(|e| e == "sst"));
            let (path, bytes) = table.ok_or("no table")?;
            bytes[60] ^= 0x04;
            holds = format!("{} is damaged at byte 0", path.strip_prefix("/db")?.display());
        }
        let mut bytes = 0;
        for (path, content) in &image.files {
            if path.ends_with("LOCK") {
                continue;
            }
            let path = target.join(path.strip_prefix("/db")?);
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            fs::write(&path, content)?;
            bytes += content.len();
        }
        fs::write(folder.join(format!("{name}.txt")), holds)?;
        println!("{name}: {} files, {bytes} bytes", image.files.len());
    }
    Ok(())
}
