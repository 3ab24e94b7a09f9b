/* SPDX-License-Identifier: MIT */
/* A process under remote control; the program that it runs is puppet_program.c. */
#include "check/puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/files.h"
#include "check/puppet_uffd.h"
#include "check/puppet_wire.h"

#define STACK_BYTES (8UL << 20)
enum { PATIENCE_SECONDS = 30 };
_Static_assert(SCRATCH_BYTES == PUPPET_SCRATCH_BYTES, "the puppet has as much as is told");

/* The embedded program, a static executable: see puppet_blob.py. */
extern const char puppet_blob[], puppet_blob_end[];

static bool channel_used[PUPPET_MAX];

static bool place_fd(int fd, int at)
{
	if (fd < 0 || dup2(fd, at) < 0)
		return false;
	if (fd != at)
		close(fd);
	return true;
}

/* New channels for each family: an old one may still contain an answer. */
static bool make_channels(void)
{
	const struct timeval patience = { .tv_sec = PATIENCE_SECONDS };

	for (int i = 0; i < PUPPET_MAX; i++) {
		int pair[2];

		channel_used[i] = false;
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
		    !place_fd(pair[0], FD_HERE + i) || !place_fd(pair[1], FD_THERE + i) ||
		    fcntl(FD_HERE + i, F_SETFD, FD_CLOEXEC) != 0 ||
		    setsockopt(FD_HERE + i, SOL_SOCKET, SO_RCVTIMEO, &patience,
			       sizeof(patience)) != 0)
			return false;
	}
	return true;
}

/* Writes the program to a memfd to be executed. Returns a descriptor, or -1. */
static int unpack_program(void)
{
	static int fd = -1;
	size_t size = (size_t)((uintptr_t)puppet_blob_end - (uintptr_t)puppet_blob);

	if (fd >= 0)
		return fd;
	fd = memfd_create("vmscope-puppet", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, puppet_blob, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	return fd;
}

__attribute__((noreturn)) static void become_puppet(int program, unsigned long persona)
{
	struct rlimit stack;
	char *argv[] = { (char []){ "puppet" }, NULL }, *envp[] = { NULL };

	/* mmap_base depends on it. */
	getrlimit(RLIMIT_STACK, &stack);
	stack.rlim_cur = stack.rlim_max < STACK_BYTES ? stack.rlim_max : STACK_BYTES;
	if (setrlimit(RLIMIT_STACK, &stack) == 0 && personality(persona) >= 0)
		fexecve(program, argv, envp);
	_exit(127);
}

/* Handles events of userfaultfds until the puppet answers. @heir: see puppet_uffd_serve(). */
static bool await_answer(const struct puppet *puppet, struct puppet *heir)
{
	struct pollfd polled[1 + PUPPET_UFFDS] = {
		{ .fd = FD_HERE + puppet->channel, .events = POLLIN },
	};

	/* Without userfaultfds, the recv() that follows does the waiting. */
	while (puppet->uffd_count > 0) {
		nfds_t count = 1 + puppet_uffd_poll(puppet, polled + 1);

		if (poll(polled, count, PATIENCE_SECONDS * 1000) <= 0)
			return false;
		/* Handles events even if the answer has arrived, since they are older. */
		if (!puppet_uffd_serve(puppet, polled + 1, heir))
			return false;
		if (polled[0].revents)
			return true;
	}
	return true;
}

static long execute_with_heir(const struct puppet *puppet, const struct command *command,
			      struct puppet *heir)
{
	long result;

	if (send(FD_HERE + puppet->channel, command, sizeof(*command), MSG_NOSIGNAL) !=
		    sizeof(*command) ||
	    !await_answer(puppet, heir) ||
	    recv(FD_HERE + puppet->channel, &result, sizeof(result), 0) != sizeof(result))
		return PUPPET_GONE;
	return result;
}

static long execute(const struct puppet *puppet, const struct command *command)
{
	return execute_with_heir(puppet, command, NULL);
}

int puppet_start(struct puppet *puppet, unsigned long persona)
{
	struct command where = { .verb = VERB_SCRATCH };
	unsigned long none[6] = { 0 };
	int program = unpack_program();

	if (program < 0 || puppet_open_files() != 0 || !make_channels())
		return -errno;
	puppet->channel = 0;
	puppet->uffd_count = 0;
	channel_used[0] = true;
	puppet->pid = fork();
	if (puppet->pid < 0)
		return -errno;
	if (puppet->pid == 0)
		become_puppet(program, persona);
	/* Close our copies of the puppets' ends, so that recv() fails once all puppets are dead. */
	for (int i = 0; i < PUPPET_MAX; i++)
		close(FD_THERE + i);
	/* After an answer it has touched all pages that it ever touches by itself. */
	for (int i = 0; i < 3; i++)
		if (puppet_touch(puppet, 0, false) == PUPPET_GONE ||
		    puppet_call(puppet, SYS_getpid, none) == PUPPET_GONE) {
			puppet_end(puppet);
			return -ECHILD;
		}
	puppet->scratch = (unsigned long)execute(puppet, &where);
	where.args[0] = 1;
	puppet->unwritable = (unsigned long)execute(puppet, &where);
	return 0;
}

long puppet_call(const struct puppet *puppet, long number, const unsigned long args[6])
{
	struct command command = { .verb = VERB_CALL, .number = number };

	memcpy(command.args, args, sizeof(command.args));
	return execute(puppet, &command);
}

bool puppet_write_scratch(const struct puppet *puppet, const void *from, size_t size)
{
	const struct iovec here = { (void *)from, size };
	const struct iovec there = { (void *)puppet->scratch, size };

	return process_vm_writev(puppet->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

long puppet_touch(const struct puppet *puppet, unsigned long addr, bool write)
{
	struct command command = { .verb = write ? VERB_WRITE : VERB_READ, .args = { addr } };

	return execute(puppet, &command);
}

long puppet_drop_privileges(const struct puppet *puppet)
{
	const struct command command = { .verb = VERB_DROP };

	return execute(puppet, &command);
}

long puppet_suspend_privileges(const struct puppet *puppet, unsigned long off)
{
	const struct command command = { .verb = VERB_SUSPEND, .args = { off } };

	return execute(puppet, &command);
}

long puppet_fork(const struct puppet *puppet, struct puppet *child)
{
	struct command command = { .verb = VERB_FORK };
	long result;

	child->channel = 0;
	child->scratch = puppet->scratch;
	child->unwritable = puppet->unwritable;
	child->uffd_count = 0;
	while (child->channel < PUPPET_MAX && channel_used[child->channel])
		child->channel++;
	if (child->channel == PUPPET_MAX)
		return -EAGAIN;
	command.args[0] = (unsigned long)child->channel;
	child->pid = 0;
	result = execute_with_heir(puppet, &command, child);
	if (result < 0) {
		puppet_uffd_end_all(child);
		return result;
	}
	channel_used[child->channel] = true;
	child->pid = (pid_t)result;
	/* The child answers on its own channel. */
	if (recv(FD_HERE + child->channel, &result, sizeof(result), 0) != sizeof(result))
		return PUPPET_GONE;
	return 0;
}

void puppet_end(struct puppet *puppet)
{
	if (puppet->pid <= 0)
		return;
	kill(puppet->pid, SIGKILL);
	waitpid(puppet->pid, NULL, 0);
	puppet_uffd_end_all(puppet);
	channel_used[puppet->channel] = false;
	puppet->pid = 0;
}
