//! Concurrency Kit's `ck_epoch` (Debian package `libck-dev`).

super::c_peer::c_peer!(qb_ck_attach qb_ck_detach qb_ck_online qb_ck_offline qb_ck_sync qb_ck_reader
    qb_ck_empty qb_ck_nested qb_ck_load qb_ck_repin);
