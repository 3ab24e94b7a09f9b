/* SPDX-License-Identifier: MIT */
/* Call sites: the function that is responsible for a call, found on the stack. */
#include "log/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool site_is_runtime(const char *file, size_t length)
{
	static const char *const runtime[] = { "libc.so", "libc-", "ld-linux", "libpthread",
					       "ld-musl", "[vdso]" };

	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		if (length >= strlen(runtime[i]) &&
		    memcmp(file, runtime[i], strlen(runtime[i])) == 0)
			return true;
	return false;
}

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>

enum { FRAMES_MAX = 24 };	/* how deep to look for a caller outside libc */

struct site_finder {
	Dwfl *dwfl;
};

/*
 * Files that were stripped have their symbols elsewhere, found by their build id or debug link below
 * /usr/lib/debug; or at the servers of debuginfod, which libdw asks only if DEBUGINFOD_URLS names some.
 */
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

/* Tells libdwfl what is mapped now. Files that it has opened already stay open. */
static bool report(struct site_finder *finder, pid_t pid)
{
	dwfl_report_begin(finder->dwfl);
	return dwfl_linux_proc_report(finder->dwfl, pid) == 0 &&
	       dwfl_report_end(finder->dwfl, NULL, NULL) == 0;
}

bool site_available(void)
{
	return true;
}

struct site_finder *site_open(pid_t pid)
{
	struct site_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return NULL;
	finder->dwfl = dwfl_begin(&callbacks);
	if (finder->dwfl && report(finder, pid) &&
	    dwfl_linux_proc_attach(finder->dwfl, pid, true) == 0)
		return finder;
	site_close(finder);
	return NULL;
}

void site_close(struct site_finder *finder)
{
	if (!finder)
		return;
	if (finder->dwfl)
		dwfl_end(finder->dwfl);
	free(finder);
}

struct walk {
	struct site_finder *finder;
	char *site;
	unsigned int frames;
};

static int on_frame(Dwfl_Frame *frame, void *ctx)
{
	struct walk *walk = ctx;
	const char *file, *slash, *symbol = NULL;
	Dwfl_Module *module;
	GElf_Off offset = 0;
	GElf_Sym sym;
	Dwarf_Addr pc, start = 0;
	bool activation;

	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	/* A return address points behind the call instruction. */
	module = dwfl_addrmodule(walk->finder->dwfl, activation ? pc : pc - 1);
	if (!module)
		return DWARF_CB_ABORT;
	file = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	slash = strrchr(file, '/');
	file = slash ? slash + 1 : file;
	symbol = dwfl_module_addrinfo(module, activation ? pc : pc - 1, &offset, &sym, NULL, NULL,
				      NULL);
	snprintf(walk->site, SITE_MAX, "%.80s(%.80s+%#lx)", file, symbol ? symbol : "",
		 (unsigned long)(symbol ? offset : pc - start));
	if (!site_is_runtime(file, strlen(file)) || ++walk->frames == FRAMES_MAX)
		return DWARF_CB_ABORT;
	return DWARF_CB_OK;
}

bool site_find(struct site_finder *finder, pid_t tid, char site[SITE_MAX])
{
	struct walk walk = { .finder = finder, .site = site };

	site[0] = '\0';
	if (!report(finder, dwfl_pid(finder->dwfl)))
		return false;
	dwfl_getthread_frames(finder->dwfl, tid, on_frame, &walk);
	return site[0] != '\0';
}

#else

bool site_available(void)
{
	return false;
}

struct site_finder *site_open(pid_t pid)
{
	(void)pid;
	return NULL;
}

void site_close(struct site_finder *finder)
{
	(void)finder;
}

bool site_find(struct site_finder *finder, pid_t tid, char site[SITE_MAX])
{
	(void)finder;
	(void)tid;
	(void)site;
	return false;
}

#endif
