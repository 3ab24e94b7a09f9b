/* SPDX-License-Identifier: MIT */
/* What "vmscope explain" says of a process. */
#include "top/explained.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"

/* In a process of its own: whatever it does, the screen stays. */
static pid_t start(pid_t pid, int to)
{
	pid_t child = fork();
	char number[16];

	if (child != 0)
		return child;
	snprintf(number, sizeof(number), "%d", (int)pid);
	if (dup2(to, STDOUT_FILENO) >= 0 && dup2(to, STDERR_FILENO) >= 0)
		execl("/proc/self/exe", "vmscope", "explain", "--color=never", number,
		      (char *)NULL);
	_exit(STATUS_CANNOT_RUN);
}

/* Everything that can be read from @fd, as a string. NULL with errno. */
static char *read_text(int fd)
{
	size_t length = 0, capacity = 4096;
	char *text = malloc(capacity);
	ssize_t got = 1;

	while (text && got != 0) {
		if (length + 1 == capacity) {
			char *larger = realloc(text, capacity *= 2);

			if (!larger)
				break;
			text = larger;
		}
		got = read(fd, text + length, capacity - length - 1);
		if (got < 0 && errno != EINTR)
			break;
		length += got > 0 ? (size_t)got : 0;
	}
	if (text && got != 0) {
		free(text);
		return NULL;
	}
	if (text)
		text[length] = '\0';
	return text;
}

static int split(struct explained *explained)
{
	size_t lines = 1;

	for (const char *c = explained->text; *c; c++)
		lines += *c == '\n';
	explained->lines = malloc(lines * sizeof(*explained->lines));
	if (!explained->lines)
		return -ENOMEM;
	for (char *line = strtok(explained->text, "\n"); line; line = strtok(NULL, "\n"))
		explained->lines[explained->count++] = line;
	return 0;
}

int explained_read(struct explained *explained, pid_t pid)
{
	int ends[2], rc;
	pid_t child;

	*explained = (struct explained){ .text = NULL };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	child = start(pid, ends[1]);
	rc = child < 0 ? -errno : 0;
	close(ends[1]);
	if (rc == 0) {
		explained->text = read_text(ends[0]);
		rc = explained->text ? split(explained) : -errno;
	}
	/* Where not all could be read, the child ends at its next write. */
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc != 0)
		explained_clear(explained);
	return rc;
}

void explained_clear(struct explained *explained)
{
	free(explained->lines);
	free(explained->text);
	*explained = (struct explained){ .text = NULL };
}
