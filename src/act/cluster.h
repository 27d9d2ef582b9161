/* `davy cluster`: one process on each node of a job, which meet at rank 0 and test one another.
 *
 *   cluster_launcher   variables of the launcher → rank, size, rendezvous, token of the job
 *   cluster_schedule   who is tested with whom
 *   cluster_test       one node tests one other: the active side
 *   cluster_member     every node: reaches rank 0, serves other nodes' tests, does its own
 *   cluster_master     rank 0: joins, orders tests, hears results
 *   cluster_result     results → rows of the tables node, reach, pair and culprit
 *
 * Nothing here waits without a deadline, and whatever comes from a socket is untrusted: frames with another token are refused, sizes are
 * bounded, a peer that says nothing is left. Nothing here judges: rules do (knowledge/rules/cluster.yaml).
 */
#ifndef ACT_CLUSTER_H
#define ACT_CLUSTER_H

#include "facts/facts.h"
#include "host/host.h"
#include "host/socket.h"
#include "parse/frame.h"

#define CLUSTER_PORT 29500
#define CLUSTER_PORTS 4 /* the rendezvous port and those after it, where another program has it */
#define CLUSTER_MSS 536 /* of the control connections: they must work where large packets get lost */
#define CLUSTER_FACTS_MAX ((size_t)4 << 20)
#define CLUSTER_NODES_MAX 100000

/* How an attempt to reach a port ended. */
enum cluster_way {
	WAY_UNTRIED,
	WAY_OPEN,
	WAY_REFUSED,
	WAY_DROPPED,
	WAY_REJECTED,
	WAY_NO_ROUTE,
	WAY_SELF,
	WAY_OTHER,
	WAY_SILENT,
	WAY_UNRESOLVED,
	WAY_LOST,
	WAY_FAILED,
	WAY_IN_USE,
	WAY_LATE,
	WAY_CONTRADICTS,
	WAY_COUNT
};
extern const char *const cluster_way_names[WAY_COUNT];
/* A negative errno of connect, and the ICMP message that came with it (or -ENODATA). */
enum cluster_way cluster_way_of(int error, int icmp);

/* What a test of one direction measures; -1: not known. */
enum cluster_measure {
	V_TCP,
	V_ERRNO,
	V_ICMP,
	V_ANSWERED_BY,
	V_CONNECT_US,
	V_TCP2,
	V_UDP,
	V_UDP_ERRNO,
	V_HEARD,
	V_MTU_WANTED,
	V_MTU_PATH,
	V_MTU_ICMP,
	V_SENT,
	V_LOST,
	V_RTT_US,
	V_KBPS,
	V_STALLED,
	V_BYTES,
	V_RETRANS,
	V_SEGMENTS,
	V_SND_MSS,
	V_COUNT
};

enum cluster_frame {
	F_HELLO = 1,
	F_ACCEPT,
	F_REJECT,
	F_FACTS,
	F_TEST,
	F_RESULT,
	F_PING,
	F_PONG,
	F_END, /* control */
	F_PEER,
	F_PEER_OK, /* TCP between nodes */
	F_PROBE,
	F_PROBE_OK,
	F_LOSS,
	F_COUNT,
	F_COUNTED, /* UDP between nodes */
	F_CRY      /* UDP to rank 0 from a node that TCP does not let in */
};

enum cluster_tag {
	T_RANK = 1,
	T_SIZE,
	T_NAME,
	T_HOSTNAME,
	T_BOOT_ID,
	T_NETNS,
	T_VERSION,
	T_RULE,
	T_SPEED,
	T_FACTS,
	T_FINDINGS,
	T_TEST,
	T_MODE,
	T_SEQ,
	T_BYTES,
	T_T0,
	T_T1,
	T_T2,
	T_STATE,
	T_ERRNO,
	T_REASON,
	T_MS,
	T_TARGET,
	T_FAMILY,
	T_LOOPBACK,
	T_ENDPOINT = 32, /* two of them, six tags each: address, TCP port, UDP port, interface, MTU, kind */
	T_MEASURE = 48   /* + enum cluster_measure */
};

enum { MODE_QUICK = 1, MODE_BURST = 2, MODE_PATIENT = 4 };

struct cluster_endpoint {
	struct host_address at; /* without port; family 0: there is none */
	uint16_t tcp, udp;
	char interface[32];
	int mtu; /* -1: unknown */
};

/* The job as this process sees it. */
struct cluster_job {
	int rank, size;
	int local_rank;                   /* > 0: another process of this node does the work */
	bool sparse;                      /* ranks are those of processes: not every number below `size` is a node */
	const char *launcher;             /* slurm, openmpi, torchrun, kubernetes, mpi, environment, options */
	const char *id;                   /* of the job, for people; NULL */
	const char *master, *master_from; /* a name or an address, and where it was found; NULL: unknown */
	int port;
	bool port_is_taken; /* the launcher itself listens there on rank 0's node */
	uint64_t token;
	const char *const *names; /* of the nodes by rank, where the launcher tells */
	size_t name_count;
};

struct cluster_options {
	const char *rank, *size, *master;
};

/* 0; -ENOENT no launcher; -EINVAL contradictory or unusable variables: *ret_why (in the user's language) says which. */
int cluster_launcher(
	struct host *h, struct arena *a, const struct cluster_options *o, bool chinese, struct cluster_job *ret, const char **ret_why);
/* The addresses that /etc/hosts gives a name; returns how many. */
size_t cluster_hosts_file(struct host *h, const char *name, struct host_address *ret, size_t max);

struct cluster_self;

/* One attempt to reach rank 0, as a row of `reach`. */
struct cluster_reach {
	const char *node, *target, *source; /* source: where the target was found */
	int rank;
	struct host_address at;
	enum cluster_way way;
	int error, icmp;
	double ms;
	bool family4, family6, own4, own6; /* addresses that the name has, and this node */
	bool loopback, literal, local;     /* local: the address is one of this node's own */
	bool best;                         /* of this node's attempts the one that came furthest */
	const char *why;                   /* the resolver's words */
	const char *resolver, *files;      /* what the two answered, in words; NULL: nothing */
	int alike;                         /* attempts that ended so */
};

/* The places where rank 0 is to be looked for: every address of its name by the system's resolver (a child, `tries`-th question, until the
 * deadline) and by /etc/hosts. At least one row; without any address its state is unresolved. */
size_t cluster_targets(struct host *h, struct arena *a, const struct cluster_job *job, const struct cluster_self *self, int tries,
	int deadline_ms, struct cluster_reach *ret, size_t max);

/* A node as it tells of itself. */
struct cluster_self {
	const char *name, *hostname, *boot_id, *netns, *rule; /* rule: NCCL_SOCKET_IFNAME or NULL */
	struct cluster_endpoint nccl;
	int64_t speed_mbps;
	bool family4, family6; /* it has a global address of that kind */
	struct str facts;      /* `davy check --json` of this node */
};

/* -- loop ----------------------------------------------------------------------------------------------------------------- */

struct cluster_waits {
	struct host_wait *list;
	size_t count, cap;
	double until_ms;
};
void cluster_waits_begin(struct cluster_waits *w, double until_ms);
size_t cluster_waits_add(struct cluster_waits *w, int fd, bool read, bool write);
void cluster_waits_until(struct cluster_waits *w, double ms);
bool cluster_waits_ready(const struct cluster_waits *w, size_t place, int fd); /* something happened there; or the place is new */
void cluster_waits_free(struct cluster_waits *w);

/* A connection that carries frames. */
struct cluster_link {
	int fd;
	struct buf in, out;
	size_t taken, sent, place;
	size_t max_body;
	double heard_ms;
	bool ended;   /* the other side closed, or it broke */
	bool foreign; /* it sent something that is not of this job */
};
void cluster_link_open(struct cluster_link *l, int fd, size_t max_body);
void cluster_link_close(struct cluster_link *l);
void cluster_link_want(struct cluster_link *l, struct cluster_waits *w);
void cluster_link_step(struct cluster_link *l, const struct cluster_waits *w, double now); /* moves bytes both ways */
bool cluster_link_next(struct cluster_link *l, uint64_t token, struct frame *ret, struct frame_fields *ret_fields);

void cluster_put_endpoint(struct buf *b, int which, const struct cluster_endpoint *e);
void cluster_get_endpoint(const struct frame_fields *f, int which, struct cluster_endpoint *ret);
const char *cluster_get_text(struct arena *a, const struct frame_fields *f, unsigned tag, size_t max); /* NULL: none */

/* -- one test ------------------------------------------------------------------------------------------------------------- */

struct cluster_test;
struct cluster_test *cluster_test_start(struct arena *a, uint64_t token, int own_rank, int own_mtu, int peer,
	const struct cluster_endpoint peer_at[2], int mode, int burst_ms);
void cluster_test_want(struct cluster_test *t, struct cluster_waits *w);
bool cluster_test_step(struct cluster_test *t, double now); /* true: it has ended */
const int64_t *cluster_test_measures(const struct cluster_test *t);
int cluster_test_peer(const struct cluster_test *t);
void cluster_test_close(struct cluster_test *t);

/* -- a node --------------------------------------------------------------------------------------------------------------- */

struct cluster_member;
/* `control`: an open connection to rank 0, or -1: it is to be reached at `targets`, one after the other and again. */
struct cluster_member *cluster_member_new(struct arena *a, const struct cluster_job *job, const struct cluster_self *self, int control,
	const struct cluster_reach *targets, size_t count, double deadline_ms, double join_ms);
void cluster_member_want(struct cluster_member *m, struct cluster_waits *w);
bool cluster_member_step(struct cluster_member *m, const struct cluster_waits *w, double now); /* true: it has ended */
bool cluster_member_is_done(const struct cluster_member *m);                                   /* rank 0 said that it is over */
void cluster_member_see_out(struct cluster_member *m, int ms);                                 /* waits until rank 0 has ended */
bool cluster_member_is_joined(const struct cluster_member *m);                                 /* rank 0 has taken it in */
size_t cluster_member_reaches(struct cluster_member *m, const struct cluster_reach **ret);     /* as things stand now */
void cluster_member_close(struct cluster_member *m);

/* -- rank 0 --------------------------------------------------------------------------------------------------------------- */

enum cluster_node_state { NODE_EXPECTED, NODE_ANSWERED, NODE_DIED, NODE_SILENT, NODE_LATE };

struct cluster_node {
	int rank;
	enum cluster_node_state state;
	struct cluster_link link;
	const char *name, *hostname, *boot_id, *netns, *rule, *version;
	struct cluster_endpoint at[2];
	int64_t speed_mbps;
	double joined_ms, gone_ms;       /* since the start */
	double offset_us, offset_rtt_us; /* of its clock; NAN: unknown */
	struct str facts;
	int running, shared; /* tests now; nodes on other machines with the same address */
	bool bad;            /* for bad.txt */
};

struct cluster_direction {
	int from, to; /* places in the list of nodes */
	bool tested, untestable;
	int64_t value[V_COUNT];
	const char *problem; /* cluster_result: NULL: none */
};

struct cluster_master;
/* 0, or the errno with which no port could be had. *ret_port is the one that was. */
int cluster_master_open(struct arena *a, const struct cluster_job *job, double deadline_ms, double join_ms, struct cluster_master **ret,
	int *ret_port, int *ret_first_error);
/* The connection of rank 0's own member. */
void cluster_master_add_own(struct cluster_master *m, int fd);
void cluster_master_want(struct cluster_master *m, struct cluster_waits *w);
bool cluster_master_step(
	struct cluster_master *m, const struct cluster_waits *w, double now); /* true: results are complete or time is up */
void cluster_master_finish(struct cluster_master *m);                         /* tells everybody that it is over */

struct cluster_outcome {
	struct cluster_node *nodes; /* in the order of their ranks */
	int count;                  /* that came */
	int expected, late, strangers;
	struct cluster_direction *directions; /* two for each pair, one behind the other: forth and back */
	size_t pairs, tested;
	int rounds;
	uint64_t messages;
	const struct cluster_reach *cries;
	size_t cry_count;
};
void cluster_master_outcome(struct cluster_master *m, struct cluster_outcome *ret);
int64_t cluster_usual_kbps(struct arena *a, const struct cluster_direction *d, size_t count); /* the median; -1: nothing was measured */

/* Rows of `node`, `pair` and `culprit`; sets what is bad. */
void cluster_result_facts(struct arena *a, struct facts *f, const struct cluster_job *job, struct cluster_outcome *o);
void cluster_reach_fact(struct facts *f, const struct cluster_reach *r, int rank0_owns); /* rank0_owns -1: unknown */

#endif
