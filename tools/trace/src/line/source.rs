//! What a [`Reader`](crate::Reader) reads: text, or records that are made out of something else.

use super::made::{Made, Maker};
use std::fmt;
use std::io::BufRead;

/// An open trace of any kind: what [`open`](crate::open) gives and a [`Reader`](crate::Reader) takes.
/// Anything that has text can become one.
pub struct Input<'a>(pub(super) Of<'a>);

/// Which of both it is.
pub(super) enum Of<'a> {
    Text(Box<dyn BufRead + Send + 'a>),
    Made(Made),
}

impl<'a> Input<'a> {
    pub(crate) fn made(maker: impl Maker + 'static) -> Self {
        Input(Of::Made(Made::new(maker)))
    }

    /// The text that it is.
    #[cfg(test)]
    pub(crate) fn text(self) -> Box<dyn BufRead + Send + 'a> {
        match self.0 {
            Of::Text(text) => text,
            Of::Made(_) => panic!("it is no text"),
        }
    }
}

impl<'a, R: BufRead + Send + 'a> From<R> for Input<'a> {
    fn from(text: R) -> Self {
        Input(Of::Text(Box::new(text)))
    }
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Of::Text(_) => "Input(text)",
            Of::Made(_) => "Input(records)",
        })
    }
}
