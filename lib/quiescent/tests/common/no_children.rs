//! Systems on which the child of a fork cannot use the library: tests that fork end before (`needs!(fork)`).

/// There is none.
#[must_use = "as elsewhere"]
pub struct Child;

impl Child {
    pub fn join(self) {
        self.code();
    }

    pub fn code(self) -> i32 {
        unreachable!("needs!(fork)")
    }
}

pub fn fork(_: impl FnOnce()) -> Child {
    Child
}

pub fn fork_code(_: impl FnOnce() -> i32) -> Child {
    Child
}

pub fn in_child(body: impl FnOnce()) {
    fork(body).join();
}

/// There are no children for which a reader could stay.
pub fn readers_stay_meanwhile() {}

/// Nothing here ends a child that hangs.
pub fn limit() {}
