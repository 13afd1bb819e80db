"""Makes a small trace.dat (version 7, not compressed) out of a large one of the same kind: trim.py LARGE SMALL PAGES SYSTEM...

Kept are PAGES pages of each CPU of each buffer, the event formats of the systems that are named, and of kallsyms the
symbols around every word of the kept pages. The file was recorded with `trace-cmd extract -B INSTANCE ...` and turned
with `trace-cmd convert --file-version 7 --compression none`; the other forms were made of the small one by `trace-cmd convert`.
"""
import bisect, struct, sys

large, small, pages, systems = sys.argv[1], sys.argv[2], int(sys.argv[3]), set(sys.argv[4:])
data = open(large, "rb").read()
assert data[:14] == b"\x17\x08\x44tracing7\0\0\x08", "version 7, little, long 8"
page_size = struct.unpack_from("<I", data, 14)[0]
at = data.index(b"\0", 18) + 1
at = data.index(b"\0", at) + 1
first = struct.unpack_from("<Q", data, at)[0]


def options(offset):
    while offset:
        at, end = offset + 16, offset + 16 + struct.unpack_from("<Q", data, offset + 8)[0]
        offset = 0
        while at < end:
            kind, size = struct.unpack_from("<HI", data, at)
            body = data[at + 6:at + 6 + size]
            at += 6 + size
            if kind == 0:
                offset = struct.unpack("<Q", body)[0]
            else:
                yield kind, body


def section(offset):
    return data[offset + 16:offset + 16 + struct.unpack_from("<Q", data, offset + 8)[0]]


found, plain, buffers = {}, [], []
for kind, body in options(first):
    if kind == 3:
        name, clock, rest = body[8:].split(b"\0", 2)
        size, count = struct.unpack_from("<II", rest)
        cpus = [struct.unpack_from("<IQQ", rest, 8 + 20 * i) for i in range(count)]
        cpus = [(cpu, data[o:o + min(n, pages * page_size)]) for cpu, o, n in cpus]
        buffers.append((name, clock, size, cpus))
    elif 16 <= kind <= 21:
        found[kind] = section(struct.unpack("<Q", body)[0])
    else:
        plain.append((kind, body))

# Formats of some systems.
at, kept = 4, []
for _ in range(struct.unpack_from("<I", found[18])[0]):
    end = found[18].index(b"\0", at) + 1
    name, start = found[18][at:end - 1].decode(), at
    count = struct.unpack_from("<I", found[18], end)[0]
    at = end + 4
    for _ in range(count):
        at += 8 + struct.unpack_from("<Q", found[18], at)[0]
    if name in systems:
        kept.append(found[18][start:at])
found[18] = struct.pack("<I", len(kept)) + b"".join(kept)

# Symbols around the words of the pages.
lines = [l for l in found[19][4:].decode().split("\n") if l.strip("\0")]
code = sorted((int(l.split()[0], 16), l) for l in lines if l.split()[1] in "tTwW")
addresses = [a for a, _ in code]
wanted = set()
for *_, cpus in buffers:
    for _, bytes_ in cpus:
        for i in range(0, len(bytes_) - 8, 4):
            word = struct.unpack_from("<Q", bytes_, i)[0]
            if word >> 32 == 0xFFFFFFFF and addresses and addresses[0] <= word <= addresses[-1]:
                k = bisect.bisect_right(addresses, word)
                wanted.update(range(bisect.bisect_left(addresses, addresses[k - 1]), min(k + 1, len(code))))
text = "".join(code[i][1] + "\n" for i in sorted(wanted)).encode() + b"\0"
found[19] = struct.pack("<I", len(text)) + text

out = bytearray(data[:18] + b"none\0\0" + b"\0" * 8)


def put(kind, body):
    offset = len(out)
    out.extend(struct.pack("<HHIQ", kind, 0, 0, len(body)) + body)
    return offset


chain = list(plain)
for kind in sorted(found):
    chain.append((kind, struct.pack("<Q", put(kind, found[kind]))))
for name, clock, size, cpus in buffers:
    offset = len(out)
    out.extend(b"\0" * 16)
    table = b""
    for cpu, bytes_ in cpus:
        out.extend(b"\0" * (-len(out) % page_size))
        table += struct.pack("<IQQ", cpu, len(out), len(bytes_))
        out.extend(bytes_)
    struct.pack_into("<HHIQ", out, offset, 3, 0, 0, len(out) - offset - 16)
    body = struct.pack("<Q", offset) + name + b"\0" + clock + b"\0" + struct.pack("<II", size, len(cpus)) + table
    chain.append((3, body))
chain.append((0, struct.pack("<Q", 0)))
first = put(0, b"".join(struct.pack("<HI", kind, len(body)) + body for kind, body in chain))
struct.pack_into("<Q", out, 18 + len(b"none\0\0"), first)
open(small, "wb").write(out)
