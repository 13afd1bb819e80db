//! liburcu (Debian package `liburcu-dev`): the membarrier flavour inlined and called, and qsbr; of the
//! inlined one, `call_rcu`, and `defer_rcu` (whose producer frees its own objects, and waits for a grace
//! period whenever its ring of pointers is full).

use super::Peers;
use crate::deferral::{self, Deferring};
use crate::subjects::{self, Subject};

pub(super) fn peers() -> Peers {
    let called = Subject {
        // Its grace period is that of the inlined one, so it is not measured twice.
        waiting: None,
        ..subjects::c_peer!("qb_memb_call", "liburcu-memb-call")
    };
    let call_rcu = deferral::c_peer!("qb_retire_memb", "liburcu-memb");
    let call_rcu = Deferring {
        barrier: Some(call_rcu.settle), // `rcu_barrier`
        call: Some(call_rcu.verbs[0].many),
        ..call_rcu
    };
    Peers {
        reading: vec![
            subjects::c_peer!("qb_memb", "liburcu-memb"),
            called,
            subjects::c_peer!("qb_qsbr", "liburcu-qsbr"),
        ],
        deferring: vec![
            call_rcu,
            deferral::c_peer!("qb_retire_defer", "liburcu-defer"),
        ],
    }
}
