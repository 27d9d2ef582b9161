/* The environment beside a lock file: what is missing, what came in, what has another version or other contents, another Python. Rows of
 * lock and lock_drift. */
#include "parse/lock.h"

#include "collect/interpreter.h"
#include "parse/pep440.h"
#include "parse/pep508.h"

struct drift {
	const char *name, *kind, *locked, *found, *manager, *wanted;
	int64_t line;
};

static void tell(struct collect *c, struct drift d)
{
	struct facts_row *row = facts_add(c->facts, TABLE_lock_drift);
	const struct {
		enum facts_column column;
		const char *value;
	} texts[] = {{lock_drift__name, d.name}, {lock_drift__kind, d.kind}, {lock_drift__locked, d.locked}, {lock_drift__found, d.found},
		{lock_drift__manager, d.manager}, {lock_drift__wanted, d.wanted}};
	const char *origin = d.line ? arena_printf(c->arena, "%s:%lld", c->lock_path, (long long)d.line) : c->lock_path;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].value)
			facts_text(row, texts[i].column, texts[i].value, origin);
		else
			facts_gap(row, texts[i].column, GAP_ABSENT, origin, NULL);
	if (d.line)
		facts_int(row, lock_drift__line, d.line, origin);
	else
		facts_gap(row, lock_drift__line, GAP_ABSENT, origin, NULL);
}

/* -- packages ----------------------------------------------------------------------------------------------------------- */

static bool counts(const struct facts_row *p)
{
	bool shadowed = false;
	facts_get_bool(p, package__shadowed, &shadowed);
	return !shadowed && !facts_get_text(p, package__broken) && facts_get_text(p, package__version);
}

static const struct facts_row *installed(const struct collect *c, const char *canonical)
{
	for (const struct facts_row *p = c->facts->first[TABLE_package]; p; p = p->next)
		if (counts(p) && strcmp(facts_get_text(p, package__canonical), canonical) == 0)
			return p;
	return NULL;
}

/* "2.7" and "2.7.0" are one version. */
static bool same_version(const char *found, struct str locked)
{
	struct pep440 a, b;
	if (parse_pep440(str_of(found), &a) == 0 && parse_pep440(locked, &b) == 0)
		return parse_pep440_compare(&a, &b) == 0;
	return str_is(locked, found);
}

static const char *wanted_of(struct collect *c, const struct lock_package *p)
{
	if (p->editable)
		return arena_printf(c->arena, "-e %s", str_dup(c->arena, p->source));
	if (p->source.len)
		return arena_printf(c->arena, "%s @ %s", p->name, str_dup(c->arena, p->source));
	return arena_printf(c->arena, "%s==%s", p->name, str_dup(c->arena, p->version));
}

static const char *manager_of(struct collect *c, const struct lock_package *p)
{
	return p->kind == LOCK_PIP ? "pip" : p->installer.len ? str_dup(c->arena, p->installer) : "another";
}

static void compare_package(struct collect *c, const struct lock_package *p)
{
	const struct facts_row *found = installed(c, p->name);
	struct drift d = {.name = p->name,
		.manager = manager_of(c, p),
		.wanted = wanted_of(c, p),
		.line = p->line,
		.locked = p->version.len ? str_dup(c->arena, p->version) : str_dup(c->arena, p->source)};
	if (!found) {
		d.kind = "missing";
		tell(c, d);
		return;
	}
	const char *version = facts_get_text(found, package__version), *record = facts_get_text(found, package__record);
	bool editable = false;
	facts_get_bool(found, package__editable, &editable);
	if (p->version.len && !same_version(version, p->version)) {
		d.kind = "version";
		d.found = version;
		tell(c, d);
	} else if (editable != p->editable && p->kind == LOCK_PIP) {
		d.kind = "source";
		d.locked = p->editable ? "editable" : "a wheel";
		d.found = editable ? "editable" : "a wheel";
		tell(c, d);
	} else if (p->record.len && record && !str_is(p->record, record)) {
		d.kind = "contents";
		d.locked = str_dup(c->arena, p->record);
		d.found = record;
		tell(c, d);
	}
}

static const struct facts_row *conda_installed(const struct collect *c, const char *canonical)
{
	for (const struct facts_row *p = c->facts->first[TABLE_conda_package]; p; p = p->next) {
		const char *name = facts_get_text(p, conda_package__name);
		if (name && parse_pep503_equal(str_of(name), str_of(canonical)))
			return p;
	}
	return NULL;
}

static void compare_conda(struct collect *c, const struct lock_package *p)
{
	const struct facts_row *found = conda_installed(c, p->name);
	const char *locked = arena_printf(c->arena, "%s=%s", str_dup(c->arena, p->version), str_dup(c->arena, p->build));
	struct drift d = {.name = p->name,
		.kind = "missing",
		.manager = "conda",
		.locked = locked,
		.line = p->line,
		.wanted = arena_printf(c->arena, "%s=%s", p->name, locked)};
	if (!c->facts->read[TABLE_conda_package])
		return;
	if (found) {
		const char *version = facts_get_text(found, conda_package__version), *build = facts_get_text(found, conda_package__build);
		d.found = arena_printf(c->arena, "%s=%s", version ? version : "", build ? build : "");
		if (strcmp(d.found, locked) == 0)
			return;
		d.kind = version && str_is(p->version, version) ? "contents" : "version";
	}
	tell(c, d);
}

/* pip and conda name one thing alike, and a base interpreter's packages are not this environment's. */
static bool is_locked(const struct lock *l, const char *canonical, bool conda)
{
	for (size_t i = 0; i < l->count; i++)
		if ((l->packages[i].kind == LOCK_CONDA) == conda && parse_pep503_equal(str_of(l->packages[i].name), str_of(canonical)))
			return true;
	return false;
}

static void find_added(struct collect *c)
{
	const struct lock *l = c->lock;
	for (const struct facts_row *p = c->facts->first[TABLE_package]; p; p = p->next) {
		const char *name = facts_get_text(p, package__canonical), *installer = facts_get_text(p, package__installer);
		bool conda = installer && strcmp(installer, "conda") == 0;
		if (counts(p) && !conda && !is_locked(l, name, false))
			tell(c,
				(struct drift){.name = name,
					.kind = "added",
					.found = facts_get_text(p, package__version),
					.manager = installer && strcmp(installer, "apt") == 0 ? "apt" : "pip"});
	}
	for (const struct facts_row *p = c->facts->first[TABLE_conda_package]; p; p = p->next) {
		const char *name = facts_get_text(p, conda_package__name);
		if (name && !is_locked(l, name, true))
			tell(c,
				(struct drift){.name = name,
					.kind = "added",
					.found = facts_get_text(p, conda_package__version),
					.manager = "conda"});
	}
}

/* -- python, platform, driver ------------------------------------------------------------------------------------------- */

static void compare_text(struct collect *c, const char *kind, struct str locked, const char *found)
{
	if (locked.len && found && !str_is(locked, found))
		tell(c, (struct drift){.name = kind, .kind = kind, .locked = str_dup(c->arena, locked), .found = found});
}

/* What was read of the system: the first row's text. */
static const char *fact(const struct collect *c, enum facts_table table, enum facts_column column)
{
	const struct facts_row *row = c->facts->first[table];
	return row ? facts_get_text(row, column) : NULL;
}

static void fill_lock(struct collect *c)
{
	const struct lock *l = c->lock;
	struct facts_row *row = facts_only(c->facts, TABLE_lock);
	const struct {
		enum facts_column column;
		struct str value;
	} texts[] = {{lock__python, l->python}, {lock__platform, l->arch}, {lock__driver, l->driver}};
	facts_text(row, lock__path, c->lock_path, c->lock_path);
	facts_bool(row, lock__complete, l->complete, c->lock_path);
	facts_int(row, lock__packages, (int64_t)l->count, c->lock_path);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].value.len)
			facts_str(row, texts[i].column, texts[i].value, c->lock_path);
		else
			facts_gap(row, texts[i].column, GAP_ABSENT, c->lock_path, NULL);
}

void collect_lock(struct collect *c)
{
	const struct lock *l = c->lock;
	if (!l)
		return;
	fill_lock(c);
	facts_table_read(c->facts, TABLE_lock_drift);
	for (const struct facts_table_gap *g = c->facts->gaps; g; g = g->next)
		if (g->table == TABLE_package) {
			/* Packages that could not be read are not missing. */
			facts_table_gap(c->facts, TABLE_lock_drift, g->gap, g->origin, g->detail);
			return;
		}
	for (size_t i = 0; i < l->count; i++)
		(l->packages[i].kind == LOCK_CONDA ? compare_conda : compare_package)(c, &l->packages[i]);
	if (l->complete)
		find_added(c);
	compare_text(c, "python", l->python, fact(c, TABLE_python, python__version));
	compare_text(c, "platform", l->arch, fact(c, TABLE_python, python__arch));
	for (const struct facts_row *d = c->facts->first[TABLE_driver]; d; d = d->next) {
		const char *vendor = facts_get_text(d, driver__vendor);
		if (vendor && strcmp(vendor, "nvidia") == 0)
			compare_text(c, "driver", l->driver, facts_get_text(d, driver__version));
	}
}
