/* kubectl describe pod: limits of the containers, GPUs asked for, the environment, and what is mounted on /dev/shm. How a container ended
 * is said by patterns. */
#include "read/fill.h"
#include "read/read.h"

static size_t indent_of(struct str line)
{
	size_t n = 0;
	while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t'))
		n++;
	return n;
}

static bool is_variable(struct str s)
{
	bool under = false;
	for (size_t i = 0; i < s.len; i++) {
		if (!((s.ptr[i] >= 'A' && s.ptr[i] <= 'Z') || s.ptr[i] == '_' || (i && s.ptr[i] >= '0' && s.ptr[i] <= '9')))
			return false;
		under |= s.ptr[i] == '_';
	}
	return (s.len >= 4 && s.len <= 80 && under) || str_is(s, "RANK");
}

struct pod {
	struct facts *f;
	struct str section; /* the last heading: Limits, Requests, Environment, Mounts, or the name of a volume */
	size_t indent;      /* of that heading */
	struct str shm;     /* volume on /dev/shm */
	bool memory_medium;
	struct str size_limit;
	size_t size_line;
	bool ours;
};

static void take_limit(struct pod *p, struct str key, struct str value, const char *origin)
{
	int64_t n;
	if (str_is(key, "memory") && read_size(value, 1, &n) && n > 0) {
		read_fill_int(facts_only(p->f, TABLE_system), system__memory_limit_bytes, n, origin);
		p->ours = true;
	} else if (str_is(key, "nvidia.com/gpu") && str_to_int(value, &n) == 0 && n > 0) {
		read_fill_bool(facts_only(p->f, TABLE_container), container__gpu_requested, true, origin);
		p->ours = true;
	}
}

/* "/dev/shm from dshm (rw)" */
static void take_mount(struct pod *p, struct str t)
{
	struct str rest = t, path, word, volume;
	if (str_next_word(&rest, &path) && str_is(path, "/dev/shm") && str_next_word(&rest, &word) && str_is(word, "from") &&
		str_next_word(&rest, &volume))
		p->shm = volume;
}

static void take_volume(struct pod *p, struct str key, struct str value, size_t i)
{
	if (!p->shm.len || !str_eq(p->section, p->shm))
		return;
	if (str_is(key, "Medium"))
		p->memory_medium = str_is(value, "Memory");
	else if (str_is(key, "SizeLimit")) {
		p->size_limit = value;
		p->size_line = i;
	}
}

static size_t read_describe(const struct read_input *in, struct facts *f)
{
	struct pod p = {.f = f};
	size_t i = 0;
	struct str command;
	int64_t bytes;
	for (; i < in->count && i < 2000; i++) {
		struct str line = in->line[i].text, t = str_trim(line), key, value;
		const char *origin = read_origin(f, in, i);
		size_t indent = indent_of(line);
		if (read_prompt(line, &command) || str_starts(line, "Events:"))
			break;
		if (!t.len)
			continue;
		if (str_starts(t, "/"))
			take_mount(&p, t);
		if (!str_split(t, ':', &key, &value))
			continue;
		if (!value.len) {
			p.section = key;
			p.indent = indent;
		} else if (indent <= p.indent) {
			p.section = str_n("", 0);
		} else if (str_is(p.section, "Limits")) {
			take_limit(&p, key, value, origin);
		} else if (str_is(p.section, "Environment")) {
			if (is_variable(key) && value.ptr[0] != '<' && value.ptr[0] != '(') {
				read_variable(f, key, value, origin);
				p.ours = true;
			}
		} else {
			take_volume(&p, key, value, i);
		}
	}
	if (p.memory_medium && read_size(p.size_limit, 1, &bytes) && bytes > 0) {
		struct facts_row *row = read_mount(f, STR("/dev/shm"));
		read_fill_int(row, mount__size_bytes, bytes, read_origin(f, in, p.size_line));
		read_fill_str(row, mount__fs_type, STR("tmpfs"), read_origin(f, in, p.size_line));
	}
	if (p.ours || p.shm.len) {
		struct facts_row *row = facts_only(f, TABLE_container);
		read_fill_str(row, container__engine, STR("kubernetes"), read_origin(f, in, 0));
		read_fill_bool(row, container__kubernetes, true, read_origin(f, in, 0));
	}
	return p.ours || p.shm.len ? i : 0;
}

static const char *const describe_triggers[] = {"Containers:", "Container ID:", NULL};
const struct reader read_kubernetes_reader = {"kubectl describe", describe_triggers, read_describe};
