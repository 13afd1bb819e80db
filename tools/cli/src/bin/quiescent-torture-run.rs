//! `quiescent-torture-run`: the process of one run of `quiescent torture`, which starts it and reads its
//! output.
//!
//! It is a program of its own, since its allocator checks freed blocks ([`quiescent_torture::allocator`]);
//! the `quiescent` command measures, and must use the system's allocator directly.

#[cfg(target_os = "linux")]
mod linux {
    use quiescent_torture::allocator::Watching;

    #[global_allocator]
    static ALLOCATOR: Watching = Watching;
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use quiescent_torture::child::serve;
    std::process::ExitCode::from(serve(&std::env::args().nth(1).unwrap_or_default()))
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("torture of threads is for Linux");
    std::process::exit(2);
}
