/* SPDX-License-Identifier: MIT */
/* The userfaultfds of one address space: a context number for each, and when it is released. */
#include "mirror/uffd.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mirror/kernel.h"

#define LINK_TEXT "anon_inode:[userfaultfd]"
#define KCMP_FILE 0	/* of <linux/kcmp.h>: are two descriptors of one open file? */
#define UFFD_FLAGS (VMA_UFFD_MISSING | VMA_UFFD_WP | VMA_UFFD_MINOR)

struct uffd {
	struct uffd *next;
	unsigned int context;
	uint64_t inode;
	int fd;			/* the process's descriptor when last seen */
};

static unsigned int last_context;

static bool inode_of(pid_t tid, int fd, uint64_t *inode)
{
	char path[64], link[sizeof(LINK_TEXT)];
	struct stat st;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, fd);
	length = readlink(path, link, sizeof(link));
	if (length != sizeof(LINK_TEXT) - 1 || memcmp(link, LINK_TEXT, (size_t)length) != 0 ||
	    stat(path, &st) != 0)
		return false;
	*inode = st.st_ino;
	return true;
}

/* In Linux 5.10 all files that have no name share an inode: an eventfd, too, has that. */
static bool is_shared_inode(uint64_t inode)
{
	static uint64_t shared;
	struct stat st;
	int fd;

	if (!shared && (fd = eventfd(0, EFD_CLOEXEC)) >= 0) {
		if (fstat(fd, &st) == 0)
			shared = st.st_ino;
		close(fd);
	}
	return inode == shared;
}

/* Is descriptor @fd of thread @tid, with @inode, of @uffd? */
static bool is_of(const struct uffd *uffd, pid_t tid, uint64_t inode, int fd)
{
	if (uffd->inode != inode)
		return false;
	return fd == uffd->fd || !is_shared_inode(inode) ||
	       syscall(SYS_kcmp, tid, tid, KCMP_FILE, fd, uffd->fd) == 0;
}

bool uffd_look(pid_t tid, int fd, uint64_t *inode, uint64_t *features)
{
	char name[32];
	char *text, *at;

	*features = 0;
	if (!inode_of(tid, fd, inode))
		return false;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	text = kernel_read_file(tid, name);
	/* "API:\taa:FEATURES:POSSIBLE", in hexadecimal */
	at = text ? strstr(text, "API:") : NULL;
	at = at ? strchr(at + strlen("API:"), ':') : NULL;
	if (at)
		*features = strtoull(at + 1, NULL, 16) & ~UFFD_FEATURES_SET;
	free(text);
	return true;
}

static struct uffd *add(struct uffds *uffds, unsigned int context, uint64_t inode, int fd)
{
	struct uffd *uffd = malloc(sizeof(*uffd));

	if (!uffd)
		return NULL;
	*uffd = (struct uffd){ .next = uffds->first, .context = context, .inode = inode, .fd = fd };
	uffds->first = uffd;
	return uffd;
}

unsigned int uffd_context(struct uffds *uffds, pid_t tid, uint64_t inode, int fd)
{
	struct uffd *uffd;

	for (uffd = uffds->first; uffd; uffd = uffd->next)
		if (is_of(uffd, tid, inode, fd)) {
			uffd->fd = fd;
			return uffd->context;
		}
	/* Numbers wrap around, after so many that the previous owner is long gone. */
	last_context = last_context % VMSPACE_UFFD_CONTEXT_MAX + 1;
	uffd = add(uffds, last_context, inode, fd);
	return uffd ? uffd->context : 0;
}

/* With a shared inode only a descriptor that is not known can be a duplicate. */
static bool is_of_other(const struct uffds *uffds, const struct uffd *uffd, pid_t tid,
			uint64_t inode, int fd)
{
	for (const struct uffd *other = uffds->first; other; other = other->next)
		if (other != uffd && is_of(other, tid, inode, fd))
			return true;
	return false;
}

static bool has_descriptor(const struct uffds *uffds, struct uffd *uffd, pid_t tid)
{
	char path[64];
	struct dirent *entry;
	uint64_t inode;
	bool found = false;
	DIR *dir;

	if (inode_of(tid, uffd->fd, &inode) && inode == uffd->inode)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)tid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		found = entry->d_name[0] != '.' && inode_of(tid, fd, &inode) &&
			inode == uffd->inode && !is_of_other(uffds, uffd, tid, inode, fd);
		if (found)
			uffd->fd = fd;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Does the kernel show a registration on any area that @vm has registered with @context? */
static bool is_shown(const struct vmspace *vm, unsigned int context, const char *smaps)
{
	struct vmspace_entry entry;
	struct vma_info info;

	while ((smaps = vmspace_parse_entry(smaps, &entry)))
		if (entry.flags & UFFD_FLAGS &&
		    vmspace_lookup(vm, entry.line.start, &info) && info.uffd == context)
			return true;
	return false;
}

static bool is_used(const struct vmspace *vm, unsigned int context)
{
	struct vma_info info;

	for (unsigned long at = 0; vmspace_next(vm, at, &info); at = info.end)
		if (info.uffd == context)
			return true;
	return false;
}

/* A descriptor that shares its inode may be another's, which got the number when it was closed. */
static bool is_held(const struct uffds *uffds, struct uffd *uffd, const struct vmspace *vm,
		    pid_t tid)
{
	return has_descriptor(uffds, uffd, tid) &&
	       !(is_shared_inode(uffd->inode) && is_used(vm, uffd->context));
}

unsigned int uffd_apply_ends(struct uffds *uffds, struct vmspace *vm, pid_t tid,
			     struct answers *answers)
{
	struct uffd **link = &uffds->first;
	char *smaps = NULL;
	unsigned int ends = 0;

	while (*link) {
		struct uffd *uffd = *link;
		struct vmspace_request req = { .op = VMSPACE_UFFD_RELEASE,
					       .uffd.context = uffd->context };

		bool held = is_held(uffds, uffd, vm, tid);

		if (!smaps && !held)
			smaps = kernel_read_file(tid, "smaps");
		if (!smaps || held || is_shown(vm, uffd->context, smaps)) {
			link = &uffd->next;
			continue;
		}
		if (is_used(vm, uffd->context)) {
			answers_add_uffd_end(answers, uffd->context);
			vmspace_call(vm, &req);
			ends++;
		}
		*link = uffd->next;
		free(uffd);
	}
	free(smaps);
	return ends;
}

unsigned int uffd_forget(struct uffds *uffds, uint64_t inode)
{
	for (struct uffd **link = &uffds->first; *link; link = &(*link)->next) {
		struct uffd *uffd = *link;
		const unsigned int context = uffd->context;

		if (uffd->inode != inode)
			continue;
		*link = uffd->next;
		free(uffd);
		return context;
	}
	return 0;
}

void uffd_copy(struct uffds *child, const struct uffds *parent)
{
	for (const struct uffd *from = parent->first; from; from = from->next)
		add(child, from->context, from->inode, from->fd);
}

void uffd_clear(struct uffds *uffds)
{
	while (uffds->first) {
		struct uffd *uffd = uffds->first;

		uffds->first = uffd->next;
		free(uffd);
	}
}
