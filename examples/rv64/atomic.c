/* SPDX-License-Identifier: MIT */
/* atomic.c - extension A, by the host's own atomic operations: other harts are other threads. */
#include <signal.h>

#include "cpu.h"

enum { ADD = 0, SWAP = 1, LR = 2, SC = 3, XOR = 4, OR = 8, AND = 12, MIN = 16, MAX = 20, MINU = 24,
       MAXU = 28 };

/* What an AMO stores. `old` and `b` are 64 bits wide; those of a word are sign-extended. */
static uint64_t combine(unsigned int kind, uint64_t old, uint64_t b, bool word)
{
	uint64_t mask = word ? UINT32_MAX : UINT64_MAX;

	switch (kind) {
	case ADD: return old + b;
	case SWAP: return b;
	case XOR: return old ^ b;
	case OR: return old | b;
	case AND: return old & b;
	case MIN: return (int64_t)old < (int64_t)b ? old : b;
	case MAX: return (int64_t)old > (int64_t)b ? old : b;
	case MINU: return (old & mask) < (b & mask) ? old : b;
	default: return (old & mask) > (b & mask) ? old : b;
	}
}

static uint64_t read_now(const void *at, bool word)
{
	uint64_t value;

	barrier();
	value = word ? (uint64_t)__atomic_load_n((const int32_t *)at, __ATOMIC_SEQ_CST)
		     : __atomic_load_n((const uint64_t *)at, __ATOMIC_SEQ_CST);
	barrier();
	return value;
}

/* Store `new` if there is still `old`, which is then what was found. */
static bool exchange(void *at, bool word, uint64_t *old, uint64_t new)
{
	uint32_t old_word = (uint32_t)*old;
	bool done;

	barrier();
	if (word) {
		done = __atomic_compare_exchange_n((uint32_t *)at, &old_word, (uint32_t)new, false,
						   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		*old = (uint64_t)(int32_t)old_word;
	} else {
		done = __atomic_compare_exchange_n((uint64_t *)at, old, new, false, __ATOMIC_SEQ_CST,
						   __ATOMIC_SEQ_CST);
	}
	barrier();
	return done;
}

static uint64_t store_conditional(struct cpu *cpu, uint64_t addr, void *at, bool word, uint64_t new)
{
	uint64_t old = cpu->reserved_value;
	bool reserved = cpu->reserved && cpu->reserved_addr == addr;

	cpu->reserved = false;
	return reserved && exchange(at, word, &old, new) ? 0 : 1;
}

static uint64_t modify(unsigned int kind, void *at, bool word, uint64_t b)
{
	uint64_t old = read_now(at, word);

	while (!exchange(at, word, &old, combine(kind, old, b, word)))
		;
	return old;
}

void execute_atomic(struct cpu *cpu, uint32_t insn)
{
	unsigned int kind = insn >> 27, size = 1u << funct3(insn);
	uint64_t addr = cpu->x[rs1(insn)], b = cpu->x[rs2(insn)], value;
	bool word = size == 4;
	void *at;

	if (size != 4 && size != 8)
		cpu_illegal(cpu);
	if ((kind == LR && rs2(insn)) || (kind > SC && kind % 4))
		cpu_illegal(cpu);
	if (addr % size)
		cpu_raise(cpu, SIGBUS, BUS_ADRALN, addr);
	at = cpu_at(cpu, addr, size);
	if (word)
		b = (uint64_t)(int32_t)b;
	if (kind == LR) {
		value = read_now(at, word);
		cpu->reserved = true;
		cpu->reserved_addr = addr;
		cpu->reserved_value = value;
	} else if (kind == SC) {
		value = store_conditional(cpu, addr, at, word, b);
	} else {
		value = modify(kind, at, word, b);
	}
	cpu->x[rd(insn)] = value;
}
