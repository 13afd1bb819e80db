//! The exhaustive search: a machine around the engine as one value, the actions that are possible in it, and
//! the rules that hold after each action.
//!
//! [`explore`](explore::explore) searches every order of actions within [`Bounds`](bounds::Bounds);
//! [`walk`](explore::walk) takes one path, chosen by bytes.
#![allow(
    missing_docs,
    reason = "for the tests of this project only; each module's comment describes it"
)]

pub mod actions;
mod apply;
pub mod bounds;
mod drive;
mod expedited;
pub mod explore;
pub mod marks;
pub mod model;
mod notice;
mod oracle;
pub mod table;
mod tasks;
