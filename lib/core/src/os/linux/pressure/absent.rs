//! Without the feature `pressure`: no sources of memory pressure.

use crate::os::pressure::PressureSources;

/// All sources: none.
#[derive(Debug)]
pub struct Sources;

#[allow(
    clippy::unused_self,
    reason = "the interface of the sources that listen"
)]
impl Sources {
    pub const fn new() -> Sources {
        Sources
    }

    pub fn open(&self) {}
    pub fn arm(&self, _: i32, _: u64) {}
    pub fn disarm(&self, _: i32) {}
    pub fn set_wanted(&self, _: bool, _: i32) {}
    pub fn close(&self) {}

    pub fn heard(&self, _: usize) -> bool {
        false
    }

    pub fn states(&self) -> PressureSources {
        PressureSources::default()
    }
}
