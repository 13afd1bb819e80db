//! The loop on a terminal: read a sample, draw, wait for a key or for the next reading.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGTERM};

use crate::interval::Interval;
use crate::interval::View;
use crate::sample::{Sample, Source};
use crate::screen;
use crate::screen::state::{State, Wish};

/// The interval at which signals are checked.
const LOOK: Duration = Duration::from_millis(100);

/// Shows a source on this terminal, at intervals, until the user quits, or a signal ends it (`SIGTERM`,
/// `SIGHUP`). The terminal is restored when this returns, and after a panic.
///
/// # Errors
/// The source cannot be read at first (what goes wrong later is shown); the terminal cannot be drawn on.
pub fn watch(source: &mut dyn Source, view: View, every: Duration) -> io::Result<()> {
    let first = source.read()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut watch = Watch {
        state: State::new(source.about(), view, every),
        source,
        next: first.at + every,
        before: first,
        stop,
    };
    let result = ratatui::try_init().and_then(|mut terminal| watch.go_on(&mut terminal));
    ratatui::restore();
    result
}

struct Watch<'a> {
    source: &'a mut dyn Source,
    state: State,
    before: Sample,
    /// The time of the next reading.
    next: Instant,
    /// A signal has come.
    stop: Arc<AtomicBool>,
}

impl Watch<'_> {
    fn go_on(&mut self, terminal: &mut DefaultTerminal) -> io::Result<()> {
        loop {
            terminal.draw(|frame| screen::draw(frame, &self.state))?;
            match self.wait()? {
                Some(Wish::Quit) => return Ok(()),
                Some(Wish::Draw) => {}
                None => self.read_sample(),
            }
        }
    }

    /// A key, or none if it is time for the next reading.
    fn wait(&mut self) -> io::Result<Option<Wish>> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Some(Wish::Quit));
            }
            let left = self.next.saturating_duration_since(Instant::now());
            if event::poll(left.min(LOOK))? {
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
