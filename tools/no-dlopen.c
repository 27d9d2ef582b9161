/* Linked into the static programs with --wrap: SQLite's and OpenSSL's loaders of extensions find nothing. Davy loads no library into its
 * own process. */
#include <stddef.h>

void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);
int __wrap_dladdr(const void *address, void *info);

void *__wrap_dlopen(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *__wrap_dlerror(void)
{
	static char text[] = "a static program loads nothing";
	return text;
}

int __wrap_dladdr(const void *address, void *info)
{
	(void)address;
	(void)info;
	return 0;
}
