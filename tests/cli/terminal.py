"""terminal.py CHECK: davy run, and what others say on a real pseudo-terminal. Prints what is wrong and ends with 1, or prints nothing."""
import fcntl, os, pty, re, select, signal, struct, sys, tempfile, termios, time

davy = os.environ["DAVY"]
quick = [davy, "run", "--quiet", "--no-check", "--"]


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def talk(command, *answers, limit=60):
    """Runs it on a terminal of 30 x 90; each answer is (what must be seen first, bytes to type or a function of the terminal). Gives all output and the wait status."""
    sized = os.pipe()
    pid, fd = pty.fork()
    if pid == 0:
        for s in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(s, signal.SIG_DFL)
        os.read(sized[0], 1)
        os.execvp(command[0], command)
    resize(fd, 30, 90)
    os.write(sized[1], b"x")
    os.close(sized[0]), os.close(sized[1])
    out, seen, waiting, until = b"", 0, list(answers), time.time() + limit
    while time.time() < until:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        if waiting and waiting[0][0] in out[seen:]:
            what = waiting.pop(0)[1]
            seen = len(out)
            what(fd) if callable(what) else os.write(fd, what)
    else:
        os.kill(pid, signal.SIGKILL)
    return out.decode(errors="replace"), os.waitpid(pid, 0)[1]


def python(code):
    return quick + ["python3", "-c", code]


def size():
    out, status = talk(python("import os, sys; print(os.isatty(0), os.isatty(1), os.isatty(2), *os.get_terminal_size(1))"))
    assert status == 0 and "True True True 90 30" in out, (out, status)


def resized():
    out, status = talk(python("import os, signal, time\nsignal.signal(signal.SIGWINCH, lambda *a: os.get_terminal_size(1).columns == 120 and (print('now', *os.get_terminal_size(1), flush=True), os._exit(5)))\nprint('ready', flush=True)\ntime.sleep(90)"), (b"ready", lambda fd: resize(fd, 50, 120)))
    assert os.WEXITSTATUS(status) == 5 and "now 120 50" in out, (out, status)


def typed():
    out, status = talk(quick + ["sh", "-c", "echo ready; read word; echo got $word"], (b"ready", b"hello\n"))
    assert status == 0 and out.endswith("got hello\r\n"), (out, status)


def bytes_():
    """Nothing is added to what it writes, and nothing lost: a line feed becomes what the terminal makes of it, once."""
    out, status = talk(quick + ["sh", "-c", r"printf 'a\nb\r\033[1mc\033[0m\n'"])
    assert out == "a\r\nb\r\033[1mc\033[0m\r\n", (out, status)


def interrupted():
    """Ctrl-C reaches the command once, and its own end is ours."""
    out, status = talk(python("import signal, time\nn = []\nsignal.signal(2, lambda *a: (n.append(1), print('got', len(n), flush=True)))\nprint('ready', flush=True)\nt = time.time()\nwhile not n and time.time() - t < 50: time.sleep(0.05)\ntime.sleep(0.4)\nraise SystemExit(40 + len(n))"), (b"ready", b"\x03"))
    assert os.WEXITSTATUS(status) == 41, (out, status)
    out, status = talk(quick + ["sh", "-c", "echo ready; exec sleep 90"], (b"ready", b"\x03"))
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == 2, (out, status)


def stopped():
    """Ctrl-Z stops it for the shell, fg goes on."""
    line = " ".join(quick) + " python3 -c \"import os, time; print('sta' + 'rted', flush=True)\nwhile not os.path.exists('go-on'): time.sleep(0.02)\nprint('do' + 'ne')\"\n"
    out, status = talk(["bash", "--norc", "-i"], (b"# " if os.getuid() == 0 else b"$ ", line.encode()), (b"started", b"\x1a"), (b"Stopped", b"jobs; touch go-on; fg\n"), (b"done", b"exit\n"))
    assert "Stopped" in out and out.rindex("done") > out.index("Stopped"), (out, status)


def halted():
    """A command that somebody stopped is still stopped for the shell by Ctrl-Z, and fg goes on with it."""
    stopped = "until grep -q \"^State:.*T\" /proc/$$/status; do sleep 0.02; done; echo hal\"\"ted"
    line = " ".join(quick) + " sh -c '(%s) & kill -STOP $$; echo do\"\"ne'\n" % stopped
    out, status = talk(["bash", "--norc", "-i"], (b"# " if os.getuid() == 0 else b"$ ", line.encode()), (b"halted", b"\x1a"), (b"Stopped", b"fg\n"), (b"done", b"exit\n"))
    assert "Stopped" in out and out.rindex("done") > out.index("Stopped"), (out, status)


def background():
    """In the background it writes on, and reading from the terminal stops it as it stops every command."""
    line = " ".join(quick) + " sh -c 'sleep 0.3; echo wri\"\"tten; read x' &\n"
    out, status = talk(["bash", "--norc", "-i"], (b"# " if os.getuid() == 0 else b"$ ", line.encode()), (b"written", b"until jobs | grep -q Stop.ed; do sleep 0.05; done; jobs; kill %1; fg\n"), (b"Stopped", b"exit\n"))
    assert "written" in out and "Stopped" in out, (out, status)


def half():
    """Standard error on the terminal, standard output in a pipe."""
    out, status = talk(["sh", "-c", " ".join(quick) + " python3 -c 'import os, sys; print(os.isatty(1)); print(os.isatty(2), file=sys.stderr)' | tr a-z A-Z"])
    assert "FALSE" in out and "True" in out, (out, status)


def settings():
    """A program that sets its output's terminal sets the real one, and it is as before afterwards."""
    before = []
    code = "import termios, time, sys\nt = termios.tcgetattr(1); t[3] &= ~(termios.ICANON | termios.ECHO); termios.tcsetattr(1, termios.TCSANOW, t)\nprint('ready', flush=True); print('read', repr(sys.stdin.read(1)), flush=True)"

    def key(fd):
        until = time.time() + 20
        while termios.tcgetattr(fd)[3] & termios.ICANON and time.time() < until:
            time.sleep(0.02)
        before.append(termios.tcgetattr(fd)[3])
        os.write(fd, b"k")

    out, status = talk(["sh", "-c", " ".join(quick) + " python3 -c '%s'; stty -a" % code.replace("'", '"')], (b"ready", key))
    assert "read 'k'" in out and not before[0] & termios.ICANON, (out, before)
    assert " icanon" in out and " echo " in out, out


def progress():
    """check --deep says on a terminal how far it is, in the user's language, and takes the line away; nothing of it is in a pipe."""
    with tempfile.TemporaryDirectory() as top:
        site = top + "/env/lib/python3.11/site-packages"
        os.makedirs(site + "/torch-2.8.0.dist-info")
        os.makedirs(top + "/env/bin")
        os.symlink("/bin/true", top + "/env/bin/python3")
        with open(top + "/env/pyvenv.cfg", "w") as f:
            f.write("home = /bin\nversion = 3.11.4\n")
        with open(site + "/torch-2.8.0.dist-info/METADATA", "w") as f:
            f.write("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n")
        record = ""
        for i in range(8):
            with open(site + "/weights%d.bin" % i, "wb") as f:
                f.truncate(60 << 20)
            record += "weights%d.bin,sha256=%s,%d\n" % (i, "A" * 43, 60 << 20)
        with open(site + "/torch-2.8.0.dist-info/RECORD", "w") as f:
            f.write(record)
        for lang, words in (("en", r"hashing +\d+ % of 0\.5 GB"), ("zh_CN", r"正在校验 +\d+ %，共 0\.5 GB")):
            command = [davy, "check", "--deep", "--lang", lang, "--color", "never", "--python", top + "/env"]
            out, status = talk(command, limit=60)
            lines = re.findall(r"\r\x1b\[K  " + words, out)
            assert lines, out
            assert re.search(r"\r\x1b\[K(?!  (hashing|正在校验))", out[out.rindex(lines[-1]):]), out
            out, status = talk(["sh", "-c", " ".join(command) + " 2>&1 | cat"], limit=60)
            assert not re.search(words, out) and "\x1b[K" not in out and "torch" in out, out


checks = {f.__name__.strip("_"): f for f in (size, resized, typed, bytes_, interrupted, stopped, halted, background, half, settings, progress)}
for name in sys.argv[1:] or checks:
    try:
        checks[name]()
    except AssertionError as e:
        print("%s: %s" % (name, e))
        sys.exit(1)
