/* Package lists: pip list, pip freeze, uv pip list, pip show, conda list; pip's own sentences about what is installed or does not fit. */
#include "read/fill.h"
#include "read/json_text.h"
#include "read/read.h"

static bool is_name(struct str s)
{
	if (!s.len || s.len > 100 || !((s.ptr[0] >= 'a' && s.ptr[0] <= 'z') || (s.ptr[0] >= 'A' && s.ptr[0] <= 'Z')))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'))
			return false;
	}
	return true;
}

/* "torch    2.4.0+cu121   /editable/path" of pip list. */
static bool column_line(struct facts *f, struct str line, const char *origin)
{
	struct str name, version, rest = line;
	if (!str_next_word(&rest, &name) || !str_next_word(&rest, &version) || !is_name(name) || !read_is_version(version))
		return false;
	struct str more, installer;
	if (!str_next_word(&rest, &more) || more.ptr[0] != '/') {
		read_package(f, name, version, NULL, origin);
		return true;
	}
	/* With -v the installer follows the place; without, a place is that of an editable project. */
	if (str_next_word(&rest, &installer)) {
		read_package_at(f, name, version, more, origin);
	} else {
		struct facts_row *row = read_package(f, name, version, NULL, origin);
		read_fill_str(row, package__location, more, origin);
		read_fill_bool(row, package__editable, true, origin);
	}
	return true;
}

/* "torch==2.4.0+cu121", "torch @ file:///x/torch-2.1.0%2Bcu118-cp310-….whl" of pip freeze. */
static bool freeze_line(struct facts *f, struct str line, const char *origin)
{
	size_t eq = str_find(line, "==", 0);
	struct str t = str_trim(line);
	if (eq != SIZE_MAX) {
		struct str name = str_trim(str_slice(line, 0, eq)), version = str_trim(str_skip(line, eq + 2));
		version = str_slice(version, 0, str_find_char(version, ' ', 0));
		if (!is_name(name) || !read_is_version(version))
			return false;
		read_package(f, name, version, NULL, origin);
		return true;
	}
	size_t at = str_find(t, " @ ", 0);
	if (at == SIZE_MAX || !is_name(str_slice(t, 0, at)))
		return false;
	/* The version stands in the wheel's name. */
	struct str name = str_slice(t, 0, at), url = str_skip(t, at + 3);
	size_t slash = str_rfind_char(url, '/');
	struct str wheel = slash == SIZE_MAX ? url : str_skip(url, slash + 1), version;
	wheel = str_slice(wheel, 0, str_find_char(wheel, '#', 0));
	if (str_ends(wheel, ".whl") && str_next_field(&wheel, '-', &version) && str_next_field(&wheel, '-', &version)) {
		size_t plus = str_find(version, "%2B", 0); /* in an address, + is written so */
		if (plus != SIZE_MAX)
			version = str_of(arena_printf(
				f->arena, "%.*s+%.*s", (int)plus, version.ptr, (int)(version.len - plus - 3), version.ptr + plus + 3));
		if (read_is_version(version))
			read_package(f, name, version, NULL, origin);
	}
	return true;
}

/* "├── torch v2.5.1" of uv pip tree, "    └── nvidia-nccl-cu12 v2.21.5 (*)" */
static bool tree_line(struct facts *f, struct str line, const char *origin)
{
	size_t branch = str_find(line, "── ", 0);
	struct str rest = branch == SIZE_MAX ? line : str_skip(line, branch + 7), name, version;
	if (!str_next_word(&rest, &name) || !str_next_word(&rest, &version) || !is_name(name) || version.ptr[0] != 'v' ||
		!read_is_version(str_skip(version, 1)))
		return false;
	read_package(f, name, str_skip(version, 1), NULL, origin);
	return true;
}

/* Lines of another kind in between are skipped, not taken: another reader may know them. */
static size_t read_lines(const struct read_input *in, struct facts *f, size_t from)
{
	size_t end = from;
	int misses = 0;
	for (size_t i = from; i < in->count; i++) {
		struct str line = in->line[i].text, command, t = str_trim(line);
		const char *origin = read_origin(f, in, i);
		if (str_starts(t, "# Editable "))
			continue;
		if (read_prompt(line, &command))
			break;
		if (column_line(f, t, origin) || freeze_line(f, t, origin) || tree_line(f, t, origin)) {
			misses = 0;
			end = i + 1;
			continue;
		}
		if (str_starts(t, "Package ") || str_starts(t, "---") || str_starts(t, "WARNING") || str_starts(t, "#") ||
			str_starts(t, "-e "))
			continue;
		if (++misses > 2)
			break;
	}
	return end;
}

/* A typed command, or the head of pip list. */
static size_t read_pip_list(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text, command;
	bool head = str_starts(str_trim(line), "Package ") && str_has(line, "Version"), tree = tree_line(f, line, read_origin(f, in, 0));
	if (!head && !tree && !read_prompt(line, &command))
		return 0;
	return read_lines(in, f, 1);
}

static size_t read_pip_freeze(const struct read_input *in, struct facts *f)
{
	return freeze_line(f, str_trim(in->line[0].text), read_origin(f, in, 0)) ? read_lines(in, f, 1) : 0;
}

/* "Name: torch" / "Version: 2.4.0" / "Location: /x/site-packages" / "Installer:" */
static size_t read_pip_show(const struct read_input *in, struct facts *f)
{
	struct facts_row *row = NULL;
	struct str name = {0};
	size_t i = 0;
	/* Others print names too. */
	if (!str_starts(str_trim(in->line[0].text), "Name: ") || in->count < 2 || !str_starts(str_trim(in->line[1].text), "Version:"))
		return 0;
	for (; i < in->count && i < 400; i++) {
		struct str line = in->line[i].text, key, value, command;
		const char *origin = read_origin(f, in, i);
		if (read_prompt(line, &command))
			break;
		if (!str_split(line, ':', &key, &value)) {
			if (!str_is(str_trim(line), "---") && str_trim(line).len)
				break;
			continue;
		}
		if (str_is(key, "Name")) {
			if (!is_name(value))
				return 0;
			name = value;
			row = NULL;
		} else if (str_is(key, "Version") && name.len && read_is_version(value)) {
			row = read_package(f, name, value, NULL, origin);
		} else if (str_is(key, "Location") && row) {
			read_fill_str(row, package__location, value, origin);
			if (str_is(name, "torch"))
				read_fill_str(facts_only(f, TABLE_torch), torch__location,
					str_of(arena_printf(f->arena, "%.*s/torch", (int)value.len, value.ptr)), origin);
		} else if (str_is(key, "Editable project location") && row) {
			read_fill_bool(row, package__editable, true, origin);
		}
	}
	return i;
}

/* The build string of conda's PyTorch tells what it was built for: py3.10_cuda11.8_cudnn8.7.0_0, cpu_py310h…, cuda120_py311…. */
static void conda_build(struct facts *f, struct str build, const char *origin)
{
	struct facts_row *torch = facts_only(f, TABLE_torch);
	size_t cuda = str_find(build, "cuda", 0);
	if (cuda != SIZE_MAX) {
		struct str v = str_skip(build, cuda + 4);
		v = str_slice(v, 0, str_find_char(v, '_', 0));
		if (v.len == 3 && v.ptr[0] == '1')
			v = str_of(arena_printf(f->arena, "%.2s.%c", v.ptr, v.ptr[2]));
		else if (v.len == 4 && v.ptr[0] == '1' && !str_has(v, "."))
			v = str_of(arena_printf(f->arena, "%.2s.%.2s", v.ptr, v.ptr + 2));
		if (str_has(v, "."))
			read_torch_cuda(f, v, origin);
	} else if (str_starts(build, "cpu") || str_has(build, "_cpu")) {
		read_fill_str(torch, torch__build, STR("cpu"), origin);
	}
}

static void conda_package(struct facts *f, struct str name, struct str version, struct str build, struct str channel, const char *origin)
{
	bool pip = str_is(channel, "pypi") || str_is(build, "pypi_0") || str_is(build, "<pip>");
	bool torch = str_is(name, "pytorch");
	read_package(f, torch ? STR("torch") : name, version, pip ? "pip" : "conda", origin);
	if (torch || str_is(name, "pytorch-gpu"))
		conda_build(f, build, origin);
	if (str_is(name, "cpuonly"))
		read_fill_str(facts_only(f, TABLE_torch), torch__build, STR("cpu"), origin);
}

/* conda list: name version build [channel]. */
static size_t read_conda_list(const struct read_input *in, struct facts *f)
{
	struct str first = in->line[0].text, command;
	bool typed = read_prompt(first, &command);
	size_t i = typed || str_starts(str_trim(first), "#") ? 1 : 0;
	int misses = 0;
	for (; i < in->count; i++) {
		struct str line = in->line[i].text, rest = line, name, version, build = {0}, channel = {0};
		const char *origin = read_origin(f, in, i);
		if (read_prompt(line, &command))
			break;
		if (str_starts(str_trim(line), "#"))
			continue;
		if (!str_next_word(&rest, &name) || !str_next_word(&rest, &version) || !is_name(name) || !read_is_version(version)) {
			if (++misses > 2)
				break;
			continue;
		}
		misses = 0;
		str_next_word(&rest, &build);
		str_next_word(&rest, &channel);
		conda_package(f, name, version, build, channel, origin);
	}
	return i;
}

/* One aligned line of a list whose command and head were not pasted: "torch    2.4.0+cu121", "pytorch   2.3.1   cpu_py311h…   conda-forge".
 */
static size_t read_package_line(const struct read_input *in, struct facts *f)
{
	static const char *const names[] = {"torch", "pytorch", "torchvision", "torchaudio", "triton", "torch-npu", "torch_npu", "numpy",
		"vllm", "flash-attn", "flash_attn", "xformers", "deepspeed", "transformers"};
	struct str line = str_trim(in->line[0].text), rest = line, word, name = {0};
	int words = 0;
	while (str_next_word(&rest, &word))
		if (words++ == 0)
			name = word;
	bool known = str_starts(name, "nvidia-") && str_has(name, "-cu1");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		known |= str_is(name, names[i]);
	/* At least two blanks, as in a column: "torch 2.4.0 works" is a sentence. */
	if (!known || words < 2 || words > 4 || line.len < name.len + 2 || line.ptr[name.len] != ' ' || line.ptr[name.len + 1] != ' ')
		return 0;
	struct read_input one = *in;
	one.count = 1;
	if (words >= 3 && !str_has(line, "/"))
		return read_conda_list(&one, f) ? 1 : 0;
	return column_line(f, line, read_origin(f, in, 0)) ? 1 : 0;
}

/* conda info: the active environment, and its virtual packages: __cuda is what the driver offers, __glibc and __linux are the host's. */
static size_t read_conda_info(const struct read_input *in, struct facts *f)
{
	static const char *const virtual[] = {"__cuda=", "__glibc=", "__linux="};
	size_t i = 0, last = 0;
	for (; i < in->count && i < last + 6; i++) {
		struct str line = str_trim(in->line[i].text), key, value, command;
		const char *origin = read_origin(f, in, i);
		if (read_prompt(in->line[i].text, &command))
			break;
		for (size_t k = 0; k < 3; k++) {
			size_t at = str_find(line, virtual[k], 0);
			struct str v = at == SIZE_MAX ? str_n("", 0) : str_skip(line, at + strlen(virtual[k]));
			v = str_slice(v, 0, str_find_char(v, '=', 0));
			if (!read_is_version(v))
				continue;
			if (k == 0)
				read_fill_str(read_driver(f, "nvidia"), driver__cuda_version, v, origin);
			else if (k == 1)
				read_fill_str(facts_only(f, TABLE_system), system__libc_version, v, origin);
			else
				read_fill_str(facts_only(f, TABLE_system), system__kernel, v, origin);
		}
		if (str_split(line, ':', &key, &value) && str_is(key, "active env location") && value.len && value.ptr[0] == '/') {
			read_fill_str(facts_only(f, TABLE_python), python__prefix, value, origin);
			read_fill_str(facts_only(f, TABLE_python), python__kind, STR("conda"), origin);
		}
		if (line.len)
			last = i + 1;
	}
	return last;
}

/* "Requirement already satisfied: torch in /path/site-packages (2.2.2)"; "Requirement already satisfied: numpy>=1.17 in … (from x)
 * (1.26.4)" */
static size_t read_satisfied(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text, name;
	size_t at = str_find(line, "satisfied: ", 0), open = str_rfind_char(line, '('), close = str_rfind_char(line, ')');
	if (at == SIZE_MAX || open == SIZE_MAX || close == SIZE_MAX || close < open)
		return 0;
	struct str version = str_slice(line, open + 1, close), rest = str_skip(line, at + 11);
	size_t end = 0;
	while (end < rest.len && is_name(str_slice(rest, 0, end + 1)))
		end++;
	name = str_slice(rest, 0, end);
	if (is_name(name) && read_is_version(version))
		read_package(f, name, version, NULL, read_origin(f, in, 0));
	return 1;
}

/* "Successfully installed numpy-2.1.0 torch-2.4.0+cu121" */
static size_t read_installed(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text, word;
	size_t at = str_find(line, "Successfully installed ", 0);
	if (at == SIZE_MAX)
		return 0;
	struct str rest = str_skip(line, at + 23);
	while (str_next_word(&rest, &word)) {
		size_t dash = str_rfind_char(word, '-');
		if (dash != SIZE_MAX && is_name(str_slice(word, 0, dash)) && read_is_version(str_skip(word, dash + 1)))
			read_package(f, str_slice(word, 0, dash), str_skip(word, dash + 1), "pip", read_origin(f, in, 0));
	}
	return 1;
}

/* " + torch==2.5.1+cpu" of uv pip install: there now; " - torch==2.4.0": not any more; " ~ torch==2.5.1": put there again. */
static size_t read_uv_change(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	for (; i < in->count && i < 2000; i++) {
		struct str t = str_trim(in->line[i].text), name, version;
		if (t.len < 6 || !strchr("+-~", t.ptr[0]) || t.ptr[1] != ' ' || !str_has(t, "=="))
			break;
		size_t eq = str_find(t, "==", 0);
		name = str_trim(str_slice(t, 2, eq));
		version = str_slice(str_skip(t, eq + 2), 0, str_find_char(str_skip(t, eq + 2), ' ', 0));
		if (!is_name(name) || !read_is_version(version))
			break;
		if (t.ptr[0] != '-')
			read_package(f, name, version, "uv", read_origin(f, in, i));
	}
	return i;
}

/* -- JSON: pip list --format=json, uv pip list --format=json, pip inspect, conda list --json --------------------------------------- */

static struct str member(const struct json *object, const char *key)
{
	struct str s;
	return parse_json_text(parse_json_path(object, key), &s) ? s : str_n("", 0);
}

/* "/opt/venv/lib/python3.10/site-packages/torch-2.4.0.dist-info" → the folder above */
static struct str folder_of(struct str path)
{
	size_t slash = str_rfind_char(path, '/');
	return slash == SIZE_MAX ? str_n("", 0) : str_slice(path, 0, slash);
}

static void inspected(struct json_text *t, const struct json *e)
{
	struct facts *f = t->f;
	const struct json *v = parse_json_path(e, "metadata.version");
	struct str name = member(e, "metadata.name"), version = member(e, "metadata.version"), installer = member(e, "installer"),
		   place = folder_of(member(e, "metadata_location"));
	if (!is_name(name) || !read_is_version(version))
		return;
	const char *origin = json_text_origin(t, v);
	struct facts_row *row = read_package(f, name, version, installer.len ? str_dup(f->arena, installer) : NULL, origin);
	read_fill_str(row, package__location, place, origin);
	if (str_is(name, "torch") && place.len)
		read_fill_str(facts_only(f, TABLE_torch), torch__location,
			str_of(arena_printf(f->arena, "%.*s/torch", (int)place.len, place.ptr)), origin);
}

static size_t read_package_json(const struct read_input *in, struct facts *f)
{
	struct json_text t;
	bool any = false;
	if (!json_text_read(in, f, &t))
		return 0;
	const struct json *installed = parse_json_get(t.root, "installed"), *list = t.root->type == JSON_ARRAY ? t.root : NULL;
	for (const struct json *e = parse_json_first(installed); e; e = e->next, any = true)
		inspected(&t, e);
	const struct json *python = parse_json_path(t.root, "environment.python_full_version");
	struct str version;
	if (installed && parse_json_text(python, &version) && read_is_version(version))
		read_fill_str(facts_only(f, TABLE_python), python__version, version, json_text_origin(&t, python));
	for (const struct json *e = parse_json_first(list); e; e = e->next) {
		const struct json *v = parse_json_get(e, "version");
		struct str name = member(e, "name"), build = member(e, "build_string");
		if (!is_name(name) || !parse_json_text(v, &version) || !read_is_version(version))
			continue;
		if (build.len)
			conda_package(f, name, version, build, member(e, "channel"), json_text_origin(&t, v));
		else
			read_package(f, name, version, NULL, json_text_origin(&t, v));
		any = true;
	}
	return any ? t.used : 0;
}

/* "torchvision 0.17.0 requires torch==2.2.0, but you have torch 2.4.0 which is incompatible."; pip check: "x 1.0 has requirement y<2, but
 * you have y 3." */
static size_t read_conflict(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), package, version, name, found;
	size_t verb = str_find(line, " requires ", 0), skip = 10, but = str_find(line, ", but you have ", 0),
	       missing = str_find(line, ", which is not installed", 0);
	if (verb == SIZE_MAX) {
		verb = str_find(line, " has requirement ", 0);
		skip = 17;
	}
	if (verb == SIZE_MAX || (but == SIZE_MAX && missing == SIZE_MAX))
		return 0;
	struct str left = str_slice(line, 0, verb), right = str_slice(line, verb + skip, but == SIZE_MAX ? missing : but);
	while (str_has(left, ": ")) /* "ERROR: " and the like */
		left = str_skip(left, str_find(left, ": ", 0) + 2);
	if (!str_next_word(&left, &package) || !str_next_word(&left, &version) || !is_name(package))
		return 0;
	struct facts_row *row = facts_add(f, TABLE_requirement_conflict);
	const char *origin = read_origin(f, in, 0);
	size_t end = 0;
	while (end < right.len && is_name(str_slice(right, 0, end + 1)))
		end++;
	facts_str(row, requirement_conflict__package, package, origin);
	facts_str(row, requirement_conflict__package_version, version, origin);
	facts_str(row, requirement_conflict__requires, right, origin);
	facts_str(row, requirement_conflict__name, str_slice(right, 0, end), origin);
	if (but != SIZE_MAX) {
		struct str rest = str_skip(line, but + 15);
		if (str_next_word(&rest, &name) && str_next_word(&rest, &found)) {
			while (found.len && (found.ptr[found.len - 1] == '.' || found.ptr[found.len - 1] == ','))
				found.len--;
			facts_str(row, requirement_conflict__found, found, origin);
		}
	} else {
		facts_gap(row, requirement_conflict__found, GAP_ABSENT, origin, NULL);
	}
	return 1;
}

/* "pip 23.0.1 from /usr/lib/python3/dist-packages/pip (python 3.11)" */
static size_t read_pip_version(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), word;
	size_t from = str_find(line, " from ", 0), open = str_find(line, "(python ", 0);
	if (from == SIZE_MAX || open == SIZE_MAX || !str_starts(line, "pip "))
		return 0;
	struct str rest = str_skip(line, 4);
	struct facts_row *row = read_program(f, "pip");
	const char *origin = read_origin(f, in, 0);
	if (str_next_word(&rest, &word) && read_is_version(word))
		read_fill_str(row, program__version, word, origin);
	read_fill_str(row, program__path, str_slice(line, from + 6, open - 1), origin);
	read_fill_str(row, program__interpreter, str_slice(line, open + 1, str_find_char(line, ')', open)), origin);
	return 1;
}

static const char *const list_triggers[] = {
	"Package  ", "pip list", "pip3 list", "pip freeze", "pip3 freeze", "── torch v", " torch v2.", "── nvidia-nccl-", NULL};
static const char *const freeze_triggers[] = {
	"torch==", "numpy==", "nvidia-nccl-cu", "torch @ ", "torchvision==", "triton==", "vllm==", "deepspeed==", NULL};
static const char *const show_triggers[] = {"Name: ", NULL};
static const char *const conda_triggers[] = {"# packages in environment", "# Name  ", "conda list", "mamba list", NULL};
static const char *const satisfied_triggers[] = {"Requirement already satisfied: ", "要求已满足", NULL};
static const char *const installed_triggers[] = {"Successfully installed ", NULL};
static const char *const conflict_triggers[] = {", but you have ", ", which is not installed", NULL};
static const char *const version_triggers[] = {"(python 3.", NULL};

static const char *const line_triggers[] = {"torch  ", "torchvision  ", "torchaudio  ", "triton  ", "torch-npu  ", "torch_npu  ", "numpy  ",
	"vllm  ", "flash-attn  ", "flash_attn  ", "xformers  ", "deepspeed  ", "transformers  ", "nvidia-", NULL};

const struct reader read_package_line_reader = {"a package list", line_triggers, read_package_line};
const struct reader read_pip_list_reader = {"pip list", list_triggers, read_pip_list};
const struct reader read_pip_freeze_reader = {"pip freeze", freeze_triggers, read_pip_freeze};
const struct reader read_pip_show_reader = {"pip show", show_triggers, read_pip_show};
const struct reader read_conda_list_reader = {"conda list", conda_triggers, read_conda_list};
static const char *const conda_info_triggers[] = {"active env location", "virtual packages", NULL};
const struct reader read_conda_info_reader = {"conda info", conda_info_triggers, read_conda_info};
const struct reader read_pip_satisfied_reader = {"pip install", satisfied_triggers, read_satisfied};
const struct reader read_pip_installed_reader = {"pip install", installed_triggers, read_installed};
const struct reader read_pip_conflict_reader = {"pip check", conflict_triggers, read_conflict};
const struct reader read_pip_version_reader = {"pip --version", version_triggers, read_pip_version};
static const char *const change_triggers[] = {
	" + torch", " ~ torch", " + numpy==", " + nvidia-", " + triton==", " - torch", " - nvidia-", NULL};
static const char *const json_triggers[] = {
	"[{\"name\": \"", "[{\"name\":\"", "\"pip_version\":", "\"base_url\":", "\"build_number\":", NULL};
const struct reader read_uv_change_reader = {"uv pip install", change_triggers, read_uv_change};
const struct reader read_package_json_reader = {"a package list in JSON", json_triggers, read_package_json};
