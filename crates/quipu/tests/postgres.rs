//! Databases in PostgreSQL: graphs, counters, blobs and scripts stay, databases move there and
//! back, and the pages of the specification have the same answers. `make engines` starts a server.
#![allow(clippy::unwrap_used)]

// The names that the included files use.
extern crate engine_postgres as quipu_engine_postgres;
extern crate session as quipu_session;

#[path = "server/mod.rs"]
mod checks;
#[path = "../../session/tests/pages/mod.rs"]
mod pages;
#[path = "../../engine-postgres/tests/server/mod.rs"]
mod server;

use ordered::Writers;
use server::Schema;
use std::cell::RefCell;
use std::sync::Arc;

#[test]
fn a_database_stays_and_migrates() {
    let (first, second) = (Schema::new(Writers::One), Schema::new(Writers::One));
    checks::a_database_stays_and_migrates(&first.address(), &second.address());
}

#[test]
fn the_language_is_the_same() {
    // They are dropped after their stores.
    let places = RefCell::new(Vec::new());
    let new_store = |_: &Arc<dyn env::Env>| -> Arc<dyn store::Store> {
        let place = Schema::new(Writers::One);
        let store = place.try_open(false).unwrap();
        places.borrow_mut().push(place);
        Arc::new(store)
    };
    pages::check("tests/spec", &new_store, &[]);
}
