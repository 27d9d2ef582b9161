#!/usr/bin/env python3
"""Every host and every report, in English and in Chinese, reads as whole sentences: no holes, no overlong lines, no English in the Chinese. TAP."""
import concurrent.futures, os, re, subprocess, sys

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
env = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"], "COLUMNS": "80"}
COMMANDS = ("cure", "around", "verify", "confirm", "more", "collect", "修复", "临时绕过", "验证", "再确认", "更多", "请收集")
SEEN = ("seen", "explains", "依据", "可解释", "ranks", "进程")
LABEL = re.compile(r" {6}(%s)( {2,}|$)" % "|".join(COMMANDS + SEEN))
HOLE = re.compile(r"\{[a-z_.]+\}|\(null\)|(?<![\w$])\(\?\)| \?[ ,.;:)，。；）]|\bin \?|\bNone\b")
PLURAL = re.compile(r"(?<![\w.,:])1 (ranks|processes|GPUs|faults|nodes|packages|files|hosts|ports|lines|warnings|things)\b")
ENGLISH = re.compile(r"(?:\b[A-Za-z][a-z']+[ ,]+){5}[A-Za-z][a-z']+\b")
# What a log or a tool said is quoted in sentences; its words are nobody's here.
QUOTES = re.compile(r"（[^（）]*）|\([^()]*\)|“[^”]*”|\"[^\"]*\"|`[^`]*`|'[^']*'")


def width(s):
    return sum(2 if ord(c) > 0x2E7F else 1 for c in s)


def input_words(path):
    text = ""
    for root, _, files in os.walk(path):
        for f in files:
            with open(os.path.join(root, f), "rb") as h:
                text += h.read(1 << 20).decode("utf-8", "replace") + "\n"
    return re.sub(r"\s+", " ", text)


def faults(lines, chinese, given):
    part, out = "says", []
    for n, line in enumerate(lines, 1):
        found = LABEL.match(line)
        if found:
            part = found.group(1)
        elif re.match(r"  \S", line):
            part = "title"
        elif re.match(r" {6}\S", line):
            part = "says"
        said = line.strip()
        quoted = re.sub(r"\s+", " ", said)[:40] in given  # a line of the input that stands in a sentence
        if part in SEEN or n < 4:  # the headline has columns
            continue
        hole = HOLE.search(line[4:] if part == "title" else line)
        if hole and not quoted and not (hole.group().strip() == "None" and "None" in given):
            out.append((n, "a hole", line))
        if PLURAL.search(line) and not quoted and part not in COMMANDS:
            out.append((n, "1 of many", line))
        if part in ("says", "title"):
            if re.search(r"\S {2}\S", said) and part == "says" and not quoted and "|" not in said:
                out.append((n, "blanks", line))
            longest = max((width(w) for w in said.split(" ")), default=0)
            if width(line) > 80 and longest < 60:
                out.append((n, "wide", line))
    if chinese:
        text = re.sub(r"\s+", " ", " ".join(l.strip() for l in lines if re.match(r"  (?:\S| {4}\S)", l) and not LABEL.match(l)))
        for m in ENGLISH.finditer(QUOTES.sub(" ", text)):
            if m.group()[:12] not in given:
                out.append((0, "English", m.group()))
    return out


def one(kind, name, lang):
    path = os.path.join(top, "tests", kind, name)
    args = ["check", "--from", path] if kind == "hosts" else ["explain", path]
    files = [f for f in os.listdir(path) if f.startswith("input")] if kind == "reports" else []
    if len(files) == 1:
        args[1] = os.path.join(path, files[0])
    done = subprocess.run([davy] + args + ["--color", "never", "--lang", lang], capture_output=True, text=True, errors="replace", env=env, timeout=120)
    bad = faults(done.stdout.split("\n"), lang != "en", input_words(path) if kind == "reports" else "")
    if done.returncode not in (0, 1, 2):
        bad.append((0, "exit %d" % done.returncode, done.stderr[:100]))
    return bad


jobs = [(k, n, l) for k in ("hosts", "reports") for n in sorted(os.listdir(os.path.join(top, "tests", k))) if os.path.isdir(os.path.join(top, "tests", k, n)) for l in ("en", "zh_CN")]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(lambda j: one(*j), jobs))
n = failed = 0
for kind in ("hosts", "reports"):
    for lang in ("en", "zh_CN"):
        n += 1
        bad = [(j, b) for j, r in zip(jobs, results) if j[0] == kind and j[2] == lang for b in r]
        failed += bool(bad)
        print("%s %d - the texts of %s in %s" % ("not ok" if bad else "ok", n, kind, lang))
        for (_, name, _), (line, what, text) in bad[:60]:
            print("#   %s:%d: %s: %s" % (name, line, what, text.strip()[:140]))
print("1..%d" % n)
sys.exit(failed > 0)
