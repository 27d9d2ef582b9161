#include "host/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/door.h"

struct host_file {
	int fd;
	uint64_t size;
	uint64_t device, inode;
};

struct digest_of_file { /* live: what was made of a file */
	struct digest_of_file *next;
	const char *kind;
	uint64_t device, inode;
	bool done; /* until then somebody is at it */
	int error;
	struct buf text;
};

#define DIGEST_BUCKETS 256

struct digests {
	pthread_mutex_t lock;
	pthread_cond_t done;
	struct digest_of_file *bucket[DIGEST_BUCKETS];
};

double host_clock_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* -- memory ------------------------------------------------------------------------------------------------------------ */

static size_t hash_of(enum answer_kind kind, const char *subject)
{
	uint64_t x = 1469598103934665603u ^ (uint64_t)kind;
	for (const unsigned char *p = (const unsigned char *)subject; *p; p++)
		x = (x ^ *p) * 1099511628211u;
	return (size_t)(x ^ x >> 29);
}

struct answer *memory_find(const struct memory *m, enum answer_kind kind, const char *subject)
{
	if (!m->buckets)
		return NULL;
	for (struct answer *a = m->bucket[hash_of(kind, subject) % m->buckets]; a; a = a->next_in_bucket)
		if (a->kind == kind && strcmp(a->subject, subject) == 0)
			return a;
	return NULL;
}

static void memory_rehash(struct host *h, size_t buckets)
{
	struct memory *m = &h->memory;
	m->bucket = arena_array(h->arena, buckets, sizeof *m->bucket);
	m->buckets = buckets;
	for (size_t i = 0; i < m->count; i++) {
		size_t k = hash_of(m->all[i]->kind, m->all[i]->subject) % buckets;
		m->all[i]->next_in_bucket = m->bucket[k];
		m->bucket[k] = m->all[i];
	}
}

struct answer *memory_put(struct host *h, enum answer_kind kind, const char *subject)
{
	struct memory *m = &h->memory;
	struct answer *a = memory_find(m, kind, subject);
	if (a) {
		*a = (struct answer){.kind = kind, .subject = a->subject, .next_in_bucket = a->next_in_bucket};
		return a;
	}
	if (m->count >= m->buckets * 2)
		memory_rehash(h, m->buckets ? m->buckets * 4 : 1024);
	a = arena_alloc(h->arena, sizeof *a);
	a->kind = kind;
	a->subject = arena_strdup(h->arena, subject);
	if (!m->all || m->count == m->cap)
		m->all = arena_grow(h->arena, m->all, m->count, &m->cap, sizeof *m->all);
	m->all[m->count++] = a;
	size_t k = hash_of(kind, subject) % m->buckets;
	a->next_in_bucket = m->bucket[k];
	m->bucket[k] = a;
	return a;
}

static struct answer *keep(struct host *h, enum answer_kind kind, const char *subject, int error)
{
	if (!h->recording || error == -ENODATA)
		return NULL;
	struct answer *a = memory_put(h, kind, subject);
	a->error = error;
	return a;
}

/* -- opening ------------------------------------------------------------------------------------------------------------ */

static struct host *fresh(struct arena *a)
{
	struct host *h = arena_alloc(a, sizeof *h);
	h->arena = a;
	h->uid = h->cpus = h->now = -1;
	return h;
}

static struct digests *digests_new(void)
{
	struct digests *t = calloc(1, sizeof *t);
	if (t) {
		pthread_mutex_init(&t->lock, NULL);
		pthread_cond_init(&t->done, NULL);
	}
	return t;
}

static void digests_forget(struct digests *t)
{
	for (size_t i = 0; i < DIGEST_BUCKETS; i++) {
		for (struct digest_of_file *d = t->bucket[i], *next; d; d = next) {
			next = d->next;
			buf_free(&d->text);
			free(d);
		}
		t->bucket[i] = NULL;
	}
}

void digests_free(struct host *h)
{
	if (h->digests && !h->is_twin) {
		digests_forget(h->digests);
		pthread_mutex_destroy(&h->digests->lock);
		pthread_cond_destroy(&h->digests->done);
		free(h->digests);
	}
	h->digests = NULL;
}

int host_open_live(struct arena *a, const char *root, struct host **ret)
{
	struct host *h = fresh(a);
	h->source = "this machine";
	if (root) {
		struct stat st;
		if (stat(root, &st) < 0)
			return -errno;
		if (!S_ISDIR(st.st_mode))
			return -ENOTDIR;
		char *real = realpath(root, NULL);
		if (!real)
			return -errno;
		if (strcmp(real, "/") != 0)
			h->root = h->source = arena_strdup(a, real);
		free(real);
	}
	live_process(h);
	h->digests = digests_new();
	*ret = h;
	return h->digests ? 0 : -ENOMEM;
}

struct host *host_twin(struct host *h, struct arena *a)
{
	struct host *twin;
	if (!host_is_this_machine(h) || host_open_live(a, NULL, &twin) < 0)
		return NULL;
	digests_free(twin);
	twin->digests = h->digests;
	twin->is_twin = true;
	return twin;
}

int host_open_replay(struct arena *a, const char *path, struct host **ret, const char **ret_why)
{
	struct host *h = fresh(a);
	h->mode = HOST_REPLAY;
	h->source = arena_strdup(a, path);
	int rc = replay_load(h, path, ret_why);
	if (rc < 0)
		return rc;
	*ret = h;
	return 0;
}

int host_open_members(
	struct arena *a, const char *source, const struct host_member *members, size_t count, struct host **ret, const char **ret_why)
{
	struct host *h = fresh(a);
	h->mode = HOST_REPLAY;
	h->source = arena_strdup(a, source);
	int rc = replay_load_members(h, members, count, ret_why);
	if (rc == 0)
		*ret = h;
	return rc;
}

int host_open_bytes(struct arena *a, const char *source, struct str bytes, struct host **ret, const char **ret_why)
{
	struct host *h = fresh(a);
	h->mode = HOST_REPLAY;
	h->source = arena_strdup(a, source);
	int rc = replay_load_bytes(h, bytes, ret_why);
	if (rc == 0)
		*ret = h;
	return rc;
}

void host_record(struct host *h)
{
	if (h->mode != HOST_LIVE)
		return;
	h->recording = true;
	h->memory = (struct memory){0};
	memset(h->seen, 0, sizeof h->seen);
	digests_forget(h->digests);
}

bool host_is_live(const struct host *h)
{
	return h->mode == HOST_LIVE;
}

bool host_is_this_machine(const struct host *h)
{
	return h->mode == HOST_LIVE && !h->root;
}

const char *host_name_of_source(const struct host *h)
{
	return h->source;
}

/* -- files -------------------------------------------------------------------------------------------------------------- */

static int read_file(struct host *h, const char *path, size_t max, bool cut, struct str *ret)
{
	if (!max)
		max = HOST_READ_MAX;
	if (h->mode == HOST_REPLAY) {
		const struct answer *a;
		int rc = replay_find(h, ANSWER_FILE, path, &a);
		if (rc < 0)
			return rc;
		if (a->data.len > max) {
			if (!cut)
				return -EFBIG;
			*ret = str_slice(a->data, 0, max);
			return 0;
		}
		if (a->head && !cut)
			return -EFBIG;
		*ret = a->data;
		return 0;
	}
	struct str data = {0};
	int rc = live_read(h, path, max, cut, &data);
	if (h->recording) {
		struct answer *old = memory_find(&h->memory, ANSWER_FILE, path);
		if (!old || old->error || (old->head && data.len > old->data.len)) {
			struct answer *a = keep(h, ANSWER_FILE, path, rc);
			if (a) {
				a->data = data;
				a->head = cut && data.len == max;
			}
		}
	}
	if (rc == 0)
		*ret = data;
	return rc;
}

int host_read(struct host *h, const char *path, size_t max, struct str *ret)
{
	return read_file(h, path, max, false, ret);
}

int host_read_head(struct host *h, const char *path, size_t max, struct str *ret)
{
	return read_file(h, path, max, true, ret);
}

int host_readf(struct host *h, struct str *ret, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *path = arena_vprintf(h->arena, fmt, ap);
	va_end(ap);
	return read_file(h, path, 0, false, ret);
}

int host_linef(struct host *h, struct str *ret, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *path = arena_vprintf(h->arena, fmt, ap);
	va_end(ap);
	struct str text;
	int rc = read_file(h, path, 65536, false, &text);
	if (rc == 0)
		*ret = str_trim(text);
	return rc;
}

int host_intf(struct host *h, int64_t *ret, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *path = arena_vprintf(h->arena, fmt, ap);
	va_end(ap);
	struct str text;
	int rc = read_file(h, path, 4096, false, &text);
	return rc < 0 ? rc : str_to_int(str_trim(text), ret);
}

int host_list(struct host *h, const char *path, struct host_list *ret)
{
	struct str names = {0};
	int rc;
	if (h->mode == HOST_REPLAY) {
		rc = replay_list(h, path, &names);
	} else {
		struct answer *a = memory_find(&h->memory, ANSWER_LIST, path);
		if (!a) {
			rc = live_list(h, path, &names);
			a = memory_put(h, ANSWER_LIST, path);
			a->error = rc;
			a->data = names;
		}
		rc = a->error;
		names = a->data;
	}
	if (rc < 0)
		return rc;
	size_t n = 0;
	for (size_t i = 0; i < names.len; i++)
		n += names.ptr[i] == '\0';
	*ret = (struct host_list){n ? arena_array(h->arena, n, sizeof *ret->names) : NULL, 0, n >= 65536};
	for (const char *p = names.ptr; ret->count < n; p += strlen(p) + 1)
		ret->names[ret->count++] = p;
	return 0;
}

const struct seen *seen_find(const struct host *h, const char *path, bool follow)
{
	size_t hash = hash_of(ANSWER_STAT, path);
	for (const struct seen *s = h->seen[hash % SEEN_BUCKETS]; s; s = s->next)
		if (s->hash == hash && s->follow == follow && strcmp(s->path, path) == 0)
			return s;
	return NULL;
}

static void see(struct host *h, const char *path, bool follow, int error, const struct host_stat *st)
{
	if (h->seen_count++ > SEEN_BUCKETS * 16) /* chains would get long: then the kernel is asked again */
		return;
	size_t n = strlen(path) + 1;
	struct seen *s = arena_raw(h->arena, sizeof *s + n);
	size_t hash = hash_of(ANSWER_STAT, path);
	*s = (struct seen){h->seen[hash % SEEN_BUCKETS], hash, follow, error, *st};
	memcpy(s->path, path, n);
	h->seen[hash % SEEN_BUCKETS] = s;
}

static int stat_path(struct host *h, const char *path, bool follow, struct host_stat *ret)
{
	if (h->mode == HOST_REPLAY)
		return replay_stat(h, path, follow, ret);
	const struct seen *before = seen_find(h, path, follow);
	if (before && !before->error)
		*ret = before->st;
	if (before)
		return before->error;
	struct host_stat st = {0};
	int rc = live_stat(h, path, follow, &st);
	see(h, path, follow, rc, &st);
	if (follow || rc < 0 || st.kind != HOST_LINK) { /* links are recorded by readlink */
		struct answer *a = keep(h, ANSWER_STAT, path, rc);
		if (a)
			a->st = st;
	} else if (h->recording) {
		const char *target;
		host_readlink(h, path, &target);
	}
	if (rc == 0)
		*ret = st;
	return rc;
}

int host_stat(struct host *h, const char *path, struct host_stat *ret)
{
	return stat_path(h, path, true, ret);
}

int host_lstat(struct host *h, const char *path, struct host_stat *ret)
{
	return stat_path(h, path, false, ret);
}

int host_readlink(struct host *h, const char *path, const char **ret)
{
	struct str target = {0};
	int rc;
	if (h->mode == HOST_REPLAY) {
		const struct answer *a;
		rc = replay_find(h, ANSWER_LINK, path, &a);
		if (rc == 0)
			target = a->data;
	} else {
		rc = live_readlink(h, path, &target);
		struct answer *a = rc == -EINVAL ? NULL : keep(h, ANSWER_LINK, path, rc);
		if (a)
			a->data = target;
	}
	if (rc == 0)
		*ret = target.ptr;
	return rc;
}

int host_realpath(struct host *h, const char *path, const char **ret)
{
	struct str real = {0};
	int rc;
	if (h->mode == HOST_REPLAY) {
		rc = replay_realpath(h, path, &real);
	} else {
		rc = live_realpath(h, path, &real);
		struct answer *a = keep(h, ANSWER_REAL, path, rc);
		if (a)
			a->data = real;
	}
	if (rc == 0)
		*ret = real.ptr;
	return rc;
}

bool host_exists(struct host *h, const char *path)
{
	struct host_stat st;
	return host_stat(h, path, &st) == 0;
}

bool host_is_dir(struct host *h, const char *path)
{
	struct host_stat st;
	return host_stat(h, path, &st) == 0 && st.kind == HOST_DIR;
}

int host_try_open(struct host *h, const char *path)
{
	if (h->mode == HOST_REPLAY) {
		const struct answer *a;
		int rc = replay_find(h, ANSWER_OPEN, path, &a);
		return rc < 0 ? rc : a->error;
	}
	int rc = live_try_open(h, path);
	keep(h, ANSWER_OPEN, path, rc);
	return rc;
}

/* -- large files -------------------------------------------------------------------------------------------------------- */

int host_file_open(struct host *h, const char *path, struct host_file **ret)
{
	if (h->mode == HOST_REPLAY)
		return -ENODATA;
	struct stat st;
	int fd, rc = live_open(h, path, &fd, &st);
	if (rc < 0)
		return rc;
	struct host_file *f = arena_alloc(h->arena, sizeof *f);
	*f = (struct host_file){fd, (uint64_t)st.st_size, st.st_dev, st.st_ino};
	*ret = f;
	return 0;
}

void host_file_close(struct host_file *file)
{
	if (file && file->fd >= 0) {
		close(file->fd);
		file->fd = -1;
	}
}

uint64_t host_file_inode(const struct host_file *file)
{
	return file->inode;
}

uint64_t host_file_size(const struct host_file *file)
{
	return file->size;
}

int host_file_refresh(struct host_file *file)
{
	struct stat st;
	if (fstat(file->fd, &st) < 0)
		return -errno;
	file->size = (uint64_t)st.st_size;
	return 0;
}

int host_file_pread(struct host_file *file, uint64_t off, void *p, size_t n)
{
	size_t got = 0;
	if (off > INT64_MAX)
		return -ENODATA;
	while (got < n) {
		ssize_t r = pread(file->fd, (char *)p + got, n - got, (off_t)(off + got));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			return -ENODATA;
		got += (size_t)r;
	}
	return 0;
}

ssize_t host_file_read(struct host_file *file, void *p, size_t n)
{
	ssize_t got;
	do
		got = read(file->fd, p, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* The entry of a file: a new one is the caller's to fill, one that another thread fills is waited for. */
static struct digest_of_file *digest_claim(struct digests *t, const char *kind, uint64_t device, uint64_t inode, bool *ret_mine)
{
	struct digest_of_file *d;
	pthread_mutex_lock(&t->lock);
	for (d = t->bucket[inode % DIGEST_BUCKETS]; d; d = d->next)
		if (d->inode == inode && d->device == device && strcmp(d->kind, kind) == 0)
			break;
	*ret_mine = !d;
	if (d) {
		while (!d->done)
			pthread_cond_wait(&t->done, &t->lock);
	} else if ((d = calloc(1, sizeof *d))) {
		*d = (struct digest_of_file){.next = t->bucket[inode % DIGEST_BUCKETS],
			.kind = kind,
			.device = device,
			.inode = inode,
			.text = BUF_MAX((size_t)8 << 20)};
		t->bucket[inode % DIGEST_BUCKETS] = d;
	}
	pthread_mutex_unlock(&t->lock);
	return d;
}

static void digest_finish(struct digests *t, struct digest_of_file *d, int error)
{
	pthread_mutex_lock(&t->lock);
	d->error = error;
	d->done = true;
	pthread_cond_broadcast(&t->done);
	pthread_mutex_unlock(&t->lock);
}

static int digest_live(struct host *h, const char *kind, const char *path, host_digest_fn *make, void *arg, struct str *ret_text)
{
	const struct seen *seen = seen_find(h, path, true);
	struct host_file *f = NULL;
	int rc = seen && !seen->error ? 0 : host_file_open(h, path, &f);
	if (rc < 0)
		return rc;
	bool mine;
	struct digest_of_file *d = digest_claim(h->digests, kind, f ? f->device : seen->st.device, f ? f->inode : seen->st.inode, &mine);
	if (d && mine) {
		rc = f ? 0 : host_file_open(h, path, &f);
		digest_finish(h->digests, d, rc < 0 ? rc : make(f, &d->text, arg));
	}
	host_file_close(f);
	if (!d || d->error)
		return d ? d->error : -ENOMEM;
	*ret_text = str_of(arena_strndup(h->arena, buf_view(&d->text).ptr, d->text.len));
	return 0;
}

int host_digest(struct host *h, const char *kind, const char *path, host_digest_fn *make, void *arg, struct str *ret_text)
{
	const char *subject = arena_printf(h->arena, "%s %s", kind, path);
	if (h->mode == HOST_REPLAY) {
		const struct answer *a = memory_find(&h->memory, ANSWER_DIGEST, subject);
		if (!a || a->removed) {
			/* By another name of the same file. */
			struct str real;
			int rc = replay_realpath(h, path, &real);
			if (rc < 0)
				return rc;
			a = memory_find(&h->memory, ANSWER_DIGEST, arena_printf(h->arena, "%s %s", kind, real.ptr));
			if (!a || a->removed)
				return h->world_open ? -ENODATA : -ENOENT;
		}
		if (a->error)
			return a->error;
		*ret_text = a->data;
		return 0;
	}
	struct str text = str_n("", 0);
	int rc = digest_live(h, kind, path, make, arg, &text);
	struct answer *a = keep(h, ANSWER_DIGEST, subject, rc);
	if (rc == 0) {
		*ret_text = text;
		if (a)
			a->data = text;
	}
	return rc;
}

/* -- the kernel and the process ----------------------------------------------------------------------------------------- */

int host_statfs(struct host *h, const char *path, struct host_fs *ret)
{
	if (h->mode == HOST_REPLAY) {
		const struct answer *a;
		int rc = replay_find(h, ANSWER_FS, path, &a);
		if (rc == 0)
			*ret = a->fs;
		return rc;
	}
	struct host_fs fs = {0};
	int rc = h->root ? -EOPNOTSUPP : live_statfs(h, path, &fs);
	struct answer *a = keep(h, ANSWER_FS, path, rc);
	if (a)
		a->fs = fs;
	if (rc == 0)
		*ret = fs;
	return rc;
}

int host_uname(struct host *h, struct host_uname *ret)
{
	if (!h->has_uname)
		return h->mode == HOST_LIVE ? -EOPNOTSUPP : -ENODATA;
	*ret = h->uname;
	return 0;
}

const char *host_processor(struct host *h)
{
	return h->processor;
}

int host_limit(struct host *h, const char *name, struct host_limit *ret)
{
	for (size_t i = 0; i < h->limit_count; i++) {
		if (strcmp(h->limits[i].name, name) == 0) {
			*ret = h->limits[i].limit;
			return 0;
		}
	}
	return h->mode == HOST_LIVE ? -EOPNOTSUPP : -ENODATA;
}

static int known(const struct host *h, int64_t value, int64_t *ret)
{
	if (value < 0)
		return h->mode == HOST_LIVE ? -EOPNOTSUPP : -ENODATA;
	*ret = value;
	return 0;
}

int host_cpus_allowed(struct host *h, int64_t *ret)
{
	return known(h, h->cpus, ret);
}

int host_uid(struct host *h, int64_t *ret)
{
	return known(h, h->uid, ret);
}

int64_t host_now(struct host *h)
{
	return h->now;
}

const char *host_cwd(struct host *h)
{
	return h->cwd;
}

bool host_has_env(const struct host *h)
{
	return h->has_env;
}

const char *host_env(struct host *h, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < h->env_count; i++)
		if (strncmp(h->env[i], name, n) == 0 && h->env[i][n] == '=')
			return h->env[i] + n + 1;
	return NULL;
}

size_t host_env_list(struct host *h, const char *const **ret)
{
	*ret = h->env;
	return h->env_count;
}
