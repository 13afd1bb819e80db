//! The loop on a terminal: read a sample, draw, wait for a key or for the next reading.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::{DefaultTerminal, Terminal};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGTERM, SIGTSTP};
use signal_hook::low_level::emulate_default_handler;

use crate::interval::Interval;
use crate::interval::View;
use crate::sample::{Sample, Source};
use crate::screen;
use crate::screen::state::{State, Wish};

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
    let result = ratatui::try_init().and_then(|mut terminal| watch.go_on(&mut terminal));
    ratatui::restore();
    result
}

/// What `poll` says of standard input and output.
fn polled(input: libc::c_short, ms: libc::c_int) -> libc::c_short {
    let asked = |fd, events| libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    let mut both = [
        asked(libc::STDIN_FILENO, input),
        asked(libc::STDOUT_FILENO, 0),
    ];
    // SAFETY: two entries of ours.
    unsafe { libc::poll(both.as_mut_ptr(), 2, ms) };
    both[0].revents | both[1].revents
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
    fn go_on(&mut self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        loop {
            match terminal.draw(|frame| screen::draw(frame, &self.state)) {
                Err(_) if is_gone() => return Ok(()),
                drawn => drawn?,
            };
            match self.wait()? {
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
    fn suspend(&self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        ratatui::restore();
        emulate_default_handler(SIGTSTP)?;
        self.resume(terminal)
    }

    /// Takes the terminal, whatever its modes and contents are, and draws all of it at the next turn.
    fn resume(&self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        self.resumed.store(false, Ordering::Relaxed);
        ratatui::restore(); // or raw mode counts as entered
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen)?;
        // To clear the old one would ask the terminal where its cursor is, and wait for the answer.
        *terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    /// A key, or none if it is time for the next reading.
    fn wait(&mut self) -> io::Result<Option<Wish>> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Some(Wish::Quit));
            }
            if self.suspend.swap(false, Ordering::Relaxed) {
                return Ok(Some(Wish::Suspend));
            }
            if self.resumed.load(Ordering::Relaxed) {
                return Ok(Some(Wish::Draw));
            }
            let left = self.next.saturating_duration_since(Instant::now());
            // Not in `event::poll`, which reads the end of input again and again when the terminal goes.
            wait_for_input(left.min(LOOK));
            if is_gone() {
                return Ok(Some(Wish::Quit));
            }
            if event::poll(Duration::ZERO)? {
                break;
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
        let (every, event) = (self.state.every, event::read()?);
        let wish = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.state.key(key),
            _ => Wish::Draw, // another size, say
        };
        if self.state.every != every {
            self.next = self.before.at + self.state.every;
        }
        Ok(Some(wish))
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
