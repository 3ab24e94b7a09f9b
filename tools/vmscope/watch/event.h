/* SPDX-License-Identifier: MIT */
/* What the program in the kernel tells vmscope: the layout of its events for both sides. */
#ifndef VMSCOPE_WATCH_EVENT_H
#define VMSCOPE_WATCH_EVENT_H

#include <linux/types.h>

#define WATCH_UNKNOWN (~0ULL) /* a space that is not watched */

enum watch_kind {
	WATCH_CALL = 1,	/* a system call has returned */
	WATCH_AREA,	/* one area of the space that the next event of its space shows */
	WATCH_TASK,	/* a thread or process was made */
	WATCH_EXEC,	/* a program was executed */
	WATCH_EXIT,	/* a thread has ended */
	WATCH_GONE,	/* a space is no more: the last event of it; where no EXIT shows its areas, with them */
	WATCH_LOOK,	/* the areas of a space, as asked for */
	WATCH_TURN,	/* a turn (see below) that no call tells of */
	WATCH_UFFD_END,	/* the same, in which areas lose their registrations with a userfaultfd */
	WATCH_LIMITS,	/* limits of the space that the next event of it begins, or shows */
	WATCH_LIMITS_SET, /* the same, when a call has set them, the process's own or another's */
	WATCH_STACK,	/* in a ring of its own: where a thread was in the call at the same time */
};

enum { WATCH_CALLS = 512, WATCH_VALUES = 10, WATCH_NEAR = 4,
       WATCH_MADE = 3 /* of these: what was mapped */, WATCH_MEMORY = 128,
       WATCH_PATH = 4096, WATCH_PART = 256 /* of a path, with its NUL */,
       WATCH_STACK_PIECE = 512, WATCH_STACK_BYTES = 16 * WATCH_STACK_PIECE };

/* Of WATCH_EXIT: whether it was the last thread, and where areas are shown only by WATCH_GONE, that. */
enum watch_last { WATCH_LAST_NOT, WATCH_LAST, WATCH_LAST_SHOWN_LATER };

/*
 * The turn of an event: each time that the lock of an address space is taken for writing, its turns
 * are counted. Calls that change areas do so in this order, whenever their threads return. A call
 * that did not take it has turn 0, and comes after the turn in `after`.
 */
struct watch_head {
	__u32 kind;
	__u32 pid, tid;
	__u32 areas;		/* how many WATCH_AREA came before it, or more than that */
	__u64 space;		/* names the address space; no other has the same name */
	__u64 turn, after;
	__u64 time;		/* CLOCK_MONOTONIC, ns */
};

/* An area, as the kernel had it. */
struct watch_area {
	__u64 start, end;	/* end 0: there was none, or it could not be looked at */
	__u64 flags;		/* vm_flags */
	__u64 page_offset;
	__u64 file, inode, size;/* which open file, 0: none; its inode; its bytes */
	__u64 system;		/* the magic number of its file system, as statfs(2) has it */
	__u32 dev, mode, open_mode;
	__u32 anon;		/* whether it has an anon_vma */
	__u16 path_kind, path_size; /* of the file's path, behind the event; size 0: not known */
	__u64 name;		/* in vmscope: areas_named() of watch/areas.h */
};

/*
 * A path is told as its parts, from the last to the first, each with a NUL; what is in no directory
 * by the kernel's name for it: a file, or one of the kernel's own areas, as [vdso].
 */
enum watch_path_kind { WATCH_PATH_LINKED, WATCH_PATH_DELETED, WATCH_PATH_NONE, WATCH_PATH_KERNEL };

struct watch_area_event {
	struct watch_head head;
	struct watch_area area;
	char path[WATCH_PATH + WATCH_PART];	/* area.path_size bytes, and room for a part more */
};

#define WATCH_AREA_SHORT __builtin_offsetof(struct watch_area_event, path)

/* What an argument of a call points to, as it was when the kernel had just read it. */
struct watch_memory {
	__u64 addr;
	__u32 size;		/* 0: it could not be read */
	__u32 features;		/* of the userfaultfd that the call is made on */
	__u64 inode;		/* of that; 0: it is another kind of file, or not known */
	__u64 other;		/* the space that it is of, if not the caller's; or WATCH_UNKNOWN */
	__u8 bytes[WATCH_MEMORY];
};

struct watch_call_event {
	struct watch_head head;
	__u64 args[6];
	__s64 result;
	__u32 number;
	__u16 near_count;
	__u8 has_memory;
	__u8 ends_told;		/* a WATCH_UFFD_END tells of the end of that in `memory` */
	struct watch_area near[WATCH_NEAR];	/* around the addresses of the call */
	union {
		struct watch_memory memory;	/* of those calls that take it: `has_memory` */
		char path[WATCH_PATH + WATCH_PART]; /* of near[WATCH_MADE]: as that of an area */
	};
};

/* The sizes of the event of a call with memory; without; and with a near_count of 0, too. */
#define WATCH_CALL_MEMORY (WATCH_CALL_NEAR + sizeof(struct watch_memory))
#define WATCH_CALL_NEAR __builtin_offsetof(struct watch_call_event, memory)
#define WATCH_CALL_SHORT __builtin_offsetof(struct watch_call_event, near)

/*
 * The registers that a function keeps for its caller, and the top of the stack, from sp up: with these
 * the callers are found, as a debugger finds them, without frame pointers.
 */
struct watch_stack_event {
	struct watch_head head;
	__u64 ip, sp, bp, bx, r12, r13, r14, r15;
	__u32 size;		/* how many bytes could be read */
	__u32 unused;
	__u8 bytes[WATCH_STACK_BYTES];
};

struct watch_uffd_event {
	struct watch_head head;
	__u64 inode;
};

struct watch_limit { __u64 soft, hard; };

/* What the outcome of calls depends on beside the areas, as the process has it at the event. */
struct watch_limits {
	struct watch_limit as, data, stack, memlock; /* of setrlimit() */
	__u64 capabilities;	/* effective; none in a user namespace of its own */
	__u32 personality;
	__u32 told;		/* in vmscope: 0: they are not known */
};

struct watch_limits_event {
	struct watch_head head;
	struct watch_limits limits;
};

struct watch_space_event {
	struct watch_head head;
	__u64 from;		/* TASK: the parent's space; EXEC: the former one */
	__u64 from_turn;	/* the turn of the fork or exec in it; 0: none */
	__u32 parent;		/* TASK: thread that made it; EXEC: former tid */
	__s32 shown;		/* whether the areas were looked at, all in one turn: `after` */
	__s32 status;		/* EXIT: exit code, as waitpid() has it */
	__u32 last;		/* EXIT: the last thread of its process, an enum watch_last */
	__u32 is_32;		/* it is a program of 32 bits */
	__u32 count;		/* how many areas the kernel counts: if `shown` */
	__u64 mmap_base, start_code, end_code, start_data, end_data, start_brk, brk, start_stack;
	char command[16];
};

/* Which calls are told of, by their number: as base/call.h has it. */
struct watch_wanted {
	__u8 wanted, test, arg, count;
	__u32 values[WATCH_VALUES];
};

#endif
