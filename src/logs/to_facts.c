#include "logs/to_facts.h"

#include <math.h>

#include "logs/waits.h"

static const enum facts_column capture_columns[CAPTURE_COUNT] = {
	[CAPTURE_RANK] = event__c_rank,
	[CAPTURE_HOST] = event__c_host,
	[CAPTURE_DEVICE] = event__c_device,
	[CAPTURE_INTERFACE] = event__c_interface,
	[CAPTURE_PATH] = event__c_path,
	[CAPTURE_VERSION] = event__c_version,
	[CAPTURE_ERRNO] = event__c_errno,
	[CAPTURE_CODE] = event__c_code,
	[CAPTURE_ADDRESS] = event__c_address,
	[CAPTURE_PORT] = event__c_port,
	[CAPTURE_SEQ] = event__c_seq,
	[CAPTURE_OP] = event__c_op,
	[CAPTURE_PID] = event__c_pid,
	[CAPTURE_SIGNAL] = event__c_signal,
	[CAPTURE_XID] = event__c_xid,
	[CAPTURE_GPU] = event__c_gpu,
	[CAPTURE_LIBRARY] = event__c_library,
	[CAPTURE_SYMBOL] = event__c_symbol,
	[CAPTURE_NAME] = event__c_name,
	[CAPTURE_SIZE] = event__c_size,
};

#define STEPS_ENOUGH 2 /* one more may come from a rank that has not heard yet */

/* How many of the event's lines stand behind this one. */
static size_t lines_behind(const struct logs_event *e, size_t line)
{
	size_t n = (e->line > line) + (e->last_line > line && e->last_line > e->line);
	for (size_t i = 0; i < e->repeat_count; i++)
		n += e->repeat[i].file == e->file && e->repeat[i].line > line && e->repeat[i].line != e->last_line &&
			e->repeat[i].line != e->line;
	return n;
}

/* A command that starts another run: that one's good end says nothing of the one before it. */
static bool started_between(const struct logs *l, unsigned file, size_t from, size_t to)
{
	for (size_t i = 0; i < l->event_count; i++) {
		const struct logs_event *e = l->event[i];
		if (e->file == file && logs_event_pattern(l, e)->tells == LOGS_START && lines_behind(e, from) > lines_behind(e, to - 1))
			return true;
	}
	return false;
}

/* Did the run go on, or end well, behind the last line of this event? Another rank's word counts where one of them does not say who it is.
 */
static bool went_on(const struct logs *l, const struct logs_event *e)
{
	size_t steps = 0;
	for (size_t i = 0; i < l->event_count && steps < STEPS_ENOUGH; i++) {
		const struct logs_event *good = l->event[i];
		enum logs_tells tells = logs_event_pattern(l, good)->tells;
		if (good->file != e->file || good->last_line <= e->last_line || (tells != LOGS_PROGRESS && tells != LOGS_END))
			continue;
		if (good->rank != PREFIX_UNSET && e->rank != PREFIX_UNSET && good->rank != e->rank)
			continue;
		if (started_between(l, e->file, e->last_line, good->line > e->last_line ? good->line : good->last_line))
			continue;
		steps += tells == LOGS_END ? STEPS_ENOUGH : lines_behind(good, e->last_line);
	}
	return steps >= STEPS_ENOUGH;
}

static bool had_ended(const struct logs *l, const struct logs_event *e)
{
	for (size_t i = 0; i < l->event_count; i++)
		if (logs_event_pattern(l, l->event[i])->tells == LOGS_END && l->event[i]->file == e->file && l->event[i]->line < e->line)
			return true;
	return false;
}

#define IGNORED_LINES 12 /* of a traceback below "Exception ignored in" */

static bool was_ignored(const struct logs *l, const struct logs_event *e)
{
	for (size_t i = 0; i < l->event_count; i++) {
		const struct logs_event *head = l->event[i];
		if (logs_event_pattern(l, head)->tells == LOGS_IGNORED && head->file == e->file && head->line < e->line &&
			e->last_line <= head->last_line + IGNORED_LINES &&
			(e->last_line <= head->line + IGNORED_LINES || e->line > head->last_line))
			return true;
	}
	return false;
}

static bool is_failure(const struct logs *l, const struct logs_event *e, enum logs_tells tells)
{
	return !went_on(l, e) && !was_ignored(l, e) && !(tells == LOGS_SHUTDOWN && had_ended(l, e));
}

static void one_event(const struct logs *l, const struct logs_event *e, int64_t seq, struct facts *f)
{
	static const char *const classes[] = {"evidence", "consequence", "advice", "noise"};
	const struct logs_pattern *p = logs_event_pattern(l, e);
	struct facts_row *row = facts_add(f, TABLE_event);
	facts_text(row, event__pattern, p->id, NULL);
	facts_text(row, event__class, classes[p->class], NULL);
	facts_text(row, event__symptom, p->symptom ? p->symptom : p->id, NULL);
	facts_text(row, event__cause, p->cause, NULL);
	facts_text(row, event__certainty, p->certainty, NULL);
	facts_text(row, event__text, e->text, NULL);
	facts_text(row, event__file, l->file[e->file].name, NULL);
	facts_int(row, event__line, (int64_t)e->line, NULL);
	facts_int(row, event__seq, seq, NULL);
	facts_int(row, event__count, (int64_t)e->count, NULL);
	if (p->tells == LOGS_FAILURE || p->tells == LOGS_SHUTDOWN)
		facts_bool(row, event__failure, is_failure(l, e, p->tells), NULL);
	/* A bare number in front of lines ("3: ") is the launcher's task: its rank unless something better is known. */
	int64_t rank = e->rank != PREFIX_UNSET ? e->rank : e->number;
	if (rank != PREFIX_UNSET)
		facts_int(row, event__rank, rank, NULL);
	if (e->local_rank != PREFIX_UNSET)
		facts_int(row, event__local_rank, e->local_rank, NULL);
	facts_text(row, event__host, e->host, NULL);
	if (!isnan(e->time))
		facts_real(row, event__time, e->time, NULL);
	for (unsigned i = 0; i < e->capture_count; i++)
		facts_text(row, capture_columns[e->capture[i].capture], e->capture[i].text, NULL);
}

/* Zero channels are a fact only where channels were printed at all. */
static void nccl_choice(const struct logs *l, struct facts *f)
{
	const struct logs_nccl *n = &l->nccl;
	static const enum facts_column channels[TRANSPORT_COUNT] = {[TRANSPORT_P2P] = nccl_choice__p2p_channels,
		[TRANSPORT_SHM] = nccl_choice__shm_channels,
		[TRANSPORT_IB] = nccl_choice__ib_channels,
		[TRANSPORT_SOCKET] = nccl_choice__socket_channels,
		[TRANSPORT_NET] = nccl_choice__net_channels,
		[TRANSPORT_NVLS] = COLUMN_COUNT,
		[TRANSPORT_COLLNET] = COLUMN_COUNT};
	facts_table_read(f, TABLE_nccl_choice);
	if (!n->version_count && !n->network && !n->nranks_max)
		return;
	struct facts_row *row = facts_add(f, TABLE_nccl_choice);
	const char *origin = n->version_count ? arena_printf(f->arena, "%s:%zu", l->file[n->file].name, n->line)
		: l->file_count               ? l->file[0].name
					      : NULL;
	facts_text(row, nccl_choice__version, n->version_count ? n->version[0] : NULL, origin);
	facts_text(row, nccl_choice__network, n->network, origin);
	facts_text(row, nccl_choice__plugin, n->plugin, origin);
	facts_text(row, nccl_choice__ib_devices, n->ib_devices, origin);
	facts_text(row, nccl_choice__socket_devices, n->socket_devices, origin);
	facts_text(row, nccl_choice__bootstrap, n->bootstrap, origin);
	if (n->nranks_max)
		facts_int(row, nccl_choice__ranks, n->nranks_max, origin);
	if (n->nodes_max || l->host_count)
		facts_int(row, nccl_choice__nodes, n->nodes_max ? n->nodes_max : (int64_t)l->host_count, origin);
	uint64_t all = 0;
	for (int t = 0; t < TRANSPORT_COUNT; t++)
		all += channels[t] < COLUMN_COUNT ? n->transport[t] : 0;
	for (int t = 0; all && t < TRANSPORT_COUNT; t++)
		if (channels[t] < COLUMN_COUNT)
			facts_int(row, channels[t], (int64_t)n->transport[t], origin);
	if (all)
		facts_int(row, nccl_choice__gdr_channels, (int64_t)n->gdr, origin);
	facts_int(row, nccl_choice__gdr_off, (int64_t)n->gdr_off, origin);
	facts_text(row, nccl_choice__path, logs_path_names[n->path], origin);
	facts_text(row, nccl_choice__nic_path, logs_path_names[n->nic_path], origin);
	if (n->init_start)
		facts_int(row, nccl_choice__started, (int64_t)n->init_start, origin);
	if (n->init_complete || n->init_start)
		facts_int(row, nccl_choice__completed, (int64_t)n->init_complete, origin);
}

void logs_to_facts(const struct logs *l, struct facts *f)
{
	facts_table_read(f, TABLE_event);
	for (size_t i = 0; i < l->event_count; i++)
		one_event(l, l->event[i], (int64_t)i, f);
	nccl_choice(l, f);
	waits_to_facts(l, f);
}
