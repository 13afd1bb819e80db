//! Tests that need what a system may lack.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::HAS;

/// Ends the calling test here if this system lacks a field of [`HAS`], or another condition does not hold;
/// says so on standard error, past what libtest captures: `SKIPPED name: needs os::HAS.fork`.
#[macro_export]
macro_rules! needs {
    (linux) => {
        $crate::needs!(cfg!(target_os = "linux"), "Linux");
    };
    (native) => {
        $crate::needs!(
            !$crate::os::needs::emulated(),
            "a processor that is not emulated"
        );
    };
    (fork) => {
        $crate::needs!($crate::os::HAS.fork, "os::HAS.fork");
        // Its lock for the starts and ends of threads may be held, for ever, in the child.
        $crate::needs!(
            !$crate::os::needs::emulated(),
            "forks that qemu's own locks survive"
        );
    };
    (fence) => {
        $crate::needs!($crate::os::needs::fence(), "a fence of the process");
    };
    ($what:ident) => {
        $crate::needs!(
            $crate::os::HAS.$what,
            concat!("os::HAS.", stringify!($what))
        );
    };
    ($condition:expr, $what:expr) => {
        if !$condition {
            return $crate::os::needs::skipped($what);
        }
    };
}

/// Whether the system has a fence, and does not refuse it.
pub fn fence() -> bool {
    HAS.fence && super::register_heavy_fence().is_ok()
}

/// Whether tests are run by the command in this variable (qemu): hundred times slower where threads meet,
/// and with threads of its own.
pub fn emulated() -> bool {
    std::env::var_os("QUIESCENT_TEST_RUNNER").is_some()
}

/// A command that runs a program built for this system: through the words of `QUIESCENT_TEST_RUNNER`, if that
/// is set (qemu, which does not run what its programs execute).
pub fn command(program: &Path) -> Command {
    let runner = std::env::var("QUIESCENT_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else {
        return Command::new(program);
    };
    let mut command = Command::new(first);
    command.args(words).arg(program);
    command
}

/// The calling test ends early, for want of this.
pub fn skipped(what: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // It may be closed.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: needs {what}");
}
