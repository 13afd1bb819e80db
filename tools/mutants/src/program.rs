//! Runs a test program: on the sources as they are, to see what it reaches and how long it takes, and on one mutant.
//!
//! A program is over with its first line that ends with `FAILED`, when its time is over, or when it ends. It is the leader of a
//! process group, which ends with it, and has so much address space and no more: a mutant may allocate for ever.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::JOBS;
use crate::compile::Program;

/// Address space of a program, in KiB.
const SPACE: &str = "4000000";
/// The bytes of the file of notes; as in `switch.rs`.
const NOTES: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Passed,
    Failed,
    Hung,
}

/// What a program may take, or takes.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Processor time: how busy the machine is does not matter.
    pub busy: Duration,
    /// Time on the wall: it may wait for what never comes.
    pub wall: Duration,
}

/// Limits itself, runs the rest of its words, and writes to the file `$3` what processor time that took.
const SHELL: &str = r#"
TIMEFORMAT='%U %S'
ulimit -c 0; ulimit -v "$1"; ulimit -t "$2"
file=$3; shift 3
{ time "$@" 2>/dev/null; } 2>"$file"
"#;
/// The shell's exit code for a program that has used up its processor time: the signal for that, or the last one.
const USED_UP: [i32; 2] = [128 + 24, 128 + 9];

/// Runs it with one variable in its environment, and with a limit; `file` says afterwards what time it took.
pub fn run(
    program: &Program,
    variable: (&str, &str),
    limit: Time,
    file: &Path,
) -> Result<End, String> {
    let name = &program.name;
    let seconds = (limit.busy.as_secs() + 1).to_string();
    let mut child = Command::new("bash")
        .args(["-c", SHELL, "bash", SPACE, &seconds])
        .arg(file)
        .arg(&program.path)
        .arg("--test-threads=1")
        .args((!program.tests.is_empty()).then_some("--exact"))
        .args(&program.tests)
        .current_dir(&program.folder)
        .env(variable.0, variable.1)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        // A failure is enough: it need not be made smaller, nor kept.
        .envs([
            ("PROPTEST_MAX_SHRINK_ITERS", "0"),
            ("PROPTEST_FAILURE_PERSISTENCE", "off"),
        ])
        // Part of each search: what is found at all is mostly found soon.
        .envs([("RUST_BACKTRACE", "0"), ("QUIESCENT_EXPLORE", "brief")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("{name}: {e}"))?;
    let end = watch(&mut child, Instant::now() + limit.wall);
    let group = format!("-{}", child.id());
    let killed = Command::new("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
    killed.map_err(|e| format!("kill: {e}"))?;
    child.wait().map_err(|e| format!("{name}: {e}"))?;
    end.map_err(|e| format!("{name}: {e}"))
}

fn watch(child: &mut Child, until: Instant) -> std::io::Result<End> {
    let (tell, hear) = mpsc::channel();
    let output = child.stdout.take().expect("it is piped");
    // Not joined: it ends when the last process of the group has.
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.ends_with("FAILED") && tell.send(()).is_err() {
                return;
            }
        }
    });
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let heard = hear.recv_timeout(left.min(Duration::from_millis(100)));
        if heard == Ok(()) {
            return Ok(End::Failed);
        }
        // Its output may be over before it, or be kept open by a child of its own.
        let status = match heard {
            Err(RecvTimeoutError::Disconnected) if !left.is_zero() => {
                std::thread::sleep(Duration::from_millis(1));
                child.try_wait()?
            }
            _ => child.try_wait()?,
        };
        match status {
            Some(status) if status.success() => return Ok(End::Passed),
            Some(status) if status.code().is_some_and(|c| USED_UP.contains(&c)) => {
                return Ok(End::Hung);
            }
            Some(_) => return Ok(End::Failed),
            None if left.is_zero() => return Ok(End::Hung),
            None => {}
        }
    }
}

/// What a program reaches, and the time it takes, without a mutant.
pub struct Probe {
    pub program: Program,
    pub reached: Vec<bool>,
    pub took: Time,
}

/// A program that takes longer is taken apart: the tests of each module are a program, so that a mutant meets those that know it
/// best, and are quick, before all others.
const LONG: Duration = Duration::from_millis(200);
/// A module that takes longer is taken apart, too: each test is a program.
const TOO_LONG: Duration = Duration::from_secs(3);

/// All of `programs`, or their parts; `out` is a folder for notes.
pub fn probe_all(programs: &[Program], out: &Path, most: Duration) -> Result<Vec<Probe>, String> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = |number: usize| -> Result<(), String> {
        let notes = out.join(format!("notes{number}"));
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut new = probes(program, &notes, most)?;
            let mut all = found.lock().unwrap_or_else(|e| e.into_inner());
            all.append(&mut new);
        }
        Ok(())
    };
    at_once(worker)?;
    Ok(found.into_inner().unwrap_or_else(|e| e.into_inner()))
}

/// Does it in as many threads as there are to be programs at the same time; each is told its number.
pub fn at_once(worker: impl Fn(usize) -> Result<(), String> + Sync) -> Result<(), String> {
    let worker = &worker;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..JOBS)
            .map(|number| scope.spawn(move || worker(number)))
            .collect();
        workers
            .into_iter()
            .try_for_each(|w| w.join().expect("a worker does not panic"))
    })
}

/// The program, or its parts: those that pass, and for which `most` is enough. What is not used is said on standard error.
fn probes(program: &Program, notes: &Path, most: Duration) -> Result<Vec<Probe>, String> {
    match probe(program, notes, LONG)? {
        Ok(whole) => return Ok(vec![whole]),
        Err(End::Hung) => {}
        Err(end) => {
            said(program, end, most);
            return Ok(Vec::new());
        }
    }
    let mut found = Vec::new();
    let mut modules = BTreeMap::<String, Vec<String>>::new();
    for test in tests(program)? {
        let module = test.split_once("::").map_or(&*test, |(module, _)| module);
        modules.entry(module.to_owned()).or_default().push(test);
    }
    for (module, tests) in modules {
        let mut parts = vec![(module, tests)];
        while let Some((name, tests)) = parts.pop() {
            let part = Program {
                name: format!("{}::{name}", program.name),
                tests: tests.clone(),
                ..program.clone()
            };
            let limit = if tests.len() > 1 { TOO_LONG } else { most };
            match probe(&part, notes, limit)? {
                Ok(probe) => found.push(probe),
                Err(End::Hung) if tests.len() > 1 => {
                    parts.extend(tests.into_iter().map(|test| (test.clone(), vec![test])));
                }
                Err(end) => said(&part, end, most),
            }
        }
    }
    Ok(found)
}

fn said(program: &Program, end: End, most: Duration) {
    match end {
        End::Hung => eprintln!(
            "{}: not used, takes longer than {} s",
            program.name,
            most.as_secs()
        ),
        _ => eprintln!("{}: not used, FAILS WITHOUT A MUTANT", program.name),
    }
}

/// The tests of a program.
fn tests(program: &Program) -> Result<Vec<String>, String> {
    let mut command = Command::new(&program.path);
    let output = command
        .args(["--list", "--format=terse"])
        .current_dir(&program.folder)
        .output();
    let output = output.map_err(|e| format!("{}: {e}", program.name))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

/// Two runs: the first says how long it takes, the second what it reaches. An end that is none: it does not pass, or not
/// within `most`.
fn probe(program: &Program, notes: &Path, most: Duration) -> Result<Result<Probe, End>, String> {
    let (start, file) = (Instant::now(), notes.with_extension("time"));
    let limit = |most| Time {
        busy: most,
        wall: 5 * most + Duration::from_secs(1),
    };
    let end = run(program, ("MUTANT", "0"), limit(most), &file)?;
    let wall = start.elapsed();
    if end != End::Passed {
        return Ok(Err(end));
    }
    let said = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let seconds = said.split_whitespace().map(|word| word.parse::<f64>());
    let seconds: f64 = seconds
        .sum::<Result<f64, _>>()
        .map_err(|e| format!("a time, {said}: {e}"))?;
    let busy = Duration::from_secs_f64(seconds);
    if busy > most {
        return Ok(Err(End::Hung)); // the shell's limit is in whole seconds
    }

    let took = Time { busy, wall };
    if busy > TOO_LONG {
        // Noting takes ten times as long. What it does not reach survives it as well.
        return Ok(Ok(Probe {
            program: program.clone(),
            reached: vec![true; NOTES],
            took,
        }));
    }
    let io = |e| format!("{}: {e}", notes.display());
    std::fs::write(notes, vec![0; NOTES]).map_err(io)?;
    let variable = ("MUTANT_NOTES", &*notes.to_string_lossy());
    let end = run(program, variable, limit(30 * most), &file)?;
    if end != End::Passed {
        return Ok(Err(end));
    }
    let reached = std::fs::read(notes).map_err(io)?;
    Ok(Ok(Probe {
        program: program.clone(),
        reached: reached.iter().map(|b| *b != 0).collect(),
        took,
    }))
}
