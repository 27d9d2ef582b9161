/* Probe children: started early, read late, their JSON made into facts. What a vendor library says is checked: it may lie. */
#include "collect/probe.h"

#include <errno.h>
#include <string.h>

#include "collect/driver.h"
#include "collect/gpu.h"
#include "parse/pciconf.h"

#define DEADLINE_MS 2000
#define DEADLINE_MAX_MS 10000
#define MORE_MS_A_GPU 1000
#define GPUS_MAX 64
#define NVML "probe nvml"
#define CUDA "probe cuda"
#define ROCM "probe rocm"

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

static bool is_wanted(struct collect *c, const char *name)
{
	if (c->files_only)
		return false;
	struct host_list list;

	if (str_is(str_of(name), "nvml") || str_is(str_of(name), "cuda"))
		return facts_find(c->facts, driver__vendor, "nvidia") != NULL;
	if (str_is(str_of(name), "rocm"))
		return facts_find(c->facts, gpu__vendor, "amd") != NULL;
	return host_list(c->host, "/sys/class/infiniband", &list) == 0 && list.count > 0;
}

static const char *const names[] = {"nvml", "cuda", "rocm", "ibverbs"};

/* Without nvidia-persistenced the first to ask waits until the driver has started every GPU, about a second for each; cuInit maps the
 * memory of all GPUs, which takes seconds on a large machine in good health. */
static int deadline_of(struct collect *c, const char *name)
{
	bool is_cuda = str_is(str_of(name), "cuda"), is_nvml = str_is(str_of(name), "nvml");
	int deadline_ms = DEADLINE_MS;

	if (!is_cuda && !(is_nvml && !host_exists(c->host, "/run/nvidia-persistenced/socket")))
		return DEADLINE_MS;
	for (const struct facts_row *gpu = c->facts->first[TABLE_gpu]; gpu && deadline_ms < DEADLINE_MAX_MS; gpu = gpu->next)
		if (facts_get_text(gpu, gpu__pci_address))
			deadline_ms += MORE_MS_A_GPU;
	return deadline_ms;
}

void collect_probe_start(struct collect *c)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is_wanted(c, names[i]))
			host_probe_start(c->host, names[i], deadline_of(c, names[i]));
}

static const char *json_text(struct collect *c, const struct json *v)
{
	struct str s;

	return parse_json_text(v, &s) && s.len > 0 ? str_dup(c->arena, s) : NULL;
}

/* The lines before the answer tell which call was under way. */
static void read_lines(struct collect *c, struct str output, struct probe_answer *ret, const char **ret_calling)
{
	const struct json *v, *error;
	const char *call;

	while (parse_json_next(c->arena, &output, &v) == 0) {
		call = json_text(c, parse_json_get(v, "calling"));
		if (call)
			*ret_calling = call;
		else if (v->type == JSON_OBJECT)
			ret->answer = v;
	}
	error = parse_json_get(ret->answer, "error");
	ret->error_call = json_text(c, parse_json_get(error, "call"));
	parse_json_int(parse_json_get(error, "code"), &ret->error_code);
}

void probe_ask(struct collect *c, const char *name, struct probe_answer *ret)
{
	static const char *const status_names[] = {"ok", "missing", "timeout", "crash", "error", "skipped"};
	const char *calling = "start", *text;
	struct host_probe probe;

	*ret = (struct probe_answer){.status = HOST_PROBE_SKIPPED, .status_name = "skipped"};
	if (host_probe(c->host, name, deadline_of(c, name), &probe) < 0)
		return;
	read_lines(c, probe.output, ret, &calling);
	ret->status = probe.status;
	ret->duration_ms = probe.duration_ms;
	if (probe.status == HOST_PROBE_OK && !ret->answer)
		ret->status = HOST_PROBE_ERROR;
	ret->status_name = status_names[ret->status];
	text = json_text(c, parse_json_path(ret->answer, "error.text"));
	switch (ret->status) {
	case HOST_PROBE_OK: break;
	case HOST_PROBE_MISSING: ret->message = json_text(c, parse_json_get(ret->answer, "missing")); break;
	case HOST_PROBE_TIMEOUT: ret->message = arena_printf(c->arena, "%s did not return within %d ms", calling, probe.code); break;
	case HOST_PROBE_CRASH: ret->message = arena_printf(c->arena, "%s ended with signal %d", calling, probe.code); break;
	case HOST_PROBE_ERROR:
		if (ret->error_call)
			ret->message = arena_printf(c->arena, "%s: %s (%d)", ret->error_call, text ? text : "error", (int)ret->error_code);
		else
			ret->message = arena_printf(c->arena, "no answer, exit status %d", probe.code);
		break;
	case HOST_PROBE_SKIPPED: ret->message = "not asked"; break;
	}
}

/* A library that is not there, or an error, is a reason that has a name. */
static enum facts_gap gap_of(const struct probe_answer *a)
{
	switch (a->status) {
	case HOST_PROBE_TIMEOUT: return GAP_TIMEOUT;
	case HOST_PROBE_SKIPPED:
	case HOST_PROBE_MISSING: return GAP_MISSING;
	default: return GAP_FAILED;
	}
}

/* -- NVML: the devices ------------------------------------------------------------------------------------------------------- */

static struct facts_row *nvidia_by_address(struct collect *c, const char *address)
{
	struct facts_row *row = address ? facts_find(c->facts, gpu__pci_address, address) : NULL;

	return row;
}

static const char *address_of(struct collect *c, const struct json *gpu)
{
	struct str s;
	const char *address;

	return parse_json_text(parse_json_get(gpu, "pci"), &s) && parse_pci_address(c->arena, s, &address) ? address : NULL;
}

static struct facts_row *new_gpu(struct collect *c, const char *address, const char *vendor, const char *origin)
{
	struct facts_row *row = facts_add(c->facts, TABLE_gpu);

	facts_text(row, gpu__vendor, vendor, origin);
	if (address)
		facts_text(row, gpu__pci_address, address, origin);
	return row;
}

static void take_text(
	struct collect *c, struct facts_row *row, enum facts_column column, const struct json *gpu, const char *key, const char *origin)
{
	const char *text = json_text(c, parse_json_get(gpu, key));

	if (text && !facts_get_text(row, column))
		facts_text(row, column, text, origin);
}

/* A number outside of what can be is a lie or a broken library, and no value. */
static bool take_int(struct facts_row *row, enum facts_column column, const struct json *gpu, const char *key, int64_t min, int64_t max)
{
	int64_t v;

	if (!parse_json_int(parse_json_get(gpu, key), &v))
		return false;
	if (v < min || v > max) {
		facts_gap(row, column, GAP_UNPARSABLE, NVML, "the library gives an impossible number");
		return false;
	}
	facts_int(row, column, v, NVML);
	return true;
}

static void take_capability(struct collect *c, struct facts_row *row, const struct json *gpu, const char *origin)
{
	int64_t major, minor;

	if (!parse_json_int(parse_json_get(gpu, "cc_major"), &major) || !parse_json_int(parse_json_get(gpu, "cc_minor"), &minor) ||
		major < 1 || major > 99 || minor < 0 || minor > 9)
		return;
	facts_text(row, gpu__compute_capability, arena_printf(c->arena, "%d.%d", (int)major, (int)minor), origin);
	facts_int(row, gpu__cc, major * 10 + minor, origin);
}

static void take_memory(struct facts_row *row, const struct json *gpu, const char *origin)
{
	int64_t total, used;

	if (!parse_json_int(parse_json_get(gpu, "memory_total"), &total) || total <= 0 || total > (int64_t)1 << 50)
		return;
	facts_int(row, gpu__memory_bytes, total, origin);
	if (parse_json_int(parse_json_get(gpu, "memory_used"), &used) && used >= 0 && used <= total)
		facts_int(row, gpu__memory_used_bytes, used, origin);
}

/* Reasons that say something is wrong; idle, chosen clocks and the power limit in normal work do not. */
static void take_throttle(struct facts_row *row, const struct json *gpu)
{
	static const struct {
		unsigned bit;
		const char *name;
	} reasons[] = {{0x08, "hardware slowdown"}, {0x20, "software thermal slowdown"}, {0x40, "hardware thermal slowdown"},
		{0x80, "power brake"}};
	struct buf text = BUF_MAX(256);
	int64_t bits;

	if (!parse_json_int(parse_json_get(gpu, "throttle"), &bits))
		return;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		if (!(bits & reasons[i].bit))
			continue;
		if (text.len)
			buf_text(&text, ", ");
		buf_text(&text, reasons[i].name);
	}
	facts_str(row, gpu__throttle, text.len ? buf_view(&text) : str_n("", 0), NVML);
	buf_free(&text);
}

/* "NVIDIA A100-SXM4-40GB MIG 1g.5gb" → 1g.5gb, for each slice */
static void take_slices(struct facts_row *row, const struct json *gpu)
{
	struct buf text = BUF_MAX(512);
	bool mig;

	if (!parse_json_bool(parse_json_get(gpu, "mig"), &mig))
		return;
	facts_bool(row, gpu__mig_mode, mig, NVML);
	for (const struct json *slice = parse_json_first(parse_json_get(gpu, "slices")); slice; slice = slice->next) {
		struct str name;

		if (!parse_json_text(parse_json_get(slice, "name"), &name))
			continue;
		if (text.len)
			buf_text(&text, ", ");
		buf_str(&text, str_skip(name, str_has(name, "MIG ") ? str_find(name, "MIG ", 0) + 4 : 0));
	}
	if (text.len)
		facts_str(row, gpu__mig_device, buf_view(&text), NVML);
	else
		facts_gap(row, gpu__mig_device, GAP_ABSENT, NVML, NULL);
	buf_free(&text);
}

static void take_errors(struct facts_row *row, const struct json *gpu)
{
	int64_t pages = 0, rows = 0;
	bool pending = false, flag;
	bool has_pages = parse_json_int(parse_json_get(gpu, "retired_pages"), &pages),
	     has_rows = parse_json_int(parse_json_get(gpu, "remapped_rows"), &rows);
	bool has_pending = false;
	static const char *const flags[] = {"retired_pending", "remap_pending", "remap_failed"};

	take_int(row, gpu__ecc_uncorrected, gpu, "ecc_uncorrected", 0, INT64_MAX);
	if ((has_pages || has_rows) && pages >= 0 && rows >= 0 && pages < 1000000 && rows < 1000000)
		facts_int(row, gpu__retired_pages, pages + rows, NVML);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (!parse_json_bool(parse_json_get(gpu, flags[i]), &flag))
			continue;
		has_pending = true;
		pending |= flag;
	}
	if (has_pending)
		facts_bool(row, gpu__remap_pending, pending, NVML);
}

static void take_link(struct facts_row *row, const struct json *gpu)
{
	static const double speeds[] = {0, 2.5, 5, 8, 16, 32, 64, 128};
	int64_t v;

	if (!facts_value(row, gpu__link_width)->set || facts_value(row, gpu__link_width)->gap)
		take_int(row, gpu__link_width, gpu, "link_width", 1, 32);
	if (!facts_value(row, gpu__link_width_max)->set || facts_value(row, gpu__link_width_max)->gap)
		take_int(row, gpu__link_width_max, gpu, "link_width_max", 1, 32);
	if (!facts_get_real(row, gpu__link_speed_gts, &(double){0}) && parse_json_int(parse_json_get(gpu, "link_generation"), &v) &&
		v >= 1 && v <= 7)
		facts_real(row, gpu__link_speed_gts, speeds[v], NVML);
	if (!facts_get_real(row, gpu__link_speed_max_gts, &(double){0}) && parse_json_int(parse_json_get(gpu, "link_generation_max"), &v) &&
		v >= 1 && v <= 7)
		facts_real(row, gpu__link_speed_max_gts, speeds[v], NVML);
}

static void take_fabric(struct facts_row *row, const struct json *gpu)
{
	struct str state;
	int64_t status = 0;

	if (!parse_json_text(parse_json_get(gpu, "fabric_state"), &state) || str_is(state, "not supported"))
		return;
	parse_json_int(parse_json_get(gpu, "fabric_status"), &status);
	if (str_is(state, "completed") && status != 0)
		facts_text(row, gpu__fabric_state, "failed", NVML);
	else
		facts_str(row, gpu__fabric_state, state, NVML);
}

static void take_gpu(struct collect *c, struct facts_row *row, const struct json *gpu)
{
	int64_t v;

	take_text(c, row, gpu__name, gpu, "name", NVML);
	take_text(c, row, gpu__uuid, gpu, "uuid", NVML);
	take_text(c, row, gpu__firmware, gpu, "vbios", NVML);
	take_text(c, row, gpu__compute_mode, gpu, "compute_mode", NVML);
	take_capability(c, row, gpu, NVML);
	take_memory(row, gpu, NVML);
	take_throttle(row, gpu);
	take_slices(row, gpu);
	take_errors(row, gpu);
	take_link(row, gpu);
	take_fabric(row, gpu);
	take_int(row, gpu__temperature_c, gpu, "temperature", 1, 150);
	take_int(row, gpu__processes, gpu, "processes", 0, 100000);
	if (parse_json_int(parse_json_get(gpu, "persistence"), &v))
		facts_bool(row, gpu__persistence, v != 0, NVML);
	if (parse_json_int(parse_json_get(gpu, "minor"), &v) && v >= 0 && v < 1024 && !facts_get_text(row, gpu__device_node))
		facts_text(row, gpu__device_node, arena_printf(c->arena, "/dev/nvidia%d", (int)v), NVML);
	facts_bool(row, gpu__lost, false, NVML);
}

/* -- NVML: links between GPUs ---------------------------------------------------------------------------------------------------- */

static void count_links(const struct json *gpu, int64_t *ret_up, int64_t *ret_down)
{
	bool up;

	*ret_up = *ret_down = 0;
	for (const struct json *link = parse_json_first(parse_json_get(gpu, "nvlinks")); link; link = link->next)
		if (parse_json_bool(parse_json_get(link, "up"), &up))
			(*(up ? ret_up : ret_down))++;
}

static bool has_nvswitch(const struct facts *f)
{
	return facts_find(f, pci_device__kind, "nvswitch") != NULL;
}

/* A card with connectors and no bridge has links that are all down, and nothing is wrong; with a switch behind them, or beside a card of
 * the same product that has more of them up, something is. */
static void take_nvlinks(struct collect *c, const struct json *gpus)
{
	for (const struct json *gpu = parse_json_first(gpus); gpu; gpu = gpu->next) {
		struct facts_row *row = nvidia_by_address(c, address_of(c, gpu));
		int64_t up, down, most = 0, other_up, other_down;
		const char *name = json_text(c, parse_json_get(gpu, "name"));

		if (!row || !parse_json_get(gpu, "nvlinks"))
			continue;
		count_links(gpu, &up, &down);
		facts_int(row, gpu__nvlinks_active, up, NVML);
		for (const struct json *other = parse_json_first(gpus); other; other = other->next) {
			const char *other_name = json_text(c, parse_json_get(other, "name"));

			count_links(other, &other_up, &other_down);
			if (name && other_name && strcmp(name, other_name) == 0 && other_up > most)
				most = other_up;
		}
		if (has_nvswitch(c->facts))
			facts_int(row, gpu__nvlinks_inactive, down, NVML);
		else if (up > 0)
			facts_int(row, gpu__nvlinks_inactive, most - up, NVML);
		else
			facts_gap(row, gpu__nvlinks_inactive, GAP_ABSENT, NVML, "no link is up: no bridge is fitted");
	}
}

/* -- NVML ---------------------------------------------------------------------------------------------------------------------- */

static const char *cuda_text(struct collect *c, const struct json *v)
{
	int64_t n;

	if (!parse_json_int(v, &n) || n < 1000 || n > 99990)
		return NULL;
	return arena_printf(c->arena, "%d.%d", (int)(n / 1000), (int)(n % 1000 / 10));
}

/* A lost GPU gives an error instead of a handle, so its address is not told: it is the one that nobody else is. */
static void mark_lost(struct collect *c, const struct json *gpus)
{
	struct facts_row *unmatched = NULL;
	int lost = 0, left = 0;
	int64_t code;

	for (const struct json *gpu = parse_json_first(gpus); gpu; gpu = gpu->next)
		if (parse_json_int(parse_json_path(gpu, "error.code"), &code) && code == 15)
			lost++;
	for (struct facts_row *row = c->facts->first[TABLE_gpu]; row; row = row->next) {
		const char *vendor = facts_get_text(row, gpu__vendor);
		bool known;

		if (!vendor || !str_is(str_of(vendor), "nvidia") || facts_get_bool(row, gpu__lost, &known))
			continue;
		unmatched = row;
		left++;
		facts_gap(row, gpu__lost, GAP_UNSUPPORTED, NVML, "the driver does not list this device");
	}
	if (lost > 0 && left == lost) {
		for (struct facts_row *row = c->facts->first[TABLE_gpu]; row; row = row->next) {
			const char *vendor = facts_get_text(row, gpu__vendor);
			bool known;

			if (vendor && str_is(str_of(vendor), "nvidia") && !facts_get_bool(row, gpu__lost, &known))
				facts_bool(row, gpu__lost, true, NVML);
		}
	} else if (lost > 0 && !unmatched) {
		facts_bool(new_gpu(c, NULL, "nvidia", NVML), gpu__lost, true, NVML);
	}
}

static void take_gpus(struct collect *c, const struct json *gpus)
{
	size_t count = 0;

	for (const struct json *gpu = parse_json_first(gpus); gpu && count < GPUS_MAX; gpu = gpu->next, count++) {
		const char *address = address_of(c, gpu);
		struct facts_row *row;
		int64_t index;

		if (parse_json_get(gpu, "error"))
			continue;
		row = nvidia_by_address(c, address);
		if (!row)
			row = new_gpu(c, address, "nvidia", NVML);
		if (parse_json_int(parse_json_get(gpu, "index"), &index) && index >= 0 && index < GPUS_MAX)
			facts_int(row, gpu__index, index, NVML);
		take_gpu(c, row, gpu);
	}
	take_nvlinks(c, gpus);
	mark_lost(c, gpus);
	gpu_apply_environment(c);
}

static void merge_nvml(struct collect *c, struct facts_row *driver, const struct probe_answer *a)
{
	const char *version;

	facts_text(driver, driver__probe, a->status_name, NVML);
	if (a->message)
		facts_text(driver, driver__probe_error, a->message, NVML);
	else
		facts_gap(driver, driver__probe_error, GAP_ABSENT, NVML, NULL);
	if (a->error_call && a->error_code >= 0)
		facts_int(driver, driver__nvml_error, a->error_code, NVML);
	else if (a->status == HOST_PROBE_OK)
		facts_int(driver, driver__nvml_error, 0, NVML);
	else
		facts_gap(driver, driver__nvml_error, gap_of(a), NVML, a->message);
	if (a->status != HOST_PROBE_OK)
		return;
	version = json_text(c, parse_json_get(a->answer, "driver_version"));
	if (version)
		driver_set_version(driver, str_of(version), NVML);
	version = cuda_text(c, parse_json_get(a->answer, "cuda_version"));
	if (version)
		facts_text(driver, driver__cuda_version, version, NVML);
	facts_bool(driver, driver__loaded, true, NVML);
	take_gpus(c, parse_json_get(a->answer, "gpus"));
}

/* -- CUDA ---------------------------------------------------------------------------------------------------------------------- */

/* CUDA's own list is what a process with this environment sees. */
static void take_visible(struct collect *c, const struct json *gpus)
{
	for (struct facts_row *row = c->facts->first[TABLE_gpu]; row; row = row->next) {
		const char *address = facts_get_text(row, gpu__pci_address), *vendor = facts_get_text(row, gpu__vendor);
		bool visible = false;

		if (!address || !vendor || !str_is(str_of(vendor), "nvidia"))
			continue;
		for (const struct json *gpu = parse_json_first(gpus); gpu; gpu = gpu->next) {
			const char *other = address_of(c, gpu);

			if (other && strcmp(other, address) == 0) {
				visible = true;
				take_capability(c, row, gpu, CUDA);
			}
		}
		facts_bool(row, gpu__visible, visible, CUDA);
	}
}

static void merge_cuda(struct collect *c, struct facts_row *driver, const struct probe_answer *a)
{
	const char *version = cuda_text(c, parse_json_get(a->answer, "cuda_version"));
	bool addresses = true;
	int64_t count;

	if (version)
		facts_text(driver, driver__cuda_version, version, CUDA);
	else
		facts_gap(driver, driver__cuda_version, gap_of(a), CUDA, a->message);
	if (a->error_call && a->error_code >= 0)
		facts_int(driver, driver__cuda_error, a->error_code, CUDA);
	else if (a->status == HOST_PROBE_OK)
		facts_int(driver, driver__cuda_error, 0, CUDA);
	else
		facts_gap(driver, driver__cuda_error, gap_of(a), CUDA, a->message);
	if (a->status != HOST_PROBE_OK || !parse_json_int(parse_json_get(a->answer, "count"), &count) || count <= 0)
		return;
	for (const struct json *gpu = parse_json_first(parse_json_get(a->answer, "gpus")); gpu; gpu = gpu->next)
		addresses &= address_of(c, gpu) != NULL;
	if (addresses)
		take_visible(c, parse_json_get(a->answer, "gpus"));
}

/* -- ROCm ---------------------------------------------------------------------------------------------------------------------- */

static void merge_rocm(struct collect *c, const struct probe_answer *a)
{
	struct facts_row *driver = facts_find(c->facts, driver__vendor, "amd");

	if (driver) {
		facts_text(driver, driver__probe, a->status_name, ROCM);
		if (a->message)
			facts_text(driver, driver__probe_error, a->message, ROCM);
	}
	for (const struct json *gpu = parse_json_first(parse_json_get(a->answer, "gpus")); gpu; gpu = gpu->next) {
		const char *address = address_of(c, gpu);
		struct facts_row *row = address ? facts_find(c->facts, gpu__pci_address, address) : NULL;
		int64_t v;

		if (!row)
			continue;
		take_text(c, row, gpu__name, gpu, "name", ROCM);
		take_memory(row, gpu, ROCM);
		if (parse_json_int(parse_json_get(gpu, "temperature"), &v) && v > 0 && v <= 150)
			facts_int(row, gpu__temperature_c, v, ROCM);
	}
}

/* -- RDMA ---------------------------------------------------------------------------------------------------------------------- */

/* Devices that the kernel has and user space cannot open: the provider library is missing, or the device file refused. */
static const char *closed_devices(struct collect *c, const struct probe_answer *a)
{
	const char *list = NULL;
	bool opens;

	for (const struct json *device = parse_json_first(parse_json_get(a->answer, "devices")); device; device = device->next) {
		const char *name = json_text(c, parse_json_get(device, "name")), *why = json_text(c, parse_json_path(device, "error.text"));

		if (!name || !parse_json_bool(parse_json_get(device, "opens"), &opens) || opens)
			continue;
		name = arena_printf(c->arena, "%s: %s", name, why ? why : "does not open");
		list = list ? arena_printf(c->arena, "%s; %s", list, name) : name;
	}
	return list;
}

/* -- together ------------------------------------------------------------------------------------------------------------------ */

static void add_probe_row(struct collect *c, const char *name, const struct probe_answer *a)
{
	const char *origin = arena_printf(c->arena, "probe %s", name), *library = json_text(c, parse_json_get(a->answer, "library"));
	const char *message = a->message ? a->message : closed_devices(c, a);
	struct facts_row *row = facts_add(c->facts, TABLE_probe);

	facts_text(row, probe__name, name, origin);
	facts_text(row, probe__status, a->status_name, origin);
	if (library)
		facts_text(row, probe__library, library, origin);
	else
		facts_gap(row, probe__library, GAP_ABSENT, origin, NULL);
	if (message)
		facts_text(row, probe__message, message, origin);
	else
		facts_gap(row, probe__message, GAP_ABSENT, origin, NULL);
	if (a->duration_ms > 0)
		facts_real(row, probe__duration_ms, a->duration_ms, origin);
}

void collect_probe(struct collect *c)
{
	struct facts_row *driver = facts_find(c->facts, driver__vendor, "nvidia");

	facts_table_read(c->facts, TABLE_probe);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct probe_answer a;

		if (!is_wanted(c, names[i]))
			continue;
		probe_ask(c, names[i], &a);
		add_probe_row(c, names[i], &a);
		if (str_is(str_of(names[i]), "nvml"))
			merge_nvml(c, driver, &a);
		else if (str_is(str_of(names[i]), "cuda"))
			merge_cuda(c, driver, &a);
		else if (str_is(str_of(names[i]), "rocm"))
			merge_rocm(c, &a);
	}
}
