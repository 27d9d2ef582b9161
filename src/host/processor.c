#include "host/processor.h"

#include "base/str.h"

#ifdef __x86_64__
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

/* `state`: what the system must save for it in XCR0; without that it cannot be used. */
static const struct feature {
	const char *name;
	uint32_t leaf;
	uint8_t reg, bit, state;
} features[] = {
	{"pni", 1, ECX, 0, 0},
	{"ssse3", 1, ECX, 9, 0},
	{"fma", 1, ECX, 12, 0x6},
	{"cx16", 1, ECX, 13, 0},
	{"sse4_1", 1, ECX, 19, 0},
	{"sse4_2", 1, ECX, 20, 0},
	{"movbe", 1, ECX, 22, 0},
	{"popcnt", 1, ECX, 23, 0},
	{"xsave", 1, ECX, 26, 0},
	{"avx", 1, ECX, 28, 0x6},
	{"f16c", 1, ECX, 29, 0x6},
	{"bmi1", 7, EBX, 3, 0},
	{"avx2", 7, EBX, 5, 0x6},
	{"bmi2", 7, EBX, 8, 0},
	{"avx512f", 7, EBX, 16, 0xe6},
	{"avx512dq", 7, EBX, 17, 0xe6},
	{"avx512cd", 7, EBX, 28, 0xe6},
	{"avx512bw", 7, EBX, 30, 0xe6},
	{"avx512vl", 7, EBX, 31, 0xe6},
	{"lahf_lm", 0x80000001, ECX, 0, 0},
	{"abm", 0x80000001, ECX, 5, 0},
};

static uint32_t saved_state(void)
{
	uint32_t r[4], low, high;
	if (!__get_cpuid(1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) || !(r[ECX] & bit_OSXSAVE))
		return 0;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

const char *processor_flags(struct arena *a)
{
	struct buf b = {0};
	uint32_t state = saved_state(), leaf = 0, r[4] = {0};
	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		const struct feature *f = &features[i];
		if (f->leaf != leaf && !__get_cpuid_count(f->leaf, 0, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
			memset(r, 0, sizeof r);
		leaf = f->leaf;
		if (r[f->reg] >> f->bit & 1 && (state & f->state) == f->state)
			buf_fmt(&b, "%s%s", b.len ? " " : "", f->name);
	}
	const char *text = arena_strndup(a, b.ptr, b.len);
	buf_free(&b);
	return text;
}

#else

const char *processor_flags(struct arena *a)
{
	(void)a;
	return NULL;
}

#endif
