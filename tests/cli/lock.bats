#!/usr/bin/env bats
# davy plan --lock and check --lock: environments made by pip from wheels made here, written down, changed, compared, rebuilt from the file by pip.

load venv

setup_file() { venv_once; }

setup() {
	DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	export HOME=$BATS_TEST_TMPDIR/home PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PIP_ROOT_USER_ACTION=ignore
	unset PYTHONPATH VIRTUAL_ENV CONDA_PREFIX PIP_FIND_LINKS
	export PIP_CONFIG_FILE=/dev/null
	mkdir -p "$HOME"
	venv_here
}

# wheel DIR NAME VERSION [content]: a wheel with a module, a script and a RECORD
wheel() {
	mkdir -p "$1"
	python3 - "$@" <<'PY'
import base64, hashlib, os, sys, zipfile
folder, name, version = sys.argv[1:4]
content = sys.argv[4] if len(sys.argv) > 4 else "x = 1\n"
info = "%s-%s.dist-info/" % (name, version)
files = {name + "/__init__.py": content, info + "METADATA": "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name.replace("_", "-"), version),
         info + "WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n", info + "entry_points.txt": "[console_scripts]\n%s = %s:main\n" % (name, name)}
record = "".join("%s,sha256=%s,%d\n" % (n, base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).rstrip(b"=").decode(), len(t)) for n, t in files.items())
with zipfile.ZipFile(os.path.join(folder, "%s-%s-py3-none-any.whl" % (name, version)), "w") as z:
    for n, t in files.items():
        z.writestr(n, t)
    z.writestr(info + "RECORD", record + info + "RECORD,,\n")
PY
}

install() { env/bin/python -m pip install -q --no-deps --find-links wheels "$@"; }
lock() { "$DAVY" plan --lock lock.txt --python env/bin/python; }
drift() { "$DAVY" check --lock lock.txt --python "${1:-env/bin/python}" --only python.environment-drift --json > drift.json; }
kinds() { python3 -c 'import json; print(*sorted(d["kind"] + ":" + d["name"] for d in json.load(open("drift.json"))["facts"].get("lock_drift", [])))'; }

@test "an environment that has not changed has not drifted; pip rebuilds it from the file, and the copy has not drifted either" {
	wheel wheels alpha 1.0; wheel wheels beta_two 2.5
	install alpha beta-two
	lock
	grep -q '^alpha==1.0 ' lock.txt
	drift
	[ -z "$(kinds)" ]
	python3 -m venv copy
	copy/bin/python -m pip install -q --no-deps --find-links wheels -r lock.txt
	drift copy/bin/python
	[ -z "$(kinds)" ]
	diff <(env/bin/python -m pip freeze --all) <(copy/bin/python -m pip freeze --all)
}

@test "another version, a missing package and an added one are named, and the printed commands mend them" {
	wheel wheels alpha 1.0; wheel wheels alpha 1.1; wheel wheels beta 2; wheel wheels gamma 3
	install alpha==1.0 beta
	lock
	install alpha==1.1 gamma
	env/bin/python -m pip uninstall -qy beta
	run drift
	[ "$status" -eq 1 ]
	[ "$(kinds)" = "added:gamma missing:beta version:alpha" ]
	"$DAVY" check --lock lock.txt --python env/bin/python --only python.environment-drift > out.txt || true
	grep -q 'alpha 1.1 (1.0)' out.txt
	python3 - <<'PY'
import json, re
d = json.load(open("drift.json"))
commands = {f["id"]: f["commands"] for x in d["findings"] for f in x["fixes"]}
with open("mend.sh", "w") as f:
    f.write("set -eu\n" + "\n".join(c.replace(" install ", " install -q --find-links wheels ") for k in ("install", "uninstall") for c in commands[k]) + "\n")
PY
	sh mend.sh
	drift
	[ -z "$(kinds)" ]
}

@test "other contents under the same version" {
	wheel wheels alpha 1.0
	install alpha
	lock
	wheel wheels alpha 1.0 "x = 2"
	install --force-reinstall alpha
	run drift
	[ "$status" -eq 1 ]
	[ "$(kinds)" = "contents:alpha" ]
	wheel wheels alpha 1.0
	python3 -c 'import json; print([c for x in json.load(open("drift.json"))["findings"] for f in x["fixes"] if f["id"] == "reinstall" for c in f["commands"]][0].replace(" install ", " install -q --find-links wheels "))' > mend.sh
	sh -eu mend.sh
	drift
	[ -z "$(kinds)" ]
}

@test "a local wheel with its hash, an editable, a package that nothing hashes; all hashes known: pip checks them" {
	wheel wheels alpha 1.0; wheel wheels beta 2
	mkdir -p src/tool; echo > src/tool/__init__.py
	printf '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n' > src/pyproject.toml
	cat > src/backend.py <<-'PY'
		import os, zipfile
		def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
		    name, info = "tool-0.3-py3-none-any.whl", "tool-0.3.dist-info/"
		    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as z:
		        z.writestr("__editable__tool.pth", os.path.dirname(os.path.abspath(__file__)) + "\n")
		        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 0.3\n")
		        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
		        z.writestr(info + "RECORD", "")
		    return name
		build_wheel = build_editable
	PY
	install ./wheels/alpha-1.0-py3-none-any.whl beta
	env/bin/python -m pip install -q --no-deps --no-build-isolation -e ./src
	lock
	sum=$(sha256sum wheels/alpha-1.0-py3-none-any.whl | cut -d' ' -f1)
	grep -q "^alpha @ file://.*/alpha-1.0-py3-none-any.whl#sha256=$sum  # davy version=1.0 record=sha256=" lock.txt
	grep -qE '^-e .*/src  # davy name=tool version=0.3$' lock.txt
	! grep -q -- '--hash' lock.txt
	drift
	[ -z "$(kinds)" ]
	env/bin/python -m pip uninstall -qy beta tool pip setuptools >/dev/null 2>&1 || true
	"$DAVY" plan --lock all.txt --python env/bin/python
	grep -q -- "--hash=sha256:$sum" all.txt
	python3 -m venv copy
	copy/bin/python -m pip install -q --no-deps -r all.txt
	sed -i "s/$sum/${sum//[0-9]/0}/g" all.txt
	run copy/bin/python -m pip install -q --no-deps --force-reinstall -r all.txt
	[ "$status" -ne 0 ]
}

@test "an archive that is gone is said, and the index's is taken" {
	wheel wheels alpha 1.0
	install ./wheels/alpha-1.0-py3-none-any.whl
	rm -r wheels
	lock
	grep -q 'alpha was installed from .*, which is gone' lock.txt
	grep -q '^alpha==1.0 ' lock.txt
}

@test "indices: of pip's configuration without its token, of PyTorch by the local tag" {
	site=$(env/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	for v in torch-2.7.1+cu128 torchvision-0.22.1+cu128; do
		mkdir "$site/$v.dist-info"
		printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "${v%%-*}" "${v#*-}" > "$site/$v.dist-info/METADATA"
	done
	printf '[global]\nindex-url = https://user:secret@mirror.example/simple\n' > env/pip.conf
	"$DAVY" plan --lock --python env/bin/python > lock.txt
	! grep -q secret lock.txt
	grep -qx -- '--index-url https://mirror.example/simple' lock.txt
	[ "$(grep -cx -- '--extra-index-url https://download.pytorch.org/whl/cu128' lock.txt)" = 1 ]
	grep -q '^torch==2.7.1+cu128 ' lock.txt
	env/bin/python - <<'PY'
from pip._internal.req.req_file import parse_requirements
from pip._internal.network.session import PipSession
names = [r.requirement for r in parse_requirements("lock.txt", session=PipSession())]
assert any(n.startswith("torch==2.7.1+cu128") for n in names), names
PY
}

@test "conda: the explicit list, and conda's drift" {
	mkdir -p conda/bin conda/conda-meta conda/lib/python3.11/site-packages/numpy-1.26.4.dist-info
	cp "$(readlink -f "$(command -v python3)")" conda/bin/python3.11 && ln -s python3.11 conda/bin/python
	printf 'Metadata-Version: 2.1\nName: numpy\nVersion: 1.26.4\n' > conda/lib/python3.11/site-packages/numpy-1.26.4.dist-info/METADATA
	touch conda/conda-meta/history conda/lib/python3.11/os.py
	meta() { printf '{"name": "%s", "version": "%s", "build": "%s", "url": "https://conda.anaconda.org/t/tk-1234/conda-forge/linux-64/%s-%s-%s.conda", "md5": "%s", "sha256": "%s"}' "$1" "$2" "$3" "$1" "$2" "$3" 0123456789abcdef0123456789abcdef "$(printf %064d 7)" > "conda/conda-meta/$1-$2-$3.json"; }
	meta python 3.11.7 h955ad1f_0; meta numpy 1.26.4 py311h64a7726_0; meta openssl 3.2.0 hd590300_1
	"$DAVY" plan --lock lock.txt --python conda
	! grep -q 'tk-1234' lock.txt
	grep -qx '# conda: https://conda.anaconda.org/conda-forge/linux-64/openssl-3.2.0-hd590300_1.conda#0123456789abcdef0123456789abcdef' lock.txt
	[ "$(sed -n 's/^# conda: //p' lock.txt | wc -l)" = 3 ]
	! grep -q '^numpy==' lock.txt
	drift conda
	[ -z "$(kinds)" ]
	rm conda/conda-meta/openssl-*; meta openssl 3.3.1 h1_0; meta zlib 1.3 h2_0; rm conda/conda-meta/numpy-*; meta numpy 1.26.4 py311other_1
	run drift conda
	[ "$status" -eq 1 ]
	[ "$(kinds)" = "added:zlib contents:numpy version:openssl" ]
	grep -q 'openssl=3.2.0=hd590300_1' drift.json
}

@test "another Python" {
	wheel wheels alpha 1.0
	install alpha
	lock
	sed -i 's/^# davy: python .*/# davy: python 3.9.18/' lock.txt
	run drift
	[ "$status" -eq 1 ]
	[ "$(kinds)" = "python:python" ]
	grep -q 'uv venv --python 3.9.18' drift.json
}

@test "pip freeze of others: pins are compared, what is not named is not added" {
	wheel wheels alpha 1.0; wheel wheels beta 2
	install alpha beta
	printf -- '--extra-index-url https://example.org/simple\nalpha==1.1 \\\n    --hash=sha256:%064d\n' 1 > lock.txt
	run drift
	[ "$status" -eq 1 ]
	[ "$(kinds)" = "version:alpha" ]
}

@test "files that are no lock: a sentence, exit status 66; wrong usage: 64" {
	printf 'alpha>=1\n' > loose.txt; printf '\177ELF\001' > binary; : > empty; printf 'alpha==1.0\n-rm -rf\n; drop\n' > broken.txt; printf '# davy lock 2\n' > newer.txt
	for f in missing.txt loose.txt binary empty broken.txt newer.txt /dev/null "$HOME"; do
		run "$DAVY" check --lock "$f" --python env/bin/python
		[ "$status" -eq 66 ]
		[[ $output == "davy: --lock $f: "* ]]
	done
	[ "$("$DAVY" check --lock broken.txt 2>&1)" = "davy: --lock broken.txt: line 3: not a requirement" ]
	run "$DAVY" plan --lock x.txt --docker
	[ "$status" -eq 64 ]
	run "$DAVY" check --lock
	[ "$status" -eq 64 ]
	run "$DAVY" plan --lock no/such/folder/lock.txt --python env/bin/python
	[ "$status" -eq 70 ]
	run "$DAVY" plan --lock - --python /no/such/python
	[ "$status" -eq 66 ]
}

@test "names in a lock are words of a command, whatever they hold" {
	printf '# davy lock 1\nalpha @ https://x.example/a;touch$IFS/pwned`id`.whl  # davy version=1\n' > lock.txt
	run drift
	[ "$status" -eq 1 ]
	python3 - <<'PY'
import json, shlex
d = json.load(open("drift.json"))
c = [c for x in d["findings"] for f in x["fixes"] if f["id"] == "install" for c in f["commands"]][0]
assert shlex.split(c)[-1] == "alpha @ https://x.example/a;touch$IFS/pwned`id`.whl", c
PY
}

@test "JSON and Chinese" {
	"$DAVY" plan --lock --json --python env/bin/python | python3 -c 'import json,sys; d = json.load(sys.stdin); assert d["lock"]["pip"] >= 1 and "davy lock 1" in d["lock"]["text"]'
	"$DAVY" plan --lock --lang zh_CN --python env/bin/python | grep -q '此后发生了哪些变化'
	"$DAVY" plan --lock lock.txt --python env/bin/python --lang zh_CN
	drift
}
