#!/usr/bin/env python3
"""Compares Davy's reading of versions, specifiers, requirements and markers with the `packaging` library inside pip.

usage: pep440_oracle.py ANSWERER [COUNT]

A thousand random questions of each kind, the same ones each time (fixed seed). Exit 0: all equal; 77: this Python has no pip with a
recent `packaging` (22 or newer, which no longer knows legacy versions).
"""
import random
import subprocess
import sys

try:
    import pip._vendor.packaging as packaging
    from pip._vendor.packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
    from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
    from pip._vendor.packaging.specifiers import InvalidSpecifier, SpecifierSet
    from pip._vendor.packaging.utils import canonicalize_name
    from pip._vendor.packaging.version import InvalidVersion, Version
    if int(getattr(packaging, "__version__", "0").split(".")[0]) < 22:
        raise ImportError
except ImportError:
    print("pep440_oracle: skipped, no pip with packaging >= 22 in", sys.executable)
    sys.exit(77)

ENV = {
    "python_version": "3.11", "python_full_version": "3.11.7", "os_name": "posix", "sys_platform": "linux", "platform_release": "6.1.0",
    "platform_system": "Linux", "platform_version": "1", "platform_machine": "x86_64", "platform_python_implementation": "CPython",
    "implementation_name": "cpython", "implementation_version": "3.11.7",
}
rnd = random.Random(20240229)
pick = rnd.choice


def maybe(p, f):
    return f() if rnd.random() < p else ""


def number():
    return pick(["0", "0", "1", "1", "2", "3", "9", "10", "11", "01", "007", "2024", "20240131", "123456789012345678901234"])


def release(least=1):
    return ".".join(number() for _ in range(rnd.randint(least, 4)))


def separated(words, p):
    return maybe(p, lambda: pick(["", "", ".", "-", "_"]) + pick(words) + pick(["", "", ".", "-", "_"]) + pick(["", number()]))


def public(least=1):
    return (maybe(.1, lambda: number() + "!") + release(least) + separated(["a", "b", "rc", "c", "alpha", "beta", "pre", "preview", "RC"], .3)
            + pick(["", "", "", "-1", separated(["post", "rev", "r", "Post"], .5)]) + separated(["dev", "DEV"], .2))


def local():
    return "+" + pick(["cpu", "cu118", "cu121", "1", "01", "rocm5.7", "a.1", "1.a", "a-1_b", "CU118", "cu118.post2"])


def version():
    v = maybe(.05, lambda: "v") + public() + maybe(.25, local)
    if rnd.random() < .08:  # damage it
        i = rnd.randrange(len(v))
        v = v[:i] + pick(["", "x", "-", ".", "+", "!", " ", "rc", "*"]) + v[i + rnd.randint(0, 1):]
    return v


def mutate(v):
    """A version near v, so that equality and prefixes happen."""
    i = rnd.randrange(len(v) + 1)
    return pick([v, v + ".0", v + "rc1", v + ".dev0", v + ".post1", v + "+cpu", v[:i], v[:i] + "1" + v[i:]])


def specifier(near):
    op = pick(["==", "!=", "<=", ">=", "<", ">", "~=", "==="])
    base = mutate(near) if rnd.random() < .6 else public()
    wild = ".*" if op in ("==", "!=") and rnd.random() < .4 else ""
    if wild:
        base = release(1) if rnd.random() < .3 else ".".join(near.split(".")[:rnd.randint(1, 3)])
    return maybe(.2, lambda: " ") + op + maybe(.3, lambda: " ") + base + wild + maybe(.1, lambda: pick([".*", "+cpu", " ", "x"]))


def name():
    return pick(["torch", "nvidia-nccl-cu12", "Foo.Bar_baz", "a", "_a", "a-", "zope.interface", "typing_extensions", "x--y", "3to2"])


def marker(depth=0):
    if depth < 3 and rnd.random() < .45:
        inner = marker(depth + 1) + " " + pick(["and", "or"]) + " " + marker(depth + 1)
        return pick(["(" + inner + ")", "( " + inner + " )", inner])
    variable = pick(list(ENV) + ["extra", "os.name", "python_implementation", "unknown"])
    value = pick(["3.8", "3.11", "3.11.7", "3.12", "3", "linux", "win32", "posix", "x86_64", "aarch64", "Linux", "CPython", "gpu", "GPU", "g_p-u", "cpython", "",
                  "linux darwin", "3.10 3.11", "3.11.*", "6", "2.7, 3.11"])
    op = pick(["==", "!=", "<", ">", "<=", ">=", "in", "not in", "~=", "===", "==", "=<"])
    quote = pick("'\"")
    left, right = variable, quote + value + quote
    if rnd.random() < .25:
        left, right = right, left
    return left + pick([" ", "  ", "" if not op[0].isalpha() else " "]) + op + pick([" ", "" if not op[0].isalpha() else " "]) + right


def requirement():
    text = name() + maybe(.3, lambda: pick(["[gpu]", "[a,b]", "[ a , b ]", "[]", "[a b]", "[a,]"]))
    kind = rnd.random()
    if kind < .15:
        text += pick([" @ ", "@", " @"]) + pick(["https://example.org/x-1.whl", "file:///x", ""]) + pick(["", " "])
    elif kind < .8:
        many = ",".join(specifier(public()) for _ in range(rnd.randint(1, 3))) + maybe(.1, lambda: ",")
        text += maybe(.5, lambda: " ") + pick([many, "(" + many + ")", "( " + many + " )"])
    return text + maybe(.5, lambda: pick([";", " ; ", " ;"]) + marker())


def says_version(text):
    try:
        v = Version(text)
    except InvalidVersion:
        return "invalid"
    return f"{v} {'pre' if v.is_prerelease else 'final'}"


def says_order(a, b):
    try:
        x, y = Version(a), Version(b)
    except InvalidVersion:
        return "invalid"
    return str((x > y) - (x < y))


def says_match(specifiers, text, mode):
    try:
        v, s = Version(text), SpecifierSet(specifiers)
        return "yes" if s.contains(v, prereleases={"allowed": True, "refused": False, "default": None}[mode]) else "no"
    except (InvalidVersion, InvalidSpecifier):
        return "invalid"


def says_requirement(text):
    try:
        r = Requirement(text)
    except (InvalidRequirement, InvalidSpecifier):
        return "invalid"
    return (canonicalize_name(r.name), frozenset(r.extras), frozenset(str(s).lower() for s in r.specifier), r.url or "", "marker" if r.marker else "")


def reads_requirement(answer):
    if answer == "invalid":
        return answer
    n, extras, specifiers, url, mark = answer.split("|")
    return (n, frozenset(filter(None, extras.split(","))), frozenset(str(s).lower() for s in SpecifierSet(specifiers)), url, mark)


def says_marker(text, extra):
    try:
        m = Marker(text)
    except InvalidMarker:
        return "invalid"
    try:
        return "yes" if m.evaluate(dict(ENV, extra=extra)) else "no"
    except UndefinedComparison:
        return "undefined"
    except (InvalidVersion, UndefinedEnvironmentName, KeyError):
        return None  # pip fails here; Davy compares as words


def questions(count):
    for _ in range(count):
        yield ("version", version())
        a = version()
        b = mutate(a) if rnd.random() < .6 else version()
        yield ("order", a, b)
        v = version()
        yield ("match", ",".join(specifier(v) for _ in range(pick([1, 1, 1, 2, 3]))), v, pick(["allowed", "default", "refused"]))
        yield ("requirement", requirement())
        yield ("marker", marker(), pick(["", "gpu", "g.p.u"]))


def expected(q):
    return {"version": says_version, "order": says_order, "match": says_match, "requirement": says_requirement, "marker": says_marker}[q[0]](*q[1:])


def is_quirk(q):
    """`~=` with a spelling that packaging does not split: "~=1.2c1", "~=1.2.rev1" (it looks at the text instead of the version); and === with
    something that is no version, on which its own property fails."""
    if q[0] != "match":
        return False
    for s in q[1].split(","):
        s = s.strip()
        if s.startswith("~=") or s.startswith("==="):
            try:
                if str(Version(s.lstrip("~= "))) != s.lstrip("~= ").strip():
                    return True
            except InvalidVersion:
                if s.startswith("==="):
                    return True
    return False


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    asked = [q for q in questions(count) if "\n" not in "".join(q) and not is_quirk(q)]
    text = "\n".join("\t".join(q) for q in asked) + "\n"
    answers = subprocess.run([sys.argv[1]], input=text, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.splitlines()
    if len(answers) != len(asked):
        sys.exit(f"pep440_oracle: {len(asked)} questions, {len(answers)} answers")
    failed = checked = 0
    tally = {}
    for q, answer in zip(asked, answers):
        want = expected(q)
        if want is None:
            continue
        checked += 1
        got = reads_requirement(answer) if q[0] == "requirement" else answer
        tally.setdefault((q[0], want if isinstance(want, str) and q[0] != "version" else "value"), [0])[0] += 1
        if got != want:
            failed += 1
            if failed <= 20:
                print("differs:", q, "pip:", want, "davy:", got)
    if "-v" in sys.argv:
        print({k: v[0] for k, v in tally.items()})
    print(f"pep440_oracle: {checked} questions, {failed} differ (packaging {packaging.__version__})")
    sys.exit(1 if failed else 0)


main()
