/* Linked into the static programs: SQLite's and OpenSSL's loaders of extensions find nothing. Davy loads no library into its own process. */
#include <stddef.h>

void *dlopen(const char *path, int mode);
void *dlsym(void *handle, const char *name);
int dlclose(void *handle);
char *dlerror(void);
int dladdr(const void *address, void *info);

void *dlopen(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return NULL;
}

void *dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *dlerror(void)
{
	static char text[] = "a static program loads nothing";
	return text;
}

int dladdr(const void *address, void *info)
{
	(void)address;
	(void)info;
	return 0;
}
