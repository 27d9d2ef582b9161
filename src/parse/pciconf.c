#include "parse/pciconf.h"

#include <errno.h>

/* -- addresses ---------------------------------------------------------------------------------------------------------- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool parse_pci_is_address(struct str s)
{
	size_t colon = str_find_char(s, ':', 0);

	if (colon < 4 || colon > 8 || s.len != colon + 8)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		size_t k = i - colon; /* wraps in the domain, which only has hex digits */
		char want = i == colon || k == 3 ? ':' : k == 6 ? '.' : 0;

		if (want ? s.ptr[i] != want : !is_hex(s.ptr[i]))
			return false;
	}
	return true;
}

bool parse_pci_address(struct arena *a, struct str s, const char **ret)
{
	char *copy;

	s = str_trim(s);
	if (!parse_pci_is_address(s))
		return false;
	while (str_find_char(s, ':', 0) > 4 && s.ptr[0] == '0')
		s = str_skip(s, 1);
	copy = str_dup(a, s);
	for (char *p = copy; *p; p++)
		if (*p >= 'A' && *p <= 'F')
			*p = (char)(*p - 'A' + 'a');
	*ret = copy;
	return true;
}

/* -- text files of /sys --------------------------------------------------------------------------------------------------- */

int parse_pci_uevent(struct str text, struct pci_id *ret)
{
	struct pci_id id = {.driver = str_n("", 0)};
	struct str line, key, value;
	uint64_t n;
	int seen = 0;

	while (str_next_line(&text, &line)) {
		if (!str_split(line, '=', &key, &value))
			continue;
		if (str_is(key, "DRIVER")) {
			id.driver = value;
		} else if (str_is(key, "PCI_CLASS") && str_to_hex(value, &n) == 0 && n <= 0xffffff) {
			id.class = (unsigned)n;
			seen |= 1;
		} else if (str_is(key, "PCI_ID") && str_split(value, ':', &key, &value) && str_to_hex(key, &n) == 0 && n <= 0xffff) {
			id.vendor = (unsigned)n;
			if (str_to_hex(value, &n) < 0 || n > 0xffff)
				continue;
			id.device = (unsigned)n;
			seen |= 2;
		}
	}
	if (seen != 3)
		return -EINVAL;
	*ret = id;
	return 0;
}

int parse_pci_speed(struct str text, double *ret_gts)
{
	struct str number, rest = str_trim(text);
	double v;

	if (!str_next_word(&rest, &number) || str_to_real(number, &v) < 0 || v <= 0 || v > 1000 || !str_has(rest, "GT/s"))
		return -EINVAL;
	*ret_gts = v;
	return 0;
}

int parse_pci_aer_total(struct str text, int64_t *ret)
{
	struct str line, word;

	while (str_next_line(&text, &line))
		if (str_starts(line, "TOTAL_ERR_") && str_next_word(&line, &word))
			return str_to_int(str_trim(line), ret);
	return -EINVAL;
}

/* -- configuration space -------------------------------------------------------------------------------------------------- */

#define EXTENDED_START 0x100
#define CAPABILITY_ACS 0x000d
#define ACS_CONTROL 6
#define ACS_REQUEST_REDIRECT 0x04
#define ACS_COMPLETION_REDIRECT 0x08

static unsigned u16(struct str s, size_t off)
{
	return (unsigned char)s.ptr[off] | (unsigned)(unsigned char)s.ptr[off + 1] << 8;
}

int parse_pci_acs_redirect(struct str config, bool *ret)
{
	size_t at = EXTENDED_START;

	if (config.len < EXTENDED_START + 4)
		return -ENODATA;
	/* Each capability has at least four bytes, so a list longer than this goes round. */
	for (int steps = 0; steps < 1024; steps++) {
		unsigned id, next;

		if (at < EXTENDED_START || at + 8 > config.len)
			return -EINVAL;
		id = u16(config, at);
		next = u16(config, at + 2) >> 4;
		if (id == CAPABILITY_ACS) {
			*ret = (u16(config, at + ACS_CONTROL) & (ACS_REQUEST_REDIRECT | ACS_COMPLETION_REDIRECT)) != 0;
			return 0;
		}
		if (next == 0 || id == 0xffff) {
			*ret = false;
			return 0;
		}
		at = next & ~3U;
	}
	return -EINVAL;
}
