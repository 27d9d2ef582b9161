/* Where rank 0 is: the addresses of its name, by the resolver that programs use, and by /etc/hosts besides, because the two may differ. */
#include "act/cluster.h"
#include "parse/json.h"

#define ADDRESSES_MAX 8

static const char *join(struct arena *a, const struct host_address *list, size_t n)
{
	struct buf b = BUF_MAX(1024);
	char text[HOST_ADDRESS_TEXT];
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s%s", i ? " " : "", host_address_text(&list[i], text));
	const char *joined = n ? arena_strndup(a, b.ptr, b.len) : NULL;
	buf_free(&b);
	return joined;
}

static bool has(const struct host_address *list, size_t n, const struct host_address *one)
{
	for (size_t i = 0; i < n; i++)
		if (host_address_is_same(&list[i], one))
			return true;
	return false;
}

/* The answer is the last line that is an object with what we look for. */
static size_t ask_resolver(
	struct host *h, struct arena *a, const char *name, int tries, int deadline_ms, struct host_address *ret, const char **ret_why)
{
	struct host_probe p;
	const struct json *v;
	struct str text;
	size_t n = 0;
	host_probe(h, arena_printf(a, tries ? "resolve %s try %d" : "resolve %s", name, tries), deadline_ms, &p);
	struct str rest = p.output;
	if (p.status == HOST_PROBE_TIMEOUT)
		*ret_why = "timeout";
	else if (p.status == HOST_PROBE_SKIPPED)
		*ret_why = "no probe";
	while (rest.len && parse_json_next(a, &rest, &v) == 0) {
		for (const struct json *e = parse_json_first(parse_json_get(v, "addresses")); e && n < ADDRESSES_MAX; e = e->next) {
			ret[n] = (struct host_address){0};
			if (parse_json_text(e, &text) && host_address_parse(text, &ret[n]) == 0 && !has(ret, n, &ret[n]))
				n++;
		}
		if (parse_json_text(parse_json_path(v, "error.text"), &text))
			*ret_why = str_dup(a, text);
	}
	return n;
}

static void one_target(
	const struct cluster_job *job, const struct cluster_self *self, const struct host_address *at, struct cluster_reach *ret)
{
	char name[32];
	int mtu;
	*ret = (struct cluster_reach){.node = self->name,
		.target = job->master,
		.source = job->master_from,
		.rank = job->rank,
		.icmp = -61,
		.own4 = self->family4,
		.own6 = self->family6};
	ret->way = WAY_UNRESOLVED;
	ret->at.port = (uint16_t)job->port;
	if (!at)
		return;
	ret->at = *at;
	ret->at.port = (uint16_t)job->port;
	ret->way = WAY_UNTRIED;
	ret->loopback = host_address_is_loopback(at);
	ret->local = ret->loopback || host_interface_of(at, name, &mtu) == 0;
}

size_t cluster_targets(struct host *h, struct arena *a, const struct cluster_job *job, const struct cluster_self *self, int tries,
	int deadline_ms, struct cluster_reach *ret, size_t max)
{
	struct host_address all[ADDRESSES_MAX * 2], files[ADDRESSES_MAX], literal = {0};
	const char *why = NULL;
	size_t n = 0, in_files = 0, count = 0, answered;
	bool is_literal = host_address_parse(str_of(job->master), &literal) == 0;
	if (is_literal) {
		all[n++] = literal;
	} else {
		n = ask_resolver(h, a, job->master, tries, deadline_ms, all, &why);
		in_files = cluster_hosts_file(h, job->master, files, ADDRESSES_MAX);
	}
	answered = n;
	for (size_t i = 0; i < in_files && n < ADDRESSES_MAX * 2; i++)
		if (!has(all, n, &files[i]))
			all[n++] = files[i];
	if (n == 0) {
		one_target(job, self, NULL, &ret[0]);
		ret[0].why = why ? why : "none";
		return 1;
	}
	for (size_t i = 0; i < n && count < max; i++) {
		struct cluster_reach *r = &ret[count++];
		one_target(job, self, &all[i], r);
		r->literal = is_literal;
		r->resolver = is_literal ? NULL : join(a, all, answered);
		r->files = join(a, files, in_files);
		for (size_t k = 0; k < n; k++) {
			r->family4 |= all[k].family == 4;
			r->family6 |= all[k].family == 6;
		}
	}
	return count;
}
