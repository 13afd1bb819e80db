//! liburcu (Debian package `liburcu-dev`): membarrier flavour inlined and called, and qsbr.

use super::Subject;

mod inlined {
    super::super::c_peer::c_peer!(
        qb_memb_attach qb_memb_detach qb_memb_online qb_memb_offline qb_memb_sync qb_memb_reader
        qb_memb_empty qb_memb_nested qb_memb_load qb_memb_repin
    );
}
mod called {
    super::super::c_peer::c_peer!(
        qb_memb_call_attach qb_memb_call_detach qb_memb_call_online qb_memb_call_offline
        qb_memb_call_sync qb_memb_call_reader qb_memb_call_empty qb_memb_call_nested
        qb_memb_call_load qb_memb_call_repin
    );
}
mod quiescent_state {
    super::super::c_peer::c_peer!(
        qb_qsbr_attach qb_qsbr_detach qb_qsbr_online qb_qsbr_offline qb_qsbr_sync qb_qsbr_reader
        qb_qsbr_empty qb_qsbr_nested qb_qsbr_load qb_qsbr_repin
    );
}

pub(super) fn memb() -> Subject {
    inlined::subject("liburcu-memb")
}

/// The same library behind function calls. Its grace period is that of [`memb`], so it is not measured twice.
pub(super) fn memb_call() -> Subject {
    Subject {
        waiting: None,
        ..called::subject("liburcu-memb-call")
    }
}

pub(super) fn qsbr() -> Subject {
    quiescent_state::subject("liburcu-qsbr")
}
