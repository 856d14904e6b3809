//! Parallel work on borrowed data, on threads that end before the call returns.

use crate::environment::Env;
use std::panic::resume_unwind;
use std::thread;

/// Applies `f` to every item, each on a thread of its own. Returns the results in the order of the
/// items. The executor uses it for parallel queries.
///
/// The calling thread takes the first item. The other threads are started here and not taken from
/// the pool of [`crate::parallel`], because workers of a pool may outlive what the caller borrows.
/// Starting a thread takes about ten microseconds, so items should take at least a millisecond. An
/// environment that schedules all threads itself ([`Env::has_threads`] is false) runs the items one
/// after the other.
///
/// # Panics
/// If `f` panics for an item: one such panic is resumed here after all items have ended.
pub fn scoped<T, R, F>(env: &dyn Env, items: Vec<T>, f: F) -> Vec<R>
where
    T: Send,
    R: Send,
    F: Fn(T) -> R + Sync,
{
    if items.len() < 2 || !env.has_threads() {
        return items.into_iter().map(f).collect();
    }
    thread::scope(|scope| {
        let f = &f;
        let mut items = items.into_iter();
        let first = items.next();
        let others: Vec<_> = items.map(|item| scope.spawn(move || f(item))).collect();
        let mut results: Vec<R> = first.into_iter().map(f).collect();
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => resume_unwind(panic),
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn items_run_at_once_on_what_is_borrowed_and_keep_their_order() {
        let env = crate::memory::MemoryEnv::new(1);
        let all_here = Barrier::new(3);
        let mut words = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let lengths = scoped(&env, words.iter_mut().collect(), |word: &mut String| {
            all_here.wait();
            word.push('!');
            word.clone()
        });
        assert_eq!(lengths, ["a!", "b!", "c!"]);
        assert_eq!(words, lengths);
    }

    #[test]
    #[should_panic(expected = "the second")]
    fn a_panic_goes_on_at_the_caller() {
        let env = crate::memory::MemoryEnv::new(1);
        scoped(&env, vec![1, 2], |item| assert!(item != 2, "the second"));
    }
}
