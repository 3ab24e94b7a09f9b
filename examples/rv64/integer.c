/* SPDX-License-Identifier: MIT */
/* integer.c - fetch and execute: RV64I, M, Zicsr and Zifencei; the rest is called from here. */
#include <signal.h>

#include "cpu.h"

_Thread_local struct cpu *running;

_Noreturn void cpu_raise(struct cpu *cpu, int signo, int code, uint64_t addr)
{
	cpu->signo = signo;
	cpu->code = code;
	cpu->fault_addr = addr;
	siglongjmp(cpu->escape, 1);
}

_Noreturn void cpu_illegal(struct cpu *cpu)
{
	cpu_raise(cpu, SIGILL, ILL_ILLOPC, cpu->pc);
}

static uint64_t sign32(uint64_t value)
{
	return (uint64_t)(int32_t)value;
}

static void load(struct cpu *cpu, uint32_t insn)
{
	uint64_t addr = cpu->x[rs1(insn)] + imm_i(insn), value;

	switch (funct3(insn)) {
	case 0: value = (uint64_t)(int8_t)load8(cpu, addr); break;
	case 1: value = (uint64_t)(int16_t)load16(cpu, addr); break;
	case 2: value = sign32(load32(cpu, addr)); break;
	case 3: value = load64(cpu, addr); break;
	case 4: value = load8(cpu, addr); break;
	case 5: value = load16(cpu, addr); break;
	case 6: value = load32(cpu, addr); break;
	default: cpu_illegal(cpu);
	}
	cpu->x[rd(insn)] = value;
}

static void store(struct cpu *cpu, uint32_t insn)
{
	uint64_t addr = cpu->x[rs1(insn)] + imm_s(insn), value = cpu->x[rs2(insn)];

	switch (funct3(insn)) {
	case 0: store8(cpu, addr, (uint8_t)value); break;
	case 1: store16(cpu, addr, (uint16_t)value); break;
	case 2: store32(cpu, addr, (uint32_t)value); break;
	case 3: store64(cpu, addr, value); break;
	default: cpu_illegal(cpu);
	}
}

static void op_imm(struct cpu *cpu, uint32_t insn)
{
	uint64_t a = cpu->x[rs1(insn)], imm = imm_i(insn), value;
	unsigned int shift = imm & 63, kind = insn >> 26;

	switch (funct3(insn)) {
	case 0: value = a + imm; break;
	case 1:
		if (kind)
			cpu_illegal(cpu);
		value = a << shift;
		break;
	case 2: value = (int64_t)a < (int64_t)imm; break;
	case 3: value = a < imm; break;
	case 4: value = a ^ imm; break;
	case 5:
		if (kind & ~0x10u)
			cpu_illegal(cpu);
		value = kind ? (uint64_t)((int64_t)a >> shift) : a >> shift;
		break;
	case 6: value = a | imm; break;
	default: value = a & imm; break;
	}
	cpu->x[rd(insn)] = value;
}

static void op_imm_32(struct cpu *cpu, uint32_t insn)
{
	uint64_t a = cpu->x[rs1(insn)], value;
	unsigned int shift = rs2(insn), kind = funct7(insn);

	switch (funct3(insn)) {
	case 0: value = sign32(a + imm_i(insn)); break;
	case 1:
		if (kind)
			cpu_illegal(cpu);
		value = sign32(a << shift);
		break;
	case 5:
		if (kind & ~0x20u)
			cpu_illegal(cpu);
		value = kind ? (uint64_t)((int32_t)a >> shift) : sign32((uint32_t)a >> shift);
		break;
	default: cpu_illegal(cpu);
	}
	cpu->x[rd(insn)] = value;
}

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_unsigned;

static uint64_t high_mixed(uint64_t a, uint64_t b) /* a is signed, b is not */
{
	return (uint64_t)(((wide)(int64_t)a * (wide)b) >> 64);
}

static uint64_t multiply(uint64_t a, uint64_t b, unsigned int kind)
{
	switch (kind) {
	case 0: return a * b;
	case 1: return (uint64_t)(((wide)(int64_t)a * (int64_t)b) >> 64);
	case 2: return high_mixed(a, b);
	default: return (uint64_t)(((wide_unsigned)a * b) >> 64);
	}
}

/* Division has a result for everything: by zero, and where it overflows. */
static uint64_t divide(uint64_t a, uint64_t b, unsigned int kind)
{
	bool overflows = a == (uint64_t)1 << 63 && b == ~(uint64_t)0;

	switch (kind) {
	case 4: return !b ? ~(uint64_t)0 : overflows ? a : (uint64_t)((int64_t)a / (int64_t)b);
	case 5: return !b ? ~(uint64_t)0 : a / b;
	case 6: return !b ? a : overflows ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
	default: return !b ? a : a % b;
	}
}

static uint64_t op_m(uint64_t a, uint64_t b, unsigned int kind)
{
	return kind < 4 ? multiply(a, b, kind) : divide(a, b, kind);
}

static bool op_m_32(uint64_t a, uint64_t b, unsigned int kind, uint64_t *value)
{
	if (kind >= 1 && kind <= 3)
		return false;
	if (kind == 0)
		*value = a * b;
	else if (kind & 1)
		*value = divide((uint32_t)a, (uint32_t)b, kind); /* by zero: all ones, or a */
	else
		*value = divide(sign32(a), sign32(b), kind);
	*value = sign32(*value);
	return true;
}

static void op(struct cpu *cpu, uint32_t insn)
{
	uint64_t a = cpu->x[rs1(insn)], b = cpu->x[rs2(insn)], value;

	switch (funct7(insn) << 3 | funct3(insn)) {
	case 0: value = a + b; break;
	case 1: value = a << (b & 63); break;
	case 2: value = (int64_t)a < (int64_t)b; break;
	case 3: value = a < b; break;
	case 4: value = a ^ b; break;
	case 5: value = a >> (b & 63); break;
	case 6: value = a | b; break;
	case 7: value = a & b; break;
	case 0x20 << 3: value = a - b; break;
	case 0x20 << 3 | 5: value = (uint64_t)((int64_t)a >> (b & 63)); break;
	default:
		if (funct7(insn) != 1)
			cpu_illegal(cpu);
		value = op_m(a, b, funct3(insn));
	}
	cpu->x[rd(insn)] = value;
}

static void op_32(struct cpu *cpu, uint32_t insn)
{
	uint64_t a = cpu->x[rs1(insn)], b = cpu->x[rs2(insn)], value;

	switch (funct7(insn) << 3 | funct3(insn)) {
	case 0: value = sign32(a + b); break;
	case 1: value = sign32(a << (b & 31)); break;
	case 5: value = sign32((uint32_t)a >> (b & 31)); break;
	case 0x20 << 3: value = sign32(a - b); break;
	case 0x20 << 3 | 5: value = (uint64_t)((int32_t)a >> (b & 31)); break;
	default:
		if (funct7(insn) != 1 || !op_m_32(a, b, funct3(insn), &value))
			cpu_illegal(cpu);
	}
	cpu->x[rd(insn)] = value;
}

static bool is_taken(struct cpu *cpu, uint32_t insn)
{
	uint64_t a = cpu->x[rs1(insn)], b = cpu->x[rs2(insn)];

	switch (funct3(insn)) {
	case 0: return a == b;
	case 1: return a != b;
	case 4: return (int64_t)a < (int64_t)b;
	case 5: return (int64_t)a >= (int64_t)b;
	case 6: return a < b;
	case 7: return a >= b;
	default: cpu_illegal(cpu);
	}
}

static uint64_t branch_offset(uint32_t insn)
{
	return (uint64_t)((int32_t)(insn & 0x80000000) >> 19 | (int32_t)(insn << 4 & 0x800) |
			  (int32_t)(insn >> 20 & 0x7e0) | (int32_t)(insn >> 7 & 0x1e));
}

static uint64_t jump_offset(uint32_t insn)
{
	return (uint64_t)((int32_t)(insn & 0x80000000) >> 11 | (int32_t)(insn & 0xff000) |
			  (int32_t)(insn >> 9 & 0x800) | (int32_t)(insn >> 20 & 0x7fe));
}

static void csr(struct cpu *cpu, uint32_t insn)
{
	unsigned int number = insn >> 20, source = rs1(insn);
	uint64_t operand = funct3(insn) & 4 ? source : cpu->x[source], old = 0;
	bool writes = (funct3(insn) & 3) == 1 || source;

	if (!csr_read(cpu, number, &old))
		cpu_illegal(cpu);
	switch (funct3(insn) & 3) {
	case 1: break;
	case 2: operand = old | operand; break;
	case 3: operand = old & ~operand; break;
	default: cpu_illegal(cpu);
	}
	if (writes && !csr_write(cpu, number, operand))
		cpu_illegal(cpu);
	cpu->x[rd(insn)] = old;
}

/* Returns whether it is an ECALL. */
static bool system(struct cpu *cpu, uint32_t insn)
{
	if (insn == 0x73)
		return true;
	if (insn == 0x100073)
		cpu_raise(cpu, SIGTRAP, TRAP_BRKPT, cpu->pc);
	if (!funct3(insn))
		cpu_illegal(cpu);
	csr(cpu, insn);
	return false;
}

/* One instruction of `size` bytes. Returns whether it is an ECALL. */
static inline bool execute(struct cpu *cpu, uint32_t insn, unsigned int size)
{
	uint64_t next = cpu->pc + size, target;
	bool ecall = false;

	switch (insn & 0x7f) {
	case 0x03: load(cpu, insn); break;
	case 0x07: case 0x27: case 0x53: execute_float(cpu, insn); break;
	case 0x0f: __atomic_thread_fence(__ATOMIC_SEQ_CST); break;
	case 0x13: op_imm(cpu, insn); break;
	case 0x17: cpu->x[rd(insn)] = cpu->pc + (uint64_t)(int32_t)(insn & 0xfffff000); break;
	case 0x1b: op_imm_32(cpu, insn); break;
	case 0x23: store(cpu, insn); break;
	case 0x2f: execute_atomic(cpu, insn); break;
	case 0x33: op(cpu, insn); break;
	case 0x37: cpu->x[rd(insn)] = (uint64_t)(int32_t)(insn & 0xfffff000); break;
	case 0x3b: op_32(cpu, insn); break;
	case 0x43: case 0x47: case 0x4b: case 0x4f: execute_fma(cpu, insn); break;
	case 0x63:
		if (is_taken(cpu, insn))
			next = cpu->pc + branch_offset(insn);
		break;
	case 0x67:
		target = (cpu->x[rs1(insn)] + imm_i(insn)) & ~(uint64_t)1;
		cpu->x[rd(insn)] = next;
		next = target;
		break;
	case 0x6f:
		cpu->x[rd(insn)] = next;
		next = cpu->pc + jump_offset(insn);
		break;
	case 0x73: ecall = system(cpu, insn); break;
	default: cpu_illegal(cpu);
	}
	cpu->x[0] = 0;
	cpu->pc = next;
	return ecall;
}

/* The guest must be allowed to execute the page; asked again when anything was unmapped or protected. */
static void check_code(struct cpu *cpu, uint64_t addr)
{
	unsigned long page = addr / GUEST_PAGE;
	unsigned long *known = &cpu->code_pages[page % CODE_PAGES];
	unsigned int generation = code_generation();

	if (cpu->code_generation != generation) {
		cpu->code_generation = generation;
		memset(cpu->code_pages, 0, sizeof(cpu->code_pages));
	}
	if (*known == page)
		return;
	if (addr >= GUEST_TOP)
		cpu_raise(cpu, SIGSEGV, SEGV_MAPERR, addr);
	memory_touch_code(cpu, addr);
	*known = page;
}

/* Where the instruction may lie in two pages, or its page was not the last one's. */
static uint32_t fetch_slowly(struct cpu *cpu)
{
	uint32_t insn;

	cpu->code_start = 1; /* no page begins there */
	check_code(cpu, cpu->pc);
	cpu->code_start = cpu->pc / GUEST_PAGE * GUEST_PAGE;
	insn = load16(cpu, cpu->pc);
	if ((insn & 3) != 3)
		return insn;
	check_code(cpu, cpu->pc + 2);
	return insn | (uint32_t)load16(cpu, cpu->pc + 2) << 16;
}

static inline uint32_t fetch(struct cpu *cpu)
{
	if (cpu->pc - cpu->code_start <= GUEST_PAGE - 4 && cpu->code_generation == code_generation())
		return load32(cpu, cpu->pc);
	return fetch_slowly(cpu);
}

bool cpu_run(struct cpu *cpu)
{
	bool ecall = false;

	while (!cpu->attention && !ecall) {
		uint32_t insn = fetch(cpu);

		if ((insn & 3) == 3)
			ecall = execute(cpu, insn, 4);
		else
			ecall = execute(cpu, compressed_table[insn & 0xffff], 2);
	}
	return ecall;
}
