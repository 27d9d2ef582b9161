#!/usr/bin/env python3
"""Makes wheels, good and hostile, for tests.

    wheelmaker.py FILE.whl [NAME=PATH|NAME:=TEXT ...] [--requires REQ]... [--python SPEC] [--script NAME] [--hostile KIND]

Name, version and tags come from the file's name. RECORD is right unless the kind says otherwise."""
import base64, hashlib, os, struct, sys, zipfile

args = sys.argv[1:]
out = args.pop(0)
stem = os.path.basename(out)[:-4].split("-")
name, version, tags = stem[0], stem[1], stem[-3:]
info = "%s-%s.dist-info/" % (name, version)
files, requires, scripts, hostile, python = {}, [], [], "", ""
while args:
    a = args.pop(0)
    if a == "--requires":
        requires.append(args.pop(0))
    elif a == "--python":
        python = args.pop(0)
    elif a == "--script":
        scripts.append(args.pop(0))
    elif a == "--hostile":
        hostile = args.pop(0)
    elif ":=" in a:
        k, v = a.split(":=", 1)
        files[k] = v.encode()
    else:
        k, v = a.split("=", 1)
        files[k] = open(v, "rb").read()
files.setdefault(name + "/__init__.py", b"x = 1\n" * 100)
meta = "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name.replace("_", "-"), version)
if python:
    meta += "Requires-Python: %s\n" % python
meta += "".join("Requires-Dist: %s\n" % r for r in requires)
if hostile != "no-metadata":
    files[info + "METADATA"] = meta.encode()
files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: false\n" + "".join("Tag: %s-%s-%s\n" % (p, a, f) for p in tags[0].split(".") for a in tags[1].split(".") for f in tags[2].split("."))).encode()
if scripts:
    files[info + "entry_points.txt"] = ("[console_scripts]\n" + "".join("%s = %s:main\n" % (s, name) for s in scripts)).encode()


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


lines = {n: "%s,%s,%d" % (n, digest(d), len(d)) for n, d in files.items()}
first = name + "/__init__.py"
if hostile == "hash":
    lines[first] = "%s,%s,%d" % (first, digest(b"other"), len(files[first]))
elif hostile == "size":
    lines[first] = "%s,%s,%d" % (first, digest(files[first]), 7)
elif hostile == "not-in-record":
    del lines[first]
elif hostile == "not-in-archive":
    lines["ghost"] = "ghost.py,%s,3" % digest(b"abc")
if hostile != "no-record":
    files[info + "RECORD"] = ("\n".join(lines.values()) + "\n%sRECORD,,\n" % info).encode()
if hostile == "parent-path":
    files["../../evil.py"] = b"x"
elif hostile == "absolute-path":
    files["/etc/evil.py"] = b"x"
elif hostile == "odd-name":
    files["a\x1b[31m\\b.py"] = b"x"
with zipfile.ZipFile(out, "w") as z:
    for n, d in files.items():
        i = zipfile.ZipInfo(n)
        i.compress_type = zipfile.ZIP_DEFLATED if not n.endswith(".stored") else zipfile.ZIP_STORED
        i.external_attr = 0o100644 << 16
        if hostile == "symlink" and n == first:
            i.external_attr = 0o120777 << 16
        if hostile == "unknown-method" and n == first:
            i.compress_type = zipfile.ZIP_BZIP2
        z.writestr(i, d)
        if hostile == "twice" and n == first:
            import warnings
            warnings.simplefilter("ignore")
            import copy
            z.writestr(copy.copy(i), d)


def central(data, wanted):
    """Offset of the central header of a member."""
    at = data.rindex(b"PK\x05\x06")
    at = struct.unpack("<I", data[at + 16:at + 20])[0]
    while data[at:at + 4] == b"PK\x01\x02":
        n, e, c = struct.unpack("<HHH", data[at + 28:at + 34])
        if data[at + 46:at + 46 + n].decode() == wanted:
            return at
        at += 46 + n + e + c
    raise KeyError(wanted)


data = bytearray(open(out, "rb").read())
at = central(bytes(data), first)
local = struct.unpack("<I", data[at + 42:at + 46])[0]
if hostile == "crc":
    data[at + 16] ^= 1
elif hostile == "encrypted":
    data[at + 8] |= 1
elif hostile == "damaged":
    start = local + 30 + len(first)
    data[start + 4:start + 8] = b"\xff\xff\xff\xff"
elif hostile == "overlaps":
    other = central(bytes(data), info + "WHEEL")
    data[at + 42:at + 46] = data[other + 42:other + 46]
elif hostile == "outside":
    data[at + 42:at + 46] = struct.pack("<I", len(data) + 1000)
elif hostile == "size-lies":
    data[at + 24:at + 28] = struct.pack("<I", 0x7fffffff)
elif hostile == "truncated":
    data = data[:len(data) // 2]
elif hostile == "other-name":
    data[local + 30] ^= 2
elif hostile == "directory":
    end = bytes(data).rindex(b"PK\x05\x06")
    data[end + 16:end + 20] = struct.pack("<I", 5)
elif hostile == "many":
    end = bytes(data).rindex(b"PK\x05\x06")
    data[end + 8:end + 12] = struct.pack("<HH", 60000, 60000)
elif hostile == "prefix":
    data = bytearray(b"#!/bin/sh\nexit 0\n") + data
open(out, "wb").write(data)
