"""Small shared libraries with real marks, written byte by byte: no compiler, no CUDA toolkit. They are loadable by ld.so.

shared() writes an ELF64 library (SONAME, NEEDED, RPATH or RUNPATH, symbols defined and wanted, symbol versions, sections); fatbin() the contents of its section
.nv_fatbin as nvcc writes them (containers and entries of SASS and PTX)."""
import os, struct

X86_64, AARCH64 = 62, 183


def _hash(name):
    h = 0
    for c in name.encode():
        h = (h << 4) + c
        g = h & 0xF0000000
        h = (h ^ (g >> 24)) & ~g & 0xFFFFFFFF
    return h


class _Strings:
    def __init__(self):
        self.data, self.at = bytearray(1), {"": 0}

    def add(self, s):
        if s not in self.at:
            self.at[s] = len(self.data)
            self.data += s.encode() + b"\0"
        return self.at[s]


def shared(path, soname=None, needed=(), rpath=None, runpath=None, defines=(), wants=(), verdefs=(), sections=(), machine=X86_64, flags_1=0, static_tls=False, interpreter=None):
    """defines: names or (name, version of verdefs). wants: names, or (name, version, library), or a name with a leading "?" for weak. sections: (name, bytes).
    interpreter: a program that ld.so can start (its entry point ends the process)."""
    strings, needs = _Strings(), {}
    symbols = [struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)]
    versym, names, index = [0], [""], 2
    vernum = {v: i + 2 for i, v in enumerate(verdefs)}
    index = 2 + len(verdefs)
    wanted = []
    for w in wants:
        name, version, library = w if isinstance(w, tuple) else (w, None, None)
        weak = name.startswith("?")
        name = name.lstrip("?")
        number = 1
        if version:
            key = needs.setdefault(library, {})
            if version not in key:
                key[version] = index
                index += 1
            number = key[version]
        symbols.append([name, 0x22 if weak else 0x12, 0])
        names.append(name)
        versym.append(number)
        wanted.append(len(symbols) - 1)
    for d in defines:
        name, version = d if isinstance(d, tuple) else (d, None)
        symbols.append([name, 0x12, 1])
        names.append(name)
        versym.append(vernum.get(version, 1))
    for library in needs:
        strings.add(library)
    count = len(symbols)
    for n in names[1:]:
        strings.add(n)
    tags = [(1, strings.add(n)) for n in needed]
    if soname:
        tags.append((14, strings.add(soname)))
    if rpath:
        tags.append((15, strings.add(rpath)))
    if runpath:
        tags.append((29, strings.add(runpath)))
    verdef = b""
    if verdefs:
        all_ = [soname or os.path.basename(path)] + list(verdefs)
        for i, v in enumerate(all_):
            verdef += struct.pack("<HHHHIII", 1, 1 if i == 0 else 0, i + 1, 1, _hash(v), 20, 28 if i + 1 < len(all_) else 0) + struct.pack("<II", strings.add(v), 0)
    verneed = b""
    for i, (library, versions) in enumerate(needs.items()):
        verneed += struct.pack("<HHIII", 1, len(versions), strings.add(library), 16, 16 + 16 * len(versions) if i + 1 < len(needs) else 0)
        for k, (v, number) in enumerate(versions.items()):
            verneed += struct.pack("<IHHII", _hash(v), 0, number, strings.add(v), 16 if k + 1 < len(versions) else 0)
    buckets = max(1, count // 2)
    chain, bucket = [0] * count, [0] * buckets
    for i in range(1, count):
        h = _hash(names[i]) % buckets
        chain[i], bucket[h] = bucket[h], i
    out, heads, phdrs = bytearray(64 + 56 * (5 if interpreter else 3)), [], []

    def place(data, name, kind, flags=2, align=8, link=0, info=0, entry=0):
        out.extend(b"\0" * (-len(out) % align))
        at = len(out)
        out.extend(data)
        heads.append([name, kind, flags, at, len(data), link, info, align, entry])
        return at

    if interpreter:
        phdrs.append((6, 4, 64, 56 * 5))
        phdrs.append((3, 4, place(interpreter.encode() + b"\0", ".interp", 1), len(interpreter) + 1))
    # xor eax,eax; ret - and for a program: exit(0)
    code = b"\x31\xc0\xc3" + b"\x90" * 13 + b"\xb8\x3c\x00\x00\x00\x31\xff\x0f\x05"
    text = place(code, ".text", 1, 6, 16)
    hash_at = place(struct.pack("<%dI" % (2 + buckets + count), buckets, count, *bucket, *chain), ".hash", 5, link=3, entry=4)
    sym_index = len(heads) + 1
    packed = b"".join(s if isinstance(s, bytes) else struct.pack("<IBBHQQ", strings.at[s[0]], s[1], 0, 1 if s[2] else 0, text if s[2] else 0, 3 if s[2] else 0) for s in symbols)
    sym_at = place(packed, ".dynsym", 11, link=sym_index + 1, info=1, entry=24)
    str_at = place(bytes(strings.data), ".dynstr", 3, align=1)
    heads[sym_index - 2][5] = sym_index
    dynamic = tags + [(4, hash_at), (5, str_at), (6, sym_at), (10, len(strings.data)), (11, 24)]
    if verdefs or needs:
        dynamic.append((0x6FFFFFF0, place(struct.pack("<%dH" % count, *versym), ".gnu.version", 0x6FFFFFFF, align=2, link=sym_index, entry=2)))
    if verdefs:
        dynamic += [(0x6FFFFFFC, place(verdef, ".gnu.version_d", 0x6FFFFFFD, link=sym_index + 1, info=len(verdefs) + 1)), (0x6FFFFFFD, len(verdefs) + 1)]
    if needs:
        dynamic += [(0x6FFFFFFE, place(verneed, ".gnu.version_r", 0x6FFFFFFE, link=sym_index + 1, info=len(needs))), (0x6FFFFFFF, len(needs))]
    if wanted:
        got = place(b"\0" * (24 + 8 * len(wanted)), ".got.plt", 1, 3)
        for i in range(len(wanted)):
            struct.pack_into("<Q", out, got + 24 + 8 * i, text)
        rela = b"".join(struct.pack("<QQq", got + 24 + 8 * i, (s << 32) | 7, 0) for i, s in enumerate(wanted))
        rela_at = place(rela, ".rela.plt", 4, link=sym_index, entry=24)
        dynamic += [(3, got), (2, len(rela)), (20, 7), (23, rela_at)]
    if static_tls:
        dynamic.append((30, 0x10))
    if flags_1:
        dynamic.append((0x6FFFFFFB, flags_1))
    dynamic.append((0, 0))
    body = b"".join(struct.pack("<QQ", t, v) for t, v in dynamic)
    phdrs.append((2, 6, place(body, ".dynamic", 6, 3, link=sym_index + 1, entry=16), len(body)))
    for name, data in sections:
        place(data, name, 1)
    loaded = len(out)
    table, shstr = b"\0", {}
    for h in heads + [[".shstrtab"]]:
        if h[0] not in shstr:
            shstr[h[0]] = len(table)
            table += h[0].encode() + b"\0"
    heads.append([".shstrtab", 3, 0, len(out), len(table), 0, 0, 1, 0])
    out.extend(table)
    out.extend(b"\0" * (-len(out) % 8))
    shoff = len(out)
    out.extend(bytes(64))
    for name, kind, flags, at, size, link, info, align, entry in heads:
        out.extend(struct.pack("<IIQQQQIIQQ", shstr[name], kind, flags, at if flags else 0, at, size, link, info, align, entry))
    phdrs = [p for p in phdrs if p[0] in (6, 3)] + [(1, 7, 0, loaded)] + [p for p in phdrs if p[0] == 2] + [(0x6474E551, 6, 0, 0)]
    out[0:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01" + bytes(9), 3, machine, 1, text + 16 if interpreter else 0, 64, shoff, 0, 64, 56, len(phdrs), 64, len(heads) + 1, len(heads))
    for i, (kind, flags, at, size) in enumerate(phdrs):
        out[64 + 56 * i:120 + 56 * i] = struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, 4096 if kind == 1 else 8)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if os.path.lexists(path):
        os.remove(path)
    with open(path, "wb") as f:
        f.write(out)
    os.chmod(path, 0o755)
    return path


def _entry(kind, arch, payload, version, flags, modern):
    packed = bool(flags & 0xA000)
    size = len(payload)
    payload += b"\0" * (-len(payload) % 8)
    head = 64 if modern else (88 if kind == 1 else 72)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x0101, head, len(payload), size if packed else 0, 0, version[1], version[0], arch, 0, 0, flags, 0, size * 4 if packed else 0) + bytes(head - 64) + payload


def fatbin(codes, isa, compress=None, containers=2):
    """codes: "sm_90 sm_90a compute_120"; isa: PTX ISA of the toolkit as (8, 4). compress: None, "zstd" or "lz4"."""
    extra, out = {None: 0, "zstd": 0x8000, "lz4": 0x2000}[compress], b""
    modern = isa >= (9, 0)
    for _ in range(containers):
        body = b""
        for code in codes.split():
            ptx = code.startswith("compute_")
            digits = code.split("_")[1]
            flags = 0x11 | extra | {"a": 0x100000, "f": 0x200000}.get(digits[-1], 0)
            payload = b".version %d.%d\n.target %s\n" % (isa[0], isa[1], code.encode()) * 200 if ptx else b"\x7fELF\x02\x01\x01\x41" + bytes(4088)
            if extra == 0x8000:
                payload = b"\x28\xb5\x2f\xfd" + payload[4:]
            body += _entry(1 if ptx else 2, int(digits.rstrip("af")), payload, isa if ptx else (1, 8 if modern else 7), flags, modern)
        out += struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
    return out
