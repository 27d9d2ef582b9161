#!/usr/bin/env bats
# davy compare: of two what differs, of many who is odd; healthy fleets give nothing. Nodes come from the hosts of tests/hosts, made many by bench/make-fleet.

bats_require_minimum_version 1.5.0

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	export HOSTS=$DAVY_SOURCE/tests/hosts
	"$DAVY" check --from "$HOSTS/h100x8" --json > h.json || true
	"$DAVY" check --from "$HOSTS/a100-pcie-x4" --json > a.json || true
	"$DAVY" check --from "$HOSTS/mi300x8" --json > m.json || true
}

setup() {
	cd "$BATS_FILE_TMPDIR"
	export LC_ALL=C.UTF-8
	unset LANG NO_COLOR
}

fleet() { "$DAVY_SOURCE/bench/make-fleet" "$@"; }
# get EXPRESSION ARGS: prints a Python expression over the JSON object d of `davy compare ARGS --json`.
get() { local e=$1; shift; python3 -c 'import json, sys; d = json.loads(sys.argv[1]); c = d["compare"]; print(eval(sys.argv[2]))' "$("$DAVY" compare "$@" --json)" "$e"; }
# flat ARGS: what is printed, without line breaks and runs of blanks.
flat() { "$DAVY" compare "$@" | tr -s ' \n' ' '; }
causes='" ".join(sorted(set("%s@%s" % (f["cause"], f["node"]) for f in d["findings"])))'
diffs='" ".join("%s%s" % (x["fact"], "[%s]" % x["subject"] if x["subject"] else "") for g in c["groups"] for x in g["differences"] if x["role"] != "show" and x["follows"] < x["odd"])'

@test "healthy fleets of 3, 4, 100 and 1000 give nothing, whatever each node has for itself" {
	for n in 3 4 100 1000; do
		for base in h a m; do
			fleet $base.json $n --ndjson f.ndjson --seed $n
			run "$DAVY" compare f.ndjson
			echo "$base $n: $output"
			[ "$status" -eq 0 ]
			[[ "$output" == *"All $n nodes are alike"* ]]
			[ "$(get 'len(d["findings"]), sum(len(g["differences"]) for g in c["groups"]), d["verdict"]' f.ndjson)" = "(0, 0, 'clean')" ]
			run "$DAVY" compare --quiet f.ndjson
			[ "$status" -eq 0 ] && [ -z "$output" ]
		done
	done
}

@test "an odd driver: the node, the cause, the evidence, and what follows from it is folded" {
	fleet h.json 100 --ndjson f.ndjson --odd '17:driver[nvidia].version="570.124.06"' --odd '17:driver[nvidia].libcuda_version="570.124.06"' --odd '17:kernel_module[nvidia_uvm].version="570.124.06"'
	run "$DAVY" compare f.ndjson
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"570.124.06 on node-00017; 99 nodes have"* ]]
	[ "$(get "$causes" f.ndjson)" = "launch.env-differs@node-00017" ]
	[ "$(get "$diffs" f.ndjson)" = "driver.version[nvidia]" ]
	[ "$(get '[(e["fact"], e["value"], e["origin"]) for e in d["findings"][0]["evidence"]][0]' f.ndjson)" = "('driver.version', '570.124.06', 'node-00017')" ]
	[ "$(get '[o["node"] for o in c["odd"]]' f.ndjson)" = "['node-00017']" ]
	run "$DAVY" compare --quiet f.ndjson
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
}

@test "each kind of oddity has its cause and its node" {
	check() { # CAUSE SPEC...
		local want=$1; shift
		local odd=() s
		for s; do odd+=(--odd "$s"); done
		fleet h.json 12 --ndjson k.ndjson "${odd[@]}"
		local got; got=$(get "$causes" k.ndjson)
		echo "$*: $got"
		[ "$got" = "$want" ]
	}
	check network.mtu-mismatch@node-00002 '2:interface[eno1].mtu=9000' '9:interface[eno1].mtu=9000'
	check hardware.gpu-lost@node-00005 '5:-gpu[3]'
	check library.nccl-version-differs@node-00003 '3:nccl.version="2.26.2"'
	check launch.env-differs@node-00004 '4:torch.version="2.7.1+cu128"'
	check launch.env-differs@node-00004 '4:package[numpy].version="1.26.4"'
	check launch.env-differs@node-00004 '4:-package[numpy]'
	check launch.env-differs@node-00004 '4:variable[NCCL_ALGO].value="Ring"'
	check launch.env-differs@node-00004 '4:system.kernel="5.15.0-1-generic"'
	check launch.env-differs@node-00004 '4:gpu[2].firmware="96.00.30.00.01"'
	check rdma.port-down@node-00006 '6:rdma_port[None].state="DOWN"' || check '' '6:limit[nothing].soft=1'
	check host.memlock-too-low@node-00007 '7:limit[memlock].soft=65536' '7:limit[memlock].soft_unlimited=false'
	check host.nofile-too-low@node-00007 '7:limit[nofile].soft=1024'
	check hardware.pcie-degraded@node-00008 '8:gpu[1].link_width=8'
	check hardware.nvlink-fault@node-00008 '8:gpu[1].nvlinks_active=17'
	check driver.fabric-manager-down@node-00009 '9:driver[nvidia].fabric_manager_version="570.124.06"'
	check host.shm-too-small@node-00010 '10:mount[shm].size_bytes=67108864'
	check torch.not-installed@node-00011 '11:-torch[None]'
}

@test "wheels of the same version and other bytes: the hash of RECORD tells them apart, where it is known" {
	fleet h.json 9 --ndjson f.ndjson
	hashes() { # KIND: what node 4 (and 5) has
		python3 - "$1" <<-'PY'
			import json, sys
			lines = [json.loads(l) for l in open("f.ndjson")]
			for i, d in enumerate(lines):
			    for p in d["facts"]["package"]:
			        if p["canonical"] in ("torch", "triton") or p["canonical"].startswith("nvidia-"):
			            p["record"] = "sha256=" + p["canonical"]
			            if i == 3 and p["canonical"] in sys.argv[1]:
			                p["record"] = "sha256=other"
			            if i == 3 and "version" in sys.argv[1] and p["canonical"] == "triton":
			                p["version"], p["record"] = "1.0", "sha256=other"
			            if i == 4:
			                p["record"] = None
			open("g.ndjson", "w").writelines(json.dumps(d) + "\n" for d in lines)
		PY
	}
	hashes nothing
	run -0 "$DAVY" compare g.ndjson
	hashes nvidia-cublas-cu12
	run -0 "$DAVY" compare g.ndjson
	[ "$(get "$diffs" g.ndjson)" = "package.record[nvidia-cublas-cu12]" ]
	[ "$(get "$causes" g.ndjson)" = "launch.env-differs@node-00004" ]
	[[ "$(flat g.ndjson)" == *"has other files than elsewhere on node-00004, though the version is the same"* ]]
	run "$DAVY" compare g.ndjson --lang zh_CN
	[[ "$output" == *"版本相同，文件却"* ]]
	hashes torch
	[ "$(get "$diffs" g.ndjson)" = "package.record[torch]" ]
	hashes version
	[ "$(get "$diffs" g.ndjson)" = "package.version[triton]" ]
}

@test "the hash of RECORD is there where facts are compared, and is the same for every installation of a wheel" {
	python3 -m venv --without-pip env || skip "python3-venv is not installed"
	site=$(ls -d env/lib/python3*/site-packages)
	info=$site/nvidia_cublas_cu12-12.8.4.1.dist-info
	mkdir -p "$info" "$site/nvidia"
	printf 'Metadata-Version: 2.1\nName: nvidia-cublas-cu12\nVersion: 12.8.4.1\n' > "$info/METADATA"
	printf 'x' > "$site/nvidia/a.txt"
	one() { "$DAVY" check --json --python env --only python > "$1" || true; }
	printf 'nvidia/a.txt,sha256=aaa,1\nnvidia/b.txt,sha256=bbb,1\n' > "$info/RECORD"
	one first.json
	printf 'nvidia/b.txt,sha256=bbb,1\nnvidia/a.txt,sha256=aaa,1\n%s/RECORD,,\n%s/INSTALLER,sha256=ccc,4\n' "${info##*/}" "${info##*/}" > "$info/RECORD"
	one same.json
	printf 'nvidia/a.txt,sha256=aaa,1\nnvidia/b.txt,sha256=ddd,1\n' > "$info/RECORD"
	one other.json
	[ "$(get 'len([x for g in c["groups"] for x in g["differences"] if x["fact"].startswith("package")])' first.json same.json)" = 0 ]
	[ "$(get '[x["fact"] for g in c["groups"] for x in g["differences"] if x["fact"].startswith("package")]' first.json other.json)" = "['package.record']" ]
}

@test "variables of which all nodes have none but one" {
	fleet h.json 20 --ndjson f.ndjson --odd '3:variable[NCCL_P2P_DISABLE].value="1"'
	run "$DAVY" compare f.ndjson
	echo "$output"
	[[ "$output" == *"NCCL_P2P_DISABLE is 1 on node-00003 and not there elsewhere."* ]]
	run "$DAVY" compare f.ndjson --lang zh_CN
	[[ "$output" == *"NCCL_P2P_DISABLE 只在 node-00003 上有，值为 1"* ]]
}

@test "a clock that is ahead" {
	fleet h.json 10 --ndjson f.ndjson
	sed -i "4s/\"time\": *[0-9]*/\"time\":$(($(date +%s) + 86000))/" f.ndjson
	[ "$(get "$causes" f.ndjson)" = "host.clock-skew@node-00004" ]
}

@test "two halves that differ: nobody is in the majority, and it is said" {
	fleet h.json 4 --ndjson f.ndjson --odd '1:interface[eno1].mtu=9000' --odd '2:interface[eno1].mtu=9000'
	run "$DAVY" compare f.ndjson
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$(flat f.ndjson)" == *"9000 on node-[00001,00002]; 1500 on node-[00003,00004]"* ]]
	[ "$(get '[f["cause"] for f in d["findings"]]' f.ndjson)" = "['network.mtu-mismatch']" ]
}

@test "what is not known differs from nobody" {
	fleet h.json 10 --ndjson f.ndjson --odd '3:driver[nvidia].version=null' --odd '4:torch.version=null'
	python3 - <<-'PY'
		import json
		lines = [json.loads(l) for l in open("f.ndjson")]
		for d in lines:
		    d["gaps"].update({"driver.version": "denied", "torch.version": "timeout"})
		    d["facts"].pop("interface")
		del lines[5]["facts"]["package"]
		lines[6]["facts"]["package"] = []
		lines[6]["unknown"] = [{"fact": "package", "reason": "denied", "origin": None}]
		open("f.ndjson", "w").writelines(json.dumps(d) + "\n" for d in lines)
	PY
	run "$DAVY" compare f.ndjson
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "mixed GPU models are grouped; the odd one is named in its group" {
	fleet h.json 30 --base2 a.json --every 3 --ndjson f.ndjson
	run "$DAVY" compare f.ndjson
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"2 groups, by gpu.name"* ]]
	[[ "$output" == *"20 nodes"*"all alike"*"10 nodes"*"all alike"* ]]
	fleet h.json 30 --base2 a.json --every 3 --ndjson f.ndjson --odd '6:driver[nvidia].version="570.124.06"'
	[ "$(get "$causes" f.ndjson)" = "launch.env-differs@node-00006" ]
	[ "$(get '[(g["count"], len([x for x in g["differences"] if x["role"] != "show"])) for g in c["groups"]]' f.ndjson)" = "[(20, 0), (10, 1)]" ]
	run "$DAVY" compare f.ndjson --by none
	[ "$status" -eq 1 ]
}

@test "a node that alone has its GPU model is compared with the others" {
	fleet h.json 7 --base2 a.json --every 7 --ndjson f.ndjson
	[ "$(get "$causes" f.ndjson)" = "gpu.mixed-models@node-00007" ]
}

@test "groups as asked: by partition, by a fact; wrong names are refused" {
	fleet h.json 20 --ndjson f.ndjson --partitions gpu,debug --odd '2:variable[NCCL_ALGO].value="Ring"'
	[ "$(get 'c["grouped_by"], sorted((g["name"], g["count"]) for g in c["groups"])' f.ndjson --by partition)" = "('variable.SLURM_JOB_PARTITION', [('debug', 10), ('gpu', 10)])" ]
	[ "$(get 'c["grouped_by"], len(c["groups"])' f.ndjson --by variable.SLURM_JOB_PARTITION)" = "('variable.SLURM_JOB_PARTITION', 2)" ]
	run "$DAVY" compare f.ndjson --by nonsense.column
	[ "$status" -eq 64 ]
	run "$DAVY" compare f.ndjson --by system.nonsense
	[ "$status" -eq 64 ]
	run "$DAVY" compare f.ndjson --by system.hostname
	[ "$status" -eq 0 ]
}

@test "expected differences are ignored, a table, a column or a row" {
	fleet h.json 10 --ndjson f.ndjson --odd '3:package[numpy].version="1.26.4"' --odd '4:system.kernel="5.15.0-1-generic"'
	run "$DAVY" compare f.ndjson --ignore package.numpy,system.kernel --quiet
	[ "$status" -eq 0 ] && [ -z "$output" ]
	[ "$(get "$diffs" f.ndjson --ignore package)" = "system.kernel" ]
	[ "$(get "$diffs" f.ndjson --ignore package.numpy.version)" = "system.kernel" ]
	run "$DAVY" compare f.ndjson --ignore nonsense
	[ "$status" -eq 64 ]
}

@test "a reference: what all nodes have is odd when the reference has something else" {
	fleet h.json 5 --ndjson f.ndjson
	fleet h.json 1 --ndjson g.json --odd '1:driver[nvidia].version="580.65.06"'
	[ "$(get "$diffs" f.ndjson --golden g.json)" = "driver.version[nvidia]" ]
	run "$DAVY" compare f.ndjson --golden g.json
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$(flat f.ndjson --golden g.json)" == *"the reference has 580.65.06"*"against 580.65.06"* ]]
	fleet h.json 1 --ndjson g.json --seed 9
	run "$DAVY" compare f.ndjson --golden g.json
	[ "$status" -eq 0 ]
	run "$DAVY" compare g.json --golden g.json
	[ "$status" -eq 0 ]
	run "$DAVY" compare f.ndjson --golden f.ndjson
	[ "$status" -eq 66 ]
}

@test "missing, stale, damaged, newer: named, and the rest is counted" {
	mkdir -p n && rm -f n/*
	fleet h.json 10 --out n
	head -c 20000 n/node-00002.json > cut && mv cut n/node-00002.json
	sed -i 's/"schema": *"davy\/1"/"schema":"davy\/7"/' n/node-00003.json
	sed -i 's/"time": *[0-9]*/"time":1700000000/' n/node-00004.json
	printf 'notes\n' > n/README
	printf '\0\0\0\0' > n/node-00011.json
	run "$DAVY" compare n --nodes 'node-[00001-00010,00012-00013]'
	echo "$output"
	[ "$status" -eq 2 ]
	[[ "$output" == *"node-00002.json: it is cut short"* ]]
	[[ "$output" == *"node-00003.json: it comes from a newer Davy"* ]]
	[[ "$output" == *"stale"*"node-00004 (1)"* ]]
	[[ "$output" == *"node-00011.json: it is damaged"* ]]
	[[ "$output" == *"missing"*"node-[00002,00003,00012,00013] (4)"* ]]
	[ "$(get 'c["nodes"], len(c["not_counted"]), sorted(c["missing"])[-1], c["stale"], d["verdict"]' n --nodes 'node-[00001-00010,00012-00013]')" = "(8, 3, 'node-00013', ['node-00004'], 'unknown')" ]
	run "$DAVY" compare n --lang zh_CN
	[[ "$output" == *"内容不完整"* && "$output" == *"更新版本"* && "$output" == *"过时"* ]]
	run "$DAVY" compare n --nodes 'node-[00001'
	[ "$status" -eq 64 ]
	sed -i 's/"time": *[0-9]*/"time":1764500000/' n/node-00004.json && rm n/node-0000[23].json n/node-00011.json
	run "$DAVY" compare n --nodes node-00001,node-0000[4-9],node-00010.example.org
	[ "$status" -eq 0 ]
}

@test "a damaged object in a stream is one node; tables and columns of a newer Davy are left out" {
	fleet h.json 20 --ndjson f.ndjson
	sed -i '5s/"facts":/"facts" /; 9s/.\{200\}$//' f.ndjson
	sed -i '12s/"facts":{/"facts":{"new_table":[{"a":1,"b":[1,{"c":"}"}]}],/; 13s/"kernel":/"new_column":{"x":[1]},"kernel":/' f.ndjson
	[ "$(get 'c["nodes"], [l["source"] for l in c["not_counted"]], d["findings"]' f.ndjson)" = "(18, ['f.ndjson#5', 'f.ndjson#9'], [])" ]
	[ "$(get 'c["nodes"]' - < f.ndjson)" = "18" ]
	python3 -c 'import json; [print(json.dumps(json.loads(l), indent=2)) for n, l in enumerate(open("f.ndjson")) if n not in (4, 8)]' > pretty.json
	[ "$(get 'c["nodes"], len(c["not_counted"])' pretty.json)" = "(18, 0)" ]
	python3 -c 'import json; print(json.dumps([json.loads(l) for n, l in enumerate(open("f.ndjson")) if n not in (4, 8)]))' > list.json
	[ "$(get 'c["nodes"], len(c["not_counted"])' list.json)" = "(18, 0)" ]
}

@test "snapshots as folders and archives, archives of many, and JSON beside them, give the same facts" {
	rm -rf s && mkdir -p s/folders
	for i in 1 2 3; do "$DAVY" snapshot --quiet --no-redact --from "$HOSTS/h100x8" "s/n$i.tar.zst"; done
	"$DAVY" snapshot --quiet --no-redact --from "$HOSTS/h100x8" s/folders/one
	cp h.json s/four.json
	tar -cf many.tar s && tar --zstd -cf many.tar.zst s
	for what in s many.tar many.tar.zst; do
		run "$DAVY" compare $what
		echo "$what: $output"
		[ "$status" -eq 0 ]
		[[ "$output" == *"All 5 nodes are alike"* ]]
		[ "$(get 'sum(len(g["differences"]) for g in c["groups"]), len(c["not_counted"])' $what)" = "(0, 0)" ]
	done
	run "$DAVY" compare - < many.tar.zst
	[[ "$output" == *"All 5 nodes are alike"* ]]
	head -c $(($(stat -c %s many.tar.zst) / 2)) many.tar.zst > cut.tar.zst
	run "$DAVY" compare cut.tar.zst h.json
	[ "$status" -eq 2 ]
	[[ "$output" == *"cut.tar.zst: "* ]]
}

@test "two snapshots: of one machine at two times, of two machines" {
	fleet h.json 1 --ndjson old.json
	fleet h.json 1 --ndjson new.json --odd '1:package[numpy].version="1.26.4"' --odd '1:program[torchrun].path="/usr/bin/torchrun"'
	sed -i 's/"machine_id":"[0-9a-f]*"/"machine_id":"1"/' old.json new.json
	run "$DAVY" compare old.json new.json
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"old.json → new.json"* ]]
	[[ "$output" == *"package numpy"*"→ 1.26.4"* ]]
	[[ "$output" == *"program torchrun path"*"→ /usr/bin/torchrun"* ]]
	[ "$(get 'c["pair"], d["findings"]' old.json new.json)" = "('times', [])" ]
	run "$DAVY" compare old.json old.json
	[ "$status" -eq 0 ]
	[ "$(get 'c["pair"]' h.json old.json)" = "nodes" ]
	run "$DAVY" compare "$HOSTS/h100x8" "$HOSTS/driver-one-below"
	[ "$status" -eq 1 ]
	[[ "$output" == *"driver nvidia"*" → "* ]]
}

@test "nothing is wider than 80 columns, in English and in Chinese" {
	fleet h.json 300 --ndjson f.ndjson --odd '17:driver[nvidia].version="570.124.06"' --odd '3:interface[eno1].mtu=9000' --odd '5:-gpu[3]' --odd '8:variable[LD_LIBRARY_PATH].value="/a/very/long/path/to/somewhere:/another/very/long/path/to/somewhere/else:/and/one/more"' --odd '290:package[typing-extensions].version="4.0.0"'
	for lang in en zh_CN; do
		"$DAVY" compare f.ndjson --lang $lang | python3 -c '
import sys, unicodedata
for l in sys.stdin:
    w = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in l.rstrip("\n"))
    if w > 80 and (not l.startswith(" " * 6) or l.startswith(" " * 34)): sys.exit("%d: %s" % (w, l))'
	done
}

@test "wrong usage and no input" {
	run "$DAVY" compare
	[ "$status" -eq 64 ]
	run "$DAVY" compare nowhere.json
	[ "$status" -eq 66 ]
	run "$DAVY" compare h.json
	[ "$status" -eq 2 ]
	run "$DAVY" compare h.json nowhere.json
	[ "$status" -eq 2 ]
	[[ "$output" == *"nowhere.json: no such file"* ]]
	: > empty
	run "$DAVY" compare empty h.json
	[ "$status" -eq 2 ]
	run "$DAVY" compare --stale soon h.json
	[ "$status" -eq 64 ]
	mkdir -p nothing
	run "$DAVY" compare nothing
	[ "$status" -eq 2 ]
}

@test "hostile input: deep, endless, of other types; memory stays small" {
	python3 - <<-'PY'
		open("deep.json", "w").write('{"schema":"davy/1","facts":' + '[' * 100000)
		open("odd.json", "w").write('{"schema":"davy/1","facts":{"gpu":{"a":1},"system":[1,[2],{"hostname":["x"],"kernel":{}}],"driver":null}}\n' * 3)
		open("names.json", "w").write("\n".join('{"schema":"davy/1","facts":{"system":[{"hostname":"n%d\\u001b[31m\\u202e"}],"package":[%s]}}' % (n, ",".join('{"canonical":"p%d-%d","version":"%d"}' % (n, k, k) for k in range(300))) for n in range(200)))
	PY
	run "$DAVY" compare deep.json h.json
	[ "$status" -eq 2 ]
	run "$DAVY" compare odd.json
	[ "$status" -le 2 ]
	run env DAVY="$DAVY" bash -c 'ulimit -v 1000000; "$DAVY" compare names.json'
	[ "$status" -le 2 ]
	[[ "$output" != *$'\e'* ]]
}

@test "facts come back from lines as they were" {
	printf 'davy-facts 1 0.1.0\nnode n1\ntime 1764500000\n@system\thostname\tkernel\n\tn1\t6.8\n@gpu\n!package\tdenied\nend 1\n' > one.facts
	sed 's/n1/n2/; s/\tn1/\tn2/; s/6\.8/6.9/' one.facts > two.facts
	cat one.facts two.facts > both.facts
	[ "$(get 'c["nodes"], [x["fact"] for g in c["groups"] for x in g["differences"]]' both.facts)" = "(2, ['system.kernel'])" ]
	sed -i '$d' two.facts
	run "$DAVY" compare one.facts two.facts
	[[ "$output" == *"two.facts: it is damaged"* ]]
}

@test "10,000 nodes: a smoke of the benchmark" {
	fleet h.json 2000 --ndjson big.ndjson --odd '1234:nccl.version="2.26.2"'
	run env DAVY="$DAVY" bash -c 'ulimit -v 300000; "$DAVY" compare big.ndjson --quiet'
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"node-01234"* ]]
	rm -f big.ndjson
}
