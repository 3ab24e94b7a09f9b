/* SPDX-License-Identifier: MIT */
/* Call sites: the function that is responsible for a call, found on the stack. */
#include "log/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/site_names.h"

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

char *site_stack_add(char room[STACK_MAX], char *stack, const char *frame)
{
	const bool first = *stack == '\0';
	const size_t length = strlen(frame);

	if (length + !first > (size_t)(stack - room))
		return stack;
	if (!first)
		*--stack = ';';
	stack -= length;
	for (size_t i = 0; i < length; i++)
		stack[i] = (char)(frame[i] == ';' ? ':' : frame[i]);
	return stack;
}

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>

/* How deep to look for a caller outside libc; and how many frames a stack has. */
enum { FRAMES_MAX = 24, STACK_FRAMES_MAX = 64 };

struct site_finder {
	Dwfl *dwfl;
	pid_t pid;			/* whose copies are looked at */
	const struct site_copy *copy;	/* being looked at; NULL: the thread itself is */
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
	char *room, *stack;		/* NULL: the site is all that is wanted */
	unsigned int frames;
	bool outside;			/* a caller outside libc was found */
};

/*
 * Finds the function that @address, of @module, is in, as "file(function+0x10)". @pc: the address
 * behind the call, or @address, if it is not a caller's.
 */
static void name(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr pc, char text[SITE_MAX])
{
	void **kept;	/* the names of its file, if it is one */
	Dwarf_Addr start = 0;
	const char *path = dwfl_module_info(module, &kept, &start, NULL, NULL, NULL, NULL, NULL);
	const char *slash = strrchr(path, '/'), *known, *symbol;
	const unsigned long place = (address - start) << 1 | (address == pc);
	GElf_Off offset = 0;
	GElf_Sym sym;

	if (!*kept && *path == '/')
		*kept = site_names_of(path);
	known = *kept ? site_names_find(*kept, place) : NULL;
	if (known) {
		strcpy(text, known);
		return;
	}
	symbol = dwfl_module_addrinfo(module, address, &offset, &sym, NULL, NULL, NULL);
	snprintf(text, SITE_MAX, "%.80s(%.80s+%#lx)", slash ? slash + 1 : path, symbol ? symbol : "",
		 (unsigned long)(symbol ? offset : pc - start));
	if (*kept)
		site_names_keep(*kept, place, text);
}

static int on_frame(Dwfl_Frame *frame, void *ctx)
{
	struct walk *walk = ctx;
	char text[SITE_MAX];
	Dwfl_Module *module;
	Dwarf_Addr pc, address, end = 0;
	bool activation;

	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	address = activation ? pc : pc - 1; /* a return address points behind the call instruction */
	module = dwfl_addrmodule(walk->finder->dwfl, address);
	if (module) /* what belongs to none is given to the one before */
		dwfl_module_info(module, NULL, NULL, &end, NULL, NULL, NULL, NULL);
	if (!module || address >= end)
		return DWARF_CB_ABORT;
	name(module, address, pc, text);
	if (!walk->outside)
		strcpy(walk->site, text);
	walk->outside |= !site_is_runtime(text, strlen(text));
	walk->frames++;
	if (!walk->room)
		return walk->outside || walk->frames == FRAMES_MAX ? DWARF_CB_ABORT : DWARF_CB_OK;
	walk->stack = site_stack_add(walk->room, walk->stack, text);
	return walk->frames == STACK_FRAMES_MAX ? DWARF_CB_ABORT : DWARF_CB_OK;
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

/* ---- copies of stacks ----------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread)
{
	const pid_t only = *thread ? 0 : dwfl_pid(dwfl);

	*thread = ctx;
	return only;
}

static bool read_copy(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *ctx)
{
	const struct site_copy *copy = ((struct site_finder *)ctx)->copy;

	(void)dwfl;
	if (addr < copy->sp || copy->size < sizeof(*word) ||
	    addr - copy->sp > copy->size - sizeof(*word))
		return false;
	memcpy(word, copy->bytes + (addr - copy->sp), sizeof(*word));
	return true;
}

/* By their numbers in DWARF: rbx is 3, rbp 6, rsp 7, r12 to r15 12 to 15, the return address 16. */
static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
	const struct site_copy *copy = ((struct site_finder *)ctx)->copy;
	const Dwarf_Word bx = copy->bx, frame[] = { copy->bp, copy->sp };
	const Dwarf_Word others[] = { copy->r12, copy->r13, copy->r14, copy->r15, copy->ip };

	dwfl_thread_state_register_pc(thread, copy->ip);
	return dwfl_thread_state_registers(thread, 3, 1, &bx) &&
	       dwfl_thread_state_registers(thread, 6, 2, frame) &&
	       dwfl_thread_state_registers(thread, 12, 5, others);
}

static const Dwfl_Thread_Callbacks of_copies = {
	.next_thread = next_thread, .memory_read = read_copy, .set_initial_registers = set_registers,
};

struct site_finder *site_open_copies(pid_t pid)
{
	struct site_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return NULL;
	finder->pid = pid;
	finder->dwfl = dwfl_begin(&callbacks);
	if (finder->dwfl)
		return finder;
	site_close(finder);
	return NULL;
}

bool site_remap(struct site_finder *finder, char *maps)
{
	FILE *text = fmemopen(maps, strlen(maps), "r");
	bool known;

	if (!text)
		return false;
	dwfl_report_begin(finder->dwfl);
	known = dwfl_linux_proc_maps_report(finder->dwfl, text) == 0;
	known = dwfl_report_end(finder->dwfl, NULL, NULL) == 0 && known;
	fclose(text);
	/* What the machine is follows from the files: they have to be known first. */
	return known && (dwfl_pid(finder->dwfl) > 0 ||
			 dwfl_attach_state(finder->dwfl, NULL, finder->pid, &of_copies, finder));
}

bool site_find_copy(struct site_finder *finder, const struct site_copy *copy, char site[SITE_MAX],
		    char room[STACK_MAX], char **stack)
{
	struct walk walk = { .finder = finder, .site = site, .room = room,
			     .stack = room + STACK_MAX - 1 };

	*walk.stack = site[0] = '\0';
	finder->copy = copy;
	if (dwfl_pid(finder->dwfl) > 0)
		dwfl_getthread_frames(finder->dwfl, dwfl_pid(finder->dwfl), on_frame, &walk);
	*stack = walk.stack;
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

struct site_finder *site_open_copies(pid_t pid)
{
	(void)pid;
	return NULL;
}

bool site_remap(struct site_finder *finder, char *maps)
{
	(void)finder;
	(void)maps;
	return false;
}

bool site_find_copy(struct site_finder *finder, const struct site_copy *copy, char site[SITE_MAX],
		    char room[STACK_MAX], char **stack)
{
	(void)finder;
	(void)copy;
	(void)site;
	(void)room;
	(void)stack;
	return false;
}

#endif
