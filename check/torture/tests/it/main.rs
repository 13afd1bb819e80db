//! The torture program's tests.

mod oracles;
