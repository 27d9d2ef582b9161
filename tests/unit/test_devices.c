/* Text of devices and their drivers: PCI, NVIDIA, AMD, kernel modules. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "parse/kfd.h"
#include "parse/modinfo.h"
#include "parse/nvidia.h"
#include "parse/pciconf.h"

static struct arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

static void test_pci_addresses(void **state)
{
	(void)state;
	const char *address;

	assert_true(parse_pci_is_address(STR("0000:17:00.0")));
	assert_true(parse_pci_is_address(STR("10000:e1:00.0")));
	assert_false(parse_pci_is_address(STR("pci0000:17")));
	assert_false(parse_pci_is_address(STR("0000:17:00")));
	assert_false(parse_pci_is_address(STR("0000:17:00.0x")));
	assert_false(parse_pci_is_address(STR("")));
	assert_true(parse_pci_address(arena, STR("00000000:E1:00.0"), &address));
	assert_string_equal(address, "0000:e1:00.0");
}

static void test_pci_files(void **state)
{
	(void)state;
	struct pci_id id;
	double speed;
	int64_t n;

	assert_int_equal(parse_pci_uevent(STR("DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SUBSYS_ID=10DE:16C1\n"), &id), 0);
	assert_int_equal(id.vendor, 0x10de);
	assert_int_equal(id.device, 0x2330);
	assert_int_equal(id.class, 0x030200);
	assert_true(str_is(id.driver, "nvidia"));
	assert_int_equal(parse_pci_uevent(STR("PCI_CLASS=30200\n"), &id), -EINVAL);
	assert_int_equal(parse_pci_speed(STR("32.0 GT/s PCIe\n"), &speed), 0);
	assert_true(speed == 32.0);
	assert_int_equal(parse_pci_speed(STR("Unknown\n"), &speed), -EINVAL);
	assert_int_equal(parse_pci_aer_total(STR("Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 7\n"), &n), 0);
	assert_int_equal(n, 7);
}

static void put32(unsigned char *config, size_t at, unsigned v)
{
	for (int i = 0; i < 4; i++)
		config[at + (size_t)i] = (unsigned char)(v >> 8 * i);
}

static void test_acs(void **state)
{
	(void)state;
	unsigned char config[4096] = {0};
	struct str s = str_n((const char *)config, sizeof config);
	bool redirect = true;

	assert_int_equal(parse_pci_acs_redirect(str_slice(s, 0, 64), &redirect), -ENODATA);
	assert_int_equal(parse_pci_acs_redirect(s, &redirect), 0);
	assert_false(redirect);
	put32(config, 0x100, 0x14810001); /* AER, next at 0x148 */
	put32(config, 0x148, 0x0001000d); /* ACS, the last */
	put32(config, 0x14c, 0x001d005f); /* control: source validation, request and completion redirect, upstream forwarding */
	assert_int_equal(parse_pci_acs_redirect(s, &redirect), 0);
	assert_true(redirect);
	put32(config, 0x14c, 0x0000005f);
	assert_int_equal(parse_pci_acs_redirect(s, &redirect), 0);
	assert_false(redirect);
	put32(config, 0x148, 0x10010003); /* back to the start: a list that goes round */
	assert_int_equal(parse_pci_acs_redirect(s, &redirect), -EINVAL);
}

static void test_nvidia_version(void **state)
{
	(void)state;
	struct nvidia_version v;

	assert_int_equal(
		parse_nvidia_version(
			STR("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc\n"),
			&v),
		0);
	assert_true(str_is(v.version, "550.54.15") && !v.open && !v.patched);
	assert_int_equal(
		parse_nvidia_version(
			STR("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@x)  Thu\n"),
			&v),
		0);
	assert_true(str_is(v.version, "570.86.15") && v.open);
	assert_int_equal(parse_nvidia_version(STR("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05\n"), &v), 0);
	assert_true(str_is(v.version, "580.95.05"));
	assert_int_equal(
		parse_nvidia_version(STR("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01-p2p  Release Build\n"), &v),
		0);
	assert_true(str_is(v.version, "565.57.01") && v.patched);
	assert_int_equal(parse_nvidia_version(STR("hello\n"), &v), -EINVAL);
}

static void test_nvidia_information(void **state)
{
	(void)state;
	struct nvidia_information i;
	struct str version;

	parse_nvidia_information(
		STR("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 18\nGPU UUID: \t GPU-6c1d3f28-0e8f-3d3a-4c9a-5a7e0a1b2c3d\nVideo BIOS: \t "
		    "96.00.89.00.01\nBus Type: \t PCIe\nBus Location: \t 0000:18:00.0\nDevice Minor: \t 3\nGPU Firmware: \t 550.54.15\nGPU Excluded:\t No\n"),
		&i);
	assert_true(str_is(i.model, "NVIDIA H100 80GB HBM3") && str_starts(i.uuid, "GPU-6c1d") && str_is(i.video_bios, "96.00.89.00.01"));
	assert_int_equal(i.minor, 3);
	assert_false(i.excluded);
	parse_nvidia_information(STR("Model: Unknown\nGPU UUID: GPU-\?\?\?\?\?\?\?\?-\?\?\?\?\nVideo BIOS: \?\?.\?\?\n"), &i);
	assert_int_equal(i.model.len + i.uuid.len + i.video_bios.len, 0);
	assert_int_equal(i.minor, -1);
	assert_int_equal(parse_nvidia_library_version(STR("libcuda.so.580.65.06"), &version), 0);
	assert_true(str_is(version, "580.65.06"));
	assert_int_equal(parse_nvidia_library_version(STR("libcuda.so.1"), &version), -EINVAL);
	assert_int_equal(parse_nvidia_library_version(STR("libcuda.so.1.1"), &version), -EINVAL);
	assert_int_equal(parse_nvidia_library_version(STR("libcuda.so"), &version), -EINVAL);
}

static void test_visible(void **state)
{
	(void)state;
	struct nvidia_visible v;
	struct str list = STR("3, 1,GPU-8932f937,MIG-4a5b,-1,2");

	assert_int_equal(parse_nvidia_visible(&list, &v), NVIDIA_VISIBLE_INDEX);
	assert_int_equal(v.index, 3);
	assert_int_equal(parse_nvidia_visible(&list, &v), NVIDIA_VISIBLE_INDEX);
	assert_int_equal(v.index, 1);
	assert_int_equal(parse_nvidia_visible(&list, &v), NVIDIA_VISIBLE_UUID);
	assert_int_equal(parse_nvidia_visible(&list, &v), NVIDIA_VISIBLE_MIG);
	assert_int_equal(parse_nvidia_visible(&list, &v), NVIDIA_VISIBLE_END);
	list = STR("");
	assert_int_equal(parse_nvidia_visible(&list, &v), NVIDIA_VISIBLE_END);
}

static void test_kfd(void **state)
{
	(void)state;
	struct str text = STR(
		"cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\nlocation_id 1280\ndomain 0\nunique_id 18446744073709551615\n");
	const char *gfx;
	int64_t n;

	assert_int_equal(parse_kfd_property(text, "gfx_target_version", &n), 0);
	assert_int_equal(parse_kfd_gfx(arena, n, &gfx), 0);
	assert_string_equal(gfx, "gfx942");
	assert_int_equal(parse_kfd_gfx(arena, 90010, &gfx), 0);
	assert_string_equal(gfx, "gfx90a");
	assert_int_equal(parse_kfd_gfx(arena, 110000, &gfx), 0);
	assert_string_equal(gfx, "gfx1100");
	assert_int_equal(parse_kfd_gfx(arena, 0, &gfx), -EINVAL);
	assert_int_equal(parse_kfd_property(text, "location_id", &n), 0);
	assert_string_equal(parse_kfd_address(arena, 0, n), "0000:05:00.0");
	assert_int_equal(parse_kfd_property(text, "unique_id", &n), -ERANGE);
	assert_int_equal(parse_kfd_property(text, "nothing", &n), -ENOENT);
}

static void test_modinfo(void **state)
{
	(void)state;
	struct str value;
	uint64_t offset, bytes;
	unsigned index;
	char head[64] = "\177ELF\2\1";

	assert_true(parse_modinfo_get(STR("firmware=nvidia/x\nversion=550.54.15\nlicense=Dual MIT/GPL\n"), "version", &value));
	assert_true(str_is(value, "550.54.15"));
	assert_false(parse_modinfo_get(STR("srcversion=AB\n"), "version", &value));
	assert_int_equal(parse_modinfo_sections(str_n(head, sizeof head), 4096, &offset, &bytes, &index), -EINVAL);
	head[40] = 64;
	head[58] = 64;
	head[60] = 3;
	head[62] = 2;
	assert_int_equal(parse_modinfo_sections(str_n(head, sizeof head), 4096, &offset, &bytes, &index), 0);
	assert_int_equal(offset, 64);
	assert_int_equal(bytes, 3 * 64);
	assert_int_equal(index, 2);
	assert_int_equal(parse_modinfo_sections(str_n(head, sizeof head), 200, &offset, &bytes, &index), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pci_addresses),
		cmocka_unit_test(test_pci_files),
		cmocka_unit_test(test_acs),
		cmocka_unit_test(test_nvidia_version),
		cmocka_unit_test(test_nvidia_information),
		cmocka_unit_test(test_visible),
		cmocka_unit_test(test_kfd),
		cmocka_unit_test(test_modinfo),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
