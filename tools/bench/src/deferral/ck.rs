//! Concurrency Kit's `ck_epoch_call`; the program polls every 64 calls, and at its end waits for its own
//! record.

super::c_peer::c_peer!(qb_retire_ck_attach qb_retire_ck_detach qb_retire_ck_finish qb_retire_ck_settle
    qb_retire_ck_make qb_retire_ck_retire qb_retire_ck_stamped qb_retire_ck_all_in qb_retire_ck_owning
    qb_retire_ck_read qb_retire_ck_update qb_retire_ck_one qb_retire_ck_many qb_retire_ck_hold);
