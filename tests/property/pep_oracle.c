/* Answers questions about versions, specifiers, requirements and markers, one on each line of standard input, fields separated by tabs.
 * pep440_oracle.py asks the `packaging` library inside pip the same and compares. */
#include <stdio.h>

#include "parse/pep440.h"
#include "parse/pep508.h"

static void show_version(struct str text)
{
	struct pep440 v;
	struct buf b = BUF_MAX(1 << 16);
	if (parse_pep440(text, &v)) {
		puts("invalid");
		return;
	}
	parse_pep440_print(&v, &b);
	printf("%s %s\n", b.ptr, parse_pep440_is_prerelease(&v) ? "pre" : "final");
	buf_free(&b);
}

static void show_order(struct str a, struct str b)
{
	struct pep440 x, y;
	if (parse_pep440(a, &x) || parse_pep440(b, &y))
		puts("invalid");
	else
		printf("%d\n", parse_pep440_compare(&x, &y));
}

static void show_match(struct str specifiers, struct str version, struct str mode)
{
	struct pep440 v;
	bool yes;
	enum pep440_prereleases pre = str_is(mode, "allowed") ? PEP440_ALLOWED
		: str_is(mode, "refused")                     ? PEP440_REFUSED
							      : PEP440_AS_SPECIFIED;
	if (parse_pep440(version, &v) || parse_pep440_match(specifiers, &v, pre, &yes))
		puts("invalid");
	else
		puts(yes ? "yes" : "no");
}

static void show_requirement(struct arena *a, struct str text)
{
	struct pep508 r;
	if (parse_pep508(text, &r)) {
		puts("invalid");
		return;
	}
	printf("%s|", parse_pep503_name(a, r.name));
	struct str extra;
	while (r.extras.len && str_next_field(&r.extras, ',', &extra))
		printf("%.*s,", (int)str_trim(extra).len, str_trim(extra).ptr);
	printf("|");
	for (size_t i = 0; i < r.specifier.len; i++)
		if (!strchr(" \t", r.specifier.ptr[i]))
			putchar(r.specifier.ptr[i]);
	printf("|%.*s|%s\n", (int)r.url.len, r.url.ptr ? r.url.ptr : "", r.marker.len ? "marker" : "");
}

static void show_marker(struct str text, struct str extra)
{
	struct pep508_environment env = {
		.python_version = STR("3.11"),
		.python_full_version = STR("3.11.7"),
		.os_name = STR("posix"),
		.sys_platform = STR("linux"),
		.platform_release = STR("6.1.0"),
		.platform_system = STR("Linux"),
		.platform_version = STR("1"),
		.platform_machine = STR("x86_64"),
		.platform_python_implementation = STR("CPython"),
		.implementation_name = STR("cpython"),
		.implementation_version = STR("3.11.7"),
		.extra = extra,
	};
	bool yes;
	int r = parse_pep508_marker(text, &env, &yes);
	puts(r == -22 ? "invalid" : r ? "undefined" : yes ? "yes" : "no");
}

int main(void)
{
	char line[1 << 16];
	while (fgets(line, sizeof line, stdin)) {
		struct str rest = str_n(line, strcspn(line, "\n")), f[4] = {{0}};
		for (size_t i = 0; i < 4 && str_next_field(&rest, '\t', &f[i]); i++)
			;
		struct arena *a = arena_new(0);
		if (str_is(f[0], "version"))
			show_version(f[1]);
		else if (str_is(f[0], "order"))
			show_order(f[1], f[2]);
		else if (str_is(f[0], "match"))
			show_match(f[1], f[2], f[3]);
		else if (str_is(f[0], "requirement"))
			show_requirement(a, f[1]);
		else if (str_is(f[0], "marker"))
			show_marker(f[1], f[2]);
		arena_free(a);
	}
	return 0;
}
