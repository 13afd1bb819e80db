//! Finds the C peers and compiles our measuring loops for them.
//!
//! The loops in `shims/` are ours; they use liburcu and Concurrency Kit through the public headers of the
//! Debian packages. A package that is not there is no failure: its subjects are reported as absent, with
//! the command that installs it. What was found is passed to the crate as a `cfg`.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(have_liburcu)");
    println!("cargo::rustc-check-cfg=cfg(have_ck)");
    println!("cargo::rustc-check-cfg=cfg(have_c)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shims");
    // Installing a package changes this file, so a peer that appears later is picked up by the next build.
    const DPKG: &str = "/var/lib/dpkg/status";
    if std::path::Path::new(DPKG).exists() {
        println!("cargo::rerun-if-changed={DPKG}");
    }
    #[cfg(feature = "peers")]
    peers::build();
}

#[cfg(feature = "peers")]
mod peers {
    use std::path::{Path, PathBuf};

    /// A C library that may be there.
    struct Library {
        cfg: &'static str,
        probe: &'static str,
        link: &'static [&'static str],
        sources: &'static [&'static str],
    }

    const LIBRARIES: &[Library] = &[
        Library {
            cfg: "have_liburcu",
            probe: "#include <urcu/urcu-memb.h>\n#include <urcu/urcu-qsbr.h>\n\
                    int main(void) { urcu_memb_synchronize_rcu(); urcu_qsbr_synchronize_rcu(); return 0; }\n",
            link: &["urcu-memb", "urcu-qsbr", "urcu-common"],
            sources: &[
                "shims/urcu_memb.c",
                "shims/urcu_memb_call.c",
                "shims/urcu_qsbr.c",
                "shims/retire_memb.c",
                "shims/retire_defer.c",
            ],
        },
        Library {
            cfg: "have_ck",
            probe: "#include <ck_epoch.h>\n\
                    int main(void) { static ck_epoch_t e; ck_epoch_init(&e); return 0; }\n",
            link: &["ck"],
            sources: &["shims/ck.c", "shims/retire_ck.c"],
        },
    ];

    pub fn build() {
        let found: Vec<&Library> = LIBRARIES.iter().filter(|library| links(library)).collect();
        for library in &found {
            println!("cargo::rustc-cfg={}", library.cfg);
        }
        if found.is_empty() {
            return;
        }
        println!("cargo::rustc-cfg=have_c");
        shim()
            .files(["shims/bare.c", "shims/retire_bare.c"])
            .files(found.iter().flat_map(|library| library.sources))
            .compile("quiescent_bench_shims");
        for library in found.iter().flat_map(|library| library.link) {
            println!("cargo::rustc-link-lib=dylib={library}");
        }
    }

    /// The compiler set-up of the shims: what a program that cares about its read side would use. `-O2` in
    /// every Cargo profile; position-independent for an executable, so that a peer's thread-local is one
    /// `fs:` load away instead of a call (its best case).
    fn shim() -> cc::Build {
        let mut build = cc::Build::new();
        build
            .opt_level(2)
            .pic(false)
            .flag("-fPIE")
            .flag("-ftls-model=initial-exec")
            .force_frame_pointer(false)
            .warnings(true)
            .std("gnu11");
        build
    }

    /// Whether a one-line program over the library compiles and links.
    fn links(library: &Library) -> bool {
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
        let source = out.join(format!("{}.c", library.cfg));
        let program = out.join(library.cfg);
        if std::fs::write(&source, library.probe).is_err() {
            return false;
        }
        compile(&source, &program, library.link)
    }

    fn compile(source: &Path, program: &Path, link: &[&str]) -> bool {
        let Ok(compiler) = shim().try_get_compiler() else {
            return false;
        };
        let mut command = compiler.to_command();
        command.arg(source).arg("-o").arg(program);
        command.args(link.iter().map(|name| format!("-l{name}")));
        command.output().is_ok_and(|output| output.status.success())
    }
}
