#include "parse/elf_digest.h"

#include "base/version.h"

#define RODATA_MAX (64u << 20)
#define TEXT_MAX (4u << 20)
#define SYMBOLS_MAX 4000u
#define READ_LINES_MAX 100000u

static const char *const interesting[] = {"nccl", "__nvJitLink", "nvJitLink", "iJIT_", "cuTensorMap", "cublasLt", "PyInit_"};
static const char *const backends[] = {"NCCL", "Gloo", "MPI", "UCC", "XCCL"};
#define BACKENDS (sizeof backends / sizeof *backends)

static bool breaks_line(char c, bool blanks)
{
	return (unsigned char)c < 0x20 || c == 0x7f || (!blanks && c == ' ');
}

/* A word of a file in a line of text: bytes that would break the line become '?'. */
static void put_word(struct buf *b, const char *s, bool blanks)
{
	for (;;) {
		size_t n = 0;
		while (!breaks_line(s[n], blanks))
			n++;
		buf_add(b, s, n);
		if (!s[n])
			return;
		buf_char(b, '?');
		s += n + 1;
	}
}

static void put_line(struct buf *b, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	buf_text(b, key);
	buf_char(b, ' ');
	put_word(b, value, true);
	buf_char(b, '\n');
}

/* -- making: the dynamic section ---------------------------------------------------------------------------------------------- */

static void put_header(const struct elf *e, struct buf *b)
{
	if (e->bits == 32)
		buf_text(b, "class 32\n");
	if (e->bits) {
		const char *machine = parse_elf_machine_name(e->machine);
		if (machine)
			put_line(b, "machine", machine);
		else
			buf_fmt(b, "machine em-%u\n", e->machine);
	}
	if (e->type == 2)
		buf_text(b, "type exec\n");
	put_line(b, "problem", parse_elf_problem_name(e->problem));
}

static void put_versions(const struct elf *e, struct buf *b)
{
	struct version highest = {0};
	const char *best = NULL;
	for (size_t i = 0; i < e->need_count; i++) {
		buf_text(b, "verneed ");
		put_word(b, e->needs[i].library, false);
		buf_char(b, ' ');
		put_word(b, e->needs[i].version, false);
		buf_text(b, e->needs[i].weak ? " weak\n" : "\n");
	}
	for (size_t i = 0; i < e->define_count; i++) {
		struct version v;
		put_line(b, "verdef", e->defines[i].version);
		if (str_starts(str_of(e->defines[i].version), "GLIBCXX_") && version_parse(str_of(e->defines[i].version + 8), &v) == 0 &&
			(!best || version_compare(&v, &highest) > 0)) {
			highest = v;
			best = e->defines[i].version + 8;
		}
	}
	put_line(b, "glibcxx_max", best);
}

static void put_dynamic(const struct elf *e, struct buf *b)
{
	put_line(b, "interp", e->interp);
	put_line(b, "soname", e->soname);
	for (size_t i = 0; i < e->needed_count; i++)
		put_line(b, "needed", e->needed[i]);
	put_line(b, "rpath", e->rpath);
	put_line(b, "runpath", e->runpath);
	if (e->flags_1 & ELF_FLAG_1_NODEFLIB)
		buf_text(b, "nodeflib 1\n");
	if (e->flags & ELF_FLAG_STATIC_TLS)
		buf_text(b, "static_tls 1\n");
	put_line(b, "build_id", e->build_id);
	put_versions(e, b);
}

/* -- making: symbols ------------------------------------------------------------------------------------------------------------ */

struct symbols {
	bool python, nccl, nccl_defined, torch;
	int cxx11;
	bool backend_defined[BACKENDS], backend_undefined[BACKENDS];
};

static bool is_interesting(const char *name)
{
	/* Quick, by the first two letters: files have many names. */
	char second = name[0] ? name[1] : '\0';
	switch (name[0]) {
	case 'n':
		if (second != 'c' && second != 'v')
			return false;
		break;
	case '_':
		if (second != '_')
			return false;
		break;
	case 'c':
		if (second != 'u')
			return false;
		break;
	case 'i':
		if (second != 'J')
			return false;
		break;
	case 'P':
		if (second != 'y')
			return false;
		break;
	default: return false;
	}
	for (size_t i = 0; i < sizeof interesting / sizeof *interesting; i++)
		if (strncmp(name, interesting[i], strlen(interesting[i])) == 0)
			return true;
	return false;
}

/* A C++ symbol of PyTorch's own namespaces: _ZN3c10..., _ZNK2at... The name begins with _Z. */
static bool is_torch_symbol(const char *name)
{
	if (name[2] != 'N')
		return false;
	name += name[3] == 'K' ? 4 : 3;
	switch (name[0]) {
	case '2': return strncmp(name, "2at", 3) == 0;
	case '3': return strncmp(name, "3c10", 4) == 0;
	case '5': return strncmp(name, "5torch", 6) == 0;
	default: return false;
	}
}

static void note_cxx11(struct symbols *s, const char *name)
{
	if (s->cxx11 == 1)
		return;
	if (strstr(name, "__cxx11"))
		s->cxx11 = 1;
	else if (s->cxx11 < 0 &&
		(strstr(name, "KSs") || strstr(name, "ESs") || strstr(name, "_Ss"))) /* std::string as it was mangled before */
		s->cxx11 = 0;
}

static void put_symbol(struct buf *b, const struct elf_symbol *sym)
{
	buf_text(b, sym->defined ? "defines " : "undefined ");
	put_word(b, sym->name, false);
	if (sym->version) {
		buf_char(b, ' ');
		put_word(b, sym->version, false);
	}
	buf_char(b, '\n');
}

static bool is_of_family(const char *library)
{
	static const char *const families[] = {
		"libnccl", "librccl", "libtorch", "libc10", "libcu", "libnv", "libmkl", "libitt", "libpython", "libnpp"};
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (strncmp(library, families[i], strlen(families[i])) == 0)
			return true;
	return false;
}

/* Can it have names of interest at all? A library with a name of its own that neither belongs to CUDA, NCCL or PyTorch nor asks for one of
 * these has none; extension modules and plugins have no name of their own. */
static bool may_have_names(const struct elf *e)
{
	if (!e->soname || is_of_family(e->soname))
		return true;
	for (size_t i = 0; i < e->needed_count; i++)
		if (is_of_family(e->needed[i]))
			return true;
	return false;
}

/* Where names of interest lie among the dynamic strings. A linker may let a name be the tail of another one (so it is with NCCL, whose
 * functions have a second name with a p before it): a hit is a range, and the symbol that begins in it says the rest. */
struct hit {
	size_t from, to; /* offsets at which a name of interest may begin */
	int backend;     /* -1: a plain name */
};

struct hits {
	struct hit *all;
	size_t count, cap;
	uint64_t *granules; /* a bit for each 64 bytes of the strings with a hit: most symbols are asked about no further */
};

static void add_hit(const struct elf *e, struct hits *h, size_t from, size_t to, int backend)
{
	if (!h->granules)
		h->granules = arena_array(e->arena, e->dynstr.len / 4096 + 1, sizeof *h->granules);
	h->all = arena_grow(e->arena, h->all, h->count, &h->cap, sizeof *h->all);
	h->all[h->count++] = (struct hit){from, to, backend};
	for (size_t g = from / 64; g <= to / 64; g++)
		h->granules[g / 64] |= 1ull << g % 64;
}

/* One pass over the names in the order in which they lie, which spares most libraries the table of symbols and the leaps from it. */
static void find_plain_names(const struct elf *e, struct symbols *s, struct hits *h)
{
	if (e->dynstr.len == 0)
		return;
	const char *start = e->dynstr.ptr, *p = start, *end = start + e->dynstr.len;
	for (; p < end; p += strlen(p) + 1) {
		if (p[0] == '_' && p[1] == 'Z') {
			if (p[2] != 'N')
				continue;
			if (is_torch_symbol(p)) {
				s->torch = true;
				note_cxx11(s, p);
			} else if (p[3] == '4' && strncmp(p, "_ZN4c10d", 8) == 0) {
				s->torch = true;
			}
		} else if (is_interesting(p)) {
			add_hit(e, h, (size_t)(p - start), (size_t)(p - start), -1);
		} else if (p[0] == 'p' && strncmp(p, "pnccl", 5) == 0) {
			add_hit(e, h, (size_t)(p + 1 - start), (size_t)(p + 1 - start), -1);
		}
	}
}

/* Mangled names of a process group: wherever in the name its class stands. */
static void find_backends(const struct elf *e, struct hits *h)
{
	const char *start = e->dynstr.ptr, *end = start + e->dynstr.len, *p = start;
	for (; (p = memmem(p, (size_t)(end - p), "ProcessGroup", 12)); p += 12) {
		if (p - start < 8 || memcmp(p - 8, "N4c10d", 6) != 0)
			continue;
		for (size_t i = 0; i < BACKENDS; i++) {
			size_t n = strlen(backends[i]);
			const char *number = n == 4 ? "16" : "15";
			if (memcmp(p - 2, number, 2) != 0 || strncmp(p + 12, backends[i], n) != 0)
				continue;
			const char *name = memrchr(start, '\0', (size_t)(p - start));
			add_hit(e, h, name ? (size_t)(name + 1 - start) : 0, (size_t)(p - 8 - start), (int)i);
		}
	}
}

/* Has it a version that only its symbols tell? */
static bool has_versioned_name(const struct elf *e)
{
	static const char *const versioned[] = {"libcudnn", "libcufft.so", "libcusolver.so", "libcurand.so", "libnvrtc.so",
		"libnvJitLink.so"}; /* put_library_version looks up others */
	for (size_t i = 0; i < sizeof versioned / sizeof *versioned; i++)
		if (e->soname && strncmp(e->soname, versioned[i], strlen(versioned[i])) == 0)
			return true;
	return false;
}

static void take_symbol(const struct elf *e, size_t index, struct symbols *s, size_t *written, struct buf *b)
{
	struct elf_symbol sym;
	if (!parse_elf_symbol(e, index, &sym) || sym.bind == 0 || (!sym.defined && sym.bind == 2))
		return; /* local, or weak and perhaps never there */
	s->python |= sym.defined && strncmp(sym.name, "PyInit_", 7) == 0;
	s->nccl |= strncmp(sym.name, "nccl", 4) == 0;
	s->nccl_defined |= sym.defined && strcmp(sym.name, "ncclGetVersion") == 0;
	if ((*written)++ < SYMBOLS_MAX)
		put_symbol(b, &sym);
}

static int compare_hits(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* A symbol whose name begins at `at`, where there are hits nearby. */
static void take_hits(const struct elf *e, const struct hits *h, size_t index, size_t at, struct symbols *s, size_t *written, struct buf *b)
{
	size_t low = 0, high = h->count;
	const char *name = e->dynstr.ptr + at;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (h->all[middle].to < at)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < h->count && h->all[low].from <= at; low++) {
		if (h->all[low].backend < 0)
			take_symbol(e, index, s, written, b);
		else if (name[0] == '_' && name[1] == 'Z')
			(parse_u16(e->symtab + index * 24 + 6) ? s->backend_defined : s->backend_undefined)[h->all[low].backend] = true;
	}
}

static void put_marks(const struct symbols *s, struct buf *b)
{
	for (size_t i = 0; i < BACKENDS; i++) {
		if (s->backend_defined[i])
			buf_fmt(b, "defines c10d::ProcessGroup%s\n", backends[i]);
		if (s->backend_undefined[i])
			buf_fmt(b, "undefined c10d::ProcessGroup%s\n", backends[i]);
	}
	if (s->cxx11 >= 0)
		buf_fmt(b, "cxx11 %d\n", s->cxx11);
}

static int put_symbols(struct elf *e, struct symbols *s, struct buf *b)
{
	struct hits h = {0};
	size_t written = 0;
	bool versioned = has_versioned_name(e);
	if (!versioned && !may_have_names(e))
		return 0;
	int r = parse_elf_names(e);
	if (r < 0)
		return r;
	find_plain_names(e, s, &h);
	if (s->torch)
		find_backends(e, &h);
	if (h.count || versioned)
		r = parse_elf_symbols(e);
	if (r < 0)
		return r;
	if (h.count > 1)
		qsort(h.all, h.count, sizeof *h.all, compare_hits);
	for (size_t i = 1; i < e->symbol_count && e->symtab && h.count; i++) {
		size_t at = parse_u32(e->symtab + i * 24);
		if (at && at < e->dynstr.len && h.granules[at / 4096] >> (at / 64) % 64 & 1)
			take_hits(e, &h, i, at, s, &written, b);
	}
	put_marks(s, b);
	return 0;
}

/* -- making: constants --------------------------------------------------------------------------------------------------------- */

/* Read-only data: .rodata, or without section headers the largest segment that is not writable (older linkers put it beside the code). */
static struct str read_only_data(const struct elf *e)
{
	struct str data = str_n("", 0);
	const struct elf_section *s = parse_elf_section(e, ".rodata");
	if (s) {
		if (s->type != 8)
			parse_elf_bytes(e, s->offset, s->size, RODATA_MAX, &data);
		return data;
	}
	for (size_t i = 0; i < e->segment_count && !e->section_count; i++) {
		const struct elf_segment *p = &e->segments[i];
		struct str more;
		if (p->type == 1 && !(p->flags & 2) && p->file_size > data.len &&
			parse_elf_bytes(e, p->offset, p->file_size, RODATA_MAX, &more) == 0)
			data = more;
	}
	return data;
}

static bool has_exact(struct str data, const char *text)
{
	char needle[64];
	size_t n = strlen(text);
	if (n + 2 > sizeof needle)
		return false;
	needle[0] = '\0';
	memcpy(needle + 1, text, n + 1);
	return data.len && memmem(data.ptr, data.len, needle, n + 2);
}

static bool is_version_char(char c)
{
	return (c >= '0' && c <= '9') || c == '.';
}

static struct str version_at(struct str s)
{
	size_t n = 0;
	while (n < s.len && n < 24 && is_version_char(s.ptr[n]))
		n++;
	while (n && s.ptr[n - 1] == '.')
		n--;
	return str_slice(s, 0, n);
}

/* "NCCL version 2.28.9+cuda13.0", "NCCL version 2.28.9 compiled with CUDA 13.0", "RCCL version 2.22.3+hip6.4 ..." */
static bool put_collective(struct str data, const char *mark, const char *key, const char *with, const char *with_key, struct buf *b)
{
	for (size_t at = str_find(data, mark, 0); at != SIZE_MAX; at = str_find(data, mark, at + 1)) {
		struct str rest = str_slice(data, at + strlen(mark), at + strlen(mark) + 64);
		rest = str_slice(rest, 0, str_find_char(rest, '\0', 0));
		struct str version = version_at(rest);
		if (version.len < 3 || !str_has(version, "."))
			continue;
		buf_fmt(b, "%s %.*s", key, (int)version.len, version.ptr);
		size_t tool = str_find(rest, with, version.len);
		struct str toolkit = tool == SIZE_MAX
			? str_find(rest, "CUDA ", 0) == SIZE_MAX ? str_n("", 0) : version_at(str_skip(rest, str_find(rest, "CUDA ", 0) + 5))
			: version_at(str_skip(rest, tool + strlen(with)));
		if (toolkit.len)
			buf_fmt(b, " %s %.*s", with_key, (int)toolkit.len, toolkit.ptr);
		buf_char(b, '\n');
		return true;
	}
	return false;
}

/* The constant that a small x86-64 function stores through its first pointer argument (c7 07 imm32), and through the second (c7 06). */
static bool stored_constant(const struct elf *e, const char *symbol, uint32_t *ret_first, uint32_t *ret_second)
{
	struct elf_symbol sym;
	uint64_t off, left;
	unsigned char code[64] = {0};
	if (e->machine != ELF_X86_64 || !parse_elf_find_symbol(e, symbol, true, &sym) || !parse_elf_offset(e, sym.value, &off, &left))
		return false;
	uint64_t n = sym.size && sym.size < sizeof code ? sym.size : sizeof code;
	if (n > left)
		n = left;
	if (parse_source_read(e->source, off, code, (size_t)n) < 0)
		return false;
	bool found = false;
	for (size_t i = 0; i + 6 <= n; i++) {
		if (code[i] != 0xc7)
			continue;
		if (code[i + 1] == 0x07 && !found) {
			*ret_first = parse_u32(code + i + 2);
			found = true;
		} else if (code[i + 1] == 0x06 && ret_second) {
			*ret_second = parse_u32(code + i + 2);
		}
	}
	return found;
}

static void put_nccl(const struct elf *e, struct str data, struct buf *b)
{
	uint32_t code;
	if (put_collective(data, "NCCL version ", "nccl", "cuda", "cuda", b) ||
		put_collective(data, "RCCL version ", "rccl", "hip", "hip", b))
		return;
	if (!stored_constant(e, "ncclGetVersion", &code, NULL) && !stored_constant(e, "pncclGetVersion", &code, NULL))
		return;
	if (code >= 10000 && code < 1000000)
		buf_fmt(b, "nccl %u.%u.%u\n", code / 10000, code / 100 % 100, code % 100);
	else if (code >= 1000 && code < 10000) /* up to 2.8 */
		buf_fmt(b, "nccl %u.%u.%u\n", code / 1000, code / 100 % 10, code % 100);
}

/* cuDNN's parts export their version as a constant of four bytes: 0x00091300 is 9.19.0 (cuDNN 9.19); decimal, as in CUDNN_VERSION, is taken
 * too. */
static bool put_cudnn_version(const struct elf *e, struct buf *b)
{
	static const char *const names[] = {"cudnn_graph_version", "cudnn_ops_infer_version", "cudnn_cnn_infer_version",
		"cudnn_adv_infer_version", "cudnn_ops_train_version", "cudnn_cnn_train_version", "cudnn_adv_train_version"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct elf_symbol sym;
		uint64_t off, left;
		unsigned char raw[4];
		if (!parse_elf_find_symbol(e, names[i], true, &sym) || sym.size != 4 || !parse_elf_offset(e, sym.value, &off, &left) ||
			left < 4 || parse_source_read(e->source, off, raw, 4) < 0)
			continue;
		uint32_t v = parse_u32(raw);
		if (v >> 16 >= 7 && v >> 16 < 100)
			buf_fmt(b, "version %u.%u.%u\n", v >> 16, v >> 8 & 0xff, v & 0xff);
		else if (v >= 7000 && v < 9000)
			buf_fmt(b, "version %u.%u.%u\n", v / 1000, v / 100 % 10, v % 100);
		else
			continue;
		return true;
	}
	return false;
}

/* cudaRuntimeGetVersion calls a function of the form: if (p) { *p = 13000; return 0; } which is no symbol. All of that form must agree. */
static void put_cudart_version(const struct elf *e, struct buf *b)
{
	const struct elf_section *s = parse_elf_section(e, ".text");
	struct str text;
	uint32_t version = 0;
	if (!s || e->machine != ELF_X86_64 || parse_elf_bytes(e, s->offset, s->size, TEXT_MAX, &text) < 0)
		return;
	for (size_t i = 0; i + 14 <= text.len; i++) {
		const unsigned char *p = (const unsigned char *)text.ptr + i;
		if (p[0] != 0x48 || p[1] != 0x85 || p[2] != 0xff || p[3] != 0x74 || p[5] != 0xc7 || p[6] != 0x07 || p[11] != 0x31 ||
			p[12] != 0xc0 || p[13] != 0xc3)
			continue;
		uint32_t v = parse_u32(p + 7);
		if (v < 9000 || v > 99990 || v % 10)
			continue;
		if (version && version != v)
			return;
		version = v;
	}
	if (version)
		buf_fmt(b, "version %u.%u\n", version / 1000, version / 10 % 100);
}

static void put_library_version(const struct elf *e, struct buf *b)
{
	static const struct {
		const char *soname, *symbol;
		bool two;
	} known[] = {
		{"libcufft.so", "cufftGetVersion", false},
		{"libcusolver.so", "cusolverGetVersion", false},
		{"libcurand.so", "curandGetVersion", false},
		{"libnvrtc.so", "nvrtcVersion", true},
		{"libnvJitLink.so", "nvJitLinkVersion", true},
	};
	struct str soname = str_of(e->soname ? e->soname : "");
	if (str_starts(soname, "libcudnn") && put_cudnn_version(e, b))
		return;
	if (str_starts(soname, "libcudart.so"))
		put_cudart_version(e, b);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		uint32_t first = 0, second = 0;
		if (!str_starts(soname, known[i].soname) || !stored_constant(e, known[i].symbol, &first, &second))
			continue;
		if (known[i].two && first < 1000 && second < 1000)
			buf_fmt(b, "version %u.%u\n", first, second);
		else if (!known[i].two && first >= 1000 && first < 1000000)
			buf_fmt(b, "version %u.%u.%u\n", first / 1000, first / 100 % 10, first % 100);
	}
}

/* What _import_array of NumPy's headers leaves in an extension: NumPy 2 asks for numpy._core first, NumPy 1 knows numpy.core only. */
static void put_numpy(struct str data, struct buf *b)
{
	if (!has_exact(data, "_ARRAY_API"))
		return;
	if (has_exact(data, "numpy._core._multiarray_umath") || has_exact(data, "numpy._core.multiarray"))
		buf_text(b, "numpy_abi 2\n");
	else if (has_exact(data, "numpy.core._multiarray_umath") || has_exact(data, "numpy.core.multiarray"))
		buf_text(b, "numpy_abi 1\n");
}

static void put_constants(const struct elf *e, const struct symbols *s, struct buf *b)
{
	static const char *const strings[] = {"ProcessGroupNCCL", "ProcessGroupGloo", "ProcessGroupMPI", "ProcessGroupUCC",
		"ProcessGroupXCCL", "_nccl_version", "_cuda_getArchFlags"};
	struct str soname = str_of(e->soname ? e->soname : "");
	bool torch_python = str_starts(soname, "libtorch_python");
	bool nccl = s->nccl_defined || str_starts(soname, "libnccl.so") || str_starts(soname, "librccl.so");
	bool extension = s->python && !e->interp &&
		!str_starts(soname, "libpython"); /* not the interpreter, which has many PyInit_ and large data */
	if (torch_python || nccl || extension) {
		struct str data = read_only_data(e);
		if (nccl)
			put_nccl(e, data, b);
		if (torch_python)
			for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
				if (has_exact(data, strings[i]))
					put_line(b, "string", strings[i]);
		if (torch_python || extension)
			put_numpy(data, b);
	}
	put_library_version(e, b);
}

/* -- making: GPU code ------------------------------------------------------------------------------------------------------------ */

static void put_code(const struct fatbin *f, struct buf *b)
{
	for (size_t i = 0; i < f->code_count; i++) {
		const struct fatbin_code *c = &f->codes[i];
		if (!c->entries)
			continue;
		if (c->kind == FATBIN_PTX)
			buf_fmt(b, "ptx %s %u.%u %llu\n", c->name, c->isa_major, c->isa_minor, (unsigned long long)c->entries);
		else
			buf_fmt(b, "%s %s %llu\n", parse_fatbin_kind_name(c->kind), c->name, (unsigned long long)c->entries);
	}
	if (f->hidden)
		buf_text(b, "gpu_code hidden\n");
	if (f->incomplete)
		buf_text(b, "gpu_code incomplete\n");
}

int parse_elf_digest_write(struct elf *e, const struct fatbin *code, unsigned what, struct buf *ret_text)
{
	put_header(e, ret_text);
	if (e->bits != 64 || e->big_endian)
		return 0;
	if (what & ELF_DIGEST_LINK) {
		struct symbols s = {.cxx11 = -1};
		put_dynamic(e, ret_text);
		int r = put_symbols(e, &s, ret_text);
		if (r < 0 && r != -ENODATA && r != -EFBIG)
			return r;
		put_constants(e, &s, ret_text);
	}
	if (code)
		put_code(code, ret_text);
	return 0;
}

int parse_elf_digest_make(const struct parse_source *source, unsigned what, struct buf *ret_text)
{
	struct arena *scratch = arena_new((size_t)2 << 30);
	struct elf e;
	struct fatbin *code = NULL;
	int r = parse_elf_open(scratch, source, &e);
	if (r == 0 && (what & ELF_DIGEST_CODE)) {
		code = arena_alloc(scratch, sizeof *code);
		r = parse_fatbin(&e, code);
	}
	if (r == 0)
		r = parse_elf_digest_write(&e, code, what, ret_text);
	arena_free(scratch);
	return r;
}

/* -- reading --------------------------------------------------------------------------------------------------------------------- */

enum { CAP_NEEDED, CAP_NEEDS, CAP_VERDEFS, CAP_SYMBOLS, CAP_STRINGS, CAP_CODES };

static void read_name(struct arena *a, const char ***list, size_t *count, size_t *cap, struct str value)
{
	*list = arena_grow(a, *list, *count, cap, sizeof **list);
	(*list)[(*count)++] = str_dup(a, value);
}

static void read_need(struct arena *a, struct elf_digest *d, struct str rest)
{
	struct str library, version, weak;
	if (!str_next_word(&rest, &library) || !str_next_word(&rest, &version))
		return;
	d->needs = arena_grow(a, d->needs, d->need_count, &d->caps[CAP_NEEDS], sizeof *d->needs);
	d->needs[d->need_count++] = (struct elf_need){
		str_dup(a, library), str_dup(a, version), str_next_word(&rest, &weak) && str_is(weak, "weak"), 0};
}

static void read_symbol(struct arena *a, struct elf_digest *d, struct str rest, bool defined)
{
	struct str name, version;
	if (!str_next_word(&rest, &name))
		return;
	d->symbols = arena_grow(a, d->symbols, d->symbol_count, &d->caps[CAP_SYMBOLS], sizeof *d->symbols);
	d->symbols[d->symbol_count++] = (struct elf_digest_symbol){
		str_dup(a, name), str_next_word(&rest, &version) ? str_dup(a, version) : NULL, defined};
}

static void read_code(struct arena *a, struct elf_digest *d, struct str rest, enum fatbin_kind kind)
{
	struct str name, isa = str_n(NULL, 0), count;
	int64_t entries = 1; /* a fixture may leave the number out */
	if (!str_next_word(&rest, &name))
		return;
	if (kind == FATBIN_PTX && str_next_word(&rest, &isa) && !str_has(isa, ".")) {
		str_to_int(isa, &entries);
		isa.ptr = NULL;
	}
	if (str_next_word(&rest, &count))
		str_to_int(count, &entries);
	if (entries < 1)
		return;
	d->codes = arena_grow(a, d->codes, d->code_count, &d->caps[CAP_CODES], sizeof *d->codes);
	d->codes[d->code_count++] = (struct elf_digest_code){kind, str_dup(a, name), isa.ptr ? str_dup(a, isa) : NULL, entries};
}

static void read_pair(struct arena *a, struct str rest, const char **ret_version, const char **ret_toolkit)
{
	struct str version, key, toolkit;
	if (!str_next_word(&rest, &version))
		return;
	*ret_version = str_dup(a, version);
	if (str_next_word(&rest, &key) && str_next_word(&rest, &toolkit))
		*ret_toolkit = str_dup(a, toolkit);
}

static int read_small(struct str value)
{
	return str_is(value, "0") ? 0 : str_is(value, "1") ? 1 : str_is(value, "2") ? 2 : -1;
}

/* Words with one text value. */
static const char **text_of(struct elf_digest *d, struct str key)
{
	const struct {
		const char *key;
		const char **value;
	} texts[] = {
		{"machine", &d->machine},
		{"interp", &d->interp},
		{"soname", &d->soname},
		{"rpath", &d->rpath},
		{"runpath", &d->runpath},
		{"build_id", &d->build_id},
		{"glibcxx_max", &d->glibcxx_max},
		{"version", &d->version},
		{"problem", &d->problem},
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (str_is(key, texts[i].key))
			return texts[i].value;
	return NULL;
}

static void read_statement(struct arena *a, struct elf_digest *d, struct str key, struct str value)
{
	const char **text;
	if (str_is(key, "verneed")) /* the many first */
		read_need(a, d, value);
	else if (str_is(key, "needed"))
		read_name(a, &d->needed, &d->needed_count, &d->caps[CAP_NEEDED], value);
	else if (str_is(key, "verdef"))
		read_name(a, &d->verdefs, &d->verdef_count, &d->caps[CAP_VERDEFS], value);
	else if (str_is(key, "defines") || str_is(key, "undefined"))
		read_symbol(a, d, value, str_is(key, "defines"));
	else if ((text = text_of(d, key)))
		*text = str_dup(a, value);
	else if (str_is(key, "string"))
		read_name(a, &d->strings, &d->string_count, &d->caps[CAP_STRINGS], value);
	else if (str_is(key, "sass"))
		read_code(a, d, value, FATBIN_SASS);
	else if (str_is(key, "ptx"))
		read_code(a, d, value, FATBIN_PTX);
	else if (str_is(key, "lto"))
		read_code(a, d, value, FATBIN_LTO);
	else if (str_is(key, "hsaco"))
		read_code(a, d, value, FATBIN_HSACO);
	else if (str_is(key, "nccl"))
		read_pair(a, value, &d->nccl, &d->nccl_cuda);
	else if (str_is(key, "rccl"))
		read_pair(a, value, &d->rccl, &d->rccl_hip);
	else if (str_is(key, "cxx11"))
		d->cxx11 = read_small(value);
	else if (str_is(key, "numpy_abi"))
		d->numpy_abi = read_small(value);
	else if (str_is(key, "class"))
		d->is_32bit = str_is(value, "32");
	else if (str_is(key, "type"))
		d->is_program = str_is(value, "exec");
	else if (str_is(key, "nodeflib"))
		d->nodeflib = str_is(value, "1");
	else if (str_is(key, "static_tls"))
		d->static_tls = str_is(value, "1");
	else if (str_is(key, "gpu_code")) {
		d->code_hidden |= str_is(value, "hidden");
		d->code_incomplete |= str_is(value, "incomplete");
	}
}

void parse_elf_digest_read(struct arena *a, struct str text, struct elf_digest *d)
{
	struct str line;
	for (unsigned lines = 0; lines < READ_LINES_MAX && str_next_line(&text, &line); lines++) {
		struct str key, value;
		line = str_trim(line);
		if (line.len && line.ptr[0] != '#' && str_split(line, ' ', &key, &value) && value.len)
			read_statement(a, d, key, value);
	}
}

/* -- asking ---------------------------------------------------------------------------------------------------------------------- */

bool parse_elf_digest_mentions(const struct elf_digest *d, const char *symbol)
{
	for (size_t i = 0; i < d->symbol_count; i++)
		if (strcmp(d->symbols[i].name, symbol) == 0)
			return true;
	return false;
}

bool parse_elf_digest_defines(const struct elf_digest *d, const char *symbol)
{
	for (size_t i = 0; i < d->symbol_count; i++)
		if (d->symbols[i].defined && strcmp(d->symbols[i].name, symbol) == 0)
			return true;
	return false;
}

bool parse_elf_digest_has_string(const struct elf_digest *d, const char *string)
{
	for (size_t i = 0; i < d->string_count; i++)
		if (strcmp(d->strings[i], string) == 0)
			return true;
	return false;
}

bool parse_elf_digest_has_verdef(const struct elf_digest *d, const char *version)
{
	for (size_t i = 0; i < d->verdef_count; i++)
		if (strcmp(d->verdefs[i], version) == 0)
			return true;
	return false;
}

const char *parse_elf_digest_highest_need(const struct elf_digest *d, const char *family)
{
	const char *best = NULL;
	struct version highest = {0}, v;
	for (size_t i = 0; i < d->need_count; i++) {
		const char *version = d->needs[i].version;
		if (!str_starts(str_of(version), family) || version_parse(str_of(version + strlen(family)), &v) < 0)
			continue;
		if (!best || version_compare(&v, &highest) > 0) {
			highest = v;
			best = version + strlen(family);
		}
	}
	return best;
}

bool parse_elf_version_of_name(const char *path, char ret[32])
{
	const char *base = strrchr(path, '/');
	const char *at = strstr(base ? base : path, ".so.");
	if (!at)
		return false;
	struct str version = str_of(at + 4);
	size_t dots = 0;
	for (size_t i = 0; i < version.len; i++) {
		if (!is_version_char(version.ptr[i]))
			return false;
		dots += version.ptr[i] == '.';
	}
	if (!dots || version.len >= 32 || version.ptr[0] == '.' || version.ptr[version.len - 1] == '.')
		return false;
	memcpy(ret, version.ptr, version.len);
	ret[version.len] = '\0';
	return true;
}
