//! Notifications to the machine on virtual time about blocks and memory: freed objects only.

/// Objects are numbers, and the machine's host is notified. Always true.
pub fn observed(object: *mut u8) -> bool {
    super::observe_free(object.addr());
    true
}

/// True if a freed block is to be kept: never.
pub fn bury<T>(_block: *mut T) -> bool {
    false
}

/// A block is read or written.
#[inline]
pub fn touch<T>(_block: *const T) {}

/// A push has taken the slow path.
pub fn helped(_crossed: bool) {}
