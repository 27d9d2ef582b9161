#!/usr/bin/env python3
"""The screens in README.md are what the commands print; every option and command of --help stands in the man page. --update rewrites the screens. TAP."""
import os, re, shlex, subprocess, sys

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
path = os.path.join(top, "README.md")
text = open(path, encoding="utf-8").read()
env = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}
blocks = re.findall(r"(?m)^    \$ (davy .*)\n((?:    .*\n|\n(?=    ))*)", text)
# Times differ, and so do the blanks that push them to the right.
plain = lambda s: re.sub(r" +[0-9.]+ ms$", "", s, flags=re.M).rstrip()
n = bad = 0
for command, shown in blocks:
    out = subprocess.run([davy] + shlex.split(command)[1:], capture_output=True, text=True, cwd=top, env=env, timeout=60).stdout
    body = "".join(("    " + l).rstrip() + "\n" for l in out.rstrip("\n").split("\n"))
    if "--update" in sys.argv:
        text = text.replace("    $ " + command + "\n" + shown, "    $ " + command + "\n" + body)
        continue
    n += 1
    good = plain(body) == plain(shown)
    bad += not good
    print("%s %d - README: %s" % ("ok" if good else "not ok", n, command))
    for a, b in zip(plain(shown).split("\n"), plain(body).split("\n")):
        if not good and a != b:
            print("#   shown:   %s\n#   printed: %s" % (a, b))
            break
if "--update" in sys.argv:
    open(path, "w", encoding="utf-8").write(text)
    sys.exit(0)
man = open(os.path.join(top, "docs/man/davy.1"), encoding="utf-8").read().replace("\\-", "-")
missing = set()
helps = subprocess.run([davy, "--help"], capture_output=True, text=True, env=env).stdout
for c in re.findall(r"(?m)^  ([a-z]+) ", helps):
    if not re.search(r"(?m)^\.B(I)? %s" % c, man) and ".B davy %s" % c not in man:
        missing.add(c)
    for o in re.findall(r"(?m)^  (--[a-z-]+)", subprocess.run([davy, c, "--help"], capture_output=True, text=True, env=env).stdout):
        if o not in ("--help", "--version") and o not in man:
            missing.add(o)
n += 1
bad += bool(missing)
print("%s %d - the man page has every command and option%s" % ("not ok" if missing else "ok", n, "".join("\n#   " + m for m in sorted(missing))))
print("1..%d" % n)
sys.exit(bad > 0)
