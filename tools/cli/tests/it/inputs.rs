//! Every input that is no trace is named as what it is, by each command that reads one: code 2, the remedy,
//! and nothing printed. Names of files may be of any bytes.

use crate::common::{quiescent, text};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Output;

const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../data/traces/classic-idle.txt.xz"
);

/// The commands that read a trace, with this one.
fn readers(file: &OsStr) -> [(&'static str, Output); 3] {
    let run = |arguments: &[&OsStr]| quiescent().args(arguments).output().expect("runs");
    let word = OsStr::new;
    [
        ("trace", run(&[word("trace"), file, word("idle")])),
        (
            "sim replay",
            run(&[word("sim"), word("replay"), word("--recorded"), file]),
        ),
        (
            "whatif",
            run(&[word("whatif"), file, word("--set"), word("early_qs=init")]),
        ),
    ]
}

fn utf_16(text: &str, mark: &[u8], big: bool) -> Vec<u8> {
    let letter = |it| {
        if big {
            u16::to_be_bytes(it)
        } else {
            u16::to_le_bytes(it)
        }
    };
    let letters = text.encode_utf16().flat_map(letter);
    mark.iter().copied().chain(letters).collect()
}

/// A name, its bytes, and what has to be said of it.
fn bad() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let line = |time: &str| format!("a-1 [000] d..2. {time}: cpu_idle: state=1 cpu_id=0\n");
    let (now, then) = (line("1.0"), line("0.5"));
    let unreadable = [b"PERFILE2".as_slice(), &[1; 99]].concat();
    vec![
        ("empty", Vec::new(), "has no record"),
        ("headers", b"# tracer: nop\n#\n".to_vec(), "has no record"),
        ("blank", b"\n\n\n".to_vec(), "has no record"),
        ("prose", b"This is no trace.\n".to_vec(), "has no record"),
        (
            "perf.data",
            unreadable,
            "a perf.data file; turn it into text: `perf script",
        ),
        (
            "x.bz2",
            b"BZh91AY&SY\x1c\x09".to_vec(),
            "compressed by bzip2; decompress it: `bzcat",
        ),
        (
            "x.zip",
            b"PK\x03\x04\x14\x00\x00\x00".to_vec(),
            "a zip file; unpack it: `unzip -p",
        ),
        ("x.7z", b"7z\xbc\xaf\x27\x1c\x00\x04".to_vec(), "a 7z file"),
        (
            "x.lz4",
            b"\x04\x22\x4d\x18\x64\x40".to_vec(),
            "compressed by lz4",
        ),
        (
            "le.txt",
            utf_16(&now, b"\xff\xfe", false),
            "UTF-16 text; turn it into UTF-8: `iconv",
        ),
        ("be.txt", utf_16(&now, b"\xfe\xff", true), "UTF-16 text"),
        ("bare.txt", utf_16(&now, b"", false), "UTF-16 text"),
        (
            "cut.xz",
            b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46".to_vec(),
            "the file is cut short or damaged",
        ),
        (
            "cut.gz",
            b"\x1f\x8b\x08\x00".to_vec(),
            "the file is cut short or damaged",
        ),
        ("cut.dat", b"\x17\x08\x44tracing7\0".to_vec(), "byte 1"),
        (
            "foreign.pftrace",
            b"\x0a\x04\x08\x01\x50\x02".to_vec(),
            "has no record",
        ),
        (
            "order",
            format!("{now}{then}").into_bytes(),
            "line 2: the record has an earlier time",
        ),
        (
            "window",
            format!("a-1 [000] d..2. 1.0: tracing_mark_write: WORKLOAD_START\n{now}").into_bytes(),
            "has no time in its window",
        ),
    ]
}

#[track_caller]
fn refused(name: &str, file: &OsStr, words: &str) {
    for (command, output) in readers(file) {
        let said = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{command} {name}: {output:?}"
        );
        assert!(said.contains(words), "{command} {name} says {said}");
        assert!(output.stdout.is_empty(), "{command} {name}");
    }
}

#[test]
fn each_bad_input_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes, words) in bad() {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("is written");
        refused(name, path.as_os_str(), words);
    }
    refused("a folder", folder.path().as_os_str(), "Is a directory");
    refused(
        "nothing",
        folder.path().join("no").as_os_str(),
        "No such file",
    );
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    refused("a socket", socket.as_os_str(), "give a file of ftrace text");
}

#[test]
fn names_of_files_may_be_of_any_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    let trace = named(b"tr\xffce.txt.xz");
    fs::copy(TRACE, &trace).expect("is copied");
    for (command, output) in readers(trace.as_os_str()) {
        assert_ne!(output.status.code(), Some(2), "{command}: {output:?}");
        assert!(!output.stdout.is_empty(), "{command}: {output:?}");
    }
    // Outputs as well.
    let run = |arguments: &[&OsStr]| quiescent().args(arguments).output().expect("runs");
    let word = OsStr::new;
    let written = |path: &Path| fs::metadata(path).map_or(0, |about| about.len());
    let (timeline, run_of, page) = (named(b"t\xfe"), named(b"r\xfe"), named(b"p\xfe"));
    let outputs: [(&Path, Vec<OsString>); 3] = [
        (
            &timeline,
            words(&["trace", "FILE", "timeline", "--output", "OUT"]),
        ),
        (
            &run_of,
            words(&["sim", "replay", "--recorded", "FILE", "--trace", "OUT"]),
        ),
        (
            &page,
            words(&["whatif", "FILE", "--set", "early_qs=init", "--html", "OUT"]),
        ),
    ];
    for (path, command) in outputs {
        let filled: Vec<&OsStr> = command
            .iter()
            .map(|it| match it.to_str() {
                Some("FILE") => trace.as_os_str(),
                Some("OUT") => path.as_os_str(),
                _ => word(it),
            })
            .collect();
        let output = run(&filled);
        assert_ne!(output.status.code(), Some(2), "{command:?}: {output:?}");
        assert!(written(path) > 100, "{command:?}: {output:?}");
    }
    // A setting is text; the remedy is the option that takes any name.
    let set = OsStr::from_bytes(b"trace=tr\xffce");
    let output = run(&["sim".as_ref(), "replay".as_ref(), "--set".as_ref(), set]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("--recorded"), "{output:?}");
}

#[test]
fn workloads_and_scenarios_may_have_names_of_any_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let (workload, scenario) = (
        folder.path().join(OsStr::from_bytes(b"w\xff.toml")),
        folder.path().join(OsStr::from_bytes(b"s\xfe.toml")),
    );
    fs::copy(data.join("workloads/sync.toml"), &workload).expect("is copied");
    fs::copy(data.join("torture/BUSY01.toml"), &scenario).expect("is copied");
    let (workload, scenario) = (workload.as_os_str(), scenario.as_os_str());
    let commands: [(&OsStr, &[&str]); 3] = [
        (workload, &["sim", "FILE", "--seconds", "1"]),
        (
            workload,
            &[
                "top", "--batch", "-n", "1", "--delay", "0.1", "--sim", "FILE",
            ],
        ),
        (
            scenario,
            &["torture", "--duration", "300ms", "--scenario", "FILE"],
        ),
    ];
    for (file, command) in commands {
        let filled = command.iter().map(|it| match *it {
            "FILE" => file,
            word => OsStr::new(word),
        });
        let output = quiescent().args(filled).output().expect("runs");
        assert_eq!(output.status.code(), Some(0), "{command:?}: {output:?}");
        assert!(!output.stdout.is_empty(), "{command:?}: {output:?}");
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
