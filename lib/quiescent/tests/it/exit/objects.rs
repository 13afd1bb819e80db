//! Shared objects that contain the library (the example `plugin`): closing one is safe, because it stays
//! loaded; after `shutdown` it is unloaded.

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::children::in_child;
use crate::common::{isolated, kernel_threads, on_thread, until, until_threads};

/// Builds the plug-in, as this test was built; its path.
fn plugin() -> PathBuf {
    let own = std::env::current_exe().expect("the path of this binary");
    let is_release = own.components().any(|part| part.as_os_str() == "release");
    let profile = own.parent().and_then(Path::parent).expect("deps/ is in it");
    let place = profile.parent().expect("it is in a target directory");
    // Built for another processor, it is in a directory of that name.
    let triple = place.file_name().expect("a name");
    let is_cross = triple.to_string_lossy().contains("-linux-");
    let target = if is_cross { place.parent() } else { None };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--example", "plugin"]);
    cargo.args([
        "--manifest-path",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ]);
    cargo.arg("--target-dir").arg(target.unwrap_or(place));
    cargo.args(is_release.then_some("--release"));
    if is_cross {
        cargo.arg("--target").arg(triple);
    }
    let output = cargo.output().expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    profile.join("examples/libplugin.so")
}

/// An object that `dlopen` opened.
struct Object(*mut c_void);

impl Object {
    fn open(path: &CStr) -> Object {
        // SAFETY: a name that ends with a zero; its constructors may run.
        let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!object.is_null(), "{path:?} cannot be opened");
        Object(object)
    }

    fn call(&self, name: &CStr) -> u32 {
        // SAFETY: open, and a name that ends with a zero.
        let function = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!function.is_null(), "{name:?} is not there");
        // SAFETY: both functions of the plug-in have this type.
        let function =
            unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> u32>(function) };
        function()
    }

    fn close(self) {
        // SAFETY: open, and not used any more.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0);
    }
}

/// Is the object mapped?
fn is_mapped(path: &Path) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc");
    maps.contains(path.to_str().expect("a path in plain letters"))
}

#[test]
fn a_shared_object_stays_when_it_is_closed() {
    needs!(stays);
    let path = plugin(); // not in a child that has a minute
    isolated(|| {
        let name = CString::new(path.to_str().expect("a path in plain letters")).expect("no zero");
        // Opened and closed by a thread that used it, and ends afterwards: its exit hook is in there.
        let moved = name.clone();
        on_thread("uses it", move || {
            let object = Object::open(&moved);
            assert_eq!(object.call(c"plugin_work"), 0);
            object.close();
        });
        assert!(is_mapped(&path), "its callbacks and its worker need it");
        for times in 1..4 {
            let object = Object::open(&name);
            assert!(
                object.call(c"plugin_wait") >= times,
                "it was not loaded anew"
            );
            object.call(c"plugin_work");
            object.close();
        }
        // Its handlers of forks are in there, too.
        needs!(fork);
        in_child(|| {
            let object = Object::open(&name);
            assert_eq!(object.call(c"plugin_work"), object.call(c"plugin_wait") - 1);
            object.close();
        });
    });
}

/// The number of descriptors of this process.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Pages of this process in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc");
    let mut numbers = text.split(' ');
    numbers
        .nth(1)
        .and_then(|it| it.parse().ok())
        .expect("a number")
}

#[test]
fn after_a_shutdown_an_object_is_unloaded_and_leaves_next_to_nothing() {
    needs!(stays);
    let path = plugin();
    isolated(|| {
        let name = CString::new(path.to_str().expect("a path in plain letters")).expect("no zero");
        let before = (kernel_threads(), descriptors());
        let mut pages = 0;
        for round in 0..30 {
            let object = Object::open(&name);
            // A thread that used it, and outlives it.
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let (done, is_done) = std::sync::mpsc::channel();
            let moved = name.clone();
            let lives = std::thread::spawn(move || {
                let same = Object::open(&moved);
                same.call(c"plugin_work");
                same.close();
                done.send(()).expect("the test waits");
                let _ = ended.recv();
            });
            is_done.recv().expect("it works");
            for _ in 0..2 {
                assert!(object.call(c"plugin_work") <= 3, "loaded anew");
                assert!(object.call(c"plugin_wait") >= 1);
                assert_eq!(object.call(c"plugin_stop"), 0, "and it starts again");
            }
            object.close();
            assert!(!is_mapped(&path), "round {round}");
            drop(end); // its exit hook is gone
            lives.join().expect("no panic");
            until_threads(before.0);
            assert_eq!(descriptors(), before.1);
            if round == 9 {
                pages = resident();
            }
        }
        let more = resident().saturating_sub(pages);
        assert!(more < 20 * 32, "{more} pages after twenty more rounds");
        until("all is as before", || descriptors() == before.1);
    });
}

#[test]
fn an_object_whose_worker_was_started_again_stays() {
    needs!(stays);
    let path = plugin();
    isolated(|| {
        let name = CString::new(path.to_str().expect("a path in plain letters")).expect("no zero");
        let object = Object::open(&name);
        object.call(c"plugin_work");
        assert_eq!(object.call(c"plugin_stop"), 0);
        object.call(c"plugin_work");
        object.close();
        assert!(is_mapped(&path), "its worker needs it");
        let again = Object::open(&name);
        assert_eq!(again.call(c"plugin_wait"), 2, "it was not loaded anew");
        assert_eq!(again.call(c"plugin_stop"), 0);
        again.close();
        assert!(!is_mapped(&path));
    });
}
