//! What a [`Reader`](crate::Reader) reads: text, or records that are made out of something else.

use super::made::{Made, Maker};
use std::fmt;
use std::io::BufRead;

/// An open trace of any kind: what [`open`](crate::open) gives and a [`Reader`](crate::Reader) takes.
pub struct Input(Of);

enum Of {
    Text(Box<dyn BufRead + Send>),
    Made(Made),
}

impl Input {
    pub(crate) fn made(maker: impl Maker + 'static) -> Self {
        Input(Of::Made(Made::new(maker)))
    }

    /// The text that it is.
    #[cfg(test)]
    pub(crate) fn text(self) -> Box<dyn BufRead + Send> {
        match self.0 {
            Of::Text(text) => text,
            Of::Made(_) => panic!("it is no text"),
        }
    }
}

impl From<Box<dyn BufRead + Send>> for Input {
    fn from(text: Box<dyn BufRead + Send>) -> Self {
        Input(Of::Text(text))
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Of::Text(_) => "Input(text)",
            Of::Made(_) => "Input(records)",
        })
    }
}

/// What a [`Reader`](crate::Reader) takes: an [`Input`], or anything that has text.
pub trait Source {
    #[doc(hidden)]
    fn kind(&mut self) -> Kind<'_>;
}

/// Which of both it is.
#[allow(missing_debug_implementations)]
pub enum Kind<'a> {
    Text(&'a mut dyn BufRead),
    Made(&'a mut Made),
}

impl<R: BufRead> Source for R {
    fn kind(&mut self) -> Kind<'_> {
        Kind::Text(self)
    }
}

impl Source for Input {
    fn kind(&mut self) -> Kind<'_> {
        match &mut self.0 {
            Of::Text(text) => Kind::Text(text),
            Of::Made(made) => Kind::Made(made),
        }
    }
}
