//! One file per engine. Each is meant to be code that an expert in the engine would write.

#[cfg(feature = "peers")]
pub mod fjall;
#[cfg(feature = "peers")]
pub mod lmdb;
pub mod map;
#[cfg(feature = "quipu")]
pub mod quipu;
#[cfg(feature = "peers")]
pub mod redb;
#[cfg(feature = "peers")]
pub mod rocks;
