//! Fixed rules and aggregates that the program brings along.

use crate::database::Database;
use function::{Accumulate, Failure, OwnAggregate};
use model::Value;
use session::FixedRule;
use std::sync::Arc;
use store::Result;

impl Database {
    /// Lets the scripts of this database apply a rule of the program's with `<~`. It is not stored.
    ///
    /// A rule may ask the database, but not change it: the script that applies it may be changing it.
    ///
    /// ```
    /// use quipu::{Database, Failure, FixedRule, Options, Parameters, RuleCall, Value};
    ///
    /// struct Rotate;
    ///
    /// impl FixedRule for Rotate {
    ///     fn columns(&self) -> usize {
    ///         2
    ///     }
    ///     fn run(&self, call: &RuleCall<'_>) -> Result<Vec<Vec<Value>>, Failure> {
    ///         let [pairs] = call.inputs else { return Err(Failure::new("one relation is needed")) };
    ///         Ok(pairs.rows().map(|mut row| { row.rotate_left(1); row }).collect())
    ///     }
    /// }
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// db.register_fixed_rule("Rotate", Rotate)?;
    /// let answer = db.run("p[] <- [[1, 'a']] ?[a, b] <~ Rotate(p[])", &Parameters::new())?;
    /// assert_eq!(answer.row(0), [Value::Str("a".into()), Value::Int(1)]);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): the name is one that is built in or registered, or that scripts
    /// could not write.
    pub fn register_fixed_rule(&self, name: &str, rule: impl FixedRule + 'static) -> Result<()> {
        self.engine()?.register_fixed_rule(name, Arc::new(rule))
    }

    /// Forgets a rule of the program's; whether there was one of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for one that is built in.
    pub fn unregister_fixed_rule(&self, name: &str) -> Result<bool> {
        self.engine()?.unregister_fixed_rule(name)
    }

    /// Lets the scripts of this database use an aggregate of the program's, which takes at most `args_max` arguments after the variable.
    /// It is not stored, and it stands in no recursion. `begin` is called for each group, with those arguments.
    ///
    /// ```
    /// use quipu::{Accumulate, Database, Failure, Options, Parameters, Value};
    ///
    /// #[derive(Default)]
    /// struct Range(Option<(i64, i64)>);
    ///
    /// impl Accumulate for Range {
    ///     fn add(&mut self, value: &Value) -> Result<(), Failure> {
    ///         let Value::Int(int) = *value else { return Err(Failure::new("integers are needed")) };
    ///         let (least, most) = self.0.unwrap_or((int, int));
    ///         self.0 = Some((least.min(int), most.max(int)));
    ///         Ok(())
    ///     }
    ///     fn finish(&mut self) -> Result<Value, Failure> {
    ///         Ok(self.0.map_or(Value::Null, |(least, most)| Value::Int(most - least)))
    ///     }
    ///     fn bytes(&self) -> usize {
    ///         size_of::<Self>()
    ///     }
    /// }
    ///
    /// let db = Database::in_memory(Options::default())?;
    /// db.register_aggregate("range", 0, |_| Ok(Box::new(Range::default())))?;
    /// let answer = db.run("r[x] <- [[3], [-4]] ?[range(x)] := r[x]", &Parameters::new())?;
    /// assert_eq!(answer.row(0), [Value::Int(7)]);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::register_fixed_rule`].
    pub fn register_aggregate(
        &self,
        name: &str,
        args_max: usize,
        begin: impl Fn(&[Value]) -> std::result::Result<Box<dyn Accumulate>, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        self.engine()?.register_aggregate(OwnAggregate::new(name, args_max, begin))
    }

    /// Forgets an aggregate of the program's; whether there was one of this name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for one that is built in.
    pub fn unregister_aggregate(&self, name: &str) -> Result<bool> {
        self.engine()?.unregister_aggregate(name)
    }
}
