//! The state of the screen, and the effect of keys on it.

use std::time::Duration;

use crate::interval::Interval;
use crate::interval::View;
use crate::screen::terminal::Key;

/// The shortest and the longest time between two readings.
const TIMES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3600));

/// The request of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Draw again.
    Draw,
    /// End.
    Quit,
    /// Give the terminal back, and stop until the shell resumes this process.
    Suspend,
}

/// What is shown, and how.
#[derive(Debug)]
pub(crate) struct State {
    /// What is looked at.
    pub(crate) about: String,
    /// The last interval; none before the second reading.
    pub(crate) interval: Option<Interval>,
    /// The error of the last reading.
    pub(crate) trouble: Option<String>,
    pub(crate) view: View,
    /// A filter is being typed.
    pub(crate) typing: bool,
    /// New readings are not shown.
    pub(crate) paused: bool,
    /// The keys are shown.
    pub(crate) help: bool,
    /// The first row that is shown.
    pub(crate) first: usize,
    pub(crate) every: Duration,
}

impl State {
    pub(crate) fn new(about: String, view: View, every: Duration) -> State {
        State {
            about,
            interval: None,
            trouble: None,
            view,
            typing: false,
            paused: false,
            help: false,
            first: 0,
            every: every.clamp(TIMES.0, TIMES.1),
        }
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key) -> Wish {
        match key {
            Key::Control('c') => return Wish::Quit,
            Key::Control('z') => return Wish::Suspend,
            _ => {}
        }
        if self.typing {
            self.type_filter(key);
            return Wish::Draw;
        }
        if self.help {
            self.help = false;
            return Wish::Draw;
        }
        match key {
            Key::Letter('q') => return Wish::Quit,
            Key::Escape if self.view.filter.is_empty() => return Wish::Quit,
            Key::Escape => self.view.filter.clear(),
            Key::Letter('s') => self.view.order = self.view.order.next(),
            Key::Letter('r') => self.view.reversed = !self.view.reversed,
            Key::Letter('/' | 'f') => self.typing = true,
            Key::Letter('p' | ' ') => self.paused = !self.paused,
            Key::Letter('h' | '?') => self.help = true,
            Key::Letter('+') => self.every = (self.every * 2).min(TIMES.1),
            Key::Letter('-') => self.every = (self.every / 2).max(TIMES.0),
            Key::Down | Key::Letter('j') => self.scroll(1),
            Key::Up | Key::Letter('k') => self.scroll(-1),
            Key::PageDown => self.scroll(10),
            Key::PageUp => self.scroll(-10),
            Key::Home => self.first = 0,
            _ => {}
        }
        Wish::Draw
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.typing = false,
            Key::Escape => {
                self.typing = false;
                self.view.filter.clear();
            }
            Key::Backspace => drop(self.view.filter.pop()),
            Key::Letter(letter) => self.view.filter.push(letter),
            _ => {}
        }
        self.first = 0;
    }

    fn scroll(&mut self, by: isize) {
        let rows = self.interval.as_ref().map_or(0, |it| it.functions.len());
        let first = self.first.saturating_add_signed(by);
        self.first = first.min(rows.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Order;

    fn press(state: &mut State, keys: &str) -> Wish {
        let mut wish = Wish::Draw;
        for key in keys.chars() {
            let code = match key {
                '\n' => Key::Enter,
                '<' => Key::Backspace,
                '!' => Key::Escape,
                letter => Key::Letter(letter),
            };
            wish = state.key(code);
        }
        wish
    }

    fn state() -> State {
        State::new("a process".into(), View::default(), Duration::from_secs(1))
    }

    #[test]
    fn keys_sort_filter_pause_and_quit() {
        let mut it = state();
        press(&mut it, "s");
        assert_eq!(it.view.order, Order::Executed);
        press(&mut it, "rp");
        assert!(it.view.reversed && it.paused);
        press(&mut it, "/qqx<\n");
        assert_eq!((it.view.filter.as_str(), it.typing), ("qq", false));
        assert_eq!(press(&mut it, "!"), Wish::Draw); // no filter any more
        assert_eq!(it.view.filter, "");
        assert_eq!(press(&mut it, "!"), Wish::Quit);
        assert_eq!(press(&mut it, "q"), Wish::Quit);
    }

    #[test]
    fn control_c_quits_and_control_z_suspends_whatever_is_going_on() {
        let mut it = state();
        for (letter, wish) in [('c', Wish::Quit), ('z', Wish::Suspend)] {
            press(&mut it, "/abc");
            assert_eq!(it.key(Key::Control(letter)), wish);
        }
        assert_eq!(it.view.filter, "abc/abc");
    }

    #[test]
    fn times_stay_within_reason() {
        let mut it = state();
        press(&mut it, "++++++++++++++");
        assert_eq!(it.every, TIMES.1);
        press(&mut it, "--------------------");
        assert_eq!(it.every, TIMES.0);
    }

    #[test]
    fn an_empty_table_does_not_scroll() {
        let mut it = state();
        press(&mut it, "jjjk");
        assert_eq!(it.first, 0);
    }
}
