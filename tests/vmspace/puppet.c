/* SPDX-License-Identifier: MIT */
/* puppet.c - starts puppets (vmspace_puppet.c) and tells them what to do. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "puppet.h"
#include "puppet_wire.h"

#define FILE_BYTES (64UL << 20)

unsigned long puppet_personality = ADDR_NO_RANDOMIZE;

static bool channel_used[PUPPET_MAX];

__attribute__((noreturn)) static void die(const char *what)
{
	perror(what);
	exit(2);
}

int puppet_fd(enum puppet_file file)
{
	return FD_FILES + (int)file;
}

static void place_fd(int fd, int at)
{
	if (fd < 0 || dup2(fd, at) < 0)
		die("opening a file for the puppets");
	if (fd != at)
		close(fd);
}

static void make_files(void)
{
	const char *dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char one[256], two[256];
	int ends[2];

	snprintf(one, sizeof(one), "%s/vmspace-oracle-one-%d", dir, (int)getpid());
	snprintf(two, sizeof(two), "%s/vmspace-oracle-two-%d", dir, (int)getpid());
	place_fd(open(one, O_RDWR | O_CREAT, 0600), FD_FILES + PUPPET_FILE_RW);
	place_fd(open(one, O_RDWR), FD_FILES + PUPPET_FILE_RW_AGAIN);
	place_fd(open(one, O_RDONLY), FD_FILES + PUPPET_FILE_RDONLY);
	place_fd(open(two, O_RDWR | O_CREAT, 0600), FD_FILES + PUPPET_FILE_OTHER);
	place_fd(memfd_create("puppet", 0), FD_FILES + PUPPET_MEMFD);
	if (pipe(ends))
		die("pipe");
	place_fd(ends[0], FD_FILES + PUPPET_PIPE);
	close(ends[1]);
	if (ftruncate(FD_FILES + PUPPET_FILE_RW, FILE_BYTES) ||
	    ftruncate(FD_FILES + PUPPET_FILE_OTHER, FILE_BYTES) ||
	    ftruncate(FD_FILES + PUPPET_MEMFD, FILE_BYTES))
		die("ftruncate");
	unlink(one);
	unlink(two);
}

/* vmspace_puppet lies beside this program. */
static void find_program(char *program, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", program, size - 32);
	char *slash;

	if (length < 0)
		die("readlink");
	program[length] = '\0';
	slash = strrchr(program, '/');
	strcpy(slash + 1, "vmspace_puppet");
	if (access(program, X_OK))
		die(program);
}

static void make_channels(void)
{
	for (int i = 0; i < PUPPET_MAX; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			die("socketpair");
		place_fd(pair[0], FD_HERE + i);
		place_fd(pair[1], FD_THERE + i);
		fcntl(FD_HERE + i, F_SETFD, FD_CLOEXEC);
	}
}

void puppet_start(struct puppet *puppet)
{
	static char program[4096];

	if (!program[0]) {
		find_program(program, sizeof(program));
		make_files();
		make_channels();
	}
	puppet->channel = 0;
	channel_used[0] = true;
	puppet->pid = fork();
	if (puppet->pid < 0)
		die("fork");
	if (!puppet->pid) {
		personality(puppet_personality);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	/* Once it has answered it has touched all pages that it will ever touch by itself. */
	for (int i = 0; i < 3; i++) {
		unsigned long args[6] = { 0 };

		puppet_touch(puppet, 0, false);
		puppet_call(puppet, SYS_getpid, args);
	}
}

static long tell(const struct puppet *puppet, const struct command *command)
{
	long result;

	if (write(FD_HERE + puppet->channel, command, sizeof(*command)) != sizeof(*command) ||
	    read(FD_HERE + puppet->channel, &result, sizeof(result)) != sizeof(result))
		die("the puppet does not answer");
	return result;
}

long puppet_call(const struct puppet *puppet, long number, const unsigned long args[6])
{
	struct command command = { .verb = VERB_CALL, .number = number };

	memcpy(command.args, args, sizeof(command.args));
	return tell(puppet, &command);
}

long puppet_touch(const struct puppet *puppet, unsigned long addr, bool write)
{
	struct command command = { .verb = write ? VERB_WRITE : VERB_READ, .args = { addr } };

	return tell(puppet, &command);
}

void puppet_drop_privileges(const struct puppet *puppet)
{
	struct command command = { .verb = VERB_DROP };

	if (tell(puppet, &command))
		die("the puppet keeps its capabilities");
}

void puppet_fork(const struct puppet *puppet, struct puppet *child)
{
	struct command command = { .verb = VERB_FORK };
	long result;

	child->channel = 0;
	while (channel_used[child->channel])
		child->channel++;
	command.args[0] = (unsigned long)child->channel;
	channel_used[child->channel] = true;
	child->pid = (pid_t)tell(puppet, &command);
	if (child->pid < 0)
		die("the puppet cannot fork");
	/* The child answers on its own channel. */
	if (read(FD_HERE + child->channel, &result, sizeof(result)) != sizeof(result))
		die("the puppet's child does not answer");
}

void puppet_end(struct puppet *puppet)
{
	struct command command = { .verb = VERB_END };

	if (write(FD_HERE + puppet->channel, &command, sizeof(command)) != sizeof(command))
		die("ending a puppet");
	waitpid(puppet->pid, NULL, 0);
	channel_used[puppet->channel] = false;
}
