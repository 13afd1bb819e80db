//! Concurrency Kit's `ck_epoch` (Debian package `libck-dev`) and `ck_epoch_call`; the program polls every 64
//! calls, and at its end waits for its own record.

use super::Peers;

pub(super) fn peers() -> Peers {
    Peers {
        reading: vec![crate::subjects::c_peer!("qb_ck", "ck")],
        deferring: vec![crate::deferral::c_peer!("qb_retire_ck", "ck")],
    }
}
