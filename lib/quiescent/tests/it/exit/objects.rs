//! Shared objects that contain the library (the example `plugin`): closing one is safe, because it stays
//! loaded.

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::children::in_child;
use crate::common::{isolated, on_thread};

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
