/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - a hart: its registers, how it reaches guest memory, and what its instructions need.
 *
 * Guest memory is read and written where the window has it, by plain loads and stores. A page that is
 * not there, or not yet writable, raises the host's SIGSEGV; its handler (memory.c) makes the page fault
 * and returns, or leaves the instruction by cpu_raise(). So each access stands between two barriers to
 * the compiler: what an instruction has changed before must be in the registers, and nothing else.
 */
#ifndef RV64_CPU_H
#define RV64_CPU_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

#define CODE_PAGES 256 /* power of two */

struct thread;

struct cpu {
	uint64_t pc;
	uint64_t x[32];              /* x[0] is 0 between instructions */
	uint64_t f[32];              /* singles are boxed: the upper half is ones */
	unsigned int rounding;       /* frm */
	char *base;                  /* guest address 0 in the window */
	/* LR: the value that SC must find where it was read. */
	bool reserved;
	uint64_t reserved_addr, reserved_value;
	/* Pages that may be executed, as of a generation of code_generation(). */
	unsigned long code_pages[CODE_PAGES];
	unsigned int code_generation;
	uint64_t code_start;         /* the page of the last instruction, if it is one of these */
	/* Set, also by signal handlers, to stop the hart before its next instruction. */
	volatile int attention;
	/* What stopped an instruction: a signal for the guest. */
	sigjmp_buf escape;
	int signo, code;
	uint64_t fault_addr;
	struct thread *thread;
};

/* The hart of this thread while it runs; NULL else. */
extern _Thread_local struct cpu *running;

/* The instruction at cpu->pc cannot be completed: a signal with si_code `code` and si_addr `addr`. */
_Noreturn void cpu_raise(struct cpu *cpu, int signo, int code, uint64_t addr);
_Noreturn void cpu_illegal(struct cpu *cpu);

/* Run until cpu->attention is set. Returns false; true: an ECALL was met, cpu->pc is behind it. */
bool cpu_run(struct cpu *cpu);

/* The tables that cpu_run() needs; once, before. */
void compressed_init(void);
/* The instruction of four bytes that one of two stands for; 0, which is illegal, if for none. */
extern uint32_t compressed_table[1 << 16];

/* Instructions of the extensions A, F and D. cpu->pc is advanced by the caller. */
void execute_atomic(struct cpu *cpu, uint32_t insn);
void execute_float(struct cpu *cpu, uint32_t insn);
void execute_fma(struct cpu *cpu, uint32_t insn);
/* The time of the CSRs cycle and time: ticks of 100 ns. */
uint64_t guest_time(void);
/* Read and write a control and status register; false: there is none. */
bool csr_read(struct cpu *cpu, unsigned int number, uint64_t *value);
bool csr_write(struct cpu *cpu, unsigned int number, uint64_t value);

/* The host's rounding mode in this thread is the hart's, its flags are clear. */
void fcsr_restore(struct cpu *cpu);

#define barrier() __asm__ volatile("" ::: "memory")

static inline unsigned int rd(uint32_t insn) { return insn >> 7 & 31; }
static inline unsigned int rs1(uint32_t insn) { return insn >> 15 & 31; }
static inline unsigned int rs2(uint32_t insn) { return insn >> 20 & 31; }
static inline unsigned int funct3(uint32_t insn) { return insn >> 12 & 7; }
static inline unsigned int funct7(uint32_t insn) { return insn >> 25; }
static inline uint64_t imm_i(uint32_t insn) { return (uint64_t)((int32_t)insn >> 20); }
static inline uint64_t imm_s(uint32_t insn)
{
	return (uint64_t)((int32_t)(insn & 0xfe000000) >> 20 | (int32_t)(insn >> 7 & 31));
}

/* Where `size` bytes of guest memory are in the host, if the guest has such addresses. */
static inline void *cpu_at(struct cpu *cpu, uint64_t addr, unsigned int size)
{
	if (addr > GUEST_TOP - size)
		cpu_raise(cpu, SIGSEGV, SEGV_MAPERR, addr);
	return cpu->base + addr;
}

#define CPU_ACCESS(bits)                                                                           \
	static inline uint##bits##_t load##bits(struct cpu *cpu, uint64_t addr)                    \
	{                                                                                          \
		uint##bits##_t value;                                                              \
		const void *at = cpu_at(cpu, addr, bits / 8);                                      \
                                                                                                   \
		barrier();                                                                         \
		memcpy(&value, at, bits / 8);                                                      \
		barrier();                                                                         \
		return value;                                                                      \
	}                                                                                          \
	static inline void store##bits(struct cpu *cpu, uint64_t addr, uint##bits##_t value)       \
	{                                                                                          \
		void *at = cpu_at(cpu, addr, bits / 8);                                            \
                                                                                                   \
		barrier();                                                                         \
		memcpy(at, &value, bits / 8);                                                      \
		barrier();                                                                         \
	}

CPU_ACCESS(8)
CPU_ACCESS(16)
CPU_ACCESS(32)
CPU_ACCESS(64)

#endif
