//! The components of a domain: data, locks, counters, and their inspection. The layers above operate on them.

pub mod counters;
pub mod domain;
pub mod env;
pub mod error;
pub mod fullness;
pub mod gate;
pub mod inspect;
pub mod laziness;
pub mod numbers;
pub mod registry;
pub mod settings;
pub mod shell;
pub mod stall;
pub mod state;
pub mod tasks;
pub mod waiters;
