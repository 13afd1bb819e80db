//! Whole lives of a domain, under shuttle: many schedules by chance.

use quiescent_models::shuttle as primitives;

mod common;

mod covers;
mod ends;
mod limits;
mod lives;
