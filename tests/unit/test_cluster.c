/* Frames of davy cluster: what was written is read, what is damaged is refused. The schedule: everybody meets, nobody twice at once, and
 * large jobs stay cheap. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "act/cluster.h"
#include "act/cluster_schedule.h"

/* -- frames ---------------------------------------------------------------------------------------------------------------- */

static void frame_of(struct buf *b)
{
	size_t start = frame_begin(b, 7, 0x1122334455667788u);
	frame_int(b, 3, -5);
	frame_text(b, 4, STR("n1"));
	frame_int(b, 3, 9); /* a tag that comes twice counts once */
	frame_end(b, start);
}

static void what_is_written_is_read(void **state)
{
	struct buf b = BUF_MAX(4096);
	struct frame frame;
	struct frame_fields f;
	(void)state;
	frame_of(&b);
	frame_of(&b);
	struct str rest = buf_view(&b);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(parse_frame_next(&rest, 1024, &frame), 1);
		assert_int_equal(frame.type, 7);
		assert_true(frame.token == 0x1122334455667788u);
		assert_int_equal(parse_frame_fields(frame.body, &f), 0);
		assert_int_equal(parse_frame_int(&f, 3, 0), -5);
		assert_int_equal(parse_frame_int(&f, 5, 42), 42);
		assert_int_equal(parse_frame_int(&f, 4, 42), 42);
		assert_true(str_is(parse_frame_text(&f, 4), "n1"));
		assert_int_equal(parse_frame_text(&f, 3).len, 0);
	}
	assert_int_equal(parse_frame_next(&rest, 1024, &frame), 0);
	buf_free(&b);
}

static void half_a_frame_waits(void **state)
{
	struct buf b = BUF_MAX(4096);
	struct frame frame;
	(void)state;
	frame_of(&b);
	for (size_t n = 0; n < b.len; n++) {
		struct str rest = str_n(b.ptr, n);
		assert_int_equal(parse_frame_next(&rest, 1024, &frame), 0);
		assert_int_equal(rest.len, n);
	}
	buf_free(&b);
}

static void damage_is_refused(void **state)
{
	struct buf b = BUF_MAX(4096);
	struct frame frame;
	struct frame_fields f;
	(void)state;
	frame_of(&b);
	struct str rest = buf_view(&b);
	assert_int_equal(parse_frame_next(&rest, 8, &frame), -EMSGSIZE);
	b.ptr[4] = 9;
	assert_int_equal(parse_frame_next(&rest, 1024, &frame), -EPROTONOSUPPORT);
	b.ptr[4] = FRAME_VERSION;
	b.ptr[1] = 'x';
	assert_int_equal(parse_frame_next(&rest, 1024, &frame), -EBADMSG);
	b.ptr[1] = 'A';
	b.ptr[8] = (char)0xff; /* a length that no memory has */
	assert_int_equal(parse_frame_next(&rest, (size_t)4 << 20, &frame), -EMSGSIZE);
	assert_int_equal(parse_frame_fields(STR("\x83\xff\xff\xff\xff"
						"abc"),
				 &f),
		-EBADMSG);
	assert_int_equal(parse_frame_fields(STR("\x03\0\0\0\4"
						"abcd"),
				 &f),
		-EBADMSG);
	assert_int_equal(parse_frame_fields(STR("\x03\0\0"), &f), -EBADMSG);
	assert_int_equal(parse_frame_fields(STR("\x7f\0\0\0\10"
						"12345678"),
				 &f),
		0); /* an unknown tag is passed over */
	buf_free(&b);
}

/* -- schedule ---------------------------------------------------------------------------------------------------------------- */

/* In a round nobody has two partners; nobody is paired with itself; no pair comes twice. */
static void check_rounds(struct arena *a, const struct cluster_schedule *s, int nodes, int *ret_degree)
{
	int *last = arena_array(a, (size_t)nodes, sizeof *last);
	for (int i = 0; i < nodes; i++)
		last[i] = -1;
	for (size_t i = 0; i < s->count; i++) {
		const struct cluster_pair *p = &s->pairs[i];
		assert_true(p->a >= 0 && p->a < p->b && p->b < nodes);
		assert_true(p->round < s->rounds);
		assert_true(i == 0 || s->pairs[i - 1].round <= p->round);
		assert_true(last[p->a] < p->round && last[p->b] < p->round);
		last[p->a] = last[p->b] = p->round;
		ret_degree[p->a]++;
		ret_degree[p->b]++;
	}
}

/* bench/cluster.py reads these lines. */
static void count_shown(int nodes, const struct cluster_schedule *s)
{
	print_message("# %d nodes: %d rounds, %zu pairs, %llu messages at rank 0\n", nodes, s->rounds, s->count,
		(unsigned long long)cluster_schedule_messages(s, 2));
}

static void everybody_meets_once(void **state)
{
	(void)state;
	for (int nodes = 2; nodes <= CLUSTER_FULL_MAX; nodes++) {
		struct arena *a = arena_new(0);
		struct cluster_schedule s;
		int degree[CLUSTER_FULL_MAX] = {0};
		bool met[CLUSTER_FULL_MAX][CLUSTER_FULL_MAX] = {{false}};
		cluster_schedule_make(a, nodes, 1, &s);
		check_rounds(a, &s, nodes, degree);
		assert_int_equal(s.count, nodes * (nodes - 1) / 2);
		assert_int_equal(s.rounds, nodes - 1 + (nodes & 1));
		for (size_t i = 0; i < s.count; i++) {
			assert_false(met[s.pairs[i].a][s.pairs[i].b]);
			met[s.pairs[i].a][s.pairs[i].b] = true;
		}
		for (int i = 0; i < nodes; i++)
			assert_int_equal(degree[i], nodes - 1);
		if ((nodes & (nodes - 1)) == 0)
			count_shown(nodes, &s);
		arena_free(a);
	}
}

static int find(int *parent, int i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* Every node has its neighbours and some others; all hang together; the rounds stay the same for any number of nodes. */
static void large_jobs_stay_cheap(void **state)
{
	static const int sizes[] = {65, 66, 127, 128, 1000, 1001, 10000, 100000};
	(void)state;
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		struct arena *a = arena_new(0);
		struct cluster_schedule s, same;
		int nodes = sizes[k], *degree = arena_array(a, (size_t)nodes, sizeof *degree),
		    *parent = arena_array(a, (size_t)nodes, sizeof *parent), roots = 0;
		cluster_schedule_make(a, nodes, 7, &s);
		check_rounds(a, &s, nodes, degree);
		assert_true(s.rounds <= CLUSTER_PARTNERS + 3);
		assert_true(s.count <= (size_t)nodes * (CLUSTER_PARTNERS + 2) / 2 + 1);
		for (int i = 0; i < nodes; i++) {
			assert_true(degree[i] >= 5 && degree[i] <= CLUSTER_PARTNERS + 2);
			parent[i] = i;
		}
		bool ring = false;
		for (size_t i = 0; i < s.count; i++) {
			parent[find(parent, s.pairs[i].a)] = find(parent, s.pairs[i].b);
			ring |= s.pairs[i].a == 0 && s.pairs[i].b == nodes - 1;
		}
		for (int i = 0; i < nodes; i++)
			roots += find(parent, i) == i;
		assert_int_equal(roots, 1);
		assert_true(ring);
		cluster_schedule_make(a, nodes, 7, &same);
		assert_int_equal(same.count, s.count);
		assert_memory_equal(same.pairs, s.pairs, s.count * sizeof *s.pairs);
		count_shown(nodes, &s);
		arena_free(a);
	}
}

/* -- how an attempt ended --------------------------------------------------------------------------------------------------------- */

static void errors_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(cluster_way_of(0, -ENODATA), WAY_OPEN);
	assert_int_equal(cluster_way_of(-ECONNREFUSED, -ENODATA), WAY_REFUSED);
	assert_int_equal(cluster_way_of(-ECONNREFUSED, 3 << 8 | 3), WAY_REJECTED);
	assert_int_equal(cluster_way_of(-EINPROGRESS, -ENODATA), WAY_DROPPED);
	assert_int_equal(cluster_way_of(-EHOSTUNREACH, -ENODATA), WAY_NO_ROUTE);
	assert_int_equal(cluster_way_of(-EHOSTUNREACH, 3 << 8 | 1), WAY_NO_ROUTE);
	assert_int_equal(cluster_way_of(-EHOSTUNREACH, 3 << 8 | 13), WAY_REJECTED);
	assert_int_equal(cluster_way_of(-ENETUNREACH, -ENODATA), WAY_NO_ROUTE);
	assert_int_equal(cluster_way_of(-EPERM, -ENODATA), WAY_REJECTED);
}

static void addresses(void **state)
{
	struct host_address a = {.port = 9}, b = {0};
	char text[HOST_ADDRESS_TEXT];
	(void)state;
	assert_int_equal(host_address_parse(STR("10.0.0.1"), &a), 0);
	assert_true(a.family == 4 && a.port == 9);
	assert_string_equal(host_address_text(&a, text), "10.0.0.1");
	assert_int_equal(host_address_parse(STR("[fd00::1]"), &b), 0);
	assert_string_equal(host_address_text(&b, text), "fd00::1");
	assert_false(host_address_is_same(&a, &b));
	assert_int_equal(host_address_parse(STR("127.0.1.1"), &a), 0);
	assert_true(host_address_is_loopback(&a));
	assert_int_equal(host_address_parse(STR("::1"), &a), 0);
	assert_true(host_address_is_loopback(&a));
	assert_int_equal(host_address_parse(STR("n1"), &a), -EINVAL);
	assert_int_equal(host_address_parse(STR(""), &a), -EINVAL);
	assert_int_equal(
		host_address_parse(STR("10.0.0.1.10.0.0.1.10.0.0.1.10.0.0.1.10.0.0.1.10.0.0.1.10.0.0.1.10.0.0.1.10.0.0.1.10.0.0.1"), &a),
		-EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(half_a_frame_waits),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(everybody_meets_once),
		cmocka_unit_test(large_jobs_stay_cheap),
		cmocka_unit_test(errors_are_told_apart),
		cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
