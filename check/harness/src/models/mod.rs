//! Models of parts of the engine, compared with them step by step.

pub mod cblist;
