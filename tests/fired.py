"""Which rules fired in a test, for tests/property/rules.py: note(document) for each answer of `davy --json`; written when a whole test ends."""
import atexit, json, os, sys

_top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(_top, "build/fired")
_rules = set()


def rules_of(doc):
    found = set()
    for f in doc.get("findings", []):
        found.update(f.get("rules", []))
        for e in f["explains"]:
            found.update(e.get("rules", []))
    return found


def note(doc):
    _rules.update(rules_of(doc))


def _write():
    if _rules and len(sys.argv) < 2 + (os.path.basename(sys.argv[0]) == "-"):
        os.makedirs(FOLDER, exist_ok=True)
        with open(os.path.join(FOLDER, os.environ.get("FIRED_NAME") or os.path.basename(sys.argv[0]).replace(".py", "")) + ".json", "w", encoding="utf-8") as f:
            json.dump(sorted(_rules), f)


atexit.register(_write)
