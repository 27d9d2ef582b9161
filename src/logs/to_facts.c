#include "logs/to_facts.h"

#include <math.h>

#include "logs/waits.h"

static const enum facts_column capture_columns[CAPTURE_COUNT] = {
	[CAPTURE_RANK] = event__c_rank, [CAPTURE_HOST] = event__c_host, [CAPTURE_DEVICE] = event__c_device, [CAPTURE_INTERFACE] = event__c_interface,
	[CAPTURE_PATH] = event__c_path, [CAPTURE_VERSION] = event__c_version, [CAPTURE_ERRNO] = event__c_errno, [CAPTURE_CODE] = event__c_code,
	[CAPTURE_ADDRESS] = event__c_address, [CAPTURE_PORT] = event__c_port, [CAPTURE_SEQ] = event__c_seq, [CAPTURE_OP] = event__c_op,
	[CAPTURE_PID] = event__c_pid, [CAPTURE_SIGNAL] = event__c_signal, [CAPTURE_XID] = event__c_xid, [CAPTURE_GPU] = event__c_gpu,
	[CAPTURE_LIBRARY] = event__c_library, [CAPTURE_SYMBOL] = event__c_symbol, [CAPTURE_NAME] = event__c_name, [CAPTURE_SIZE] = event__c_size,
};

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

void logs_to_facts(const struct logs *l, struct facts *f)
{
	facts_table_read(f, TABLE_event);
	for (size_t i = 0; i < l->event_count; i++)
		one_event(l, l->event[i], (int64_t)i, f);
	waits_to_facts(l, f);
}
