#include "parse/nvidia.h"

#include <errno.h>

static bool is_version(struct str word)
{
	size_t dots = 0;

	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] == '.')
			dots++;
		else if (word.ptr[i] < '0' || word.ptr[i] > '9')
			return false;
	}
	return dots >= 1 && dots <= 3 && word.ptr[0] != '.' && word.ptr[word.len - 1] != '.';
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar ..." or
 * "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (...)" */
int parse_nvidia_version(struct str text, struct nvidia_version *ret)
{
	struct str line, word, bare;
	size_t at;

	while (str_next_line(&text, &line)) {
		if (!str_starts(line, "NVRM version"))
			continue;
		at = str_find(line, "Kernel Module", 0);
		if (at == SIZE_MAX)
			continue;
		ret->open = str_has(str_slice(line, 0, at), "Open");
		ret->patched = str_has(line, "p2p") || str_has(line, "P2P");
		line = str_skip(line, at + strlen("Kernel Module"));
		while (str_next_word(&line, &word)) {
			bare = str_slice(word, 0, str_find_char(word, '-', 0)); /* 550.54.15-p2p */
			if (is_version(bare)) {
				ret->version = bare;
				return 0;
			}
		}
	}
	return -EINVAL;
}

static struct str known(struct str value)
{
	return str_has(value, "??") || str_is(value, "N/A") ? str_n("", 0) : value;
}

void parse_nvidia_information(struct str text, struct nvidia_information *ret)
{
	struct str line, key, value, none = str_n("", 0);

	*ret = (struct nvidia_information){none, none, none, none, -1, false};
	while (str_next_line(&text, &line)) {
		if (!str_split(line, ':', &key, &value))
			continue;
		if (str_is(key, "Model"))
			ret->model = str_is(value, "Unknown") ? none : known(value);
		else if (str_is(key, "GPU UUID"))
			ret->uuid = known(value);
		else if (str_is(key, "Video BIOS"))
			ret->video_bios = known(value);
		else if (str_is(key, "GPU Firmware"))
			ret->firmware = known(value);
		else if (str_is(key, "GPU Excluded") || str_is(key, "Blacklisted"))
			ret->excluded = str_is(value, "Yes");
		else if (str_is(key, "Device Minor") && (str_to_int(value, &ret->minor) < 0 || ret->minor < 0 || ret->minor > 1023))
			ret->minor = -1;
	}
}

int parse_nvidia_library_version(struct str file_name, struct str *ret)
{
	size_t at = str_find(file_name, ".so.", 0);
	struct str version;

	if (at == SIZE_MAX)
		return -EINVAL;
	version = str_skip(file_name, at + 4);
	/* A SONAME ends in .1 or .1.1 (WSL); a driver's first part has three digits. */
	if (version.len == 0 || !is_version(version) || str_find_char(version, '.', 0) < 3)
		return -EINVAL;
	*ret = version;
	return 0;
}

enum nvidia_visible_kind parse_nvidia_visible(struct str *list, struct nvidia_visible *ret)
{
	struct str entry;

	*ret = (struct nvidia_visible){.kind = NVIDIA_VISIBLE_END};
	if (!str_next_field(list, ',', &entry))
		return NVIDIA_VISIBLE_END;
	entry = str_trim(entry);
	if (str_starts(entry, "GPU-")) {
		ret->kind = NVIDIA_VISIBLE_UUID;
		ret->uuid = entry;
	} else if (str_starts(entry, "MIG-")) {
		ret->kind = NVIDIA_VISIBLE_MIG;
		ret->uuid = entry;
	} else if (str_to_int(entry, &ret->index) == 0 && ret->index >= 0) {
		ret->kind = NVIDIA_VISIBLE_INDEX;
	}
	return ret->kind;
}
