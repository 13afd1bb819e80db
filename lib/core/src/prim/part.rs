//! Parts of the engine's state, and calls of them that tests record.
//!
//! An entry is added to the recording while the call's locks are held: the queue's lock for a
//! [`Cpu`](quiescent_engine::Cpu), the domain's lock for the rest. So the recording is ordered consistently
//! with each of these locks.

use std::ops::Deref;

/// A part of the engine's state. Any code may read it.
#[derive(Debug)]
pub struct Part<T>(T);

impl<T> Part<T> {
    pub const fn new(state: T) -> Part<T> {
        Part(state)
    }

    /// Mutable access, for the files that record calls of the engine, and no others.
    pub fn inner(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A call in which the engine does not query the host. While a test records, the call is recorded; otherwise
/// this is the plain call.
macro_rules! straight {
    ($input:expr, $wrap:expr, $call:expr) => {{
        #[cfg(feature = "testing")]
        let result = {
            let result = $call;
            if crate::prim::part::recording::is_on() {
                crate::prim::part::recording::push($input, Vec::new(), $wrap(&result));
            }
            result
        };
        #[cfg(not(feature = "testing"))]
        let result = {
            let _ = || ($input, $wrap);
            $call
        };
        result
    }};
}

pub(crate) use straight;

#[cfg(feature = "testing")]
pub mod recording;
