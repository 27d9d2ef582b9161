/* What stands on the machine, as sorted lines: see act/history.h. The blank before '=' sorts before all that a name may hold. */
#include <errno.h>

#include "act/history.h"
#include "host/redact.h"
#include "parse/sha256.h"

#define LINES_MAX 40000
#define VALUE_MAX 400
#define WORDS_MAX 500 /* of a command; each is compared with all before it */
#define FILES_MAX 8
#define FILE_BYTES_MAX ((size_t)1 << 20)
#define GIT_DEPTH_MAX 12

struct lines {
	struct arena *arena;
	struct redactor *redactor;
	const char **line;
	size_t count, cap;
};

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add(struct lines *l, const char *table, const char *key, const char *column, const char *value)
{
	if (l->count >= LINES_MAX)
		return;
	if (!l->line || l->count == l->cap)
		l->line = arena_grow(l->arena, l->line, l->count, &l->cap, sizeof *l->line);
	struct str cut = str_cut(str_of(value), VALUE_MAX), shown = key ? str_cut(str_of(key), VALUE_MAX) : str_of("");
	char *text = arena_printf(l->arena, "%s%s%.*s%s.%s = %.*s", table, key ? "[" : "", (int)shown.len, shown.ptr, key ? "]" : "",
		column, (int)cut.len, cut.ptr);
	for (char *p = text; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	l->line[l->count++] = text;
}

/* -- facts --------------------------------------------------------------------------------------------------------------- */

/* Tables of which there is one row: no key. */
static bool is_single(const char *table)
{
	static const char *const names[] = {"system", "purpose", "python", "torch", "container", "nccl_choice"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(table, names[i]) == 0)
			return true;
	return false;
}

/* What is another at every look, or what only says again what stands elsewhere. */
static bool is_restless(const char *table, const char *column)
{
	static const char *const tables[] = {"event", "wait", "speaker", "shm_segment", "nccl_choice", "probe"};
	static const char *const columns[] = {
		"system.memory_available_bytes",
		"system.memory_used_bytes",
		"system.oom_kills",
		"system.uptime_s",
		"system.boot_id",
		"mount.free_bytes",
		"mount.used_bytes",
		"mount.inodes_free",
		"mount.device",
		"gpu.memory_used_bytes",
		"gpu.temperature_c",
		"gpu.processes",
		"gpu.throttle",
		"gpu.link_speed_gts",
		"gpu.link_width",
		"pci_device.link_speed_gts",
		"purpose.ranks",
		"purpose.reason",
		"mount.options",
		"container.id",
	};
	char name[128];
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		if (strcmp(table, tables[i]) == 0)
			return true;
	snprintf(name, sizeof name, "%s.%s", table, column);
	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		if (strcmp(name, columns[i]) == 0)
			return true;
	return strcmp(table, "variable") == 0 && strcmp(column, "value") != 0;
}

/* Set anew for each job and process by a launcher or a scheduler: no choice of the user's. */
static bool is_launchers(const char *name)
{
	static const char *const prefixes[] = {"SLURM_", "SLURMD_", "PMI_", "PMIX_", "OMPI_COMM_", "OMPI_MCA_orte", "OMPI_MCA_ess",
		"OMPI_MCA_pmix", "OMPI_APP_", "OMPI_ARGV", "OMPI_FILE_", "OMPI_FIRST_", "OMPI_NUM_", "OMPI_UNIVERSE", "TORCHELASTIC_",
		"LOCAL_", "GROUP_", "ROLE_", "MPI_LOCAL", "PRTE_", "HYDI_", "PET_RDZV_ID"};
	static const char *const names[] = {"RANK", "NODE_RANK", "MASTER_PORT", "HOSTNAME"};
	static const char *const chosen[] = {"SLURM_JOB_PARTITION", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_MPI_TYPE",
		"SLURM_CPU_BIND", "SLURM_GPUS", "SLURM_MEM_PER_NODE"};
	for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++)
		if (strcmp(name, chosen[i]) == 0)
			return false;
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static const char *value_text(struct lines *l, const struct facts_value *v, enum facts_type type)
{
	if (v->gap == GAP_ABSENT)
		return "(none)";
	if (v->gap != GAP_NONE)
		return arena_printf(l->arena, "(unknown: %s)", facts_gap_name(v->gap));
	switch (type) {
	case FACTS_TEXT: return v->text;
	case FACTS_REAL: return arena_printf(l->arena, "%g", v->r);
	case FACTS_BOOL: return v->i ? "yes" : "no";
	case FACTS_INT: break;
	}
	return arena_printf(l->arena, "%lld", (long long)v->i);
}

/* The row's name among its table's; the second of the same name is "name#2". */
static const char *key_of(struct lines *l, const struct facts *f, const struct facts_row *row)
{
	struct facts_table_info info = facts_table(row->table);
	const struct facts_value *v = facts_value(row, (enum facts_column)info.first);
	int same = 1;
	if (!v->set || v->gap != GAP_NONE)
		return arena_printf(l->arena, "#%d", row->id);
	const char *key = value_text(l, v, facts_columns[info.first].type);
	for (const struct facts_row *other = f->first[row->table]; other && other != row; other = other->next) {
		const struct facts_value *o = facts_value(other, (enum facts_column)info.first);
		if (!o->set || o->gap != GAP_NONE || facts_columns[info.first].type == FACTS_REAL)
			continue;
		same += facts_columns[info.first].type == FACTS_TEXT ? strcmp(o->text, v->text) == 0 : o->i == v->i;
	}
	return same > 1 ? arena_printf(l->arena, "%s#%d", key, same) : key;
}

static void add_row(struct lines *l, const struct facts *f, const struct facts_row *row)
{
	struct facts_table_info info = facts_table(row->table);
	const char *key = is_single(info.name) ? NULL : key_of(l, f, row);
	if (strcmp(info.name, "variable") == 0 && is_launchers(key))
		return;
	for (int c = info.first + (key ? 1 : 0); c < info.end; c++) {
		const struct facts_value *v = &row->value[c - info.first];
		const char *column = facts_columns[c].name;
		if (!v->set || is_restless(info.name, column))
			continue;
		const char *value = value_text(l, v, facts_columns[c].type);
		if (strcmp(info.name, "variable") == 0) {
			struct str whole = str_of(arena_printf(l->arena, "%s=%s", key, value)), kept = redact_secrets(l->redactor, whole);
			value = str_dup(l->arena, str_skip(kept, strlen(key) + 1));
		} else if (strcmp(info.name, "package") == 0 && strcmp(column, "source_url") == 0) {
			value = str_dup(l->arena, redact_secrets(l->redactor, str_of(value)));
		}
		add(l, info.name, key, column, value);
	}
	/* Free space is restless, its end is not. */
	int64_t left;
	if (row->table == TABLE_mount && facts_get_int(row, mount__free_bytes, &left))
		add(l, info.name, key, "nearly_full", left < (int64_t)64 << 20 ? "yes" : "no");
}

/* -- the command --------------------------------------------------------------------------------------------------------- */

/* Of a command with thousands of words (a shell's *.jpg) the rest is one value: how many, and their digest. */
static void add_rest(struct lines *l, const char *const *argv, size_t n)
{
	char hash[PARSE_SHA256_TEXT];
	struct buf all = BUF_MAX((size_t)8 << 20);
	for (size_t i = 0; i < n; i++)
		buf_add(&all, argv[i], strlen(argv[i]) + 1);
	struct str bytes = buf_view(&all);
	struct parse_source source = parse_source_of(&bytes);
	if (parse_sha256(&source, hash) == 0)
		add(l, "command", "more words", "value", arena_printf(l->arena, "%zu, sha256 %s", n, hash));
	buf_free(&all);
}

/* Options with their values, other words by number. An option that is repeated is "--option#2". */
static void add_command(struct lines *l, struct redactor *r, const char *const *argv, size_t n)
{
	int words = 0;
	for (size_t i = 0; i < n; i++) {
		struct str word = str_of(argv[i]), name, value;
		size_t eq = str_find_char(word, '=', 0);
		bool option = word.len > 1 && word.ptr[0] == '-';
		if (option && eq != SIZE_MAX) {
			name = str_slice(word, 0, eq);
			value = redact_secrets(r, word);
			value = str_skip(value, eq + 1);
		} else if (option && i + 1 < n && argv[i + 1][0] != '-') {
			const char *both[] = {argv[i], argv[i + 1]};
			const char *line = redact_command(r, both, 2);
			name = word;
			value = str_skip(str_of(line), word.len + 1);
			i++;
		} else {
			name = option ? word : str_of(arena_printf(l->arena, "word %d", ++words));
			value = option ? STR("") : redact_secrets(r, word);
		}
		const char *key = str_dup(l->arena, str_cut(name, 80));
		int same = 1;
		for (size_t k = 0; k < l->count; k++)
			same += strncmp(l->line[k], "command[", 8) == 0 && strncmp(l->line[k] + 8, key, strlen(key)) == 0 &&
				strchr("]#", l->line[k][8 + strlen(key)]) != NULL;
		add(l, "command", same > 1 ? arena_printf(l->arena, "%s#%d", key, same) : key, "value", str_dup(l->arena, value));
	}
}

static void add_files(struct lines *l, struct host *h, const char *const *argv, size_t n)
{
	int files = 0;
	for (size_t i = 1; i < n && files < FILES_MAX; i++) {
		struct host_stat st;
		struct str text;
		char hash[PARSE_SHA256_TEXT];
		const char *dot = strrchr(argv[i], '.');
		const char *path = argv[i][0] == '/' || !host_cwd(h) ? argv[i] : arena_printf(l->arena, "%s/%s", host_cwd(h), argv[i]);
		if (!dot || argv[i][0] == '-' || strlen(argv[i]) > 1024 || host_stat(h, path, &st) < 0 || st.kind != HOST_FILE ||
			st.size > FILE_BYTES_MAX)
			continue;
		if (host_read(h, path, FILE_BYTES_MAX, &text) < 0)
			continue;
		struct parse_source source = parse_source_of(&text);
		if (parse_sha256(&source, hash) == 0)
			add(l, "file", argv[i], "sha256", hash);
		files++;
	}
}

/* The commit that the working directory's .git names: HEAD, or the branch that it names. */
static void add_commit(struct lines *l, struct host *h)
{
	struct str head, commit;
	char *folder = host_cwd(h) ? arena_strdup(l->arena, host_cwd(h)) : NULL;
	for (int i = 0; folder && *folder && i < GIT_DEPTH_MAX; i++) {
		if (host_linef(h, &head, "%s/.git/HEAD", folder) == 0) {
			if (!str_starts(head, "ref: ")) {
				add(l, "code", NULL, "commit", str_dup(l->arena, head));
			} else {
				add(l, "code", NULL, "branch", str_dup(l->arena, str_skip(head, 5)));
				if (host_linef(h, &commit, "%s/.git/%.*s", folder, (int)(head.len - 5), head.ptr + 5) == 0)
					add(l, "code", NULL, "commit", str_dup(l->arena, commit));
			}
			return;
		}
		char *slash = strrchr(folder, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

const char *history_snapshot(struct arena *a, struct host *h, const struct facts *f, const char *const *argv, size_t n)
{
	struct lines l = {.arena = a, .redactor = redactor_new_plain(a)};
	add_command(&l, l.redactor, argv, n < WORDS_MAX ? n : WORDS_MAX);
	if (n > WORDS_MAX)
		add_rest(&l, argv + WORDS_MAX, n - WORDS_MAX);
	add_files(&l, h, argv, n);
	add_commit(&l, h);
	for (int t = 0; t < TABLE_COUNT; t++)
		for (const struct facts_row *row = f->first[t]; row; row = row->next)
			add_row(&l, f, row);
	if (l.count)
		qsort(l.line, l.count, sizeof *l.line, compare_lines);
	struct buf out = BUF_MAX((size_t)16 << 20);
	for (size_t i = 0; i < l.count; i++)
		buf_fmt(&out, "%s\n", l.line[i]);
	const char *text = arena_strndup(a, buf_view(&out).ptr, out.len);
	buf_free(&out);
	return text;
}
