//! A Rust program with a part in C: one runtime, one set of grace periods. Built by `ci/c-api`.
fn main() {}
