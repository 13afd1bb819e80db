//! What each model shows and does not show: every permitted reordering, and no other.

mod explorer_blocking;
mod explorer_litmus;
mod explorer_long;
mod explorer_pruning;
mod loom_litmus;
mod shuttle_model;
