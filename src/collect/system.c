/* The operating system, the processors, memory. */
#include "collect/collect.h"

static void os_release(struct collect *c, struct facts_row *row)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} wanted[] = {{"ID", system__os_id}, {"VERSION_ID", system__os_version}, {"PRETTY_NAME", system__os_name}};
	const char *path = "/etc/os-release";
	struct str text, line, key, value;
	int rc = host_read(c->host, path, 0, &text);
	if (rc < 0) {
		path = "/usr/lib/os-release";
		rc = host_read(c->host, path, 0, &text);
	}
	if (rc < 0) {
		for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
			facts_gap_errno(row, wanted[i].column, rc, path);
		return;
	}
	while (str_next_line(&text, &line)) {
		if (!str_split(line, '=', &key, &value))
			continue;
		if (value.len >= 2 && (value.ptr[0] == '"' || value.ptr[0] == '\'') && value.ptr[value.len - 1] == value.ptr[0])
			value = str_slice(value, 1, value.len - 1);
		for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
			if (str_is(key, wanted[i].key))
				facts_str(row, wanted[i].column, value, path);
	}
}

void collect_system(struct collect *c)
{
	struct facts_row *row = facts_only(c->facts, TABLE_system);
	struct host_uname u;
	int rc = host_uname(c->host, &u);
	if (rc == 0) {
		facts_text(row, system__hostname, u.nodename, "uname");
		facts_text(row, system__kernel, u.release, "uname");
		facts_text(row, system__arch, u.machine, "uname");
	} else {
		facts_gap_errno(row, system__kernel, rc, "uname");
	}
	os_release(c, row);
}
