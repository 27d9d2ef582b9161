#include "read/fill.h"

static bool empty(const struct facts_row *row, enum facts_column c)
{
	const struct facts_value *v = facts_value(row, c);
	return !(v->set && (v->gap == GAP_NONE || v->gap == GAP_ABSENT));
}

void read_fill_str(struct facts_row *row, enum facts_column c, struct str value, const char *origin)
{
	if (value.len && empty(row, c))
		facts_str(row, c, value, origin);
}

void read_fill_int(struct facts_row *row, enum facts_column c, int64_t value, const char *origin)
{
	if (empty(row, c))
		facts_int(row, c, value, origin);
}

void read_fill_bool(struct facts_row *row, enum facts_column c, bool value, const char *origin)
{
	if (empty(row, c))
		facts_bool(row, c, value, origin);
}

void read_fill_real(struct facts_row *row, enum facts_column c, double value, const char *origin)
{
	if (empty(row, c))
		facts_real(row, c, value, origin);
}

static bool same_node(const struct facts_row *row, const struct facts *f)
{
	return row->node == f->node || (row->node && f->node && strcmp(row->node, f->node) == 0);
}

/* No machine has so many: what comes beyond goes into the last row, so that hostile input costs neither memory nor the rules' time. */
#define ROWS_MAX 1024
#define GPUS_MAX 128

/* The row of this node whose key equals value; made when there is none. */
static struct facts_row *keyed(struct facts *f, enum facts_column key, struct str value)
{
	enum facts_table t = facts_columns[key].table;
	struct facts_row *last = NULL;
	size_t rows = 0;
	for (struct facts_row *row = f->first[t]; row; row = row->next) {
		const char *text = facts_get_text(row, key);
		if (!same_node(row, f))
			continue;
		if (text && str_is(value, text))
			return row;
		rows++;
		last = row;
	}
	if (rows >= ROWS_MAX)
		return last;
	struct facts_row *row = facts_add(f, t);
	facts_str(row, key, value, NULL);
	return row;
}

struct facts_row *read_driver(struct facts *f, const char *vendor)
{
	return keyed(f, driver__vendor, str_of(vendor));
}

struct facts_row *read_gpu(struct facts *f, int64_t index, const char *vendor)
{
	struct facts_row *last = NULL;
	size_t rows = 0;
	for (struct facts_row *row = f->first[TABLE_gpu]; row; row = row->next) {
		int64_t n;
		if (!same_node(row, f))
			continue;
		if (facts_get_int(row, gpu__index, &n) && n == index)
			return row;
		rows++;
		last = row;
	}
	if (rows >= GPUS_MAX)
		return last;
	struct facts_row *row = facts_add(f, TABLE_gpu);
	facts_int(row, gpu__index, index, NULL);
	facts_text(row, gpu__vendor, vendor, NULL);
	return row;
}

struct str read_pci_address(struct facts *f, struct str text)
{
	uint64_t part[4] = {0, 0, 0, 0};
	struct str rest = str_trim(text), field, device, function;
	size_t colons = 0, at = 1;

	for (size_t i = 0; i < rest.len; i++)
		colons += rest.ptr[i] == ':';
	if ((colons != 1 && colons != 2) || rest.len > 20)
		return str_n("", 0);
	for (at = colons == 2 ? 0 : 1; at < 2; at++)
		if (!str_next_field(&rest, ':', &field) || str_to_hex(field, &part[at]) < 0)
			return str_n("", 0);
	size_t dot = str_find_char(rest, '.', 0);
	if (dot == SIZE_MAX)
		return str_n("", 0);
	device = str_slice(rest, 0, dot);
	function = str_skip(rest, dot + 1);
	if (str_to_hex(device, &part[2]) < 0 || str_to_hex(function, &part[3]) < 0 || part[0] > 0xffffffff || part[1] > 0xff ||
		part[2] > 0x1f || part[3] > 7)
		return str_n("", 0);
	return str_of(arena_printf(f->arena, "%04llx:%02llx:%02llx.%llx", (unsigned long long)part[0], (unsigned long long)part[1],
		(unsigned long long)part[2], (unsigned long long)part[3]));
}

struct facts_row *read_gpu_at(struct facts *f, struct str address, const char *vendor)
{
	for (struct facts_row *row = f->first[TABLE_gpu]; address.len && row; row = row->next) {
		const char *text = facts_get_text(row, gpu__pci_address), *whose = facts_get_text(row, gpu__vendor);
		if (text && same_node(row, f) && str_is(address, text) && (!whose || strcmp(whose, vendor) == 0))
			return row;
	}
	return NULL;
}

struct facts_row *read_pair(struct facts *f, int64_t a, int64_t b)
{
	int64_t low = a < b ? a : b, high = a < b ? b : a;
	struct facts_row *row = keyed(f, gpu_pair__pair, str_of(arena_printf(f->arena, "%lld-%lld", (long long)low, (long long)high)));
	facts_int(row, gpu_pair__a, low, NULL);
	facts_int(row, gpu_pair__b, high, NULL);
	return row;
}

struct facts_row *read_pci_device(struct facts *f, struct str address)
{
	return keyed(f, pci_device__address, address);
}

struct facts_row *read_rdma_port(struct facts *f, struct str device, int64_t port)
{
	struct facts_row *last = NULL;
	size_t rows = 0;
	for (struct facts_row *row = f->first[TABLE_rdma_port]; row; row = row->next) {
		const char *text = facts_get_text(row, rdma_port__device);
		int64_t n;
		if (!same_node(row, f))
			continue;
		if (text && str_is(device, text) && facts_get_int(row, rdma_port__port, &n) && n == port)
			return row;
		rows++;
		last = row;
	}
	if (rows >= GPUS_MAX)
		return last;
	struct facts_row *row = facts_add(f, TABLE_rdma_port);
	facts_str(row, rdma_port__device, device, NULL);
	facts_int(row, rdma_port__port, port, NULL);
	return row;
}

struct facts_row *read_library(struct facts *f, struct str soname)
{
	return keyed(f, library__soname, soname);
}

struct facts_row *read_compiler(struct facts *f, const char *name)
{
	return keyed(f, compiler__name, str_of(name));
}

/* PEP 503: lower case, runs of - _ . are one -. */
static struct str canonical(struct facts *f, struct str name)
{
	char *out = arena_alloc(f->arena, name.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		if (c == '-' || c == '_' || c == '.') {
			if (n && out[n - 1] != '-')
				out[n++] = '-';
		} else {
			out[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
		}
	}
	return str_n(out, n);
}

void read_torch_version(struct facts *f, struct str version, const char *origin)
{
	if (!read_is_version(version))
		return;
	struct facts_row *torch = facts_only(f, TABLE_torch);
	const char *old = facts_get_text(torch, torch__version);
	/* "2.4.0" of pip list and "2.4.0+cu121" of torch itself: the longer one tells more. */
	if (old && version.len > strlen(old) && str_starts(version, old) && version.ptr[strlen(old)] == '+')
		facts_str(torch, torch__version, version, origin);
	read_fill_str(torch, torch__version, version, origin);
}

void read_torch_cuda(struct facts *f, struct str value, const char *origin)
{
	struct facts_row *torch = facts_only(f, TABLE_torch);
	if (str_is(value, "None") || str_is(value, "N/A"))
		facts_gap(torch, torch__cuda, GAP_ABSENT, origin, NULL);
	else if (read_is_version(value)) {
		read_fill_str(torch, torch__cuda, value, origin);
		read_fill_str(torch, torch__build, STR("cuda"), origin);
	}
}

/* Two tools may have installed two versions of one distribution: then there are two rows. */
static struct facts_row *package_row(struct facts *f, struct str name, struct str version, const char *installer)
{
	for (struct facts_row *row = f->first[TABLE_package]; row; row = row->next) {
		const char *key = facts_get_text(row, package__canonical), *by = facts_get_text(row, package__installer),
			   *old = facts_get_text(row, package__version);
		if (!same_node(row, f) || !key || !str_is(name, key))
			continue;
		if (!installer || !by || !old || strcmp(installer, by) == 0 || str_is(version, old))
			return row;
	}
	struct facts_row *row = facts_add(f, TABLE_package);
	facts_str(row, package__canonical, name, NULL);
	return row;
}

struct facts_row *read_package(struct facts *f, struct str name, struct str version, const char *installer, const char *origin)
{
	struct facts_row *row = package_row(f, canonical(f, name), version, installer);
	read_fill_str(row, package__name, name, origin);
	read_fill_str(row, package__version, version, origin);
	if (installer)
		read_fill_str(row, package__installer, str_of(installer), origin);
	if (str_is(canonical(f, name), "torch"))
		read_torch_version(f, version, origin);
	return row;
}

struct facts_row *read_package_at(struct facts *f, struct str name, struct str version, struct str location, const char *origin)
{
	struct str key = canonical(f, name);
	struct facts_row *row;
	for (row = f->first[TABLE_package]; row; row = row->next) {
		const char *other = facts_get_text(row, package__canonical), *old = facts_get_text(row, package__version),
			   *place = facts_get_text(row, package__location);
		if (same_node(row, f) && other && old && str_is(key, other) && str_is(version, old) && (!place || str_is(location, place)))
			break;
	}
	bool first = !row && !facts_find(f, package__canonical, str_dup(f->arena, key));
	if (first)
		row = read_package(f, name, version, NULL, origin);
	else if (!row) {
		row = facts_add(f, TABLE_package);
		facts_str(row, package__canonical, key, origin);
		facts_str(row, package__name, name, origin);
		facts_str(row, package__version, version, origin);
	}
	read_fill_str(row, package__location, location, origin);
	return row;
}

struct facts_row *read_program(struct facts *f, const char *name)
{
	return keyed(f, program__name, str_of(name));
}

struct facts_row *read_mount(struct facts *f, struct str path)
{
	struct facts_row *row = keyed(f, mount__path, path);
	if (str_is(path, "/dev/shm"))
		read_fill_str(row, mount__role, STR("shm"), NULL);
	else if (str_is(path, "/tmp"))
		read_fill_str(row, mount__role, STR("tmp"), NULL);
	else if (str_is(path, "/"))
		read_fill_str(row, mount__role, STR("root"), NULL);
	return row;
}

struct facts_row *read_interface(struct facts *f, struct str name)
{
	return keyed(f, interface__name, name);
}

struct facts_row *read_variable(struct facts *f, struct str name, struct str value, const char *origin)
{
	struct facts_row *row = keyed(f, variable__name, name);
	read_fill_str(row, variable__value, value, origin);
	return row;
}

bool read_truth(struct str s, bool *ret)
{
	s = str_trim(s);
	if (str_is_nocase(s, "true") || str_is_nocase(s, "yes"))
		*ret = true;
	else if (str_is_nocase(s, "false") || str_is_nocase(s, "no"))
		*ret = false;
	else
		return false;
	return true;
}

bool read_size(struct str s, int64_t unit, int64_t *ret)
{
	double n;
	s = str_trim(s);
	if (str_ends(s, "iB") || str_ends(s, "ib"))
		s.len -= 2;
	else if (s.len > 1 && (s.ptr[s.len - 1] == 'B' || s.ptr[s.len - 1] == 'i'))
		s.len--;
	s = str_trim(s);
	static const char letters[] = "KMGTP";
	for (int i = 0; s.len && i < 5; i++) {
		char c = s.ptr[s.len - 1];
		if (c == letters[i] || c == letters[i] + 32) {
			unit = (int64_t)1 << (10 * (i + 1));
			s = str_trim(str_slice(s, 0, s.len - 1));
			break;
		}
	}
	if (str_to_real(s, &n) < 0 || n < 0 || n > 1e15 / (double)unit * 1e3)
		return false;
	*ret = (int64_t)(n * (double)unit);
	return true;
}

struct str read_after_parentheses(struct str s)
{
	int depth = 0;
	s = str_trim(s);
	for (size_t i = 0; s.len && s.ptr[0] == '(' && i < s.len; i++) {
		depth += s.ptr[i] == '(' ? 1 : s.ptr[i] == ')' ? -1 : 0;
		if (depth == 0)
			return str_trim(str_skip(s, i + 1));
	}
	return s;
}

bool read_is_version(struct str s)
{
	if (!s.len || s.len > 80 || s.ptr[0] < '0' || s.ptr[0] > '9')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' || c == '-' ||
			    c == '_' || c == '!'))
			return false;
	}
	return true;
}
