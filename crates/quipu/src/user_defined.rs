//! Registration of user-defined fixed rules and aggregates. They are functions of the program, and
//! not stored.

use crate::database::Database;
use function::{Accumulate, Failure, UserAggregate};
use model::Value;
use session::FixedRule;
use std::sync::Arc;
use store::Result;

impl Database {
    /// Registers a user-defined rule that the scripts of this database can apply with `<~`. It is
    /// not stored.
    ///
    /// A rule may query the database, but must not change it: the script that applies it may be
    /// changing it.
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
    ///         let [pairs] = call.inputs else {
    ///             return Err(Failure::new("one relation is needed"));
    ///         };
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
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): the name is built in,
    /// registered already, or not a valid name in scripts.
    pub fn register_fixed_rule(&self, name: &str, rule: impl FixedRule + 'static) -> Result<()> {
        self.engine()?.register_fixed_rule(name, Arc::new(rule))
    }

    /// Removes a user-defined rule; returns whether there was one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a built-in rule.
    pub fn unregister_fixed_rule(&self, name: &str) -> Result<bool> {
        self.engine()?.unregister_fixed_rule(name)
    }

    /// Registers a user-defined aggregate for the scripts of this database. It takes at most
    /// `args_max` arguments after the variable. `begin` is called for each group with those
    /// arguments. The aggregate is not stored, and it cannot be used in a recursion.
    ///
    /// ```
    /// use quipu::{Accumulate, Database, Failure, Options, Parameters, Value};
    ///
    /// #[derive(Default)]
    /// struct Range(Option<(i64, i64)>);
    ///
    /// impl Accumulate for Range {
    ///     fn add(&mut self, value: &Value) -> Result<(), Failure> {
    ///         let Value::Int(int) = *value else {
    ///             return Err(Failure::new("integers are needed"));
    ///         };
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
        self.engine()?.register_aggregate(UserAggregate::new(name, args_max, begin))
    }

    /// Removes a user-defined aggregate; returns whether there was one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a built-in aggregate.
    pub fn unregister_aggregate(&self, name: &str) -> Result<bool> {
        self.engine()?.unregister_aggregate(name)
    }
}
