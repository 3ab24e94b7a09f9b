/* SPDX-License-Identifier: MIT */
/* The program in the kernel: loaded, started, asked, and listened to. */
#include "watch/feed.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <mapletree/maple_tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/call.h"
#include "base/now.h"
#include "base/session.h"

/* The program is a string in it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include <watch.skel.h> /* made by bpftool */
#pragma GCC diagnostic pop

/*
 * Why the kernel refused a program, in its verifier's words; or "". (libbpf hands its listener no
 * context.)
 */
static char cause[160];

struct feed {
	struct watch_bpf *program;
	struct ring_buffer *ring;
	void (*heard)(void *ctx, const struct watch_head *event);
	void *ctx;
	long until_ms;				/* events are read up to then, also if there are more */
	bool stacks;
	char why_all[sizeof(cause)];	/* why the exits of all calls are listened to; or "" */
	/* Stacks that were read from the ring before they were asked for, by their time. */
	struct ring_buffer *stack_ring;
	struct maple_tree stacks_read;
	const struct watch_head *wanted;	/* the call whose stack is looked for */
	struct watch_stack_event *found;
};

enum { PAUSE_MS = 5, READ_MS = 50, STACKS_RING = 128 << 20, STACKS_LATE_NS = 1000000000 };
enum { CAP_SYS_ADMIN_BIT = 21, CAP_PERFMON_BIT = 38, CAP_BPF_BIT = 39 };

/* Of the verifier's log in @text, the last line that is no statistics. */
static void keep_cause(const char *text)
{
	const char *at = strstr(text, "BEGIN PROG LOAD LOG"), *end;

	for (at = at ? strchr(at, '\n') : NULL; at && at[1]; at = end) {
		end = strchrnul(++at, '\n');
		if (end > at && strncmp(at, "-- END", 6) != 0 && strncmp(at, "processed ", 10) != 0)
			snprintf(cause, sizeof(cause), "%.*s", (int)(end - at), at);
		if (!*end)
			break;
	}
}

/* libbpf's messages are for who has written the program; a reason follows from the error. */
static int __attribute__((format(printf, 2, 0)))
on_message(enum libbpf_print_level level, const char *format, va_list list)
{
	char *text;

	(void)level;
	if (vasprintf(&text, format, list) < 0)
		return 0;
	keep_cause(text);
	if (getenv("VMSCOPE_DEBUG_BPF"))
		fputs(text, stderr);
	free(text);
	return 0;
}

static unsigned long long capabilities(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long set = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "CapEff: %llx", &set) == 1)
			break;
	if (status)
		fclose(status);
	return set;
}

/* Says which capability is missing. False: none is. */
static bool lacks_capability(void)
{
	const unsigned long long set = capabilities();
	const bool all = set >> CAP_SYS_ADMIN_BIT & 1;
	const bool bpf = all || set >> CAP_BPF_BIT & 1, perfmon = all || set >> CAP_PERFMON_BIT & 1;

	if (bpf && perfmon)
		return false;
	session_say("cannot watch: it takes the %s %s%s%s (or CAP_SYS_ADMIN): be root, or in a "
		    "container add --cap-add. 'vmscope trace' takes none for programs of your own",
		    !bpf && !perfmon ? "capabilities" : "capability", bpf ? "" : "CAP_BPF",
		    !bpf && !perfmon ? " and " : "", perfmon ? "" : "CAP_PERFMON");
	return true;
}

/* The kernel tells of processes by their numbers in the first PID namespace, as it asks for them. */
static bool in_other_namespace(void)
{
	const ino_t first = 0xeffffffcU; /* PROC_PID_INIT_INO */
	struct stat seen;

	if (stat("/proc/self/ns/pid", &seen) != 0 || seen.st_ino == first)
		return false;
	session_say("cannot watch: it takes the system's first PID namespace, as processes have other "
		    "numbers in a container's: run it outside, or with the host's (--pid=host)");
	return true;
}

static bool has(const struct btf *kernel, const char *name, unsigned int kind)
{
	return kernel && btf__find_by_name_kind(kernel, name, kind) > 0;
}

/*
 * Says so where neither the kernel's programs can go through the areas of a process (since Linux 6.7),
 * nor an iterator is had for those of one process (since 6.1).
 */
static bool is_too_old(void)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	const bool old = kernel && !has(kernel, "bpf_iter_task_vma_new", BTF_KIND_FUNC) &&
			 !has(kernel, "bpf_iter_task_type", BTF_KIND_ENUM);
	struct utsname name;

	btf__free(kernel);
	if (old && uname(&name) == 0)
		session_say("cannot watch: this is Linux %s, and it takes 6.1 or later. 'vmscope trace "
			    "-p PID' follows a process here, too, but stops it at each call; 'vmscope "
			    "top' and 'vmscope explain PID --for=SECONDS' look without stopping it",
			    name.release);
	return old;
}

static int refuse(int error)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		session_say("cannot watch: this kernel has no /sys/kernel/btf/vmlinux "
			    "(CONFIG_DEBUG_INFO_BTF)");
	else if (cause[0])
		session_say("cannot watch: the kernel does not take the program: %s (%s)", cause,
			    strerror(-error));
	else if (error == -EPERM || error == -EACCES)
		session_say("cannot watch: the kernel refuses programs for bpf(2) here: %s. A "
			    "container or kernel.lockdown may forbid them", strerror(-error));
	else
		session_say("cannot watch: the kernel does not take the program: %s. "
			    "VMSCOPE_DEBUG_BPF=1 shows why",
			    strerror(-error));
	return error;
}

/* Ends the reading (by -1) when its time is up: a program may make calls faster than they are followed. */
static int on_event(void *ctx, void *data, size_t size)
{
	struct feed *feed = ctx;

	(void)size;
	feed->heard(feed->ctx, data);
	return now_ms() < feed->until_ms ? 0 : -1;
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* Frees the stacks of calls up to @time. */
static void forget_stacks(struct feed *feed, unsigned long time)
{
	struct watch_stack_event *stack;
	unsigned long at = 0;

	mt_for_each(&feed->stacks_read, stack, at, time)
		free(mtree_erase(&feed->stacks_read, stack->head.time));
}

/* Ends the reading (by -1) with the stack that is wanted, or with one that is much later. */
static int on_stack(void *ctx, void *data, size_t size)
{
	struct feed *feed = ctx;
	const struct watch_stack_event *event = data;
	struct watch_stack_event *copy;

	size = offsetof(struct watch_stack_event, bytes) + event->size;
	copy = malloc(size);
	if (!copy)
		return -1;
	memcpy(copy, event, size);
	if (event->head.time == feed->wanted->time && event->head.tid == feed->wanted->tid) {
		feed->found = copy;
		return -1;
	}
	/* Two at one time: the second counts as lost. */
	if (mtree_insert(&feed->stacks_read, event->head.time, copy, GFP_KERNEL) != 0)
		free(copy);
	return event->head.time > feed->wanted->time + STACKS_LATE_NS ? -1 : 0;
}

void feed_forgo_stacks(struct feed *feed)
{
	feed->stacks = false;
}

struct watch_stack_event *feed_stack(struct feed *feed, const struct watch_head *call)
{
	struct watch_stack_event *stack = mtree_load(&feed->stacks_read, call->time);

	if (!feed->stacks)
		return NULL;
	if (stack && stack->head.tid == call->tid)
		return mtree_erase(&feed->stacks_read, call->time);
	feed->wanted = call;
	feed->found = NULL;
	ring_buffer__consume(feed->stack_ring);
	if (call->time > STACKS_LATE_NS)
		forget_stacks(feed, call->time - STACKS_LATE_NS);
	return feed->found;
}

/* ---- the program ---------------------------------------------------------------------------- */

static void want_calls(struct watch_bpf *program)
{
	for (size_t i = 0; i < CALL_KINDS; i++) {
		const struct call_kind *kind = &call_kinds[i];
		struct watch_wanted *wanted;

		if (kind->nr < 0 || kind->nr >= WATCH_CALLS)
			continue;
		wanted = (struct watch_wanted *)&program->rodata->wanted[kind->nr];
		wanted->wanted = 1;
		wanted->test = (unsigned char)kind->test;
		wanted->arg = (unsigned char)kind->test_arg;
		wanted->count = (unsigned char)kind->nvalues;
		memcpy(wanted->values, kind->values, sizeof(wanted->values));
	}
}

/* How many arguments the tracepoint has in this kernel; 0: it is not known. */
static int arguments_of(const struct btf *kernel, const char *tracepoint)
{
	const struct btf_type *type;
	int id, count = 0;

	if (!kernel)
		return 0;
	id = btf__find_by_name_kind(kernel, tracepoint, BTF_KIND_TYPEDEF);
	if (id > 0 && (type = btf__type_by_id(kernel, btf__type_by_id(kernel, (__u32)id)->type)) &&
	    btf_is_ptr(type) && (type = btf__type_by_id(kernel, type->type)) &&
	    btf_is_func_proto(type))
		count = btf_vlen(type) - 1; /* the first is the listener's own */
	return count;
}

/* What differs between the versions of Linux that have all that is needed. */
static void adapt(struct watch_bpf *program, const struct btf *kernel)
{
	struct bpf_program *seconds[] = { program->progs.task_made_too, program->progs.executed_too,
					  program->progs.ended_too, program->progs.space_gone_too };
	struct utsname name;
	unsigned int major, minor;
	const bool known = uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2;

	program->rodata->lock_has_path = arguments_of(kernel, "btf_trace_mmap_lock_start_locking") > 2;
	program->rodata->exit_is_late = known && (major < 6 || (major == 6 && minor < 16));
	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
		bpf_program__set_autoload(seconds[i], known && major >= 7);
}

/*
 * Returns of calls are told by the functions of the calls, at no cost for other calls; or else, as not
 * every kernel lets its functions be listened to, by a tracepoint of all calls.
 */
static void choose_exits(struct watch_bpf *program, const struct btf *kernel, bool by_function)
{
	struct bpf_program *one;

	bpf_object__for_each_program(one, program->obj) {
		const char *section = bpf_program__section_name(one);

		if (strncmp(section, "fexit/", 6) == 0)
			bpf_program__set_autoload(one, by_function &&
						  has(kernel, section + 6, BTF_KIND_FUNC));
	}
	bpf_program__set_autoload(program->progs.call_exit, !by_function);
}

/*
 * How areas are shown: by programs that go through them, or one by one by the kernel. (Those of an end
 * only if functions can be listened to.)
 */
static void choose_looks(struct watch_bpf *program, const struct btf *kernel, bool by_function)
{
	const bool goes_through = has(kernel, "bpf_iter_task_vma_new", BTF_KIND_FUNC);

	program->rodata->goes_through = goes_through;
	bpf_program__set_autoload(program->progs.look, goes_through);
	bpf_program__set_autoload(program->progs.look_on, !goes_through);
	bpf_program__set_autoattach(program->progs.look_on, false); /* feed_look() does */
	bpf_program__set_autoload(program->progs.area_copied, by_function && !goes_through &&
				  has(kernel, "anon_vma_fork", BTF_KIND_FUNC));
	bpf_program__set_autoload(program->progs.area_gone, by_function && !goes_through &&
				  has(kernel, "unlink_anon_vmas", BTF_KIND_FUNC));
}

/* 0 or -errno. */
static int start(struct feed *feed, bool by_function)
{
	struct btf *kernel;
	int rc;

	watch_bpf__destroy(feed->program);
	feed->program = watch_bpf__open();
	if (!feed->program)
		return -errno;
	kernel = btf__load_vmlinux_btf();
	feed->program->rodata->with_stacks = feed->stacks;
	if (feed->stacks)
		bpf_map__set_max_entries(feed->program->maps.stacks, STACKS_RING);
	want_calls(feed->program);
	adapt(feed->program, kernel);
	choose_exits(feed->program, kernel, by_function);
	choose_looks(feed->program, kernel, by_function);
	btf__free(kernel);
	rc = watch_bpf__load(feed->program);
	return rc != 0 ? rc : watch_bpf__attach(feed->program);
}

int feed_open(struct feed **out, void (*heard)(void *ctx, const struct watch_head *event),
	      void *ctx, bool stacks)
{
	struct feed *feed;
	int rc;

	_Static_assert((int)WATCH_VALUES == (int)CALL_VALUES, "values of a call");
	*out = NULL;
	if (lacks_capability() || in_other_namespace())
		return -EPERM;
	libbpf_set_print(on_message);
	if (is_too_old())
		return -ENOSYS;
	feed = calloc(1, sizeof(*feed));
	if (!feed)
		return -ENOMEM;
	feed->heard = heard;
	feed->ctx = ctx;
	feed->stacks = stacks;
	mt_init(&feed->stacks_read);
	rc = start(feed, true);
	if (rc != 0 && rc != -EAGAIN) {
		snprintf(feed->why_all, sizeof(feed->why_all), "%s",
			 cause[0] ? cause : strerror(-rc));
		cause[0] = '\0';
		rc = start(feed, false);
	}
	if (rc == 0) {
		feed->ring = ring_buffer__new(bpf_map__fd(feed->program->maps.events), on_event,
					      feed, NULL);
		feed->stack_ring = ring_buffer__new(bpf_map__fd(feed->program->maps.stacks),
						    on_stack, feed, NULL);
		rc = feed->ring && feed->stack_ring ? 0 : -errno;
	}
	if (rc != 0) {
		feed_close(feed);
		return rc == -EAGAIN ? rc : refuse(rc);
	}
	*out = feed;
	return 0;
}

void feed_close(struct feed *feed)
{
	if (!feed)
		return;
	ring_buffer__free(feed->ring);
	ring_buffer__free(feed->stack_ring);
	forget_stacks(feed, ULONG_MAX);
	watch_bpf__destroy(feed->program);
	free(feed);
}

bool feed_poll(struct feed *feed, int milliseconds)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	int count;

	feed->until_ms = now_ms() + READ_MS + milliseconds;
	count = ring_buffer__consume(feed->ring);
	/* Nobody is woken for an event: that would cost the program watched more than all else. */
	for (int waited = 0; count == 0 && waited < milliseconds; waited += PAUSE_MS) {
		nanosleep(&pause, NULL);
		count = ring_buffer__consume(feed->ring);
	}
	return count >= 0;
}

/* Reads the iterator to its end, by which look_on() is run for each area of process @pid. */
static int look_on(struct feed *feed, pid_t pid, bool add)
{
	union bpf_iter_link_info one = { .task.tid = (__u32)pid };
	/* (It clears the bytes between members, too; libbpf refuses others.) */
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &one, .link_info_len = sizeof(one));
	struct bpf_link *link = bpf_program__attach_iter(feed->program->progs.look_on, &options);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1, rc = fd < 0 ? -errno : 0;
	char nothing[8];
	ssize_t got;

	memset(&feed->program->bss->looked_at, 0, sizeof(feed->program->bss->looked_at));
	feed->program->bss->look_adds = add;
	feed->program->bss->look_over = false;
	if (fd >= 0) {
		while ((got = read(fd, nothing, sizeof(nothing))) > 0 || (got < 0 && errno == EINTR))
			;
		rc = got < 0 && !feed->program->bss->look_over ? -errno : 0;
		close(fd);
	}
	bpf_link__destroy(link);
	return rc == 0 && !feed->program->bss->looked_at.head.kind ? -ESRCH : rc;
}

static int look(struct feed *feed, pid_t pid, bool add)
{
	struct { __u32 pid, add; } request = { (__u32)pid, add };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &request, .ctx_size_in = sizeof(request));
	int rc;

	if (!feed->program->rodata->goes_through)
		return look_on(feed, pid, add);
	rc = bpf_prog_test_run_opts(bpf_program__fd(feed->program->progs.look), &options);
	return rc != 0 ? rc : -(int)options.retval;
}

/* By any thread of the process: where only the first has ended, that has no address space. */
int feed_look(struct feed *feed, pid_t pid, bool add)
{
	int rc = look(feed, pid, add), tid;
	char path[32];
	struct dirent *entry;
	DIR *tasks;

	if (rc != -ESRCH)
		return rc;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && rc == -ESRCH && (entry = readdir(tasks)))
		if ((tid = atoi(entry->d_name)) > 0 && tid != pid)
			rc = look(feed, tid, add);
	if (tasks)
		closedir(tasks);
	return rc;
}

void feed_pause(struct feed *feed, bool pause)
{
	*(volatile bool *)&feed->program->bss->paused = pause;
}

/* How often the kernel has left out a program. */
static unsigned long misses(const struct bpf_program *program)
{
	struct bpf_prog_info info = { .type = 0 };
	__u32 size = sizeof(info);

	if (bpf_program__fd(program) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0)
		return 0;
	return info.recursion_misses;
}

/* Of two that do the same: no more than these have been left out at once. */
static unsigned long misses_of_both(const struct bpf_program *one, const struct bpf_program *other)
{
	const unsigned long first = misses(one), second = misses(other);

	return first < second ? first : second;
}

/*
 * A program is left out where the same one was interrupted on that processor, as may happen where
 * the kernel is preemptible: another thread's call has not been told of then. (Nor has an area that
 * area_gone() missed; but that their count tells. lock_wanted() is left out where it takes a lock
 * itself, and lock_taken() does what it has to.)
 */
static unsigned long missed(const struct feed *feed)
{
	const struct watch_bpf *all = feed->program;
	struct bpf_program *one;
	unsigned long count = misses(all->progs.call_exit);

	bpf_object__for_each_program(one, all->obj)
		if (bpf_program__expected_attach_type(one) == BPF_TRACE_FEXIT)
			count += misses(one);
	if (!bpf_program__autoload(all->progs.executed_too))
		return count;
	return count + misses(all->progs.lock_taken) +
	       misses_of_both(all->progs.task_made, all->progs.task_made_too) +
	       misses_of_both(all->progs.executed, all->progs.executed_too) +
	       misses_of_both(all->progs.ended, all->progs.ended_too) +
	       misses_of_both(all->progs.space_gone, all->progs.space_gone_too);
}

unsigned long feed_lost(const struct feed *feed)
{
	return (unsigned long)*(volatile __u64 *)&feed->program->bss->lost + missed(feed);
}

const char *feed_why_all(const struct feed *feed)
{
	return feed->why_all[0] ? feed->why_all : NULL;
}

unsigned long feed_foreign(const struct feed *feed)
{
	return (unsigned long)*(volatile __u64 *)&feed->program->bss->foreign;
}
