//! Tests of the structures: one program, a module for each subject.

mod alone;
mod arc;
