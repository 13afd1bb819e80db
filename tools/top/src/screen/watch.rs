//! The loop on a terminal: read a sample, draw, wait for a key or for the next reading.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGTERM, SIGTSTP};
use signal_hook::low_level::emulate_default_handler;

use crate::interval::Interval;
use crate::interval::View;
use crate::sample::{Sample, Source};
use crate::screen;
use crate::screen::state::{State, Wish};
use crate::screen::terminal::{Terminal, polled, restore};

/// The interval at which signals are checked.
const LOOK: Duration = Duration::from_millis(100);

/// Shows a source on this terminal, at intervals, until the user quits, or a signal ends it (`SIGTERM`,
/// `SIGHUP`), or the terminal is gone. The terminal is restored when this returns, and after a panic. Ctrl-Z
/// and `SIGTSTP` restore it too, and stop the process; when it is resumed, whatever stopped it, the screen is
/// drawn again.
///
/// # Errors
/// The source cannot be read at first (what goes wrong later is shown); the terminal cannot be drawn on.
pub fn watch(source: &mut dyn Source, view: View, every: Duration) -> io::Result<()> {
    let first = source.read()?;
    let (stop, suspend, resumed) = <(Flag, Flag, Flag)>::default();
    for (signal, flag) in [(SIGTERM, &stop), (SIGTSTP, &suspend), (SIGCONT, &resumed)] {
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    end_on_hangup(&stop)?;
    let mut watch = Watch {
        state: State::new(source.about(), view, every),
        source,
        next: first.at + every,
        before: first,
        stop,
        suspend,
        resumed,
    };
    restore_before_panics();
    let result = Terminal::take().and_then(|mut terminal| watch.go_on(&mut terminal));
    restore();
    result
}

/// From here on the message of a panic is not on the screen that is given up.
fn restore_before_panics() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        hook(panic);
    }));
}

/// Waits for a key, a signal, or the end of the terminal, at most so long.
fn wait_for_input(most: Duration) {
    let ms = most.as_micros().div_ceil(1000);
    polled(
        libc::POLLIN,
        libc::c_int::try_from(ms).unwrap_or(libc::c_int::MAX),
    );
}

/// Is the terminal gone?
fn is_gone() -> bool {
    polled(0, 0) & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}

/// `SIGHUP` sets the flag; if the terminal is gone, it ends the process, wherever that is: a terminal that is
/// gone need not be restored, and the program may be reading from it.
fn end_on_hangup(stop: &Flag) -> io::Result<()> {
    let stop = Arc::clone(stop);
    let action = move || {
        stop.store(true, Ordering::Relaxed);
        if is_gone() {
            let _ = emulate_default_handler(SIGHUP);
        }
    };
    // SAFETY: it makes system calls and sets a flag, which a signal handler may.
    unsafe { signal_hook::low_level::register(SIGHUP, action) }.map(|_| ())
}

/// Set by a signal.
type Flag = Arc<AtomicBool>;

struct Watch<'a> {
    source: &'a mut dyn Source,
    state: State,
    before: Sample,
    /// The time of the next reading.
    next: Instant,
    /// A signal that ends it has come.
    stop: Flag,
    /// `SIGTSTP` has come.
    suspend: Flag,
    /// `SIGCONT` has come: the terminal was another program's meanwhile.
    resumed: Flag,
}

impl Watch<'_> {
    fn go_on(&mut self, terminal: &mut Terminal) -> io::Result<()> {
        loop {
            let size = terminal.size();
            let lines = screen::lines(&self.state, size.0, size.1);
            match terminal.draw(lines) {
                Err(_) if is_gone() => return Ok(()),
                drawn => drawn?,
            };
            match self.wait(terminal, size)? {
                Some(Wish::Quit) => return Ok(()),
                Some(Wish::Draw) => {}
                Some(Wish::Suspend) => self.suspend(terminal)?,
                None => self.read_sample(),
            }
            if self.resumed.load(Ordering::Relaxed) {
                self.resume(terminal)?;
            }
        }
    }

    /// Gives the terminal back, and stops until the shell resumes this process.
    fn suspend(&self, terminal: &mut Terminal) -> io::Result<()> {
        restore();
        emulate_default_handler(SIGTSTP)?;
        self.resume(terminal)
    }

    /// Takes the terminal; all of it is drawn at the next turn.
    fn resume(&self, terminal: &mut Terminal) -> io::Result<()> {
        self.resumed.store(false, Ordering::Relaxed);
        *terminal = Terminal::take()?;
        Ok(())
    }

    /// A key, another size, or none if it is time for the next reading.
    fn wait(&mut self, terminal: &mut Terminal, size: (usize, usize)) -> io::Result<Option<Wish>> {
        loop {
            if self.stop.load(Ordering::Relaxed) || is_gone() {
                return Ok(Some(Wish::Quit));
            }
            if self.suspend.swap(false, Ordering::Relaxed) {
                return Ok(Some(Wish::Suspend));
            }
            if self.resumed.load(Ordering::Relaxed) || terminal.size() != size {
                return Ok(Some(Wish::Draw));
            }
            if let Some(key) = terminal.key()? {
                let every = self.state.every;
                let wish = self.state.key(key);
                if self.state.every != every {
                    self.next = self.before.at + self.state.every;
                }
                return Ok(Some(wish));
            }
            let left = self.next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            wait_for_input(left.min(LOOK));
        }
    }

    fn read_sample(&mut self) {
        match self.source.read() {
            Ok(now) => {
                if !self.state.paused {
                    self.state.interval = Some(Interval::between(&self.before, &now));
                }
                self.state.trouble = None;
                self.state.about = self.source.about();
                self.before = now;
            }
            Err(e) => self.state.trouble = Some(format!("{e} (q: quit)")),
        }
        self.next = Instant::now() + self.state.every;
    }
}
