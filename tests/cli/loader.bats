#!/usr/bin/env bats
# Davy's search for libraries against the real ld.so: on tiny libraries built for each rule, and on what is installed here.

setup_file() {
	command -v gcc >/dev/null || return 0
	cd "$BATS_FILE_TMPDIR"
	echo 'int q(void) { return 1; }' > q.c
	echo 'int q(void); int a(void) { return q(); }' > a.c
	echo 'int a(void); int main(void) { return a(); }' > p.c
	mkdir -p rp ll pre exe ll/glibc-hwcaps/x86-64-v2 ll/glibc-hwcaps/x86-64-v3 ll/glibc-hwcaps/x86-64-v4 wrong
	for d in rp ll pre; do gcc -shared -fPIC -Wl,-soname,libq.so q.c -o $d/libq.so; done
	cp ll/libq.so q-hwcaps.so
	echo 'int q(void) { return 1; }' | gcc -shared -fPIC -nostdlib -x c - -o wrong/libq.so
	printf '\267' | dd of=wrong/libq.so bs=1 seek=18 conv=notrunc status=none # aarch64
}

setup() {
	command -v gcc >/dev/null || skip "gcc is not installed"
	ld=/lib64/ld-linux-x86-64.so.2
	[ -x $ld ] || skip "not an x86-64 glibc system"
	cd "$BATS_FILE_TMPDIR"
}

# program TAG_P TAG_A: the program p with tag TAG_P (rpath, runpath, none) to exe:rp and liba.so with TAG_A to rp.
flags() { case $1 in rpath) echo "-Wl,--disable-new-dtags,-rpath,$2" ;; runpath) echo "-Wl,--enable-new-dtags,-rpath,$2" ;; esac; }
program() {
	gcc -shared -fPIC -Wl,-soname,liba.so a.c rp/libq.so $(flags "$2" '$ORIGIN/../rp') -o exe/liba.so
	gcc p.c exe/liba.so -Wl,-rpath-link,rp $(flags "$1" '$ORIGIN/exe:$ORIGIN/rp') -o p
}

real() { # FILE: path of each library, "missing NAME", sorted
	local out
	out=$(LD_TRACE_LOADED_OBJECTS=1 $ld "$(realpath -s "$1")" 2>/dev/null)
	{
		awk '/=> not found/ {print "missing", $1}' <<<"$out"
		awk '/=>/ && $3 ~ /\// && $3 !~ /ld-linux/ {print $3} !/=>/ && $1 ~ /\// && $1 !~ /ld-linux/ {print $1}' <<<"$out" | xargs -r readlink -f
	} | LC_ALL=C sort -u
}

ours() {
	"$DAVY" inspect --json "$1" | python3 -S -c 'import json, os, sys
d = json.load(sys.stdin)
print("\n".join(sorted({os.path.realpath(x["path"]) for x in d["libraries"] if "ld-linux" not in x["path"]} | {"missing " + m["name"] for m in d["missing"] if m["wanted_by"] != "LD_PRELOAD"})))'
}

same() { # FILE: compared under the present environment
	local r o
	r=$(real "$1") o=$(ours "$1")
	[ "$r" = "$o" ] || { echo "$1: real < > ours"; diff <(echo "$r") <(echo "$o"); return 1; }
}

@test "RPATH, RUNPATH and none, in the program and in the library, with and without LD_LIBRARY_PATH and LD_PRELOAD" {
	for p in rpath runpath; do
		for a in rpath runpath none; do
			program $p $a
			same p
			LD_LIBRARY_PATH=$PWD/ll same p
			LD_LIBRARY_PATH=":$PWD/none;ll/" same p
			LD_PRELOAD=$PWD/pre/libq.so same p
			LD_PRELOAD=$PWD/pre/libq.so LD_LIBRARY_PATH=$PWD/ll same p
		done
	done
}

@test "glibc-hwcaps subdirectories by the level of this processor" {
	program runpath runpath
	for level in v2 v3 v4; do
		cp q-hwcaps.so ll/glibc-hwcaps/x86-64-$level/libq.so
		LD_LIBRARY_PATH=$PWD/ll same p
	done
	rm ll/glibc-hwcaps/*/libq.so
	for sub in tls haswell haswell/x86_64 tls/x86_64; do
		mkdir -p ll/$sub
		cp q-hwcaps.so ll/$sub/libq.so
		LD_LIBRARY_PATH=$PWD/ll same p
	done
	rm -r ll/tls ll/haswell
}

@test "a library of another machine is passed over" {
	program runpath none
	LD_LIBRARY_PATH=$PWD/wrong:$PWD/rp same p
	LD_LIBRARY_PATH=$PWD/wrong same p
}

@test "one file under two names is loaded once" {
	mkdir -p alias
	cp rp/libq.so alias/libq.so
	ln -sf libq.so alias/libz-q.so
	gcc -shared -fPIC q.c -o alias/plain.so
	gcc p.c -Wl,--unresolved-symbols=ignore-all -Wl,--no-as-needed alias/plain.so -o two
	gcc -shared -fPIC a.c -Wl,--no-as-needed -Lalias -l:libz-q.so -l:libq.so -Wl,-rpath,'$ORIGIN/alias' -o two.so
	same two.so
}

@test "relative names, \$LIB and \${ORIGIN}" {
	gcc -shared -fPIC -Wl,-soname,./rp/libq.so q.c -o rel.so
	cp rel.so rp/librel.so
	gcc -shared -fPIC a.c -Wl,-rpath,'${ORIGIN}/rp:/usr/$LIB' rp/librel.so -o rel-user.so
	same rel-user.so
}

@test "what is missing is missing" {
	program none none
	same p
	same exe/liba.so
}

@test "the libraries of PyTorch" {
	t=$(ls /usr/lib/x86_64-linux-gnu/libtorch*.so.*.* 2>/dev/null) || skip "python3-torch is not installed"
	for f in $t /usr/lib/x86_64-linux-gnu/libc10.so.*.* $(find /usr/lib/python3/dist-packages/torch -maxdepth 1 -name '_C.*.so'); do same "$f"; done
	f=$(ls /usr/lib/x86_64-linux-gnu/libtorch_python.so.*.*.* | head -1)
	LD_LIBRARY_PATH=/usr/local/cuda/lib64 same "$f"
	command -v libtree >/dev/null || return 0
	# libtree leaves the C library out; what it lists is among ours.
	LC_ALL=C run comm -23 <(libtree -p "$f" | grep -oE '/[^ ]+\.so[^ ]*' | sort -u | xargs readlink -f | LC_ALL=C sort -u) <({ echo "$f"; ours "$f"; } | LC_ALL=C sort)
	echo "$output"
	[ -z "$output" ]
}

@test "the libraries of the CUDA toolkit and of this system" {
	n=0
	for f in /usr/local/cuda/lib64/libcu[bdrs]*.so /usr/local/cuda/bin/nvcc /usr/bin/python3 /usr/bin/git /usr/bin/gdb /usr/lib/x86_64-linux-gnu/libc[a-r]*.so.[0-9]; do
		[ ! -e "$f" ] || [ $((n++)) -ge 40 ] || same "$f"
	done
}
