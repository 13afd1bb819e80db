//! Defects found in reviews, each with the test that fails without its fix.

mod domains;
mod forks;
mod modes;
mod news;
mod slices;
mod tasks;
