#!/usr/bin/env python3
"""Hundreds of environments made at random from hand-written metadata, whole and broken: the packages that davy lists are those of `pip list`, the conflicts those of `pip check`. pip runs
inside this process, on the same folders. TAP."""
import json, logging, os, random, re, shutil, subprocess, sys, sysconfig, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
COUNT = int(os.environ.get("COUNT", "220"))

try:
    import pip
    from pip._internal.metadata import get_environment
    from pip._internal.operations.check import PackageDetails, check_package_set
except ImportError as e:
    if os.path.exists("/usr/bin/python3") and "DAVY_AGAIN" not in os.environ:
        os.execve("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv, dict(os.environ, DAVY_AGAIN="1"))
    print("ok 1 - environments # SKIP no pip whose parts can be called (%s)\n1..1" % e)
    sys.exit(0)

logging.disable(logging.CRITICAL)
NAMES = ["numpy", "Foo.Bar", "foo_baz", "FOO-qux", "typing_extensions", "zope.interface", "a", "torch", "nvidia-nccl-cu12", "Jinja2", "x--y", "ruamel.yaml.clib", "3to2", "pip-tools", "lib2", "App"]
PYTHON = "%d.%d" % sys.version_info[:2]


def version(rnd):
    v = ".".join(str(rnd.choice([0, 1, 2, 3, 10, 11, 2024])) for _ in range(rnd.randint(1, 4)))
    if rnd.random() < .25:
        v += rnd.choice(["a1", "b2", "rc1", ".dev0", ".post1", "rc1.dev3", "+cu121", "+local.1", ".post2+cpu"])
    return v if rnd.random() < .95 else "1!" + v


def spelling(rnd, name):
    return rnd.choice([name, name.lower(), name.upper(), name.replace("-", "_"), name.replace("_", ".")])


def specifier(rnd, versions, name):
    base = versions.get(name) or version(rnd)
    if rnd.random() < .5:
        base = version(rnd)
    op = rnd.choice(["==", ">=", "<=", "!=", ">", "<", "~=", "===", "==*"])
    public = base.split("+")[0]
    if op == "==*":
        return "==%s.*" % re.match(r"\d+", public.split("!")[-1])[0]
    if op == "~=":
        parts = public.split("!")[-1]
        return "~=" + (parts if "." in parts.split("rc")[0].split(".dev")[0] else "1.0")
    return op + (base if op in ("==", "!=", "===") else public)


def marker(rnd):
    return rnd.choice(['python_version >= "3.%d"' % rnd.randint(6, 14), 'sys_platform == "%s"' % rnd.choice(["linux", "win32"]), 'extra == "gpu"', 'platform_machine != "aarch64"', 'implementation_name == "cpython" and python_version < "3.%d"' % rnd.randint(8, 15),
                       'os_name == "nt" or platform_system == "Linux"', 'python_full_version < "3.%d.1"' % rnd.randint(9, 13)])


def requirement(rnd, versions):
    name = rnd.choice(NAMES)
    text = spelling(rnd, name) + rnd.choice(["", "", "[gpu]", "[gpu,all]"])
    kind = rnd.random()
    if kind < .7:
        many = ",".join(specifier(rnd, versions, name) for _ in range(rnd.choice([1, 1, 2, 3])))
        text += rnd.choice([many, " " + many] + ([" (%s)" % many] if "===" not in many else []))
    elif kind < .75:
        text += " @ https://example.org/%s-1.0.tar.gz" % name
    if rnd.random() < .4 and "===" not in text:  # which takes all that follows
        text += rnd.choice([";", " ; "]) if "@" not in text else " ; "
        text += marker(rnd)
    return text


def valid(rnd, versions):
    from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
    while True:
        text = requirement(rnd, versions)
        try:
            Requirement(text)
            return text
        except InvalidRequirement:
            pass


def write(path, text, newline="\n"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline=newline) as f:
        f.write(text)


def dist(rnd, site, name, v, requires):
    kind = rnd.random()
    stem = "%s-%s" % (name.replace("-", "_"), v)
    head = "Metadata-Version: 2.1\n%s: %s\n%s: %s\nSummary: %s\n" % (rnd.choice(["Name", "Name", "name"]), name, rnd.choice(["Version", "version"]), v, rnd.choice(["x", "Über\n        Requires-Dist: not-me", "Name: inner"]))
    if kind < .8:
        text = head + "".join("%s: %s\n" % (rnd.choice(["Requires-Dist", "Requires-Dist", "requires-dist"]), r) for r in requires) + "Provides-Extra: gpu\n\nName: body\nRequires-Dist: body-only\n"
        write("%s/%s.dist-info/METADATA" % (site, stem), text, rnd.choice(["\n", "\n", "\r\n"]))
        if rnd.random() < .7:
            write("%s/%s.dist-info/INSTALLER" % (site, stem), rnd.choice(["pip\n", "uv", "conda\n"]))
    elif kind < .93:
        plain = [r for r in requires if ";" not in r and "@" not in r]
        write("%s/%s-py%s.egg-info/PKG-INFO" % (site, stem, PYTHON), head + "\n")
        write("%s/%s-py%s.egg-info/requires.txt" % (site, stem, PYTHON), "\n".join(plain) + "\n\n[gpu]\nmissing-extra\n\n[:python_version < \"3.0\"]\nold\n")
    else:
        write("%s/%s.egg-info" % (site, stem), head + "\n")


def environment(rnd, env):
    site = "%s/lib/python%s/site-packages" % (env, PYTHON)
    os.makedirs(env + "/bin")
    os.makedirs(site)
    os.symlink(sys.executable, env + "/bin/python")
    write(env + "/pyvenv.cfg", "home = %s\ninclude-system-site-packages = false\nversion = %s\n" % (os.path.dirname(os.path.realpath(sys.executable)), sys.version.split()[0]))
    chosen = rnd.sample(NAMES, rnd.randint(2, 12))
    versions = {n: version(rnd) for n in chosen}
    calm = rnd.random() < .3
    for name in chosen:
        dist(rnd, site, spelling(rnd, name) if rnd.random() < .3 else name, versions[name], [rnd.choice(chosen) + ">=0.dev0" if calm else valid(rnd, versions) for _ in range(rnd.randint(0, 4))])
    trouble = rnd.random()
    if trouble < .1:
        os.makedirs(site + "/empty-1.0.dist-info")
    elif trouble < .2:
        # Not of a package that is there: depending on the order of the folder, pip then leaves out the whole one.
        write(site + "/~eft-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: left\nVersion: 0.1\n")
    elif trouble < .3:
        write(site + "/src/develop_me.egg-info/PKG-INFO", "Metadata-Version: 1.0\nName: develop-me\nVersion: 0.3\n\n")
        write(site + "/develop-me.egg-link", site + "/src\n.")
        write(site + "/easy-install.pth", site + "/src\n")
    elif trouble < .4:
        other = env + "/other"
        write(other + "/From_Pth-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: from-pth\nVersion: 2.0\nRequires-Dist: nowhere>1\n\n")
        write(site + "/more.pth", "# comment\n\n%s\n/does/not/exist\n" % other)
        return site, [other]
    if .2 <= trouble < .3:
        return site, [site + "/src"]
    return site, []


def pip_says(site, more):
    e = get_environment([site] + more)
    packages, details = {}, {}
    for d in e.iter_installed_distributions(local_only=False, skip=()):
        packages[d.canonical_name] = (d.raw_name, str(d.version))
        details[d.canonical_name] = PackageDetails(d.version, list(d.iter_dependencies()))
    missing, conflicting = check_package_set(details)
    conflicts = {(n, str(details[n].version), req.name, None) for n, list_ in missing.items() for _, req in list_}
    conflicts |= {(n, str(details[n].version), req.name, str(found)) for n, list_ in conflicting.items() for _, found, req in list_}
    return set(packages.values()), conflicts


def canonical(name):
    from pip._vendor.packaging.utils import canonicalize_name
    return canonicalize_name(name)


def davy_says(env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "CONDA", "PIP_"))}
    d = json.loads(subprocess.run([davy, "check", "--json", "--only", "python", "--python", env], env=clean, capture_output=True, timeout=30).stdout)["facts"]
    live = [p for p in d["package"] if not p.get("shadowed") and not p.get("broken")]
    return {(p["name"], p["version"]) for p in live}, {(canonical(c["package"]), c["package_version"], c["name"], c.get("found")) for c in d["requirement_conflict"]}


def normal(conflicts):
    from pip._vendor.packaging.version import Version
    return {(n, str(Version(v)), canonical(r), str(Version(f)) if f else None) for n, v, r, f in conflicts}


rnd, wrong, packages, conflicts_seen, healthy = random.Random(20260801), [], 0, 0, 0
work = tempfile.mkdtemp(prefix="davy-env-")
try:
    for i in range(COUNT):
        env = "%s/env%d" % (work, i)
        site, more = environment(rnd, env)
        theirs, their_conflicts = pip_says(site, more)
        ours, our_conflicts = davy_says(env)
        packages += len(theirs)
        conflicts_seen += len(their_conflicts)
        healthy += not their_conflicts
        if {(canonical(n), v) for n, v in theirs} != {(canonical(n), v) for n, v in ours}:
            wrong.append("environment %d: packages of pip only %s, of davy only %s" % (i, sorted(theirs - ours), sorted(ours - theirs)))
        a, b = normal(their_conflicts), normal(our_conflicts)
        if a != b:
            wrong.append("environment %d: conflicts of pip only %s, of davy only %s" % (i, sorted(map(str, a - b)), sorted(map(str, b - a))))
        shutil.rmtree(env)
finally:
    shutil.rmtree(work, ignore_errors=True)
print("%s 1 - %d environments, %d packages, %d conflicts: as pip list and pip check (pip %s)" % ("not ok" if wrong else "ok", COUNT, packages, conflicts_seen, pip.__version__))
for w in wrong[:10]:
    print("#   " + w[:1500])
print("%s 2 - %d of them have conflicts, %d have none" % ("ok" if conflicts_seen > COUNT and healthy > 3 else "not ok", COUNT - healthy, healthy))
print("1..2")
sys.exit(bool(wrong) or not (conflicts_seen > COUNT and healthy > 3))
