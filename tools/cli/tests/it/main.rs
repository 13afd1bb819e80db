//! The command's tests: each runs it as a user or a script does.

mod arcs;
mod common;

mod bounds;
mod command;
mod doctor;
mod domain;
mod files;
mod inputs;
mod kernel;

mod maps;
mod merge;
mod metrics;
mod page;
mod questions;
mod quiet;
mod raw;
mod reclaim;
mod record;
mod reproduce;
mod run;
mod scale;
mod sim;
mod tidy;
mod top;
mod torture;
mod trace;
mod whatif;
