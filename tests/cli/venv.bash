# A virtual environment for each test of a file, made by venv once: making one takes seconds, copying it a tenth of one. A copy lies where the first was made, so every path in it is right.

# venv_once: in setup_file
venv_once() {
	mkdir "$BATS_FILE_TMPDIR/here"
	(cd "$BATS_FILE_TMPDIR/here" && python3 -m venv env && mv env ../venv) || :
}

# venv_here: goes to an empty folder, the same for every test, in which `env` is a fresh environment
venv_here() {
	[ -d "$BATS_FILE_TMPDIR/venv" ] || skip "no venv module or no pip"
	rm -rf "$BATS_FILE_TMPDIR/here"
	mkdir "$BATS_FILE_TMPDIR/here"
	cd "$BATS_FILE_TMPDIR/here"
	cp -a "$BATS_FILE_TMPDIR/venv" env
}
