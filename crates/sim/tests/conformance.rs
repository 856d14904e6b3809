//! The simulated machine keeps the promises that all environments keep.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate env as quipu_env;

#[path = "../../env/tests/promises/mod.rs"]
mod promises;

use env::Env;
use quipu_sim::{Random, Settings, Sim};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Checks one promise on several machines without faults.
fn check(promise: impl Fn(&dyn Env, &Path) + 'static) {
    let promise = Rc::new(promise);
    for seed in 0..8 {
        let settings = Settings::swarm(&mut Random::new(seed));
        let faults = quipu_sim::FaultPlan::none();
        let machine = Sim::new(seed, Settings { parallelism: 2, faults, ..settings });
        let (env, promise) = (machine.env(), Rc::clone(&promise));
        machine.spawn("promise", move || {
            let folder = PathBuf::from("/db");
            env.create_folder(&folder).unwrap();
            promise(&*env, &folder);
        });
        machine.run().unwrap();
    }
}
