//! No memory that other processes can read.

use std::ffi::CStr;
use std::fs::File;
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

    pub fn read(&self, _size: usize) -> Option<io::Result<Vec<u8>>> {
        None
    }
}

/// There is none.
///
/// # Errors
/// Always.
pub fn open_page_of(_pid: u32, _name: &str) -> io::Result<Option<File>> {
    Err(unsupported())
}

/// There is none.
///
/// # Errors
/// Always.
pub fn read_page(_file: &File, _most: u64) -> io::Result<Vec<u8>> {
    Err(unsupported())
}

fn unsupported() -> io::Error {
    io::Error::new(
        ErrorKind::Unsupported,
        "there is no telemetry on this system",
    )
}
