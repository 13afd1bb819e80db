//! Long executions of a domain, under shuttle: many random schedules.

use quiescent_models::shuttle as primitives;

mod common;

mod covers;
mod ends;
mod limits;
mod lives;
