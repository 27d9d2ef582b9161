#include "probe.h"

#include "old_dl.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* -- the answer ------------------------------------------------------------------------------------------------------------ */

#define ANSWER_MAX (512 * 1024)
#define RESERVE 256 /* for the ends of what is open */
#define DEPTH_MAX 16

static struct {
	char text[ANSWER_MAX];
	size_t len;
	char open[DEPTH_MAX]; /* '}' or ']' */
	int depth;
	bool comma, truncated;
} answer;

static void put(const char *s, size_t n)
{
	if (answer.truncated || answer.len + n > ANSWER_MAX - RESERVE) {
		answer.truncated = true;
		return;
	}
	memcpy(answer.text + answer.len, s, n);
	answer.len += n;
}

static void put_string(const char *s, size_t n)
{
	char escape[8];

	put("\"", 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\') {
			escape[0] = '\\';
			escape[1] = (char)c;
			put(escape, 2);
		} else if (c < 0x20 || c >= 0x7f) { /* a vendor's text in an unknown encoding */
			put(escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
		} else {
			put((const char *)&s[i], 1);
		}
	}
	put("\"", 1);
}

/* The comma, the key and the colon; false when there is no room for the value. Whatever is written after this must not be cut in two, so a
 * value that would pass the end is not begun. */
static bool begin(const char *key, size_t room)
{
	size_t need = (key ? strlen(key) * 6 : 0) + room + 8;

	if (answer.truncated || answer.len + need > ANSWER_MAX - RESERVE) {
		answer.truncated = true;
		return false;
	}
	if (answer.comma)
		put(",", 1);
	if (key) {
		put_string(key, strlen(key));
		put(":", 1);
	}
	answer.comma = true;
	return true;
}

static void open_value(const char *key, const char *start, char end)
{
	if (answer.depth == DEPTH_MAX || !begin(key, 2)) {
		answer.truncated = true;
		return;
	}
	put(start, 1);
	answer.open[answer.depth++] = end;
	answer.comma = false;
}

void out_object(const char *key)
{
	open_value(key, "{", '}');
}

void out_array(const char *key)
{
	open_value(key, "[", ']');
}

void out_end(void)
{
	/* Once truncated, nothing opens any more; the ends are written by out_flush. */
	if (answer.truncated || answer.depth == 0)
		return;
	put(&answer.open[--answer.depth], 1);
	answer.comma = true;
}

void out_text_n(const char *key, const char *text, size_t max)
{
	size_t n = text ? strnlen(text, max) : 0;

	if (text && begin(key, n * 6 + 2))
		put_string(text, n);
}

void out_text(const char *key, const char *text)
{
	out_text_n(key, text, 4096);
}

void out_int(const char *key, int64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%lld", (long long)v);

	if (begin(key, sizeof digits))
		put(digits, (size_t)n);
}

void out_bool(const char *key, bool v)
{
	if (begin(key, 5))
		put(v ? "true" : "false", v ? 4 : 5);
}

void out_error(const char *call, int64_t code, const char *text)
{
	out_object("error");
	out_text("call", call);
	out_int("code", code);
	out_text("text", text);
	out_end();
}

static void print(const char *text, size_t n)
{
	while (n > 0) {
		ssize_t written = write(STDOUT_FILENO, text, n);

		if (written <= 0)
			return;
		text += written;
		n -= (size_t)written;
	}
}

void out_flush(void)
{
	static const char note[] = ",\"truncated\":true";

	while (answer.depth > 1)
		answer.text[answer.len++] = answer.open[--answer.depth];
	if (answer.truncated) {
		memcpy(answer.text + answer.len, note, sizeof note - 1);
		answer.len += sizeof note - 1;
	}
	answer.text[answer.len++] = '}';
	answer.text[answer.len++] = '\n';
	print(answer.text, answer.len);
	answer.len = 0;
	answer.depth = 0;
	answer.comma = answer.truncated = false;
}

void probe_calling(const char *name, int index)
{
	char line[128];
	int n = index < 0 ? snprintf(line, sizeof line, "{\"calling\":\"%s\"}\n", name)
			  : snprintf(line, sizeof line, "{\"calling\":\"%s\",\"index\":%d}\n", name, index);

	if (n > 0 && n < (int)sizeof line)
		print(line, (size_t)n);
}

/* -- libraries ------------------------------------------------------------------------------------------------------------ */

struct link_map_head { /* the start of struct link_map, which dlopen's handle is in glibc */
	void *base;
	char *name;
};

void *probe_load(const char *const *names)
{
	const char *why = "not found";
	char first[512] = "";

	for (size_t i = 0; names[i]; i++) {
		void *library;

		probe_calling("dlopen", -1);
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library) {
			const char *path = ((const struct link_map_head *)library)->name;

			out_text("library", path && *path ? path : names[i]);
			return library;
		}
		why = dlerror();
		if (!*first && why)
			snprintf(first, sizeof first, "%s", why);
	}
	out_text("missing", *first ? first : why);
	return NULL;
}

void *probe_symbol(void *library, const char *const *names)
{
	for (size_t i = 0; names[i]; i++) {
		void *symbol = dlsym(library, names[i]);

		if (symbol)
			return symbol;
	}
	return NULL;
}

/* -- numbers and time ------------------------------------------------------------------------------------------------------ */

double probe_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int probe_numbers(const char *text, int *ret, int max)
{
	int n = 0;

	while (n < max) {
		int v = 0, digits = 0;

		for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
			v = v * 10 + (*text - '0');
		if (!digits || v >= 1024)
			return 0;
		ret[n++] = v;
		if (!*text)
			return n;
		if (*text++ != ',')
			return 0;
	}
	return 0;
}

/* -- start ---------------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int args; /* that must be there */
	int (*run)(char **args);
} tests[] = {
	{"test-cuda", 1, probe_test_cuda},
	{"test-p2p", 2, probe_test_p2p},
	{"test-unique", 1, probe_test_unique},
	{"test-nccl", 5, probe_test_nccl},
	{"test-shm", 3, probe_test_shm},
	{"test-net", 1, probe_test_net},
};

static int run_test(const char *name, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		if (strcmp(name, tests[i].name) != 0 || argc - 2 < tests[i].args)
			continue;
		/* Whoever started this and is gone needs no answer. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return tests[i].run(argv + 2);
	}
	return 64;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int rc;

	out_object(NULL);
	out_text("probe", name);
	if (strcmp(name, "nvml") == 0)
		rc = probe_nvml();
	else if (strcmp(name, "cuda") == 0)
		rc = probe_cuda();
	else if (strcmp(name, "nccl") == 0)
		rc = probe_nccl(argc > 2 ? argv[2] : NULL);
	else if (strcmp(name, "rocm") == 0)
		rc = probe_rocm();
	else if (strcmp(name, "ibverbs") == 0)
		rc = probe_ibverbs();
	else if (strcmp(name, "resolve") == 0)
		rc = probe_resolve(argc > 2 ? argv[2] : "");
	else
		rc = run_test(name, argc, argv);
	if (rc == 64)
		return 64;
	out_flush();
	/* Not exit(): the destructors of a driver library may hang too. */
	_exit(rc);
}
