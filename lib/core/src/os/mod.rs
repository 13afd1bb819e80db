//! Operating-system calls. Only Linux is supported.

pub mod alarm;
pub mod linux;
pub mod pressure;
