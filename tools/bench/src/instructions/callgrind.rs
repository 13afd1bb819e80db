//! Runs tools, and reads what callgrind says.
//!
//! Two ways to count: the total of a whole process; or what happened between the beginning and the end of
//! one function (`--toggle-collect`, in the thread that runs it), less what its calls into the allocator
//! took, from the call records. Both are in callgrind's output file (callgrind manual, "Callgrind Format
//! Specification").

use quiescent_report::Error;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

const INSTALL: &str = "apt-get install valgrind";

/// Instructions of a process that runs a loop: all; or those inside a function, without the allocator's.
///
/// # Errors
/// [`Error::Failed`] when valgrind is missing or fails, or says something else than expected.
pub(super) fn count(
    program: &Path,
    name: &str,
    case: &str,
    turns: u64,
    inside: Option<&str>,
) -> Result<u64, Error> {
    let file = format!(
        "quiescent-{}-{name}-{}-{turns}.callgrind",
        std::process::id(),
        case.replace(' ', "-")
    );
    let file = std::env::temp_dir().join(file);
    let out = format!("--callgrind-out-file={}", file.display());
    let program = program.display().to_string();
    let turns = turns.to_string();
    let toggle = inside.map(|function| format!("--toggle-collect={function}"));
    let mut arguments = vec!["--tool=callgrind", &out];
    arguments.extend(["--compress-strings=no", "--compress-pos=no"]);
    arguments.extend(toggle.as_deref());
    arguments.extend([&program, "internal", "loop", "--subject", name]);
    arguments.extend(["--case", case, "--turns", &turns]);
    let ran = tool("valgrind", &arguments, INSTALL);
    let read = std::fs::read_to_string(&file);
    // It may not be there, when valgrind failed.
    let _ = std::fs::remove_file(&file);
    ran?;
    let text = read.map_err(|why| {
        let remedy = "is the folder for temporary files (TMPDIR) writable?";
        Error::failed(file.display(), why, remedy)
    })?;
    let count = match inside {
        Some(_) => without_allocator(&text),
        None => total(&text),
    };
    count.filter(|count| *count > 0).ok_or_else(|| {
        let what = format!("valgrind over {name}, {case}");
        Error::failed(
            what,
            "nothing was counted",
            "is this callgrind newer than 3.19?",
        )
    })
}

/// All that was counted.
fn total(text: &str) -> Option<u64> {
    let figure = text.lines().find_map(|line| line.strip_prefix("totals:"))?;
    figure.trim().parse().ok()
}

/// The allocator's functions, as its callers name them.
const ALLOCATOR: [&str; 8] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "cfree",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
];

/// Whether a function is one of them: without version (`free@@GLIBC_2.2.5`) and recursion level (`malloc'2`).
fn is_allocator(function: &str) -> bool {
    let name = function.split(['@', '\'']).next().unwrap_or(function);
    ALLOCATOR.contains(&name)
}

/// All that was counted, less the cost of calls into the allocator. In the file, `ob=` and `fn=` say where
/// one is; a call is `cob=` (only if it is into another object), `cfn=`, `calls=`, and a line whose second
/// figure is what it took, everything below it included. Calls of the allocator into itself stay within its
/// object; they are part of a call into it that was subtracted already.
fn without_allocator(text: &str) -> Option<u64> {
    let mut inside = 0;
    let (mut to_another_object, mut into_allocator) = (false, false);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("cob=") {
            to_another_object = true;
        } else if let Some(function) = line.strip_prefix("cfn=") {
            into_allocator = to_another_object && is_allocator(function);
        } else if line.starts_with("calls=") {
            let cost = lines.next()?.split_whitespace().nth(1)?;
            if into_allocator {
                inside += cost.parse::<u64>().ok()?;
            }
            (to_another_object, into_allocator) = (false, false);
        }
    }
    total(text)?.checked_sub(inside)
}

/// Runs a tool to its end; what it wrote to standard output and standard error.
pub(super) fn tool(
    name: &str,
    arguments: &[&str],
    remedy: &str,
) -> Result<(String, String), Error> {
    let output = Command::new(name).args(arguments).output().map_err(|why| {
        let why = match why.kind() {
            ErrorKind::NotFound => "not installed".to_string(),
            _ => why.to_string(),
        };
        Error::failed(name, why, remedy)
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        let why = format!("{} ({})", output.status, err.trim());
        let what = format!("{name} {}", arguments.join(" "));
        return Err(Error::failed(what, why, "run it by hand to see more"));
    }
    Ok((out, err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_into_the_allocator_are_left_out_once() {
        let text = "events: Ir\n\nob=/bin/x\nfl=a.rs\nfn=retire\n10 400\n\
                    cfn=helper\ncalls=2 7\n11 60\n\
                    cob=/lib/libc.so.6\ncfi=malloc.c\ncfn=free@@GLIBC_2.2.5\ncalls=9 0\n12 300\n\
                    cob=/lib/libc.so.6\ncfn=memcpy\ncalls=1 0\n12 25\n\n\
                    fn=helper\n7 60\n\n\
                    ob=/lib/libc.so.6\nfn=free\n0 100\ncfn=malloc'2\ncalls=9 0\n0 200\n\n\
                    fn=malloc'2\n0 200\n\ntotals: 785\n";
        assert_eq!(
            (total(text), without_allocator(text)),
            (Some(785), Some(485))
        );
        assert_eq!(without_allocator("events: Ir\n"), None);
        assert_eq!(
            without_allocator("totals: 1\ncob=x\ncfn=free\ncalls=1 0\n0 2\n"),
            None
        );
    }

    #[test]
    fn names_of_the_allocator() {
        for name in ["malloc", "free@@GLIBC_2.2.5", "realloc'2"] {
            assert!(is_allocator(name), "{name}");
        }
        for name in ["freely", "_int_free", "operator new"] {
            assert!(!is_allocator(name), "{name}");
        }
    }

    #[test]
    fn a_missing_tool_comes_with_its_remedy() {
        let error = tool("no-such-tool-here", &[], "apt-get install it")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("not installed") && error.contains("apt-get install it"),
            "{error}"
        );
        let error = tool("false", &[], "").unwrap_err().to_string();
        assert!(error.contains("exit status: 1"), "{error}");
    }
}
