/* libibverbs: which RDMA devices user space finds, and whether they open (a provider may be missing, or /dev/infiniband refused). */
#include "probe.h"

#include <errno.h>
#include <string.h>

struct ibv_device;
struct ibv_context;
typedef struct ibv_device **ibv_list(int *);
typedef const char *ibv_name(struct ibv_device *);
typedef struct ibv_context *ibv_open(struct ibv_device *);
typedef int ibv_close(struct ibv_context *);

enum { DEVICES_MAX = 128 };

int probe_ibverbs(void)
{
	void *library = probe_load((const char *const[]){"libibverbs.so.1", NULL});
	ibv_list *list;
	ibv_name *name;
	ibv_open *open_device;
	ibv_close *close_device;
	struct ibv_device **devices;
	int count = 0;

	if (!library)
		return PROBE_MISSING;
	list = PROBE_SYMBOL(library, "ibv_get_device_list");
	name = PROBE_SYMBOL(library, "ibv_get_device_name");
	open_device = PROBE_SYMBOL(library, "ibv_open_device");
	close_device = PROBE_SYMBOL(library, "ibv_close_device");
	if (!list || !name) {
		out_error("dlsym", -1, "the library lacks ibv_get_device_list");
		return PROBE_ERROR;
	}
	probe_calling("ibv_get_device_list", -1);
	errno = 0;
	devices = list(&count);
	if (!devices) {
		out_error("ibv_get_device_list", errno, strerror(errno));
		return PROBE_ERROR;
	}
	out_int("count", count);
	out_array("devices");
	for (int i = 0; i < count && i < DEVICES_MAX && devices[i]; i++) {
		struct ibv_context *context;

		probe_calling("ibv_open_device", i);
		out_object(NULL);
		out_text("name", name(devices[i]));
		errno = 0;
		context = open_device ? open_device(devices[i]) : NULL;
		out_bool("opens", context != NULL);
		if (!context && open_device)
			out_error("ibv_open_device", errno, strerror(errno));
		if (context && close_device)
			close_device(context);
		out_end();
	}
	out_end();
	return PROBE_OK;
}
