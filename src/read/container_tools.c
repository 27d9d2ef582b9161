/* docker inspect ("ShmSize": 67108864, "IpcMode": "host") and nvidia-container-cli info. */
#include "read/fill.h"
#include "read/read.h"

static size_t read_docker_inspect(const struct read_input *in, struct facts *f)
{
	struct str t = str_trim(in->line[0].text), key, value;
	const char *origin = read_origin(f, in, 0);
	int64_t n;
	if (!str_split(t, ':', &key, &value))
		return 0;
	while (value.len && value.ptr[value.len - 1] == ',')
		value.len--;
	if (str_is(key, "\"ShmSize\"") && str_to_int(value, &n) == 0 && n > 0) {
		read_fill_int(read_mount(f, STR("/dev/shm")), mount__size_bytes, n, origin);
		read_fill_str(facts_only(f, TABLE_container), container__engine, STR("docker"), origin);
	} else if (str_is(key, "\"IpcMode\"") && value.len > 2) {
		read_fill_bool(facts_only(f, TABLE_container), container__ipc_host, str_is(value, "\"host\""), origin);
		read_fill_str(facts_only(f, TABLE_container), container__engine, STR("docker"), origin);
	} else {
		return 0;
	}
	return 1;
}

/* "NVRM version:   535.104.05", "CUDA version:   12.2", then for each GPU "Device Index:   0", "Model: …", "Bus Location: …". */
static size_t read_container_cli(const struct read_input *in, struct facts *f)
{
	struct facts_row *driver = NULL, *gpu = NULL;
	size_t i = 0, last = 0;
	for (; i < in->count && i < last + 4; i++) {
		struct str key, value, command;
		const char *origin = read_origin(f, in, i);
		int64_t n;
		if (read_prompt(in->line[i].text, &command))
			break;
		if (!str_split(in->line[i].text, ':', &key, &value) || !value.len)
			continue;
		if (str_is(key, "NVRM version") && read_is_version(value)) {
			driver = read_driver(f, "nvidia");
			read_fill_str(driver, driver__version, value, origin);
			read_fill_bool(driver, driver__loaded, true, origin);
		} else if (driver && str_is(key, "CUDA version") && read_is_version(value)) {
			read_fill_str(driver, driver__cuda_version, value, origin);
		} else if (driver && str_is(key, "Device Index") && str_to_int(value, &n) == 0 && n >= 0 && n < 128) {
			gpu = read_gpu(f, n, "nvidia");
		} else if (gpu && str_is(key, "Model")) {
			read_fill_str(gpu, gpu__name, value, origin);
		} else if (gpu && str_is(key, "GPU UUID")) {
			read_fill_str(gpu, gpu__uuid, value, origin);
		} else if (gpu && str_is(key, "Bus Location")) {
			read_fill_str(gpu, gpu__pci_address, read_pci_address(f, value), origin);
		} else if (gpu && str_is(key, "Architecture") && str_has(value, ".")) {
			read_fill_str(gpu, gpu__compute_capability, value, origin);
		} else if (!gpu || (!str_is(key, "Brand") && !str_is(key, "Device Minor"))) {
			continue;
		}
		last = i + 1;
	}
	return driver ? last : 0;
}

static const char *const inspect_triggers[] = {"\"ShmSize\"", "\"IpcMode\"", NULL};
static const char *const cli_triggers[] = {"NVRM version:   ", NULL};
const struct reader read_docker_inspect_reader = {"docker inspect", inspect_triggers, read_docker_inspect};
const struct reader read_container_cli_reader = {"nvidia-container-cli info", cli_triggers, read_container_cli};
