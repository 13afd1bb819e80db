//! liburcu's membarrier flavour, read side inlined: `call_rcu`, and `defer_rcu` (whose producer frees its own
//! objects, and waits for a grace period whenever its ring of pointers is full).

use super::Deferring;

mod call_rcu {
    super::super::c_peer::c_peer!(
        qb_retire_memb_attach qb_retire_memb_detach qb_retire_memb_finish qb_retire_memb_settle
        qb_retire_memb_make qb_retire_memb_retire qb_retire_memb_stamped qb_retire_memb_all_in
        qb_retire_memb_owning qb_retire_memb_read qb_retire_memb_update qb_retire_memb_one
        qb_retire_memb_many qb_retire_memb_hold
    );
}
mod defer_rcu {
    super::super::c_peer::c_peer!(
        qb_retire_defer_attach qb_retire_defer_detach qb_retire_defer_finish qb_retire_defer_settle
        qb_retire_defer_make qb_retire_defer_retire qb_retire_defer_stamped qb_retire_defer_all_in
        qb_retire_defer_owning qb_retire_defer_read qb_retire_defer_update qb_retire_defer_one
        qb_retire_defer_many qb_retire_defer_hold
    );
}

pub(super) fn call() -> Deferring {
    let subject = call_rcu::subject("liburcu-memb");
    Deferring {
        barrier: Some(subject.settle), // `rcu_barrier`
        call: Some(subject.verbs[0].many),
        ..subject
    }
}

pub(super) fn defer() -> Deferring {
    defer_rcu::subject("liburcu-defer")
}
