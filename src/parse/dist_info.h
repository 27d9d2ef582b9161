/* The files that describe an installed Python distribution: METADATA and PKG-INFO, requires.txt of an egg-info, RECORD,
 * direct_url.json, .pth and .egg-link, pyvenv.cfg, and the names of the directories that hold them.
 *
 * Pure: bytes in, structs out. Slices point into the text handed in, which must live as long; what had to be unescaped or joined is
 * in the arena.
 */
#ifndef PARSE_DIST_INFO_H
#define PARSE_DIST_INFO_H

#include "base/str.h"

/* -- METADATA, PKG-INFO ------------------------------------------------------------------------------------------------- */

#define PARSE_DIST_REQUIREMENTS_MAX 4096

struct dist_metadata {
	struct str name, version, requires_python;
	struct str *requires; /* Requires-Dist, each as written, continuation lines joined */
	size_t requires_count;
	bool complete; /* the end of the headers was seen: a longer text would say nothing more */
};

/* Reads the headers, up to the blank line. 0; -EINVAL when there is no header at all; -E2BIG. */
int parse_dist_metadata(struct arena *a, struct str text, struct dist_metadata *ret);

/* requires.txt: lines of requirements below "[extra:marker]" sections, given back as Requires-Dist would say it. */
int parse_dist_requires_txt(struct arena *a, struct str text, struct str **ret, size_t *ret_count);

/* "torch-2.1.0+cu121.dist-info" → name and version; "X.egg-info", "X-1.0-py3.11.egg-info" too. False: not the name of any metadata.
 * *ret_version may come out empty. */
enum dist_kind { DIST_INFO, EGG_INFO };
bool parse_dist_directory(struct str directory, enum dist_kind *ret_kind, struct str *ret_name, struct str *ret_version);

/* -- RECORD ------------------------------------------------------------------------------------------------------------- */

struct dist_record {
	struct str path;      /* relative to the site directory, or absolute */
	struct str algorithm; /* "sha256"; empty: no hash */
	struct str digest;    /* urlsafe base64 without padding */
	bool has_size;
	uint64_t size;
};

/* Takes the next entry off *rest. 1, 0 at the end, -EINVAL for a line that is none (it is skipped; go on). */
int parse_dist_record(struct arena *a, struct str *rest, struct dist_record *ret);

/* What a RECORD says of the wheel's own files, as one digest: the same for every installation of the same wheel, by pip or uv, wherever it
 * lies. Left out is what an installer writes itself (INSTALLER, REQUESTED, direct_url.json, scripts in bin, compiled files).
 * "sha256=<urlsafe base64>" in the arena; NULL: it names no file with a hash, or is too large. */
const char *parse_dist_record_digest(struct arena *a, struct str record);

/* -- small files -------------------------------------------------------------------------------------------------------- */

struct dist_direct_url {
	struct str url;
	bool editable, directory;
	struct str vcs, commit; /* of version control: "git" */
	struct str sha256;      /* of an archive, hex; empty: not said */
	struct str subdirectory;
};

int parse_dist_direct_url(struct arena *a, struct str text, struct dist_direct_url *ret);

enum dist_pth { DIST_PTH_END, DIST_PTH_NOTHING, DIST_PTH_PATH, DIST_PTH_CODE };

/* Takes the next line of a .pth file off *rest: a path to add, a line of code that Python executes, or nothing. */
enum dist_pth parse_dist_pth(struct str *rest, struct str *ret);

struct dist_venv {
	struct str home, version, creator; /* creator: uv, virtualenv or empty (venv) */
	bool system_site;
};

void parse_dist_pyvenv(struct str text, struct dist_venv *ret);

/* version.py of PyTorch and its companions: `name = 'text'`, `name: Optional[str] = "text"`. 1 a text, 0 None, -ENOENT not there. The last
 * one counts. */
int parse_dist_assignment(struct str text, const char *name, struct str *ret);

#endif
