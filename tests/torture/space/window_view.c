/* SPDX-License-Identifier: MIT */
/* window_view.c - loads and stores through a window, whose faults a handler of signals serves. */
#include <signal.h>

#include "windows.h"

/* The access that this thread is making. */
static _Thread_local struct {
	const struct view *view;
	unsigned int access;
} now;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	enum vmspace_fault_result result;
	unsigned long addr;

	(void)context;
	if (!now.view || !vmspace_window_guest(now.view->window, info->si_addr, &addr)) {
		signal(signo, SIG_DFL);
		return;
	}
	result = signo == SIGBUS ? VMSPACE_FAULT_BUS
				 : vmspace_touch(now.view->space, addr, now.access, NULL);
	expect(!result, "an access to page %lu that is allowed: fault %d", (addr - WINDOW_START) / PAGE, result);
}

/*
 * ThreadSanitizer takes it that a handler interrupts anything. This one comes at a load or store of a
 * number, where nothing else is under way.
 */
const char *__tsan_default_options(void);
__attribute__((visibility("default")))
const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}

void views_begin(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

__attribute__((no_sanitize("thread"), noinline))
uint64_t load_number(const volatile uint64_t *at)
{
	return *at;
}

__attribute__((no_sanitize("thread"), noinline))
void store_number(volatile uint64_t *at, uint64_t value)
{
	*at = value;
}

static uint64_t *number_at(const struct view *view, unsigned long n, unsigned int word)
{
	return (uint64_t *)vmspace_window_host(view->window, WINDOW_START + n * PAGE) + word;
}

uint64_t view_load_word(const struct view *view, unsigned long n, unsigned int word)
{
	uint64_t value;

	now.access = VMSPACE_ACCESS_READ;
	__atomic_store_n(&now.view, view, __ATOMIC_RELAXED);
	value = load_number(number_at(view, n, word));
	__atomic_store_n(&now.view, NULL, __ATOMIC_RELAXED);
	return value;
}

void view_store_word(const struct view *view, unsigned long n, unsigned int word, uint64_t value)
{
	now.access = VMSPACE_ACCESS_WRITE;
	__atomic_store_n(&now.view, view, __ATOMIC_RELAXED);
	store_number(number_at(view, n, word), value);
	__atomic_store_n(&now.view, NULL, __ATOMIC_RELAXED);
}

uint64_t view_load(const struct view *view, unsigned long n)
{
	return view_load_word(view, n, 0);
}

void view_store(const struct view *view, unsigned long n, uint64_t value)
{
	view_store_word(view, n, 0, value);
}

enum vmspace_fault_result view_refuses(const struct view *view, unsigned long n, unsigned int access)
{
	enum vmspace_fault_result result = vmspace_touch(view->space, WINDOW_START + n * PAGE, access, NULL);

	expect(!result || !vmspace_window_is_direct(view->window, WINDOW_START + n * PAGE, access),
	       "page %lu is forbidden (%d), and the window shows it", n, result);
	return result;
}

void view_end(struct view *view)
{
	vmspace_destroy(view->space);
	vmspace_window_destroy(view->window);
	view->space = NULL;
}
