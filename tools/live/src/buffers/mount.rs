//! tracefs: finding it, or mounting it visible to this process only.

use crate::state::files::Root;
use crate::state::tracefs::{PLACES, Place, place};
use quiescent_report::Error;
use std::ffi::CStr;
use std::io;
use std::path::PathBuf;

/// The folder of tracing on this machine, for writing. With `mount` it is mounted if it is not, in a mount
/// name space that only this process and its children have; that must happen before this process has a second
/// thread.
///
/// # Errors
/// [`Error::Failed`]: it may not be read, is not mounted, or does not exist; the error has the remedy.
pub fn tracing(mount: bool) -> Result<PathBuf, Error> {
    let why = match place(&Root::here()) {
        Place::At(place) => return Ok(place.into()),
        Place::Forbidden(place) => {
            return Err(Error::failed(
                place,
                "may not be read",
                "run it as root (sudo)",
            ));
        }
        Place::NotMounted(place) if mount => return privately(place),
        Place::NotMounted(place) => format!("nothing is mounted on {place}"),
        Place::Absent => {
            let what = PLACES[0];
            let remedy = "is this a container, or a kernel without CONFIG_TRACING? `quiescent doctor` knows \
             more";
            return Err(Error::failed(what, "there is no such folder", remedy));
        }
    };
    let remedy = format!(
        "as root: mount -t tracefs nodev {}; `record` and `top` do so for one run with --mount",
        PLACES[0]
    );
    Err(Error::failed("tracefs", why, &remedy))
}

fn privately(place: &'static str) -> Result<PathBuf, Error> {
    let failed = |what: &str| {
        let why = io::Error::last_os_error();
        Error::failed(what, why, "run it as root, outside of containers")
    };
    // SAFETY: gives this process mounts of its own; it takes a number.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(failed("--mount: cannot have mounts of our own"));
    }
    let (none, tracefs, root) = (c"nodev", c"tracefs", c"/");
    let target: &CStr = match place {
        "/sys/kernel/tracing" => c"/sys/kernel/tracing",
        _ => c"/sys/kernel/debug/tracing",
    };
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    let mount = |target: &CStr, kind: *const libc::c_char, flags| {
        // SAFETY: names that outlive the call, a number, and no data.
        unsafe {
            libc::mount(
                none.as_ptr(),
                target.as_ptr(),
                kind,
                flags,
                std::ptr::null(),
            )
        }
    };
    if mount(root, std::ptr::null(), flags) != 0 {
        return Err(failed("--mount: cannot keep mounts to ourselves"));
    }
    if mount(target, tracefs.as_ptr(), 0) != 0 {
        return Err(failed(&format!("--mount: cannot mount tracefs on {place}")));
    }
    Ok(place.into())
}
