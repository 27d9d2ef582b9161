# davy and the probe together on this machine, in a name space of its own whose /dev pretends to have NVIDIA's control device; the libraries are fakes.

setup() {
	BUILD=$(dirname "${DAVY:-build/davy}")
	BUILD=$(readlink -f "$BUILD")
	DIR=$(mktemp -d)
	unshare -rm true 2>/dev/null || skip "no user name spaces here"
}

teardown() { rm -rf "$DIR"; }

# live SQL SCENARIO-LINES...
live() {
	local sql=$1; shift
	printf '%s\n' "$@" > "$DIR/scenario"
	run unshare -rm bash -c '
		set -e
		mount -t tmpfs none /mnt
		touch /mnt/null; mount --bind /dev/null /mnt/null
		touch /mnt/nvidiactl /mnt/nvidia0; mkdir /mnt/shm
		mount --rbind /mnt /dev
		mount -t tmpfs none /run; mkdir /run/nvidia-persistenced; touch /run/nvidia-persistenced/socket
		export DAVY_FAKE="$1" LD_LIBRARY_PATH="$2/tests/fake"
		exec "$2/davy" query --json "$3"
	' - "$DIR/scenario" "$BUILD" "$sql"
}

@test "facts of eight GPUs without a PCI device" {
	live "SELECT count(*) AS n, min(cc) AS cc, min(nvlinks_active) AS l FROM gpu" "gpus 8"
	[ "$status" -eq 0 ]
	[[ "$output" == *8* && "$output" == *90* && "$output" == *18* ]]
}

@test "a library that hangs costs two seconds and is named" {
	live "SELECT status, message FROM probe WHERE name = 'nvml'" "hang nvmlInit"
	[ "$status" -eq 0 ]
	[[ "$output" == *timeout* && "$output" == *"nvmlInit did not return within 2000 ms"* ]]
}

@test "a library that crashes is named" {
	live "SELECT status, message FROM probe WHERE name = 'nvml'" "crash nvmlDeviceGetName"
	[ "$status" -eq 0 ]
	[[ "$output" == *crash* && "$output" == *"signal 11"* ]]
}

@test "a slow library is waited for" {
	live "SELECT status FROM probe WHERE name = 'nvml'" "slow nvmlInit 700"
	[ "$status" -eq 0 ]
	[[ "$output" == *ok* ]]
}

@test "a lying library: impossible numbers are no facts" {
	live "SELECT count(*) AS n, max(temperature_c) AS t, max(memory_used_bytes) AS m, max(ecc_uncorrected) AS e FROM gpu" "lie 1"
	[ "$status" -eq 0 ]
	[[ "$output" == *null* && "$output" != *4000000* ]]
}

@test "the error of another library version" {
	live "SELECT nvml_error, probe, probe_error FROM driver" "init 18"
	[ "$status" -eq 0 ]
	[[ "$output" == *18* && "$output" == *"Driver/library version mismatch"* ]]
}
