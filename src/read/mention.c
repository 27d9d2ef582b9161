/* A version of PyTorch or of the driver that somebody wrote into a report by hand: "torch 2.5.1+cu124, RTX 4090", "PyTorch version: 2.3.0",
 * "env: python 3.10, torch==2.4.1". Only what states a version counts; a requirement, a wheel's name or what something was built for does
 * not. Tools' own output tells more and comes first.
 */
#include "read/fill.h"
#include "read/read.h"

#define LINE_MAX_BYTES 240

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/' ||
		c == '[';
}

/* The next sentence of a line: some paste whole paragraphs as one line. */
static bool next_sentence(struct str *rest, struct str *ret)
{
	static const char *const ends[] = {". ", "? ", "! ", "; ", "。", "；", "？", "！", "，"};
	size_t end = rest->len, skip = 0;
	if (!rest->len)
		return false;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		size_t at = str_find(*rest, ends[i], 0);
		if (at < end) {
			end = at;
			skip = strlen(ends[i]);
		}
	}
	*ret = str_trim(str_slice(*rest, 0, end));
	*rest = str_skip(*rest, end + skip);
	return true;
}

/* The words around it say that another version is spoken of. */
static bool speaks_of_another(struct str line)
{
	static const char *const words[] = {"require", "depend", "Collecting", "ninstall", "xisting install", "onflict", "uilt for",
		"uilt with", "compiled", "with CUDA", "ould not find", "incompatible", "atching distribution", "pip install",
		"conda install", "uv add", "upgrade", "downgrade", "==>", "->", ">=", "<", "instead", "works", "worked", "rom versions",
		"需要", "要求", "升级", "降级", "换成", "依赖", "编译"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (str_has(line, words[i]))
			return true;
	return false;
}

/* The version after the name at `at`: " 2.5.1+cu124", "==2.5.1", " version: 2.5.1". */
static bool version_after(struct str line, size_t at, struct str *ret)
{
	struct str rest = str_skip(line, at);
	size_t n = 0, dots = 0;
	if (str_starts(rest, " version"))
		rest = str_skip(rest, 8);
	while (n < rest.len && n < 4 && (rest.ptr[n] == ' ' || rest.ptr[n] == ':' || rest.ptr[n] == '='))
		n++;
	if (!n)
		return false;
	rest = str_skip(rest, n);
	n = 0;
	while (n < rest.len && (is_name_char(rest.ptr[n]) || rest.ptr[n] == '+') && rest.ptr[n] != '/' && rest.ptr[n] != '[')
		n++;
	while (n && rest.ptr[n - 1] == '.')
		n--;
	*ret = str_slice(rest, 0, n);
	for (size_t i = 0; i < n; i++)
		dots += rest.ptr[i] == '.';
	return dots >= 2 && read_is_version(*ret) &&
		(n == rest.len || rest.ptr[n] == ' ' || rest.ptr[n] == ',' || rest.ptr[n] == ';' || rest.ptr[n] == ')' ||
			rest.ptr[n] == '.' || (unsigned char)rest.ptr[n] >= 0x80 /* a Chinese comma */);
}

/* "with torch 2.5.1", "I have PyTorch 2.3.0": the word before it says that this is the one in use. */
static bool states_use(struct str before)
{
	static const char *const words[] = {"with", "using", "running", "run", "have", "has", "installed", "pulled", "got", "on"};
	struct str s = str_trim(before);
	size_t n = 0;
	while (n < s.len && is_name_char(s.ptr[s.len - 1 - n]))
		n++;
	struct str word = str_skip(s, s.len - n);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (str_is(word, words[i]))
			return true;
	static const char *const moves[] = {
		"moved to", "moving to", "switched to", "switching to", "updated to", "updating to", "upgrading to"};
	for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
		if (str_ends(s, moves[i]))
			return true;
	return false;
}

static size_t torch_mention(const struct read_input *in, struct facts *f, struct str line)
{
	static const char *const names[] = {"pytorch", "PyTorch", "torch", "Torch"};
	struct str version;
	if (line.len > LINE_MAX_BYTES || speaks_of_another(line))
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		size_t at = str_find(line, names[i], 0);
		if (at == SIZE_MAX || (at > 0 && is_name_char(line.ptr[at - 1])) || !version_after(line, at + strlen(names[i]), &version))
			continue;
		/* In the middle of a sentence only what cannot be anything else: a version with its build. */
		bool begins = at == 0 || states_use(str_slice(line, 0, at)) ||
			(at >= 2 && line.ptr[at - 1] == ' ' &&
				(line.ptr[at - 2] == ',' || line.ptr[at - 2] == ':' || line.ptr[at - 2] == '-' || line.ptr[at - 2] == '*' ||
					line.ptr[at - 2] == '+'));
		if (!begins && str_find_char(version, '+', 0) == SIZE_MAX)
			continue;
		read_torch_version(f, version, read_origin(f, in, 0));
		return 1;
	}
	return 0;
}

/* "显卡驱动 470.82.01", "driver version: 535.129.03", "NVIDIA driver 515.65.01": a number of three digits, a dot and two or three more. */
static size_t driver_mention(const struct read_input *in, struct facts *f, struct str line)
{
	static const char *const names[] = {
		"river version", "river Version", "显卡驱动", "驱动版本", "NVIDIA driver", "Nvidia driver", "nvidia driver", "驱动"};
	static const char *const fill[] = {"版本", "：", "是", "为"};
	if (line.len > LINE_MAX_BYTES || speaks_of_another(line) || str_has(line, "least") || str_has(line, "minimum") ||
		str_has(line, "needs") || str_has(line, "至少") || str_has(line, "以上") || str_has(line, "升级"))
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		size_t at = str_find(line, names[i], 0), n = 0, dots = 0;
		if (at == SIZE_MAX)
			continue;
		struct str rest = str_skip(line, at + strlen(names[i]));
		while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == ':' || rest.ptr[0] == '=' || rest.ptr[0] == '`'))
			rest = str_skip(rest, 1);
		for (n = 0; n < sizeof fill / sizeof fill[0]; n++)
			if (str_starts(rest, fill[n]))
				rest = str_trim(str_skip(rest, strlen(fill[n])));
		for (n = 0; n < rest.len && ((rest.ptr[n] >= '0' && rest.ptr[n] <= '9') || rest.ptr[n] == '.'); n++)
			dots += rest.ptr[n] == '.';
		while (n && rest.ptr[n - 1] == '.')
			n--, dots--;
		if (n < 6 || dots < 1 || rest.ptr[3] != '.')
			continue;
		struct facts_row *driver = read_driver(f, "nvidia");
		read_fill_str(driver, driver__version, str_slice(rest, 0, n), read_origin(f, in, 0));
		return 1;
	}
	return 0;
}

/* A GPU that somebody names: "RTX 4090", "GTX 1080 Ti", "2080Ti", "Tesla K80", "H100". `at` is where the name begins. */
static size_t gpu_name(struct arena *a, struct str line, size_t at, struct str *ret)
{
	static const char *const series[] = {"RTX", "GTX", "Tesla", "Quadro"};
	static const char *const alone[] = {
		"A100", "A800", "H100", "H200", "H800", "GB200", "B200", "V100", "P100", "L40S", "A10G", "A6000", "A5000", "A4000"};
	static const char *const number[] = {"1080", "2080", "3080", "3090", "4080", "4090", "5080", "5090"};
	struct str rest = str_skip(line, at), word;
	for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
		if (!str_starts(rest, series[i]))
			continue;
		struct str tail = str_trim(str_skip(rest, strlen(series[i])));
		size_t n = 0;
		while (n < tail.len && n < 6 &&
			((tail.ptr[n] >= '0' && tail.ptr[n] <= '9') || (tail.ptr[n] >= 'A' && tail.ptr[n] <= 'Z')) &&
			!str_starts(str_skip(tail, n), "Ti"))
			n++;
		if (n < 2 || n > 5)
			return 0;
		word = str_slice(tail, 0, n);
		bool ti = str_starts(str_trim(str_skip(tail, n)), "Ti");
		*ret = str_of(arena_printf(a, "%s %.*s%s", series[i], (int)n, word.ptr, ti ? " Ti" : ""));
		return strlen(series[i]) + n;
	}
	for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
		if (str_starts(rest, alone[i]) &&
			(rest.len == strlen(alone[i]) || !is_name_char(rest.ptr[strlen(alone[i])]) || rest.ptr[strlen(alone[i])] == '.')) {
			*ret = str_of(alone[i]);
			return strlen(alone[i]);
		}
	for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
		struct str tail = str_skip(rest, 4);
		bool ti = str_starts(str_trim(tail), "Ti") || str_starts(str_trim(tail), "ti");
		if (!str_starts(rest, number[i]) ||
			(at && (line.ptr[at - 1] == ':' || line.ptr[at - 1] == '=' || line.ptr[at - 1] == '.')) ||
			(tail.len && !ti && (is_name_char(tail.ptr[0]) || tail.ptr[0] == ':') && tail.ptr[0] != '.'))
			continue;
		*ret = str_of(arena_printf(a, "%s %s%s", number[i][0] == '1' ? "GTX" : "RTX", number[i], ti ? " Ti" : ""));
		return 4;
	}
	return 0;
}

/* The sentence is about a GPU on which it works, or one that is not here. */
static bool another_gpu(struct str line)
{
	static const char *const words[] = {"works", "worked", "is fine", "is OK", "is ok", "runs fine", "no problem", "buy", "instead",
		"other machine", "another", "would", "should", "support", "require", "没问题", "正常", "支持", "换成", "打算"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (str_has(line, words[i]))
			return true;
	return false;
}

static bool gpu_mention(const struct read_input *in, struct facts *f, struct str line)
{
	bool found = false;
	if (line.len > LINE_MAX_BYTES || another_gpu(line))
		return false;
	for (size_t at = 0; at < line.len;) {
		struct str name;
		bool begins = at == 0 || !is_name_char(line.ptr[at - 1]) || line.ptr[at - 1] == '/' ||
			((line.ptr[at - 1] == 'x' || line.ptr[at - 1] == 'X') && at > 1 && line.ptr[at - 2] >= '1' &&
				line.ptr[at - 2] <= '9');
		size_t n = begins ? gpu_name(f->arena, line, at, &name) : 0;
		if (n) {
			facts_str(facts_add(f, TABLE_mention), mention__gpu, name, read_origin(f, in, 0));
			found = true;
		}
		at += n ? n : 1;
	}
	return found;
}

/* One sentence may state all of them. */
static size_t read_mention(const struct read_input *in, struct facts *f)
{
	struct str rest = in->line[0].text, sentence;
	bool found = false;
	while (next_sentence(&rest, &sentence)) {
		size_t torch = torch_mention(in, f, sentence), driver = driver_mention(in, f, sentence);
		bool gpu = gpu_mention(in, f, sentence);
		found = found || torch || driver || gpu;
	}
	return found;
}

static const char *const mention_triggers[] = {"torch 1.", "torch 2.", "Torch 1.", "Torch 2.", "torch==1.", "torch==2.", "torch: 1.",
	"torch: 2.", "Torch: 1.", "Torch: 2.", "orch version", "river version", "river Version", "驱动", "NVIDIA driver ", "Nvidia driver ",
	"nvidia driver ", "RTX ", "GTX ", "RTX2", "RTX3", "RTX4", "RTX5", "RTXA", "GTX1", "GTX9", "Tesla ", "Quadro ", "A100", "A800",
	"H100", "H200", "H800", "B200", "V100", "P100", "L40S", "A10G", "A6000", "A5000", "A4000", "1080", "2080", "3080", "3090", "4080",
	"4090", "5080", "5090", NULL};
const struct reader read_mention_reader = {"mention", mention_triggers, read_mention};
