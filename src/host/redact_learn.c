/* What is private on this machine: learnt from its own answers before anything is written. */
#include "host/door.h"
#include "host/redact_parts.h"

static const char *after(const char *path, const char *folder)
{
	size_t n = strlen(folder);
	return strncmp(path, folder, n) == 0 ? path + n : NULL;
}

static void learn_home(struct redactor *r, const char *path)
{
	static const char *const folders[] = {"/home/", "/Users/"};
	for (size_t i = 0; path && i < 2; i++) {
		const char *rest = after(path, folders[i]);
		if (rest)
			redactor_learn(r, "user", str_n(rest, strcspn(rest, "/")));
	}
}

/* A home elsewhere: /gpfs/users/alice. */
static void learn_home_elsewhere(struct redactor *r, const char *home)
{
	const char *slash = home ? strrchr(home, '/') : NULL;
	if (slash && slash != home && slash[1] && !after(home, "/home/") && !after(home, "/root") && !after(home, "/tmp") &&
		!after(home, "/var"))
		redactor_learn(r, "user", str_of(slash + 1));
}

/* Is this word a name of the system's own, or of an installed package? To replace it everywhere would change what is judged. */
static bool is_systems(const struct host *h, struct str word)
{
	static const char *const folders[] = {"/usr/", "/lib/", "/etc/", "/proc/", "/sys/", "/bin/", "/dev/"};
	for (size_t i = 0; i < h->memory.count; i++) {
		const char *p = h->memory.all[i]->subject, *packages = strstr(p, "-packages/");
		bool own = packages != NULL;
		for (size_t k = 0; k < sizeof folders / sizeof folders[0]; k++)
			own |= after(p, folders[k]) != NULL;
		for (const char *at = packages ? packages : p; own && (at = strchr(at, '/')); at++) {
			if (strncmp(at + 1, word.ptr, word.len) != 0)
				continue;
			char next = at[1 + word.len];
			if (!next || next == '/' || next == '-' || next == '.' || next == '_')
				return true;
		}
	}
	return false;
}

/* Domains that say nothing of whose they are. */
static bool is_common_domain(struct str domain)
{
	static const char *const ends[] = {"local", "localdomain", "internal", "lan", "home", "example.com", "cluster", "localhost"};
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (str_ends(domain, ends[i]))
			return true;
	return domain.len < 8 && str_find_char(domain, '.', 0) == SIZE_MAX;
}

static void learn_host(struct redactor *r, const struct host *h, struct str name)
{
	if (!name.len || is_systems(h, name))
		return;
	redactor_learn(r, "host", name);
	size_t dot = str_find_char(name, '.', 0);
	if (dot == SIZE_MAX)
		return;
	redactor_learn(r, "host", str_slice(name, 0, dot));
	if (!is_common_domain(str_skip(name, dot + 1)))
		redactor_learn(r, "domain", str_skip(name, dot + 1));
}

static void learn_user(struct redactor *r, const struct host *h, const char *name)
{
	if (name && *name && !is_systems(h, str_of(name)))
		redactor_learn(r, "user", str_of(name));
}

/* Names in /etc/hosts beyond the usual ones. */
static void learn_hosts_file(struct redactor *r, struct host *h)
{
	struct str text, line, word;
	if (host_read(h, "/etc/hosts", 0, &text) < 0)
		return;
	while (str_next_line(&text, &line)) {
		if (!line.len || line.ptr[0] == '#' || !str_next_word(&line, &word))
			continue;
		while (str_next_word(&line, &word) && word.ptr[0] != '#')
			learn_host(r, h, word);
	}
}

/* Servers and users of network file systems. */
static void learn_mounts(struct redactor *r, struct host *h)
{
	struct str text, line, word;
	if (host_read(h, "/proc/self/mountinfo", (size_t)4 << 20, &text) < 0)
		return;
	while (str_next_line(&text, &line))
		while (str_next_word(&line, &word)) {
			size_t colon = str_find(word, ":/", 0), user = str_find(word, "username=", 0);
			if (colon != SIZE_MAX && colon > 0 && str_find_char(str_slice(word, 0, colon), '/', 0) == SIZE_MAX &&
				str_find_char(str_slice(word, 0, colon), '=', 0) == SIZE_MAX)
				learn_host(r, h, str_slice(word, 0, colon));
			if (user != SIZE_MAX) {
				struct str rest = str_skip(word, user + 9), name;
				if (str_next_field(&rest, ',', &name))
					learn_user(r, h, str_dup(r->arena, name));
			}
		}
}

static void learn_environment(struct redactor *r, struct host *h)
{
	static const char *const users[] = {"USER", "LOGNAME", "SUDO_USER", "USERNAME", "SLURM_JOB_USER", "PBS_O_LOGNAME"};
	static const char *const hosts[] = {"HOSTNAME", "SLURMD_NODENAME", "MASTER_ADDR", "SLURM_SUBMIT_HOST", "SLURM_LAUNCH_NODE_IPADDR",
		"PBS_O_HOST", "NODE_NAME", "SLURM_CLUSTER_NAME"};
	for (size_t i = 0; i < sizeof users / sizeof users[0]; i++)
		learn_user(r, h, host_env(h, users[i]));
	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
		const char *name = host_env(h, hosts[i]);
		if (name && *name)
			learn_host(r, h, str_of(name));
	}
	learn_home(r, host_env(h, "HOME"));
	learn_home_elsewhere(r, host_env(h, "HOME"));
	learn_home(r, h->cwd);
}

struct redactor *redactor_new(struct host *h)
{
	struct redactor *r = redactor_new_plain(h->arena);
	struct str text;
	if (h->has_uname)
		learn_host(r, h, str_of(h->uname.nodename));
	if (host_read(h, "/etc/hostname", 4096, &text) == 0)
		learn_host(r, h, str_trim(text));
	learn_environment(r, h);
	learn_hosts_file(r, h);
	learn_mounts(r, h);
	/* UUIDs in full come first: variables may hold their beginnings. */
	for (size_t i = 0; i < h->memory.count; i++)
		if (h->memory.all[i]->kind == ANSWER_PROBE)
			redact_text(r, h->memory.all[i]->probe.output);
	return r;
}
