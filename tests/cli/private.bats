#!/usr/bin/env bats
# What is made for sharing holds nothing private: data is planted everywhere davy looks, and searched for.

bats_require_minimum_version 1.5.0

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	cd "$BATS_TEST_TMPDIR"
}

# Every word here must not survive.
secrets="zaphod
heartofgold
magrathea
vogsphere
betelgeuse
10\.77\.3\.201
141\.84\.219\.33
2a01:4f8:c2c
c2c017
b859:9f03:00fe:3a12
b8:59:9f:fe:3a:12
9f:fe:3a:12
5b1c3e77-9a0d
4f2a9b7c11d2e3f4
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
s3cr3tp4ss
sup3rs3cr3t
tok3nv4lue99
i-0abc1234567890def
deepthought42
hunter2hunter2"

none_in() {
	while read -r word; do
		if grep -rEaiq "$word" "$1"; then echo "leaks: $word"; grep -rEaio ".{0,60}$word.{0,20}" "$1" | head -3; return 1; fi
		if find "$1" | grep -Eiq "$word"; then echo "leaks in a path: $word"; return 1; fi
	done <<<"$secrets"
}

@test "files: hosts, addresses, hardware addresses, identifiers, credentials" {
	r=root
	ib=$r/sys/class/infiniband/mlx5_0/ports/1
	site=$r/usr/lib/python3/dist-packages
	mkdir -p $r/etc $r/proc/net $r/proc/self $r/proc/1 $r/proc/sys/kernel/random $r/usr/bin $ib/gids $ib/gid_attrs/types $ib/gid_attrs/ndevs $r/sys/class/net/eth0 $r/sys/class/net/ib0 $site/inner-1.0.dist-info $r/usr/lib/python3.11/lib-dynload $r/home/zaphod/venv $r/root $r/var/log
	cp "$(readlink -f /usr/bin/python3)" $r/usr/bin/python3.11; ln -s python3.11 $r/usr/bin/python3; : > $r/usr/lib/python3.11/os.py
	printf 'heartofgold\n' | tee $r/etc/hostname > $r/proc/sys/kernel/hostname
	printf '127.0.0.1 localhost\n10.77.3.201 heartofgold.magrathea.example heartofgold\n141.84.219.33 vogsphere # zaphod\n' > $r/etc/hosts
	printf '4f2a9b7c11d2e3f40011223344556677\n' > $r/etc/machine-id
	printf '5b1c3e77-9a0d-4c1f-8d7e-112233445566\n' > $r/proc/sys/kernel/random/boot_id
	printf 'root=UUID=5b1c3e77-9a0d-4c1f-8d7e-112233445566 ip=10.77.3.201::10.77.3.1:255.255.255.0:heartofgold:eth0 ds=nocloud;token=sup3rs3cr3t99 iommu=pt\n' > $r/proc/cmdline
	printf 'PATH=/usr/bin\0container=docker\0DB_PASSWORD=hunter2hunter2\0HF_TOKEN=hf_tok3nv4lue99abcdef\0SSH_CLIENT=141.84.219.33 1 22\0' > $r/proc/1/environ
	printf '0::/kubepods/pod5b1c3e77-9a0d-4c1f-8d7e-112233445566/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n' | tee $r/proc/1/cgroup > $r/proc/self/cgroup
	printf '1 0 0:1 / / rw - overlay overlay rw,upperdir=/var/lib/docker/overlay2/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855/diff\n2 1 0:2 / /data rw - nfs4 vogsphere:/export/zaphod rw,addr=141.84.219.33\n3 1 0:3 / /share rw - cifs //magrathea/share rw,username=zaphod,domain=betelgeuse,addr=10.77.3.201\n' > $r/proc/self/mountinfo
	printf 'Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.77.3.201\n        /32 host LOCAL\n     |-- 141.84.219.33\n        /32 host LOCAL\n' > $r/proc/net/fib_trie
	printf '2a0104f8c2c017000000000000000001 02 40 00 80 eth0\nfe80000000000000ba599ffffefe3a12 02 40 20 80 eth0\n' > $r/proc/net/if_inet6
	printf 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0103 \n' > $r/proc/net/route
	printf 'b8:59:9f:fe:3a:12\n' > $r/sys/class/net/eth0/address
	printf '00:00:10:87:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:fe:3a:12\n' > $r/sys/class/net/ib0/address
	for d in eth0 ib0; do printf '1500\n' > $r/sys/class/net/$d/mtu; printf 'up\n' > $r/sys/class/net/$d/operstate; printf '1\n' > $r/sys/class/net/$d/type; printf '0x1003\n' > $r/sys/class/net/$d/flags; done
	printf 'b859:9f03:00fe:3a12\n' | tee $r/sys/class/infiniband/mlx5_0/node_guid > $r/sys/class/infiniband/mlx5_0/sys_image_guid
	printf 'heartofgold mlx5_0\n' > $r/sys/class/infiniband/mlx5_0/node_desc
	printf 'fe80:0000:0000:0000:b859:9f03:00fe:3a12\n' > $ib/gids/0; printf '0000:0000:0000:0000:0000:ffff:0a4d:03c9\n' > $ib/gids/1; printf '4: ACTIVE\n' > $ib/state
	printf 'Name: inner\nVersion: 1.0\nAuthor-email: zaphod@magrathea.example\nHome-page: https://zaphod:s3cr3tp4ss@git.magrathea.example/x\n' > $site/inner-1.0.dist-info/METADATA
	printf '{"url": "git+https://zaphod:s3cr3tp4ss@git.magrathea.example/team/inner.git", "vcs_info": {"vcs": "git", "commit_id": "0123"}, "token": "sup3rs3cr3t77"}' > $site/inner-1.0.dist-info/direct_url.json
	printf '/home/zaphod/src/inner\n' > $site/inner.pth
	printf 'NCCL_SOCKET_IFNAME=eth0\nNCCL_COMM_ID=10.77.3.201:1234\n' | tee $r/etc/nccl.conf > $r/root/.nccl.conf
	"$davy" snapshot out --root "$PWD/root" --python /usr/bin/python3
	none_in out
	# What decides is still there.
	grep -q '^NCCL_SOCKET_IFNAME=eth0' out/files/etc/nccl.conf
	grep -q 'container=docker' <(tr '\0' '\n' < out/files/proc/1/environ)
	grep -q '0000:0000:0000:0000:0000:ffff:0a4d:03' out/files/sys/class/infiniband/mlx5_0/ports/1/gids/1
	grep -q '^fe80:0000:0000:0000:' out/files/sys/class/infiniband/mlx5_0/ports/1/gids/0
	grep -q 'iommu=pt' out/files/proc/cmdline
	[ "$(awk 'NR==2{print $1}' out/files/etc/hosts)" = "$(grep -o '10\.77\.3\.[0-9]*' out/files/proc/net/fib_trie)" ]
}

@test "the environment: schedulers, containers, users, hosts, indexes with passwords, tokens" {
	export USER=zaphod LOGNAME=zaphod HOME=/gpfs/users/zaphod SLURM_JOB_USER=zaphod SLURM_JOB_ACCOUNT=betelgeuse SLURM_CLUSTER_NAME=magrathea SLURM_JOB_NAME=deepthought42 SLURM_NODELIST='heartofgold[01-03],vogsphere7' \
		SLURM_SUBMIT_HOST=vogsphere.magrathea.example SLURMD_NODENAME=heartofgold01 HOSTNAME=heartofgold01 MASTER_ADDR=heartofgold01 SLURM_LAUNCH_NODE_IPADDR=141.84.219.33 KUBERNETES_SERVICE_HOST=10.77.3.201 \
		PIP_INDEX_URL=https://zaphod:s3cr3tp4ss@pypi.magrathea.example/simple UV_INDEX_URL='https://pypi.magrathea.example/t/tok3nv4lue99abc/simple?token=tok3nv4lue99' NCCL_COMM_ID=141.84.219.33:5000 VLLM_API_KEY=tok3nv4lue99 \
		TORCH_HOME=/gpfs/users/zaphod/torch CONDA_PREFIX=/scratch/zaphod/env NCCL_DEBUG_FILE=/home/zaphod/n.log PBS_O_LOGNAME=zaphod OMPI_MCA_host=i-0abc1234567890def NCCL_SOCKET_IFNAME=eth0 RAY_ADDRESS=heartofgold01:6379
	"$davy" snapshot out
	none_in out
	grep -q 'env NCCL_SOCKET_IFNAME=eth0' out/davy-snapshot.txt
	grep -q 'env SLURM_NODELIST=host-[0-9]*\[01-03\],host-' out/davy-snapshot.txt
	[ "$(sed -n 's/^env MASTER_ADDR=//p' out/davy-snapshot.txt)" = "$(sed -n 's/^env SLURMD_NODENAME=//p' out/davy-snapshot.txt)" ]
	for form in "check --brief" "check --markdown" "snapshot --show"; do
		mkdir -p text; "$davy" $form > text/out || true
		none_in text
	done
	"$davy" check --brief --no-redact > kept || true
	grep -q zaphod kept
}

@test "redacting twice changes nothing that decides, and names stay names" {
	"$davy" snapshot one
	"$davy" snapshot two --from one
	for s in one two; do "$davy" check --json --from $s > $s.json || true; done
	python3 - <<-'P'
	import json
	a, b = (json.load(open(f)) for f in ("one.json", "two.json"))
	key = lambda d: (d["verdict"], [(f["cause"], f["status"]) for f in d["findings"]], d["stages"])
	assert key(a) == key(b)
	P
}
