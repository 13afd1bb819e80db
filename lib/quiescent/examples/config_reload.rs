//! A service whose configuration is a file with a thousand settings. It is read again while threads answer; a
//! file with a mistake is refused, and the service goes on with what it has.
//!
//! A request loads the configuration once, so that all it reads is of one version.
//!
//!     cargo run --example config_reload

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, fs, process, thread};

use quiescent::{RcuCell, drain, read};

/// Settings in the file, `setting N = VALUE`. Here all of a file have the same value.
const SETTINGS: u64 = 1000;
/// What an operator writes into the file, one after the other.
const VERSIONS: [&str; 4] = ["2", "3", "three", "4"];
/// Threads that answer requests.
const SERVERS: usize = 2;

struct Config {
    settings: HashMap<String, u64>,
}

impl Config {
    /// Reads the file; or says which line has a mistake.
    fn load(file: &Path) -> Result<Config, String> {
        let text = fs::read_to_string(file).map_err(|why| format!("{}: {why}", file.display()))?;
        let setting = |(at, line): (usize, &str)| {
            let (name, value) = line.split_once(" = ").unwrap_or((line, ""));
            match value.parse::<u64>() {
                Ok(value) => Ok((name.to_string(), value)),
                Err(why) => Err(format!("line {}, {line:?}: {why}", at + 1)),
            }
        };
        let settings: Result<_, String> = text.lines().enumerate().map(setting).collect();
        settings.map(|settings| Config { settings })
    }

    fn get(&self, number: u64) -> u64 {
        self.settings[&format!("setting {number}")]
    }
}

/// Writes a file as an operator would.
fn edit(file: &Path, value: &str) {
    let lines = (0..SETTINGS).map(|number| format!("setting {number} = {value}\n"));
    fs::write(file, lines.collect::<String>()).expect("a folder for temporary files");
}

/// Answers requests until the end. Returns their number, and how many saw settings of two versions.
fn serve(config: &RcuCell<Config>, stop: &AtomicBool) -> (u64, u64) {
    let (mut answered, mut mixtures) = (0, 0);
    loop {
        let at = answered % SETTINGS;
        let (one, other) = read(|guard| {
            let config = config.load(guard); // once: both settings are of this version
            (config.get(at), config.get(SETTINGS - 1 - at))
        });
        answered += 1;
        mixtures += u64::from(one != other);
        if stop.load(Ordering::Relaxed) {
            return (answered, mixtures);
        }
    }
}

/// Reads the file again, and replaces the configuration if that has no mistake.
fn reload(config: &RcuCell<Config>, file: &Path) -> Result<(), String> {
    // What `store` returns is dropped here. That frees the old configuration once its last reader has ended.
    config.store(Config::load(file)?);
    Ok(())
}

fn file() -> PathBuf {
    env::temp_dir().join(format!("quiescent-config-{}", process::id()))
}

fn main() {
    let (file, stop) = (file(), AtomicBool::new(false));
    edit(&file, "1");
    let config = RcuCell::new(Config::load(&file).expect("it has no mistake"));
    let (mut reloaded, mut refused) = (0, 0);

    let served = thread::scope(|scope| {
        let serve = || serve(&config, &stop);
        let servers: Vec<_> = (0..SERVERS).map(|_| scope.spawn(serve)).collect();
        for value in VERSIONS {
            thread::sleep(Duration::from_millis(20));
            edit(&file, value);
            match reload(&config, &file) {
                Ok(()) => reloaded += 1,
                Err(mistake) => {
                    refused += 1;
                    println!("refused: {mistake}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        let ended = servers.into_iter().map(|it| it.join().expect("a server"));
        ended.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    });
    let _ = fs::remove_file(file);

    let (answered, mixtures) = served;
    println!("answered {answered} requests, {mixtures} of them with settings of two versions");
    // What is still queued when a process ends is not freed, and it need not be. Here it is.
    let left = drain(Duration::from_secs(1)).left;
    println!("reloaded {reloaded} times, refused {refused} files; {left} old configurations left");
    assert_eq!(read(|guard| config.load(guard).get(0)), 4);
    assert_eq!((mixtures, reloaded, refused, left), (0, 3, 1, 0));
}
