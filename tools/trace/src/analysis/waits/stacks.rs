//! Stacks by number: each one is kept once.

use crate::base::map::Map;
use crate::base::names::short;

/// Different stacks that are kept.
pub(super) const STACKS_MOST: usize = 512;

/// Frames of a stack that are kept, from the innermost one.
const FRAMES_MOST: usize = 24;

#[derive(Debug, Default)]
pub(super) struct Stacks {
    numbers: Map<Vec<String>, u32>,
    /// By number.
    frames: Vec<Vec<String>>,
    /// Records with a stack.
    pub(super) seen: u64,
    /// Those of different stacks beyond the bound.
    pub(super) refused: u64,
}

impl Stacks {
    /// The number of a stack; none if there is no frame in it, or no room.
    pub(super) fn number(&mut self, text: &str) -> Option<u32> {
        self.seen += 1;
        let frames: Vec<String> = frames(text).map(str::to_owned).collect();
        if frames.is_empty() {
            return None;
        }
        if let Some(number) = self.numbers.get(&frames) {
            return Some(*number);
        }
        if self.frames.len() >= STACKS_MOST {
            self.refused += 1;
            return None;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frames.clone());
        self.numbers.insert(frames, number);
        Some(number)
    }

    pub(super) fn frames(&self, number: u32) -> &[String] {
        self.frames.get(number as usize).map_or(&[], Vec::as_slice)
    }
}

/// ` => schedule+0x2e/0x100`, `=> schedule (ffffffff8100)`: the names of the functions.
fn frames(text: &str) -> impl Iterator<Item = &str> {
    let all = text.lines().filter_map(|line| {
        let frame = line.trim_start().strip_prefix("=>")?.trim();
        let end = frame.find([' ', '+']).unwrap_or(frame.len());
        (end > 0).then(|| short(&frame[..end]))
    });
    all.take(FRAMES_MOST)
}
