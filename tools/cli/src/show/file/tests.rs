//! What may be replaced, what a link or a pipe may lead to, and what is left.

use super::*;

const NOTES: Kind = Kind {
    option: "--notes",
    what: Some("note"),
    ours: |head| head.starts_with(b"note"),
    without: ", or give no --notes",
    mode: SHARED,
};

fn refused(path: &Path, permit: Permit) -> String {
    match settle(&NOTES, path, permit) {
        Err(Error::Usage(text)) => text,
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[test]
fn a_foreign_file_stays_unless_forced_and_an_empty_one_or_ours_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.note");
    fs::write(&path, "mine").unwrap();
    let said = refused(&path, Permit::default());
    for part in ["a.note", "--force", "name another file", "give no --notes"] {
        assert!(said.contains(part), "{said}");
    }
    let forced = Permit {
        force: true,
        ..Permit::default()
    };
    for (there, permit) in [
        ("mine", forced),
        ("", Permit::default()),
        ("note", Permit::default()),
    ] {
        fs::write(&path, there).unwrap();
        let place = settle(&NOTES, &path, permit).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), there, "not yet");
        place.write(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "nothing is left over");
}

#[test]
fn an_input_stays_by_whatever_name_and_even_if_forced() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, "note").unwrap();
    fs::hard_link(&real, &link).unwrap();
    for force in [false, true] {
        let permit = Permit {
            force,
            inputs: &[&real],
        };
        for path in [&real, &link] {
            let said = refused(path, permit);
            assert!(said.contains("the input"), "{said}");
        }
    }
}

#[test]
fn what_is_not_kept_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.note");
    fs::write(&path, "note").unwrap();
    let place = settle(&NOTES, &path, Permit::default()).unwrap();
    let (mut out, file) = place.open().unwrap();
    out.write_all(b"half").unwrap();
    out.flush().unwrap();
    drop(file);
    assert_eq!(fs::read_to_string(&path).unwrap(), "note");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn places_where_nothing_can_be_are_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = refused(folder.path(), Permit::default());
    assert!(said.contains("this is a folder"), "{said}");
    let said = refused(&folder.path().join("missing/a"), Permit::default());
    assert!(
        said.contains("missing/a") && said.contains("give no --notes"),
        "{said}"
    );
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let said = refused(&file.join("a"), Permit::default());
    assert!(said.contains("cannot be written"), "{said}");
}

#[test]
fn a_link_is_followed_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    settle(&NOTES, &link, Permit::default())
        .unwrap()
        .write(b"note")
        .unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "note");
}

#[test]
fn what_is_no_plain_file_is_written_to() {
    let null = settle(&NOTES, Path::new("/dev/null"), Permit::default()).unwrap();
    assert!(matches!(&null, Place::Special(path, _) if path == Path::new("/dev/null")));
    null.write(b"note").unwrap();
    let output = settle(&NOTES, Path::new("-"), Permit::default()).unwrap();
    assert!(output.is_output());
}

#[test]
fn a_file_that_came_into_being_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.note");
    let forced = Permit::of(true, &[]);
    for before in [None, Some("old")] {
        if let Some(text) = before {
            fs::write(&path, text).unwrap();
        }
        let [first, second] = [(); 2].map(|()| settle(&NOTES, &path, forced).unwrap());
        first.write(b"first").unwrap();
        let said = second.write(b"second").unwrap_err().to_string();
        assert!(
            said.contains("meanwhile") && said.contains("a.note"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::remove_file(&path).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_unfinished_file_has_no_name_and_its_folder_may_be_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|it| folder.path().join(it));
    fs::create_dir(&one).unwrap();
    let place = settle(&NOTES, &one.join("a"), Permit::default()).unwrap();
    let (mut out, file) = place.open().unwrap();
    out.write_all(b"note").unwrap();
    out.flush().unwrap();
    if matches!(&file.0, Some((Draft::Unnamed(_), _))) {
        assert_eq!(fs::read_dir(&one).unwrap().count(), 0);
    }
    fs::rename(&one, &other).unwrap();
    std::os::unix::fs::symlink(folder.path(), &one).unwrap();
    file.keep().unwrap();
    assert_eq!(fs::read_to_string(other.join("a")).unwrap(), "note");
}

#[test]
fn what_is_private_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let private = Kind {
        mode: PRIVATE,
        ..Kind::data("--output")
    };
    for before in [None, Some(0o666)] {
        if let Some(mode) = before {
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let place = settle(&private, &path, Permit::of(true, &[])).unwrap();
        place.write(b"trace").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
    }
}

/// Only root gives files away.
#[test]
fn anothers_link_or_pipe_in_a_folder_of_all_is_refused() {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (shared, victim) = (folder.path().join("shared"), folder.path().join("victim"));
    fs::create_dir(&shared).unwrap();
    fs::write(&victim, "").unwrap();
    let (link, fifo) = (shared.join("link"), shared.join("fifo"));
    symlink(&victim, &link).unwrap();
    symlink(folder.path(), shared.join("through")).unwrap();
    let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
    // SAFETY: a name that outlives the call, and a number.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o666) }, 0);
    let all = ["link", "through", "fifo"];
    let given = all.map(|it| lchown(shared.join(it), Some(65534), None));
    if given.iter().any(|it| it.is_err()) {
        crate::show::output::tell("SKIPPED anothers_link_or_pipe: needs root\n");
        return;
    }
    for mode in [0o1777, 0o777] {
        fs::set_permissions(&shared, PermissionsExt::from_mode(mode)).unwrap();
        for path in [&link, &shared.join("through/new"), &fifo] {
            for force in [false, true] {
                let said = refused(path, Permit::of(force, &[]));
                assert!(
                    said.contains("another user's") && said.contains("of your own"),
                    "{said}"
                );
            }
        }
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "");
    // In a folder of one user the owner of a link does not matter.
    fs::set_permissions(&shared, PermissionsExt::from_mode(0o755)).unwrap();
    settle(&NOTES, &link, Permit::default())
        .unwrap()
        .write(b"note")
        .unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "note");
}
