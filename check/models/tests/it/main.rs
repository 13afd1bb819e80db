//! What each model shows and does not show: all that has to be reordered is, and nothing else.

mod explorer_blocking;
mod explorer_litmus;
mod explorer_pruning;
mod loom_litmus;
mod shuttle_model;
