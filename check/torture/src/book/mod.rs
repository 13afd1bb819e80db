//! The data of a run: what is published, queued, counted and found. It knows no actor.

pub mod counter;
pub mod element;
pub mod ending;
pub mod entry;
pub mod events;
pub mod finding;
pub mod hand;
pub mod kept;
pub mod kind;
pub mod latency;
pub mod ledger;
pub mod numbers;
pub mod options;
pub mod periods;
pub mod role;
pub mod target;
pub mod tide;
pub mod waking;
pub mod world;
