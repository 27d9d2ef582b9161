#!/usr/bin/env bats
# The package table equals `pip list`, the conflicts equal `pip check`, for every kind of environment. pip itself is the oracle.

load venv

setup_file() { venv_once; }

setup() {
	DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	export HOME=$BATS_TEST_TMPDIR/home PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PIP_ROOT_USER_ACTION=ignore
	unset PYTHONPATH VIRTUAL_ENV CONDA_PREFIX
	mkdir -p "$HOME"
	cd "$BATS_TEST_TMPDIR"
}

has_pip() { "$1" -m pip --version >/dev/null 2>&1; }

# What davy says of the interpreter $1, as "name version" lines; packages that pip would not count are left out.
davy_list() {
	"$DAVY" check --json --python "$1" > davy.json || [ $? -le 2 ]
	python3 - <<'PY'
import json
for p in json.load(open("davy.json"))["facts"]["package"]:
    if not p.get("shadowed") and not p.get("broken"):
        print(p["name"], p["version"])
PY
}

pip_list() { "$1" -m pip list --format=json 2>/dev/null | python3 -c 'import json,sys
for p in json.load(sys.stdin): print(p["name"], p["version"])'; }

same_as_pip() {
	pip_list "$1" | sort > pip.txt
	davy_list "${2:-$1}" | sort > ours.txt
	[ -s pip.txt ]
	diff pip.txt ours.txt
}

conflicts() {
	python3 - <<'PY'
import json
for c in json.load(open("davy.json"))["facts"]["requirement_conflict"]:
    if c.get("found"):
        print(c["package"].lower(), c["package_version"], "has", c["name"], c["found"])
    else:
        print(c["package"].lower(), c["package_version"], "lacks", c["name"])
PY
}

pip_conflicts() {
	"$1" -m pip check 2>/dev/null | sed -nE \
		-e 's/^(\S+) (\S+) requires ([^ ,]+), which is not installed\.$/\L\1\E \2 lacks \L\3/p' \
		-e 's/^(\S+) (\S+) has requirement .*, but you have (\S+) (\S+)\.$/\L\1\E \2 has \L\3\E \4/p'
}

# dist DIR NAME VERSION [Requires-Dist...]
dist() {
	local dir=$1/$2-$3.dist-info name=$2 version=$3; shift 3
	mkdir -p "$dir"
	{ printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "$name" "$version"; for r in "$@"; do echo "Requires-Dist: $r"; done; printf '\nText\n'; } > "$dir/METADATA"
	echo pip > "$dir/INSTALLER"
	: > "$dir/RECORD"
}

site_of() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

@test "the system interpreter" {
	has_pip /usr/bin/python3 || skip "no pip for /usr/bin/python3"
	same_as_pip /usr/bin/python3
}

@test "the interpreter on PATH, through shims" {
	has_pip python3 || skip "no pip for python3"
	pip_list python3 | sort > pip.txt
	"$DAVY" check --json > davy.json || [ $? -le 2 ]
	python3 -c 'import json,sys
d = json.load(open("davy.json"))["facts"]
assert d["python"][0]["prefix"] == sys.prefix, (d["python"][0]["prefix"], sys.prefix)
assert d["python"][0]["version"] == "%d.%d.%d" % sys.version_info[:3], d["python"][0]["version"]
for p in d["package"]:
    if not p.get("shadowed") and not p.get("broken"): print(p["name"], p["version"])' | sort > ours.txt
	diff pip.txt ours.txt
}

@test "the module search path is Python's own" {
	for python in python3 /usr/bin/python3; do
		command -v $python >/dev/null || continue
		$python -c 'import sys; print("\n".join(p for p in sys.path if p and p != "'"$PWD"'"))' > theirs.txt
		"$DAVY" check --json --python "$(command -v $python)" > davy.json || [ $? -le 2 ]
		python3 -c 'import json
for p in json.load(open("davy.json"))["facts"]["sys_path"]: print(p["path"])' > ours.txt
		diff theirs.txt ours.txt
	done
}

@test "a fresh venv, by its directory and by its interpreter" {
	venv_here
	same_as_pip env/bin/python env
	same_as_pip env/bin/python
}

@test "a venv of copies" {
	has_pip python3 || skip "no pip"
	python3 -m venv --copies env
	same_as_pip env/bin/python env
}

@test "a venv that sees the system's packages and covers some" {
	has_pip /usr/bin/python3 || skip "no pip for /usr/bin/python3"
	/usr/bin/python3 -m venv --system-site-packages env || skip "no venv module"
	site=$(site_of env/bin/python)
	dist "$site" six 9.9
	dist "$site" Only_Here 1.0
	same_as_pip env/bin/python env
	grep -q 'six 9.9' ours.txt
}

@test "an editable install of PEP 660" {
	venv_here
	mkdir -p src/demo_pkg; echo 'x = 1' > src/demo_pkg/__init__.py
	cat > src/pyproject.toml <<-'TOML'
		[build-system]
		requires = []
		build-backend = "backend"
		backend-path = ["."]
	TOML
	cat > src/backend.py <<-'PY'
		import os, zipfile
		def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
		    name = "demo_pkg-1.2-py3-none-any.whl"
		    info = "demo_pkg-1.2.dist-info/"
		    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as z:
		        z.writestr("__editable__demo_pkg.pth", os.path.dirname(os.path.abspath(__file__)) + "\n")
		        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: demo-pkg\nVersion: 1.2\n")
		        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
		        z.writestr(info + "RECORD", "")
		    return name
		build_wheel = build_editable
	PY
	env/bin/python -m pip install -q --no-build-isolation --no-deps -e src
	same_as_pip env/bin/python env
	grep -q 'demo-pkg 1.2' ours.txt
	python3 -c 'import json
p = [p for p in json.load(open("davy.json"))["facts"]["package"] if p["name"] == "demo-pkg"][0]
assert p["editable"] and p["source_url"].endswith("/src"), p'
}

@test "an editable install of setup.py develop: egg-link and .pth" {
	venv_here
	site=$(site_of env/bin/python)
	mkdir -p src/old_style.egg-info
	printf 'Metadata-Version: 1.0\nName: old-style\nVersion: 0.3\n' > src/old_style.egg-info/PKG-INFO
	printf 'not-there>=2\n\n[extra]\nother\n' > src/old_style.egg-info/requires.txt
	printf '%s\n.' "$PWD/src" > "$site/old-style.egg-link"
	echo "$PWD/src" > "$site/easy-install.pth"
	same_as_pip env/bin/python env
	grep -q 'old-style 0.3' ours.txt
	diff <(pip_conflicts env/bin/python | sort) <(conflicts | sort)
}

@test "user site and PYTHONPATH" {
	has_pip /usr/bin/python3 || skip "no pip for /usr/bin/python3"
	user=$(/usr/bin/python3 -m site --user-site) || true
	dist "$user" numpy 0.1
	dist "$user" User-Only 2.0
	mkdir -p extra
	dist "$PWD/extra" from_path 3.0
	export PYTHONPATH=$PWD/extra:/nowhere
	same_as_pip /usr/bin/python3
	grep -q 'User-Only 2.0' ours.txt
	grep -q 'from_path 3.0' ours.txt
}

@test "what an interrupted pip leaves behind is no package" {
	venv_here
	site=$(site_of env/bin/python)
	dist "$site" good 1.0
	dist "$site" "~ood" 0.9
	mkdir "$site/empty-1.0.dist-info"
	davy_list env > ours.txt
	grep -q 'good 1.0' ours.txt
	! grep -qE '~ood|empty' ours.txt
	python3 -c 'import json
b = {p["metadata"].split("/")[-1]: p["broken"] for p in json.load(open("davy.json"))["facts"]["package"] if p.get("broken")}
assert set(b) == {"~ood-0.9.dist-info", "empty-1.0.dist-info"}, b'
}

@test "conflicts are those of pip check" {
	venv_here
	site=$(site_of env/bin/python)
	dist "$site" app 1.0 'lib>=2,<3' 'gone' 'gpu; extra == "gpu"' 'old; python_version < "3"' 'pre>=1.0' 'lib[fast]!=1.5' 'windows-only; sys_platform == "win32"'
	dist "$site" lib 1.5 'base~=4.2'
	dist "$site" base 5.0
	dist "$site" pre 1.1.dev3
	dist "$site" top 1 'app'
	same_as_pip env/bin/python env
	diff <(pip_conflicts env/bin/python | sort) <(conflicts | sort)
	python3 -c 'import json
c = [c for c in json.load(open("davy.json"))["facts"]["requirement_conflict"] if c["name"] == "base"][0]
assert c["chain"] == "top -> app -> lib -> base", c["chain"]'
}

@test "conflicts of the system interpreter are those of pip check" {
	has_pip /usr/bin/python3 || skip "no pip for /usr/bin/python3"
	davy_list /usr/bin/python3 >/dev/null
	diff <(pip_conflicts /usr/bin/python3 | sort) <(conflicts | sort)
}

@test "other installed versions of Python" {
	n=0
	for python in "${PYENV_ROOT:-/root/.pyenv}"/versions/3.*/bin/python3; do
		[ -x "$python" ] && has_pip "$python" || continue
		same_as_pip "$python"
		n=$((n + 1))
	done
	[ $n -gt 0 ] || skip "none"
}
