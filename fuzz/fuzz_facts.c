/* What nodes send and users hand in: facts as lines, JSON objects one after the other, lists of nodes. What was read as lines is written
 * and read again: it must be the same. */
#include <errno.h>

#include "facts/lines.h"
#include "fleet/align.h"
#include "fleet/nodelist.h"
#include "fleet/outliers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Views as the tables have them, few enough to write here. */
static struct store *knowledge(void)
{
	static struct store *s;
	if (s)
		return s;
	struct arena *a = arena_new(0);
	if (store_open(a, NULL, 0, &s) < 0 ||
		store_exec(s,
			"CREATE TABLE k_fleet_view(view, tbl, key, cond, absent);"
			"INSERT INTO k_fleet_view VALUES('system','system','','','no'),('gpu','gpu','','mig_device=','yes'),('package','package','canonical','shadowed=false|','yes'),"
			"('variable','variable','name','rank=','yes'),('mount','mount','role','','no');"
			"CREATE TABLE k_fleet_column(view, subject, col, role, weight, tolerance, follows);"
			"INSERT INTO k_fleet_column VALUES('system','','memory_bytes','drift',1,'0.03',''),('system','','*','break',2,0,''),('gpu','','#','break',9,0,'gpu.name'),('gpu','','*','drift',3,0,'gpu.name'),"
			"('package','n*','version','break',5,0,'system.kernel'),('package','','*','show',1,0,''),('variable','','value','drift',4,0,'package.numpy.version'),('mount','','size_bytes','drift',2,'0.1','');",
			NULL) < 0)
		abort();
	return s;
}

static void lines(struct arena *a, struct str text)
{
	struct facts *f, *again;
	struct facts_lines_head head, other;
	const char *why;
	struct buf out = BUF_MAX(FACTS_LINES_MAX), twice = BUF_MAX(FACTS_LINES_MAX);
	if (facts_lines_read(a, text, &f, &head, &why) == 0) {
		facts_lines_write(f, &head, &out);
		if (facts_lines_read(a, buf_view(&out), &again, &other, &why) < 0)
			abort();
		facts_lines_write(again, &other, &twice);
		if (!str_eq(buf_view(&out), buf_view(&twice)))
			abort();
	}
	buf_free(&out);
	buf_free(&twice);
}

static void objects(struct arena *a, struct str text)
{
	struct store *s = knowledge();
	struct align *al;
	struct outliers *o;
	if (align_new(s, &al, NULL) < 0)
		abort();
	for (int n = 0; text.len && n < 50; n++) {
		align_begin(al, NULL, "input");
		int rc = facts_lines_is_one(text) ? align_lines(al, text) : align_json(al, &text);
		if (rc == 0)
			align_end(al);
		else
			align_drop(al, ALIGN_DAMAGED, "damaged");
		if (rc < 0 || facts_lines_is_one(text))
			text = str_skip(text, 1);
	}
	struct outliers_options options = {.golden = al->node_count > 3 ? 0 : UINT32_MAX};
	if (outliers_find(a, al, &options, &o) == 0)
		outliers_spread(o, facts_new(a));
	outliers_free(o);
	align_free(al);
}

static void lists(struct arena *a, struct str text)
{
	const char *const *names;
	size_t n;
	if (nodelist_expand(a, str_cut(text, 200), &names, &n) == 0 && n < 2000) {
		const char *once = nodelist_fold(a, names, n, 0);
		if (nodelist_expand(a, str_of(once), &names, &n) == 0 && strcmp(once, nodelist_fold(a, names, n, 0)) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	struct str text = str_n((const char *)data, size);
	lines(a, text);
	lists(a, text);
	objects(a, text);
	arena_free(a);
	return 0;
}
