#include "cli/cli.h"

#include <errno.h>

#include "report/json_writer.h"
#include "report/text.h"

#define ROWS_MAX 10000
#define TIME_MAX_MS 5000
#define CELL_MAX 60
#define BYTES_MAX ((size_t)64 << 20) /* of the answer */
#define MEMORY_MAX ((int64_t)256 << 20)

static void schema_text(struct buf *out)
{
	static const char *const types[] = {"int", "real", "text", "bool"};
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		buf_fmt(out, "%s: %s\n", info.name, info.doc);
		for (int i = info.first; i < info.end; i++)
			buf_fmt(out, "  %-24s %-5s %-8s %s\n", facts_columns[i].name, types[facts_columns[i].type], facts_columns[i].unit,
				facts_columns[i].doc);
	}
	buf_text(out,
		"gap: a value or a table that could not be had (tbl, row, col, reason, origin, detail, node)\nk_<name>: the compatibility tables of knowledge/tables\n");
}

static void schema_json(struct json_writer *w)
{
	static const char *const types[] = {"int", "real", "text", "bool"};
	json_open(w, NULL, '{');
	json_text(w, "schema", "davy/1");
	json_text(w, "version", DAVY_VERSION);
	json_text(w, "command", "query");
	json_open(w, "tables", '{');
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		json_open(w, info.name, '{');
		json_text(w, "meaning", info.doc);
		json_open(w, "columns", '[');
		for (int i = info.first; i < info.end; i++) {
			json_open(w, NULL, '{');
			json_text(w, "name", facts_columns[i].name);
			json_text(w, "type", types[facts_columns[i].type]);
			json_text(w, "unit", facts_columns[i].unit);
			json_text(w, "meaning", facts_columns[i].doc);
			json_close(w, '}');
		}
		json_close(w, ']');
		json_close(w, '}');
	}
	json_close(w, '}');
	json_close(w, '}');
}

static int print_json(struct cli *c, struct store_query *q, struct buf *out)
{
	struct json_writer w = json_writer_to(out, true);
	int rc, n = 0, columns = store_columns(q);
	json_open(&w, NULL, '{');
	json_text(&w, "schema", "davy/1");
	json_text(&w, "version", DAVY_VERSION);
	json_text(&w, "command", "query");
	json_open(&w, "rows", '[');
	while ((rc = store_step(q)) > 0 && n++ < ROWS_MAX && out->len < BYTES_MAX) {
		json_open(&w, NULL, '{');
		for (int i = 0; i < columns; i++) {
			const char *name = store_column_name(q, i);
			switch (store_kind_of(q, i)) {
			case STORE_NULL: json_null(&w, name); break;
			case STORE_INT: json_int(&w, name, store_int(q, i)); break;
			case STORE_REAL: json_real(&w, name, store_real(q, i)); break;
			case STORE_TEXT: json_text(&w, name, store_text(q, i)); break;
			}
		}
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_bool(&w, "truncated", rc > 0);
	json_close(&w, '}');
	buf_char(out, '\n');
	(void)c;
	return rc;
}

/* A table whose columns are as wide as their widest cell, cut at CELL_MAX unless --verbose. */
static int print_table(struct cli *c, struct store_query *q, struct buf *out)
{
	int rc, columns = store_columns(q);
	size_t rows = 0, cap = 0, bytes = 0;
	const char ***cells = NULL;
	int *width = arena_array(c->arena, (size_t)columns + 1, sizeof *width);
	for (int i = 0; i < columns; i++)
		width[i] = text_width(str_of(store_column_name(q, i)));
	while ((rc = store_step(q)) > 0 && rows < ROWS_MAX && bytes < BYTES_MAX) {
		const char **row = arena_array(c->arena, (size_t)columns + 1, sizeof *row);
		for (int i = 0; i < columns; i++) {
			struct str text = str_of(store_is_null(q, i) ? cli_tr(c, "-", "-") : store_text(q, i));
			if (!c->options.verbose && text.len > CELL_MAX)
				text = str_of(arena_printf(c->arena, "%.*s...", (int)str_cut(text, CELL_MAX - 3).len, text.ptr));
			row[i] = arena_strndup(c->arena, text.ptr, text.len);
			bytes += text.len;
			int w = text_width(text);
			width[i] = w > width[i] ? w : width[i];
		}
		if (!cells || rows == cap)
			cells = arena_grow(c->arena, cells, rows, &cap, sizeof *cells);
		cells[rows++] = row;
	}
	for (size_t r = 0; r <= rows; r++) {
		for (int i = 0; i < columns; i++) {
			const char *text = r ? cells[r - 1][i] : store_column_name(q, i);
			text_style(out, c->color && !r, TEXT_BOLD, text);
			if (i + 1 < columns)
				text_pad(out, width[i] - text_width(str_of(text)) + 2);
		}
		buf_char(out, '\n');
	}
	if (rc > 0)
		buf_fmt(out, cli_tr(c, "(the first %zu rows)\n", "（只列出前 %zu 行）\n"), rows);
	return rc > 0 ? 0 : rc;
}

int cli_query(struct cli *c)
{
	struct buf out = BUF_MAX((size_t)256 << 20);
	struct examination e = {0};
	struct store_query *q;
	const char *why = "";
	int status;
	if (c->options.schema) {
		struct json_writer w = json_writer_to(&out, true);
		if (c->options.json)
			schema_json(&w);
		else
			schema_text(&out);
		status = cli_print(&out, EXIT_FINE);
		buf_free(&out);
		return status;
	}
	if (c->arg_count != 1)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "one SQL query is expected: davy query \"SELECT name, version FROM package\"",
				"需要一条 SQL 查询：davy query \"SELECT name, version FROM package\""));
	struct host *door = cli_door(c, &status);
	if (!door)
		return status;
	store_limit_memory(MEMORY_MAX);
	e.sql = c->args[0];
	int rc = cli_examine(c, door, &e);
	if (rc)
		return rc;
	store_read_only(e.store, TIME_MAX_MS);
	if (store_prepare(e.store, c->args[0], &q, &why) < 0) {
		store_close(e.store);
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "the query is refused: %s", "查询被拒绝：%s"), why);
	}
	rc = c->options.json ? print_json(c, q, &out) : print_table(c, q, &out);
	store_finish(q);
	store_close(e.store);
	if (rc < 0) {
		buf_free(&out);
		return cli_fail(c, EXIT_UNKNOWN, cli_tr(c, "the query did not end: %s", "查询未能完成：%s"),
			rc == -ETIMEDOUT        ? cli_tr(c, "it took longer than 5 s", "超过 5 秒")
				: rc == -ENOMEM ? cli_tr(c, "it needs too much memory", "占用内存过多")
				: rc == -EFBIG  ? cli_tr(c, "a value is larger than 1 MiB", "某个值超过 1 MiB")
						: strerror(-rc));
	}
	status = cli_print(&out, EXIT_FINE);
	buf_free(&out);
	return status;
}
