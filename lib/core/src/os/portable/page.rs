//! No memory that other processes can read.

use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::ptr::NonNull;

/// The page of this process: none.
#[derive(Debug)]
pub struct SharedPage;

#[allow(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the same methods as on other systems"
)]
impl SharedPage {
    pub const fn none() -> SharedPage {
        SharedPage
    }

    /// There is none.
    ///
    /// # Errors
    /// Always.
    pub fn make(&self, _name: &CStr, _size: usize) -> io::Result<NonNull<u8>> {
        Err(unsupported())
    }

    /// # Safety
    /// None is needed here.
    pub unsafe fn leave(&self, _page: NonNull<u8>, _size: usize) {}
}

fn unsupported() -> io::Error {
    io::Error::new(
        ErrorKind::Unsupported,
        "there is no telemetry on this system",
    )
}
