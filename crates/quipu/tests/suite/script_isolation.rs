//! Isolation of scripts concurrent with serializable transactions, as in `docs/isolation.md`.

use quipu::{
    Database, ErrorKind, Failure, FixedRule, Isolation, Options, Parameters, Result, RuleCall,
    Value,
};
use std::sync::Arc;

/// A rule that commits a serializable transaction while the script that applies it runs.
struct Between(Database);

impl FixedRule for Between {
    fn columns(&self) -> usize {
        1
    }

    fn run(&self, _: &RuleCall<'_>) -> std::result::Result<Vec<Vec<Value>>, Failure> {
        let tx = self.0.transaction(Isolation::Serializable);
        // Reads what the script writes, and writes what the script has read.
        let script = "?[name, on] := name = 'a', *doctors['b', on] :put doctors {name => on}";
        let done = tx.run(script, &none()).and_then(|_| tx.commit());
        done.map_err(|error| Failure::new(error.to_string()))?;
        Ok(vec![vec![Value::Bool(false)]])
    }
}

fn none() -> Parameters {
    Parameters::new()
}

/// `doctors{name => on}` with two doctors, one on call, and the rule.
fn filled() -> Database {
    let db = Database::in_memory(Options::default()).unwrap();
    let rows = "?[name, on] <- [['a', true], ['b', false]] :create doctors {name => on}";
    db.run(rows, &none()).unwrap();
    db.register_fixed_rule("Between", Between(db.clone())).unwrap();
    db
}

/// Sets `b` to the old value of `a`, with a commit in between that sets `a` to the old value of
/// `b`.
const SWAPS: &str = "
    between[off] <~ Between()
    ?[name, on] := name = 'b', *doctors['a', on], between[_]
    :put doctors {name => on}";

fn doctors(db: &Database) -> Vec<Vec<Value>> {
    db.run("?[name, on] := *doctors[name, on]", &none()).unwrap().rows().collect()
}

fn on_call(a: bool, b: bool) -> Vec<Vec<Value>> {
    let row = |name: &str, on| vec![Value::Str(name.into()), Value::Bool(on)];
    vec![row("a", a), row("b", b)]
}

/// Write skew is possible: no serial order of the two would swap the values.
#[test]
fn a_script_of_its_own_has_snapshot_isolation_beside_a_serializable_transaction() {
    let db = filled();
    db.run(SWAPS, &none()).unwrap();
    assert_eq!(doctors(&db), on_call(false, true));
}

#[test]
fn a_script_in_a_serializable_transaction_is_serializable() -> Result<()> {
    let db = filled();
    let tx = Arc::new(db.transaction(Isolation::Serializable));
    tx.run(SWAPS, &none())?;
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(doctors(&db), on_call(false, false));
    Ok(())
}

#[test]
fn a_serializable_transaction_is_checked_against_scripts_that_committed_before_it() -> Result<()> {
    let db = filled();
    let tx = db.transaction(Isolation::Serializable);
    tx.run("?[name, on] := name = 'c', *doctors['b', on] :put doctors {name => on}", &none())?;
    db.run("?[name, on] <- [['b', true]] :put doctors {name => on}", &none())?;
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    Ok(())
}
