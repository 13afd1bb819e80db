//! Version 6: one part after the other; options give the offsets of instances.

use super::super::walk::{File, Walk, damaged, lossy, unsupported};
use super::*;

impl Layout {
    /// All parts in their order. Gives the instances: name, and where they are.
    pub(super) fn version_6<R: Read>(
        &mut self,
        walk: &mut Walk<R>,
    ) -> io::Result<Vec<(String, u64)>> {
        for id in HEADER_INFO..=CMDLINES {
            self.section(id, walk)?;
        }
        let place = walk.place;
        self.cpus = cpus(walk.u32()?, place)?;
        let mut instances = Vec::new();
        let mut kind: [u8; 10] = walk.array()?;
        if kind.starts_with(b"options") {
            for seen in 0.. {
                let place = walk.place;
                let id = walk.u16()?;
                if id == 0 {
                    break;
                }
                if seen >= OPTIONS_MOST {
                    return Err(damaged(place, "too many options"));
                }
                let size = walk.u32()?.into();
                let data = walk.bytes(size, OPTION_MOST, "an option")?;
                let mut option = Walk::new(&data[..], place, self.shape.big);
                match id {
                    BUFFER => {
                        let offset = option.u64()?;
                        instances.push((option.text(NAME_MOST)?, offset));
                    }
                    id => self.option(id, &data, place),
                }
                if instances.len() >= BUFFERS_MOST {
                    return Err(damaged(place, "too many buffers"));
                }
            }
            kind = walk.array()?;
        }
        self.flyrecord_6(walk, kind, String::new())?;
        Ok(instances)
    }

    pub(super) fn instances_6(
        &mut self,
        file: &mut File,
        instances: Vec<(String, u64)>,
    ) -> io::Result<()> {
        for (name, offset) in instances {
            let size = file.length.saturating_sub(offset);
            let mut walk = file.walk(offset, size, self.shape.big)?;
            let kind = walk.array()?;
            self.flyrecord_6(&mut walk, kind, name)?;
        }
        Ok(())
    }

    /// Where the data of each CPU is, and the clock.
    fn flyrecord_6<R: Read>(
        &mut self,
        walk: &mut Walk<R>,
        kind: [u8; 10],
        name: String,
    ) -> io::Result<()> {
        let place = walk.place;
        if kind.starts_with(b"latency") {
            return Err(unsupported(place, LATENCY));
        }
        if kind != *b"flyrecord\0" {
            return Err(damaged(place, "neither options nor trace data start here"));
        }
        let mut data = Vec::new();
        for cpu in 0..self.cpus {
            let (offset, size) = (walk.u64()?, walk.u64()?);
            if size > 0 {
                data.push(Data { cpu, offset, size });
            }
        }
        // trace-cmd before 2.6 wrote no clock here: the text is then padding, or the end.
        let clock = match walk.u64() {
            Ok(size @ 1..=4096) => walk.bytes(size, 4096, "a clock").unwrap_or_default(),
            _ => Vec::new(),
        };
        let buffer = Buffer {
            name,
            clock: chosen_clock(&lossy(&clock)),
            page_size: self.page_size,
            chunked: false,
            cpus: data,
        };
        self.add(buffer, place)
    }
}
