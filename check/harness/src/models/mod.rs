//! Models of parts of the engine. They are compared with the engine step by step.

pub mod cblist;
