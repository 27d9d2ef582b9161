/* The probe: a small program that loads vendor libraries, asks them, and prints JSON on standard output. davy starts it, waits until a
 * deadline, and reads what it printed; this program may hang or crash.
 *
 *   probe nvml | cuda | rocm | ibverbs
 *   probe nccl [PATH]
 *   probe resolve NAME    a host name by the system's own resolver
 * and for `davy test`, which changes nothing but what it takes for itself and gives back:
 *   probe test-cuda DEVICE                      a context, memory, copies to, on and from one GPU
 *   probe test-p2p DEVICES FROM                 copies between the pairs of DEVICES ("0,1,5"), from the FROM-th pair on; an answer for each
 * pair probe test-unique LIBNCCL                   loads it and lets it choose its interface probe test-nccl LIBNCCL RANKS DEVICES MS BYTES
 * all_reduce of RANKS processes; what NCCL prints goes to standard error probe test-shm DIR COUNT BYTES              COUNT segments of
 * BYTES in DIR, each written probe test-net ADDRESS [PORT]               listens on an address of this host and connects to it
 *
 * Before a call that may hang it prints a line {"calling": "..."}; the last line is the answer, one object. Exit status: 0 the library
 * answered, 1 it gave an error (which the answer names), 3 the library could not be loaded. It needs no symbol of the C library newer than
 * glibc 2.17, includes nothing of Davy's and no vendor's header: the few prototypes it needs stand in its own files.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_OK = 0, PROBE_ERROR = 1, PROBE_MISSING = 3 };

int probe_nvml(void);
int probe_cuda(void);
int probe_nccl(const char *path);
int probe_rocm(void);
int probe_ibverbs(void);
int probe_resolve(const char *name);
int probe_test_cuda(char **args);
int probe_test_p2p(char **args);
int probe_test_unique(char **args);
int probe_test_nccl(char **args);
int probe_test_shm(char **args);
int probe_test_net(char **args);

/* Milliseconds of a clock that nobody sets. */
double probe_clock_ms(void);
/* A list "0,1,5" of numbers below 1024; how many, at most `max`; 0: none, or not a list. */
int probe_numbers(const char *text, int *ret, int max);

/* -- libraries ------------------------------------------------------------------------------------------------------------ */

/* Loads the first of the names that there is and says in the answer which file that was; NULL: the answer says why not. */
void *probe_load(const char *const *names);
/* The first of the symbols that the library has; NULL: none. Names are tried in the order given, the newest first. */
void *probe_symbol(void *library, const char *const *names);
#define PROBE_SYMBOL(library, ...) probe_symbol(library, (const char *const[]){__VA_ARGS__, NULL})

/* Prints {"calling": "name index"} at once; index below 0: none. */
void probe_calling(const char *name, int index);

/* -- the answer ------------------------------------------------------------------------------------------------------------
 * Written from left to right; what does not fit is dropped and the answer says so. Key NULL: an element of an array. */
void out_object(const char *key);
void out_array(const char *key);
void out_end(void);
void out_text(const char *key, const char *text);               /* NULL: nothing is written */
void out_text_n(const char *key, const char *text, size_t max); /* what may not be terminated */
void out_int(const char *key, int64_t v);
void out_bool(const char *key, bool v);
/* "error": {"call": …, "code": …, "text": …} */
void out_error(const char *call, int64_t code, const char *text);
void out_flush(void); /* ends all that is open and prints the line; then a new answer may begin */

#endif
