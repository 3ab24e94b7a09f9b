/* SPDX-License-Identifier: MIT */
/* What a process may do, beside its areas: limits, capabilities, personality. */
#include "check/settings.h"

#include <linux/capability.h>
#include <mapletree/vmspace_proc.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check/draw.h"

struct settings settings_of(const struct vmspace_config *config)
{
	return (struct settings){
		.rlimit_as = config->rlimit_as,
		.rlimit_data = config->rlimit_data,
		.rlimit_data_max = config->rlimit_data_max,
		.rlimit_stack = config->rlimit_stack,
		.rlimit_memlock = config->rlimit_memlock,
		.low_privileged = config->low_privileged,
		.lock_privileged = config->lock_privileged,
		.move_all_privileged = config->move_all_privileged,
		.read_implies_exec = config->read_implies_exec,
	};
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* A limit that what is there now reaches, or nearly. */
static unsigned long near(struct generator *c, unsigned long pages)
{
	unsigned long limit = (pages + below(c, 24)) * PAGE;

	if (chance(c, 8))
		return limit / (2 + below(c, 8));
	if (chance(c, 12))
		return VMSPACE_NO_LIMIT;
	return chance(c, 6) ? limit + below(c, PAGE) : limit;
}

static unsigned long stack_limit(struct generator *c)
{
	return chance(c, 12) ? VMSPACE_NO_LIMIT : (1 + below(c, 16)) * PAGE;
}

struct settings settings_draw(struct generator *c, const struct pair *p,
			      const struct settings *initial)
{
	struct settings s = settings_of(vmspace_config(p->space));
	struct vmspace_stats stats;

	vmspace_stats(p->space, &stats);
	switch (below(c, 13)) {
	case 0:
	case 1:
		s.rlimit_as = near(c, stats.total_vm);
		break;
	case 2:
		s.rlimit_data = chance(c, 8) ? 0 : near(c, stats.data_vm);
		break;
	case 3:
		s.rlimit_data = near(c, (stats.brk - stats.start_brk) / PAGE);
		break;
	case 4:
		/* Only a superuser may raise it again. */
		if (geteuid() == 0)
			s.rlimit_data_max = near(c, stats.data_vm);
		break;
	case 5:
		s.rlimit_stack = stack_limit(c);
		break;
	case 6:
		/* The limit does not apply to the privileged. */
		s.lock_privileged = false;
		s.rlimit_memlock = chance(c, 2) ? 0 : near(c, stats.locked_vm);
		break;
	case 7:
		s.lock_privileged = initial->lock_privileged && !s.lock_privileged;
		s.rlimit_memlock = near(c, stats.locked_vm);
		break;
	case 8:
		s.low_privileged = initial->low_privileged && !s.low_privileged;
		break;
	case 9:
		s.read_implies_exec = !s.read_implies_exec;
		break;
	case 10:
		s.move_all_privileged = initial->move_all_privileged && !s.move_all_privileged;
		break;
	default:
		s = *initial;
	}
	return s;
}

/* ---- applying ------------------------------------------------------------------------------- */

static rlim_t as_limit(unsigned long bytes)
{
	return bytes == VMSPACE_NO_LIMIT ? RLIM_INFINITY : bytes;
}

/* A hard limit stays where it is if it may not be raised. */
static void set_limit(pid_t pid, int which, unsigned long soft, unsigned long hard)
{
	struct rlimit now, want = { as_limit(soft), as_limit(hard) };

	if (prlimit(pid, (__rlimit_resource_t)which, NULL, &now) != 0)
		return;
	if (want.rlim_cur > want.rlim_max)
		want.rlim_cur = want.rlim_max;
	if (prlimit(pid, (__rlimit_resource_t)which, &want, NULL) == 0)
		return;
	want.rlim_max = now.rlim_max;
	if (want.rlim_cur > want.rlim_max)
		want.rlim_cur = want.rlim_max;
	prlimit(pid, (__rlimit_resource_t)which, &want, NULL);
}

static bool apply_to_process(struct pair *p, const struct settings *s)
{
	const pid_t pid = p->puppet.pid;
	unsigned long off = 0;
	long persona;

	set_limit(pid, RLIMIT_AS, s->rlimit_as, VMSPACE_NO_LIMIT);
	set_limit(pid, RLIMIT_DATA, s->rlimit_data, s->rlimit_data_max);
	set_limit(pid, RLIMIT_STACK, s->rlimit_stack, VMSPACE_NO_LIMIT);
	set_limit(pid, RLIMIT_MEMLOCK, s->rlimit_memlock, VMSPACE_NO_LIMIT);
	off |= s->low_privileged ? 0 : 1UL << CAP_SYS_RAWIO;
	off |= s->lock_privileged ? 0 : 1UL << CAP_IPC_LOCK;
	off |= s->move_all_privileged ? 0 : 1UL << CAP_SYS_NICE;
	if (puppet_suspend_privileges(&p->puppet, off) == PUPPET_GONE)
		return false;
	persona = puppet_call(&p->puppet, SYS_personality, (unsigned long[6]){ 0xffffffff });
	if (persona == PUPPET_GONE)
		return false;
	persona &= ~(long)READ_IMPLIES_EXEC;
	persona |= s->read_implies_exec ? READ_IMPLIES_EXEC : 0;
	return puppet_call(&p->puppet, SYS_personality,
			   (unsigned long[6]){ (unsigned long)persona }) != PUPPET_GONE;
}

bool settings_apply(struct pair *p, const struct settings *settings)
{
	struct vmspace_config config = *vmspace_config(p->space);
	const bool bottom_up = config.mmap_bottom_up;

	if (!apply_to_process(p, settings)) {
		p->gone = true;
		return false;
	}
	vmspace_config_read(&config, p->puppet.pid);
	config.mmap_bottom_up = bottom_up; /* fixed until the next exec */
	vmspace_configure(p->space, &config);
	return true;
}
