/* SPDX-License-Identifier: MIT */
/*
 * mutex.c - what a lock does when several threads want it.
 *
 * The states of a futex lock are those of Drepper's "Futexes Are Tricky" (2011); that one who has
 * waited long gets it next is how Linux's own mutexes keep waiters from starving.
 */
#include <mapletree/maple_tree_mutex.h>

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * How long to look before sleeping: SPIN_ALL pauses of the processor. A look comes after SPIN_FIRST
 * of them at the earliest, each further one after twice as many, up to SPIN_LAST. A lock that is
 * looked at rarely stays in its holder's cache, with all that it covers: what a hand-over costs is
 * not the lock, but the lines of what was written under it. So where a thread's last look came
 * late, its next first one does, too; and as soon as first looks succeed, they come earlier.
 */
enum { SPIN_FIRST = 8, SPIN_LAST = 2048, SPIN_ALL = 10000 };
/* Who has slept so often without getting the lock gets it next. */
enum { SLEEPS_MAX = 4 };
/* Who is to get it next may have been left behind in the parent of a fork(): not for longer. */
#define HANDOFF_NS 20000000L

/* Where long has 32 bits and time_t 64, the older call would take the time for another one. */
#ifdef SYS_futex_time64
#define FUTEX_CALL (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define FUTEX_CALL SYS_futex
#endif

static void pause_once(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/* How long to look. On a single processor the holder cannot go on meanwhile: not at all. */
static unsigned int pauses_before_sleep(void)
{
	static int processors;
	int known = __atomic_load_n(&processors, __ATOMIC_RELAXED);

	if (!known) {
		known = (int)sysconf(_SC_NPROCESSORS_ONLN);
		__atomic_store_n(&processors, known, __ATOMIC_RELAXED);
	}
	return known == 1 ? 0 : SPIN_ALL;
}

/* Which sleepers: the one that gets the lock next can be woken alone. */
enum { SLEEPERS_NEXT = 1, SLEEPERS_OTHER = 2, SLEEPERS_ALL = 3 };

/* Until when to sleep while somebody gets the lock next. */
static struct timespec sleep_limit(void)
{
	struct timespec limit;

	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_nsec += HANDOFF_NS;
	limit.tv_sec += limit.tv_nsec / 1000000000L;
	limit.tv_nsec %= 1000000000L;
	return limit;
}

/* Sleeps while the word is @word, or if it says that somebody gets the lock next, for some time. */
static bool slept_too_long(struct mt_mutex *mutex, unsigned int word, bool next)
{
	bool limited = word & MT_MUTEX_HANDOFF, timed_out;
	struct timespec limit;
	int before = errno;

	if (limited)
		limit = sleep_limit();
	timed_out = syscall(FUTEX_CALL, &mutex->word, FUTEX_WAIT_BITSET_PRIVATE, word,
			    limited ? &limit : NULL, NULL,
			    next ? SLEEPERS_NEXT : SLEEPERS_OTHER) &&
		    errno == ETIMEDOUT;
	errno = before;
	return timed_out;
}

/*
 * struct waiter - a thread that waits.
 * @next:   it gets the lock next: MT_MUTEX_HANDOFF is for it.
 * @sleeps: how often it has slept.
 * @left:   for how many pauses it still looks.
 * @pauses: after how many it looks next.
 */
struct waiter {
	bool next;
	unsigned int sleeps;
	unsigned int left;
	unsigned int pauses;
};

/* After how many pauses this thread looks first. */
static _Thread_local unsigned int first_look = SPIN_FIRST;

/* Takes the lock if @word, which it was, allows that. Others may sleep if this thread has. */
static bool takes(struct mt_mutex *mutex, const struct waiter *self, unsigned int *word)
{
	unsigned int then = *word | MT_MUTEX_LOCKED | (self->sleeps ? MT_MUTEX_WAITERS : 0);

	if (*word & MT_MUTEX_LOCKED || (*word & MT_MUTEX_HANDOFF && !self->next))
		return false;
	if (self->next)
		then &= ~(unsigned int)MT_MUTEX_HANDOFF;
	return __atomic_compare_exchange_n(&mutex->word, word, then, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Sleeps until the lock may be free; *@word, which it was, may be outdated: then not at all. */
static void sleep_once(struct mt_mutex *mutex, struct waiter *self, unsigned int word)
{
	unsigned int then = word | MT_MUTEX_WAITERS;
	bool claims = self->sleeps >= SLEEPS_MAX && !(word & MT_MUTEX_HANDOFF);

	if (claims)
		then |= MT_MUTEX_HANDOFF;
	if (then != word && !__atomic_compare_exchange_n(&mutex->word, &word, then, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	self->next |= claims;
	if (slept_too_long(mutex, then, self->next) && !(then & MT_MUTEX_LOCKED))
		self->next = true;
	self->sleeps++;
	self->left = pauses_before_sleep();
	self->pauses = SPIN_FIRST;
}

void mt_mutex_wait(struct mt_mutex *mutex)
{
	struct waiter self = { .left = pauses_before_sleep(), .pauses = first_look };
	unsigned int word;

	for (;;) {
		word = __atomic_load_n(&mutex->word, __ATOMIC_RELAXED);
		if (takes(mutex, &self, &word))
			break;
		if (self.left < self.pauses) {
			sleep_once(mutex, &self, word);
			continue;
		}
		self.left -= self.pauses;
		for (unsigned int i = 0; i < self.pauses; i++)
			pause_once();
		if (self.pauses < SPIN_LAST)
			self.pauses *= 2;
	}
	/* the next look would have been after twice as many: if it was the first one, half as many */
	if (self.pauses != first_look && !self.sleeps)
		first_look = self.pauses > 4 * SPIN_FIRST ? self.pauses / 4 : SPIN_FIRST;
}

/*
 * One store gives it back and says that nobody is left to be woken. From then on it may be gone,
 * with the object that it is in: waking needs its address alone, and does nothing there. If one of
 * the sleepers gets it next, that one is woken.
 */
void mt_mutex_wake(struct mt_mutex *mutex)
{
	unsigned int word = __atomic_load_n(&mutex->word, __ATOMIC_RELAXED), then;
	int before = errno;

	do {
		if (!(word & MT_MUTEX_LOCKED)) {
			fputs("mapletree: a lock is given back that nobody has\n", stderr);
			abort();
		}
		then = word & ~(unsigned int)(MT_MUTEX_LOCKED | MT_MUTEX_WAITERS);
	} while (!__atomic_compare_exchange_n(&mutex->word, &word, then, false, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	syscall(FUTEX_CALL, &mutex->word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL,
		word & MT_MUTEX_HANDOFF ? SLEEPERS_NEXT : SLEEPERS_ALL);
	errno = before;
}
