//! Version 7: sections, each perhaps compressed, and chains of options that say where they are.

use super::super::walk::{File, Walk, damaged, unsupported};
use super::*;

impl Layout {
    /// All chains of options, then the sections that they name.
    pub(super) fn version_7(&mut self, file: &mut File, first: u64) -> io::Result<()> {
        let mut sections = Vec::new();
        let (mut next, mut read, mut seen) = (first, 0u32, Vec::new());
        let mut bytes = 0;
        while next != 0 {
            let place = Place::at(next);
            if seen.contains(&next) {
                return Err(damaged(place, "the chain of options comes back here"));
            }
            seen.push(next);
            if seen.len() > 1024 {
                return Err(damaged(place, "more than 1024 sections of options"));
            }
            let big = self.shape.big;
            let mut options = Vec::new();
            next = with_section(file, next, 0, self.packing, big, |walk| {
                loop {
                    let place = walk.place;
                    read += 1;
                    if read > OPTIONS_MOST {
                        return Err(damaged(place, "too many options"));
                    }
                    let (id, size) = (walk.u16()?, u64::from(walk.u32()?));
                    bytes += size;
                    if bytes > OPTIONS_BYTES_MOST {
                        let why = format_args!("more than {OPTIONS_BYTES_MOST} bytes of options");
                        return Err(damaged(place, why));
                    }
                    let data = walk.bytes(size, OPTION_MOST, "an option")?;
                    if id == 0 {
                        return Walk::new(&data[..], place, big).u64();
                    }
                    options.push((id, data, place));
                }
            })?;
            for (id, data, place) in options {
                self.option_7(file, id, &data, place, &mut sections)?;
            }
        }
        self.sections_7(file, sections)
    }

    fn option_7(
        &mut self,
        file: &mut File,
        id: u16,
        data: &[u8],
        place: Place,
        sections: &mut Vec<(u16, u64)>,
    ) -> io::Result<()> {
        let mut option = Walk::new(data, place, self.shape.big);
        match id {
            BUFFER => {
                let buffer = self.buffer_7(file, &mut option)?;
                self.add(buffer, place)?;
            }
            HEADER_INFO..=CMDLINES => {
                let offset = option.u64()?;
                if !sections.contains(&(id, offset)) && sections.len() < 64 {
                    sections.push((id, offset));
                }
            }
            BUFFER_TEXT => return Err(unsupported(place, LATENCY)),
            id => self.option(id, data, place),
        }
        Ok(())
    }

    fn buffer_7(&mut self, file: &mut File, option: &mut Walk<&[u8]>) -> io::Result<Buffer> {
        let offset = option.u64()?;
        let name = option.text(NAME_MOST)?;
        let clock = chosen_clock(&option.text(NAME_MOST)?);
        let place = option.place;
        let page_size = page_size(option.u32()?, place)?;
        let place = option.place;
        let count = cpus(option.u32()?, place)?;
        let mut data = Vec::new();
        for _ in 0..count {
            let cpu = option.u32()?;
            let (offset, size) = (option.u64()?, option.u64()?);
            if cpu >= CPUS_MOST {
                return Err(damaged(place, format_args!("CPU number {cpu}")));
            }
            if size > 0 {
                data.push(Data { cpu, offset, size });
            }
        }
        let mut walk = file.walk(offset, 16, self.shape.big)?;
        let (_id, flags) = (walk.u16()?, walk.u16()?);
        Ok(Buffer {
            name,
            clock,
            page_size,
            chunked: flags & 1 != 0,
            cpus: data,
        })
    }

    fn sections_7(&mut self, file: &mut File, mut sections: Vec<(u16, u64)>) -> io::Result<()> {
        sections.sort_unstable();
        for (id, offset) in sections {
            let (packing, big) = (self.packing, self.shape.big);
            with_section(file, offset, id, packing, big, |walk| {
                self.section(id, walk)
            })?;
        }
        Ok(())
    }
}

/// Calls `read` with the plain bytes of the section that starts at `offset`.
fn with_section<T>(
    file: &mut File,
    offset: u64,
    id: u16,
    packing: Packing,
    big: bool,
    read: impl FnOnce(&mut Walk<Box<dyn Read + '_>>) -> io::Result<T>,
) -> io::Result<T> {
    let place = Place::at(offset);
    let mut header = file.walk(offset, 16, big)?;
    let (found, flags) = (header.u16()?, header.u16()?);
    header.u32()?;
    let size = header.u64()?;
    if found != id {
        let why = format_args!("a section of kind {found}, where one of kind {id} is said to be");
        return Err(damaged(place, why));
    }
    let mut walk = file.walk(offset + 16, size, big)?;
    let place = walk.place;
    if flags & 1 == 0 || packing == Packing::None {
        let plain: Box<dyn Read + '_> = Box::new(walk.reader);
        return read(&mut Walk::new(plain, place, big));
    }
    let (packed, plain) = (walk.u32()?, walk.u32()?);
    let part = Place {
        part: Some(place.at),
        at: 0,
    };
    let stream = packing.stream(walk.reader.take(packed.into()));
    let stream: Box<dyn Read + '_> = Box::new(stream.take(plain.into()));
    read(&mut Walk::new(stream, part, big))
}
