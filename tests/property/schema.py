#!/usr/bin/env python3
"""The JSON output of check, explain, compare, cluster, plan, cause and query is what docs/schema says. A validator for the part of JSON Schema that it uses. TAP."""
import glob, json, os, re, subprocess, sys

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
schemas = {name: json.load(open(os.path.join(top, "docs/schema/%s.json" % name), encoding="utf-8")) for name in ("davy-1", "davy-plan-1", "davy-cause-1", "davy-query-1")}
types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None), "boolean": bool}


def errors(value, s, schema, where="$"):
    if "$ref" in s:
        s = schema["definitions"][s["$ref"].split("/")[-1]]
    if "const" in s and value != s["const"]:
        yield "%s: %r is not %r" % (where, value, s["const"])
    if "enum" in s and value not in s["enum"]:
        yield "%s: %r is none of %r" % (where, value, s["enum"])
    if "type" in s:
        wanted = s["type"] if isinstance(s["type"], list) else [s["type"]]
        if not any(isinstance(value, types[t]) and not (t in ("integer", "number") and isinstance(value, bool)) for t in wanted):
            yield "%s: %r is no %s" % (where, value, "/".join(wanted))
            return
    if "pattern" in s and isinstance(value, str) and not re.search(s["pattern"], value):
        yield "%s: %r does not match %s" % (where, value, s["pattern"])
    if "oneOf" in s and sum(not list(errors(value, o, schema, where)) for o in s["oneOf"]) != 1:
        yield "%s: not exactly one of the forms: %r" % (where, value)
    if isinstance(value, dict):
        for k in s.get("required", ()):
            if k not in value:
                yield "%s: %s is missing" % (where, k)
        extra = s.get("additionalProperties")
        for k, v in value.items():
            sub = s.get("properties", {}).get(k, extra if isinstance(extra, dict) else {})
            yield from errors(v, sub, schema, "%s.%s" % (where, k))
    if isinstance(value, list) and "items" in s:
        for i, v in enumerate(value):
            yield from errors(v, s["items"], schema, "%s[%d]" % (where, i))


runs = [["check"], ["check", "--for", "nccl"], ["check", "--lang", "zh_CN"]]
hosts = sorted(glob.glob(os.path.join(top, "tests/hosts/*/expect.txt")))
reports = sorted(glob.glob(os.path.join(top, "tests/reports/*/input.txt")))
alone = ["cluster", "--from", os.path.join(top, "tests/hosts/good-cpu"), "--master", "127.0.0.1:29597", "--deadline", "10"]
runs += [alone + ["--rank", "0", "--size", "1"], alone + ["--rank", "1", "--size", "2"]]
runs += [["compare", os.path.join(top, "tests/hosts/h100x8"), os.path.join(top, "tests/hosts/mi300x8")], ["compare", "--by", "none"] + [os.path.join(top, "tests/hosts", h) for h in ("h100x8", "a100-pcie-x4", "driver-one-below", "base-ubuntu", "nowhere")]]
runs += [["check", "--from", os.path.dirname(h)] for h in hosts[::6]] + [["explain", r] for r in reports[::5]]
runs += [["plan"], ["plan", "--lock", "--python", "/usr/bin/python3"], ["plan", "--gpu", "H100", "--driver", "550.54", "--mirror", "tsinghua"], ["plan", "--gpu", "H100", "--driver", "550.54", "--from-source"], ["plan", "--torch", "99.9", "--gpu", "H100", "--driver", "550.54"]]
runs += [["cause"], ["cause", "host.shm-too-small", "--lang", "zh_CN"], ["query", "--schema"], ["query", "SELECT name, version, 1.5 AS half, NULL AS gone FROM package LIMIT 3"]]
bad = 0
for i, args in enumerate(runs, 1):
    p = subprocess.run([davy] + args + ["--json"], capture_output=True, timeout=60)
    try:
        schema = schemas["davy-%s-1" % args[0] if args[0] in ("plan", "cause", "query") else "davy-1"]
        wrong = list(errors(json.loads(p.stdout), schema, schema))
    except ValueError as e:
        wrong = ["no JSON: %s; %s" % (e, p.stderr.decode()[:300])]
    bad += bool(wrong)
    print("%s %d - schema: davy %s" % ("not ok" if wrong else "ok", i, " ".join(os.path.relpath(a, top) if a.startswith("/") else a for a in args)))
    for w in wrong[:5]:
        print("#   " + w)
print("1..%d" % len(runs))
sys.exit(bad > 0)
