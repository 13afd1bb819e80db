//! The events of all CPUs of all buffers, by time.
//!
//! Each CPU of a buffer is a stream: its data lies in one piece of the file and its events are in order. A
//! heap holds the next event of each; equal times keep the order of buffers and CPUs. A stream holds one
//! page, or one chunk of pages where they are compressed, and together they hold at most [`HELD_MOST`] bytes,
//! whatever the file says.

use super::layout::{Buffer, Data, Layout};
use super::pack::Packing;
use super::page::{Entry, Missing, Page, Shape};
use super::walk::{File, Place, damaged};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// Bytes that the pages of all CPUs may take together.
pub(crate) const HELD_MOST: usize = 32 << 20;

/// The data of a CPU, being read.
#[derive(Default)]
struct Stream {
    buffer: usize,
    cpu: u32,
    /// What is left of its data in the file.
    next: u64,
    end: u64,
    page_size: usize,
    /// Chunks that are left, if it has chunks.
    chunks: Option<u32>,
    /// A page, or the pages of a chunk.
    held: Vec<u8>,
    /// Where the held bytes came from.
    held_at: u64,
    /// Which bytes of them are the page.
    from: usize,
    to: usize,
    page: Page,
    entry: Entry,
    missing: Missing,
}

/// An event, or a gap before one.
pub(super) struct Met {
    pub(super) buffer: usize,
    pub(super) cpu: u32,
    pub(super) time: u64,
    /// Events that are missing before it.
    pub(super) missing: Missing,
    /// Which stream: for [`Merge::event`].
    stream: usize,
}

/// Merges.
pub(super) struct Merge {
    file: File,
    shape: Shape,
    packing: Packing,
    packed: Vec<u8>,
    streams: Vec<Stream>,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    held: usize,
    /// The stream whose event was given last, and has to go on.
    given: Option<usize>,
}

impl Merge {
    pub(super) fn new(file: File, layout: &Layout) -> io::Result<Self> {
        let mut merge = Merge {
            file,
            shape: layout.shape,
            packing: layout.packing,
            packed: Vec::new(),
            streams: Vec::new(),
            heap: BinaryHeap::new(),
            held: 0,
            given: None,
        };
        for (at, buffer) in layout.buffers.iter().enumerate() {
            for data in &buffer.cpus {
                merge.add(at, buffer, *data)?;
            }
        }
        for at in 0..merge.streams.len() {
            merge.go_on(at)?;
        }
        Ok(merge)
    }

    fn add(&mut self, buffer: usize, of: &Buffer, data: Data) -> io::Result<()> {
        let end = data.offset.checked_add(data.size);
        let place = Place::at(data.offset);
        let length = self.file.length;
        let Some(end) = end.filter(|end| *end <= length) else {
            let (cpu, size) = (data.cpu, data.size);
            let why =
                format_args!("CPU {cpu} has {size} bytes of data, and the file ends at {length}");
            return Err(damaged(place, why));
        };
        let chunked = of.chunked && self.packing != Packing::None;
        let (mut next, mut end) = (data.offset, end);
        let mut chunks = None;
        if chunked {
            // The stated size leaves out the number of chunks, as trace-cmd 3.1.6 writes it.
            end += 4;
            chunks = Some(self.file.u32_at(next, self.shape.big)?);
            next += 4;
        }
        self.streams.push(Stream {
            buffer,
            cpu: data.cpu,
            next,
            end,
            page_size: of.page_size,
            chunks,
            ..Stream::default()
        });
        Ok(())
    }

    /// The next event of all.
    pub(super) fn next(&mut self) -> io::Result<Option<Met>> {
        if let Some(at) = self.given.take() {
            self.go_on(at)?;
        }
        let Some(Reverse((time, at))) = self.heap.pop() else {
            return Ok(None);
        };
        self.given = Some(at);
        let stream = &mut self.streams[at];
        Ok(Some(Met {
            buffer: stream.buffer,
            cpu: stream.cpu,
            time,
            missing: std::mem::take(&mut stream.missing),
            stream: at,
        }))
    }

    /// The bytes of an event that was given last.
    pub(super) fn event(&self, met: &Met) -> &[u8] {
        let stream = &self.streams[met.stream];
        let page = &stream.held[stream.from..stream.to];
        page.get(stream.entry.start..stream.entry.end)
            .unwrap_or(&[])
    }

    /// Takes a stream to its next event, and that into the heap.
    fn go_on(&mut self, at: usize) -> io::Result<()> {
        loop {
            let big = self.shape.big;
            let stream = &mut self.streams[at];
            let bytes = &stream.held[stream.from..stream.to];
            let entry = stream.page.next(bytes, big);
            match entry.map_err(|wrong| stream.wrong(wrong))? {
                Some(entry) => {
                    stream.entry = entry;
                    self.heap.push(Reverse((entry.time, at)));
                    return Ok(());
                }
                None if !self.next_page(at)? => return Ok(()),
                None => {}
            }
        }
    }

    /// Takes a stream to its next page; false at its end.
    fn next_page(&mut self, at: usize) -> io::Result<bool> {
        let shape = self.shape;
        if self.streams[at].to == self.streams[at].held.len() && !self.hold_more(at)? {
            return Ok(false);
        }
        let stream = &mut self.streams[at];
        stream.from = stream.to;
        stream.to = (stream.from + stream.page_size).min(stream.held.len());
        let bytes = &stream.held[stream.from..stream.to];
        let (page, missing) = Page::new(bytes, shape).map_err(|wrong| stream.wrong(wrong))?;
        stream.page = page;
        if missing != Missing::None {
            stream.missing = missing;
        }
        Ok(true)
    }

    /// Reads a page or a chunk; false if there is none.
    fn hold_more(&mut self, at: usize) -> io::Result<bool> {
        let stream = &mut self.streams[at];
        let left = stream.end.saturating_sub(stream.next);
        if let Some(chunks) = &mut stream.chunks {
            let more = *chunks > 0;
            *chunks = chunks.saturating_sub(1);
            return if more {
                self.chunk(at).map(|()| true)
            } else {
                Ok(false)
            };
        }
        let size = (stream.page_size as u64).min(left) as usize;
        if size > 0 {
            self.room(at, size)?;
            let stream = &mut self.streams[at];
            self.file.read_at(stream.next, &mut stream.held)?;
            stream.held_at = stream.next;
            stream.next += size as u64;
        }
        Ok(size > 0)
    }

    fn chunk(&mut self, at: usize) -> io::Result<()> {
        let (from, end) = (self.streams[at].next, self.streams[at].end);
        let place = Place::at(from);
        let big = self.shape.big;
        let packed = u64::from(self.file.u32_at(from, big)?);
        let plain = self.file.u32_at(from + 4, big)? as usize;
        let next = from + 8 + packed;
        if next > end {
            let why = format_args!("a chunk of {packed} bytes reaches beyond the data of its CPU");
            return Err(damaged(place, why));
        }
        if plain == 0 || packed as usize > HELD_MOST {
            let why = format_args!("a chunk of {packed} bytes that stands for {plain}");
            return Err(damaged(place, why));
        }
        self.room(at, plain)?;
        self.packed.resize(packed as usize, 0);
        self.file.read_at(from + 8, &mut self.packed)?;
        let stream = &mut self.streams[at];
        let place = Place::at(from + 8);
        self.packing.fill(&self.packed, &mut stream.held, place)?;
        stream.held_at = from + 8;
        stream.next = next;
        Ok(())
    }

    /// Makes a stream hold `size` bytes, within the limit for all.
    fn room(&mut self, at: usize, size: usize) -> io::Result<()> {
        let stream = &mut self.streams[at];
        let others = self.held - stream.held.capacity();
        if others + size > HELD_MOST {
            let place = Place::at(stream.next);
            let why = format_args!(
                "{size} bytes for CPU {} would make more than {HELD_MOST} for all CPUs",
                stream.cpu
            );
            return Err(damaged(place, why));
        }
        stream.held.resize(size, 0);
        self.held = others + stream.held.capacity();
        (stream.from, stream.to) = (0, 0);
        stream.page = Page::default();
        Ok(())
    }
}

impl Stream {
    /// An error about its page.
    fn wrong(&self, (byte, why): (usize, &'static str)) -> io::Error {
        let byte = (self.from + byte) as u64;
        let place = match self.chunks {
            None => Place::at(self.held_at + byte),
            Some(_) => Place {
                part: Some(self.held_at),
                at: byte,
            },
        };
        damaged(place, format_args!("{why} (CPU {})", self.cpu))
    }
}
