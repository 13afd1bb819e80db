//! Writes small files of trace.dat, after the manual pages and independently of the reader.

use std::io::Write;

/// How data is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packed {
    None,
    Zstd,
    Zlib,
}

/// Which kind of file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Build {
    pub(super) version: u8,
    pub(super) packed: Packed,
    pub(super) big: bool,
    pub(super) long: usize,
}

pub(super) const PAGE: usize = 512;

impl Build {
    pub(super) fn little(version: u8) -> Build {
        Build {
            version,
            packed: Packed::None,
            big: false,
            long: 8,
        }
    }

    pub(super) fn number(&self, n: u64, size: usize) -> Vec<u8> {
        let bytes = n.to_le_bytes();
        let mut bytes = bytes[..size].to_vec();
        if self.big {
            bytes.reverse();
        }
        bytes
    }

    fn sized(&self, text: &[u8], size: usize) -> Vec<u8> {
        [self.number(text.len() as u64, size), text.to_vec()].concat()
    }

    fn header_info(&self) -> Vec<u8> {
        let (long, data) = (self.long, 8 + self.long);
        let page = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t \
             commit;\toffset:8;\tsize:{long};\tsigned:1;\n\tfield: char \
             data;\toffset:{data};\tsize:496;\tsigned:0;\n"
        );
        let event = "# compressed entry header\n";
        [
            b"header_page\0".to_vec(),
            self.sized(page.as_bytes(), 8),
            b"header_event\0".to_vec(),
            self.sized(event.as_bytes(), 8),
        ]
        .concat()
    }

    fn format(&self, name: &str, id: u32, fields: &str) -> Vec<u8> {
        let text = format!(
            "name: {name}\nID: {id}\nformat:\n\tfield:unsigned short \
             common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char \
             common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:unsigned char \
             common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int \
             common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n{fields}\nprint fmt: \"\"\n"
        );
        self.sized(text.as_bytes(), 8)
    }

    fn ftrace_formats(&self) -> Vec<u8> {
        let mark = self.format(
            "tracing_mark_write",
            5,
            "\tfield:char buf[];\toffset:8;\tsize:0;\tsigned:0;\n",
        );
        [self.number(1, 4), mark].concat()
    }

    fn event_formats(&self) -> Vec<u8> {
        let long = self.long;
        let (fn_, pointer) = (16 + long, 16 + 2 * long);
        let named = format!(
            "\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:void * \
             function;\toffset:{fn_};\tsize:{long};\tsigned:0;\n\tfield:unsigned long \
             n;\toffset:{pointer};\tsize:{long};\tsigned:0;\n"
        );
        let stack = format!(
            "\tfield:unsigned long caller[2];\toffset:8;\tsize:{};\tsigned:0;\n",
            2 * long
        );
        let formats = [
            self.format(
                "sched_switch",
                300,
                "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t \
                 prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:char \
                 next_comm[16];\toffset:28;\tsize:16;\tsigned:0;\n\tfield:pid_t \
                 next_pid;\toffset:44;\tsize:4;\tsigned:1;\n\tfield:long \
                 prev_state;\toffset:48;\tsize:4;\tsigned:1;\n",
            ),
            self.format(
                "softirq_entry",
                301,
                "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n",
            ),
            self.format("workqueue_execute_start", 302, &named),
            self.format("kernel_stack", 303, &stack),
        ];
        let formats = formats.concat();
        [
            self.number(1, 4),
            b"test\0".to_vec(),
            self.number(4, 4),
            formats,
        ]
        .concat()
    }

    fn kallsyms(&self) -> Vec<u8> {
        self.sized(b"0000000000001000 T do_it\n0000000000002000 D datum\n", 4)
    }

    fn cmdlines(&self) -> Vec<u8> {
        self.sized(b"1 init\n", 8)
    }

    pub(super) fn event(&self, delta: u64, id: u64, flags: u8, pid: u64, body: &[u8]) -> Vec<u8> {
        let mut data = self.number(id, 2);
        data.extend([flags, if flags == 0 { 0 } else { 2 }]);
        data.extend(self.number(pid, 4));
        data.extend(body);
        data.resize(data.len().next_multiple_of(4), 0);
        [self.word(data.len() as u64 / 4, delta), data].concat()
    }

    pub(super) fn word(&self, kind: u64, delta: u64) -> Vec<u8> {
        let word = if self.big {
            kind << 27 | delta
        } else {
            delta << 5 | kind
        };
        self.number(word, 4)
    }

    pub(super) fn page(&self, time: u64, events: &[Vec<u8>], missing: Option<u64>) -> Vec<u8> {
        let events = events.concat();
        let flags = if missing.is_some() { 3 << 30 } else { 0 };
        let mut page = self.number(time, 8);
        page.extend(self.number(events.len() as u64 | flags, self.long));
        page.extend(events);
        page.extend(self.number(missing.unwrap_or(0), self.long));
        page.resize(PAGE, 0);
        page
    }

    fn text(text: &str, size: usize) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(size, 0);
        bytes
    }

    /// The pages of the first buffer's CPU 0, and of the instance's CPU 1.
    fn pages(&self) -> [Vec<u8>; 2] {
        let switch = [
            Self::text("swapper/0", 16),
            self.number(0, 4),
            Self::text("rcu_preempt", 16),
            self.number(15, 4),
            self.number(0x100, 4),
        ]
        .concat();
        let mut named = self.number(((16 + 3 * self.long) as u64) | 7 << 16, 4);
        named.resize(8 + self.long, 0);
        named.extend(self.number(0x1010, self.long));
        named.extend(self.number(0xff, self.long));
        named.resize(8 + 3 * self.long, 0);
        named.extend(b"dentry\0");
        let stack = [0x1010, 0x2e].map(|at| self.number(at, self.long)).concat();
        let first = self.page(
            100,
            &[
                self.event(5, 300, 0x11, 0, &switch),
                self.event(4, 301, 0, 15, &self.number(11, 4)),
                // 1 << 27 ns and 2 on.
                [self.word(30, 2), self.number(1, 4)].concat(),
                self.event(1, 302, 0, 77, &named),
                self.event(1, 303, 0, 77, &stack),
                self.event(1, 999, 0, 77, &stack),
            ],
            None,
        );
        let second = [
            self.page(
                107,
                &[self.event(0, 301, 0, 15, &self.number(9, 4))],
                Some(3),
            ),
            self.page(
                1 << 28,
                &[self.event(0, 5, 0, 77, b"hello\nthere\n\0")],
                Some(6),
            ),
        ]
        .concat();
        [first, second]
    }

    pub(super) fn file(&self) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing".to_vec();
        out.extend([b'0' + self.version, 0, u8::from(self.big), self.long as u8]);
        out.extend(self.number(PAGE as u64, 4));
        if self.version == 6 {
            self.version_6(&mut out);
        } else {
            self.version_7(&mut out);
        }
        out
    }

    fn parts(&self) -> [(u64, Vec<u8>); 6] {
        [
            (16, self.header_info()),
            (17, self.ftrace_formats()),
            (18, self.event_formats()),
            (19, self.kallsyms()),
            (20, self.sized(b"", 4)),
            (21, self.cmdlines()),
        ]
    }

    /// `per_cpu/cpuN/stats` of both buffers: of what CPU 1 lost, its pages report nine, and of CPU 0 none.
    const STATS: [&str; 3] = [
        "CPU: 0\noverrun: 2\ncommit overrun: 0\n",
        "Buffer: inst\n",
        "CPU: 1\noverrun: 4\ncommit overrun: 3\ndropped events: 5\n",
    ];

    fn version_6(&self, out: &mut Vec<u8>) {
        for (_, part) in self.parts() {
            out.extend(part);
        }
        out.extend(self.number(2, 4));
        out.extend(b"options  \0");
        let [first, second] = self.pages();
        let option = |id: u64, data: &[u8], out: &mut Vec<u8>| {
            out.extend(self.number(id, 2));
            out.extend(self.sized(data, 4));
        };
        option(200, b"not known", out);
        option(12, b"shift", out);
        for stats in Self::STATS {
            option(2, stats.as_bytes(), out);
        }
        // Option, end of options, name of the table, two CPUs, a clock.
        let table = out.len() + 6 + 8 + 5 + 2;
        let instance = table + 10 + 32 + 12;
        let at = [self.number(instance as u64, 8), b"inst\0".to_vec()].concat();
        option(3, &at, out);
        out.extend(self.number(0, 2));
        let data = (instance + 10 + 32 + 12).next_multiple_of(PAGE) as u64;
        let cpus = |cpus: [(u64, u64); 2]| {
            let both = cpus.map(|(at, size)| [self.number(at, 8), self.number(size, 8)].concat());
            [
                b"flyrecord\0".to_vec(),
                both.concat(),
                self.sized(b"mono", 8),
            ]
            .concat()
        };
        out.extend(cpus([(data, first.len() as u64), (0, 0)]));
        let next = data + first.len() as u64;
        out.extend(cpus([(0, 0), (next, second.len() as u64)]));
        out.resize(data as usize, 0);
        out.extend(first);
        out.extend(second);
    }

    fn version_7(&self, out: &mut Vec<u8>) {
        out.extend(match self.packed {
            Packed::None => &b"none\0\0"[..],
            Packed::Zstd => b"zstd\x001.5.4\0",
            Packed::Zlib => b"zlib\x001.2.13\0",
        });
        let pointer = out.len();
        out.extend([0; 8]);
        let mut options = Vec::new();
        for (id, part) in self.parts() {
            options.push((id, self.number(out.len() as u64, 8)));
            let flags = u64::from(self.packed != Packed::None);
            let body = match self.packed {
                Packed::None => part,
                _ => self.chunk(&part),
            };
            self.section(id, flags, &body, out);
        }
        options.push((8, self.number(2, 4)));
        options.extend(Self::STATS.map(|stats| (2, stats.as_bytes().to_vec())));
        for (cpu, (name, pages)) in ["", "inst"].into_iter().zip(self.pages()).enumerate() {
            let offset = out.len() as u64;
            let flags = u64::from(self.packed != Packed::None);
            let body = match self.packed {
                Packed::None => pages,
                _ => {
                    let chunks: Vec<_> = pages.chunks(PAGE).map(|p| self.chunk(p)).collect();
                    [self.number(chunks.len() as u64, 4), chunks.concat()].concat()
                }
            };
            let mut size = body.len() as u64;
            if self.packed != Packed::None {
                size -= 4;
            }
            self.section(3, flags, &body, out);
            let mut option = self.number(offset, 8);
            option.extend(name.as_bytes());
            option.extend(b"\0mono\0");
            option.extend(self.number(PAGE as u64, 4));
            option.extend(self.number(1, 4));
            option.extend(self.number(cpu as u64, 4));
            option.extend(self.number(offset + 16, 8));
            option.extend(self.number(size, 8));
            options.push((3, option));
        }
        // Two chains of options.
        let (head, tail) = options.split_at(4);
        let second = out.len();
        self.options(tail, 0, out);
        let first = out.len();
        self.options(head, second as u64, out);
        out[pointer..pointer + 8].copy_from_slice(&self.number(first as u64, 8));
    }

    fn options(&self, options: &[(u64, Vec<u8>)], next: u64, out: &mut Vec<u8>) {
        let end = (0, self.number(next, 8));
        let mut body = Vec::new();
        for (id, data) in options.iter().chain([&end]) {
            body.extend(self.number(*id, 2));
            body.extend(self.sized(data, 4));
        }
        self.section(0, 0, &body, out);
    }

    fn section(&self, id: u64, flags: u64, body: &[u8], out: &mut Vec<u8>) {
        out.extend(self.number(id, 2));
        out.extend(self.number(flags, 2));
        out.extend([0; 4]);
        out.extend(self.sized(body, 8));
    }

    /// Two sizes and packed bytes.
    fn chunk(&self, plain: &[u8]) -> Vec<u8> {
        let packed = match self.packed {
            Packed::None => plain.to_vec(),
            Packed::Zlib => {
                let mut zlib =
                    flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                zlib.write_all(plain).expect("packs");
                zlib.finish().expect("packs")
            }
            // A frame with one block that is not compressed.
            Packed::Zstd => [
                &b"\x28\xb5\x2f\xfd\xa0"[..],
                &(plain.len() as u32).to_le_bytes(),
                &((plain.len() as u32) << 3 | 1).to_le_bytes()[..3],
                plain,
            ]
            .concat(),
        };
        [
            self.number(packed.len() as u64, 4),
            self.number(plain.len() as u64, 4),
            packed,
        ]
        .concat()
    }
}
