//! Long executions of a domain, under shuttle: many random schedules.

use quiescent_models::shuttle as primitives;
use quiescent_on_shuttle as rcu;

mod common;
#[path = "../slot_book.rs"]
mod slot_book;

mod covers;
mod ends;
mod limits;
mod lives;
mod slots;
