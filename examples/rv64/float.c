/* SPDX-License-Identifier: MIT */
/*
 * float.c - extensions F and D, by the host's floating point.
 *
 * The host's rounding mode and exception flags are the guest's, in each thread: frm and fflags are read
 * and written there. Nothing else here may raise a flag, so what would is decided before it is computed.
 * To the nearest with ties away from zero (RMM), which the host lacks, is done for conversions to
 * integers; in arithmetic it is to the nearest with ties to even.
 */
#include <fenv.h>
#include <math.h>
#include <signal.h>

#include "cpu.h"

#define ALL_FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT)

enum { RNE, RTZ, RDN, RUP, RMM, DYN = 7 };

static const int host_rounding[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST };

/* ---- control and status ---- */

static const struct { unsigned int guest; int host; } flags[] = {
	{ 1, FE_INEXACT }, { 2, FE_UNDERFLOW }, { 4, FE_OVERFLOW }, { 8, FE_DIVBYZERO }, { 16, FE_INVALID },
};

static unsigned int flags_read(void)
{
	int host = fetestexcept(ALL_FLAGS);
	unsigned int value = 0;

	for (unsigned int i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		value |= host & flags[i].host ? flags[i].guest : 0;
	return value;
}

static void flags_write(unsigned int value)
{
	int host = 0;

	for (unsigned int i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		host |= value & flags[i].guest ? flags[i].host : 0;
	feclearexcept(ALL_FLAGS);
	feraiseexcept(host);
	if (!(host & FE_INEXACT)) /* it comes with overflow and underflow */
		feclearexcept(FE_INEXACT);
}

static void rounding_write(struct cpu *cpu, unsigned int value)
{
	cpu->rounding = value & 7;
	fesetround(cpu->rounding <= RMM ? host_rounding[cpu->rounding] : FE_TONEAREST);
}

bool csr_read(struct cpu *cpu, unsigned int number, uint64_t *value)
{
	switch (number) {
	case 1: *value = flags_read(); return true;
	case 2: *value = cpu->rounding; return true;
	case 3: *value = cpu->rounding << 5 | flags_read(); return true;
	case 0xc00: /* cycle, time */
	case 0xc01: *value = guest_time(); return true;
	default: return false;
	}
}

bool csr_write(struct cpu *cpu, unsigned int number, uint64_t value)
{
	if (number < 1 || number > 3)
		return false;
	if (number & 1)
		flags_write((unsigned int)value & 31);
	if (number & 2)
		rounding_write(cpu, (unsigned int)(number == 3 ? value >> 5 : value));
	return true;
}

void fcsr_restore(struct cpu *cpu)
{
	rounding_write(cpu, cpu->rounding);
	flags_write(0);
}

/* ---- operands ---- */

/* The rounding of an instruction; the host's follows it until round_end(). */
static unsigned int round_begin(struct cpu *cpu, uint32_t insn)
{
	unsigned int mode = funct3(insn) == DYN ? cpu->rounding : funct3(insn);

	if (mode > RMM)
		cpu_illegal(cpu);
	if (mode != cpu->rounding)
		fesetround(host_rounding[mode]);
	return mode;
}

static void round_end(struct cpu *cpu, unsigned int mode)
{
	if (mode != cpu->rounding)
		fesetround(host_rounding[cpu->rounding <= RMM ? cpu->rounding : RNE]);
}

static double truncated(double value)
{
	uint64_t bits;
	int exponent;

	memcpy(&bits, &value, sizeof(bits));
	exponent = (int)(bits >> 52 & 2047) - 1023;
	if (exponent >= 52)
		return value;
	bits &= exponent < 0 ? (uint64_t)1 << 63 : ~(uint64_t)0 << (52 - exponent);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The nearest integer by a mode. Unlike floor() and its like it raises no flag. */
static double integral(double value, unsigned int mode)
{
	double whole = truncated(value), away = value < 0 ? -1 : 1, rest;
	bool is_odd;

	if (whole == value)
		return value;
	rest = fabs(value - whole); /* exactly, as all here */
	is_odd = truncated(whole / 2) * 2 != whole;
	switch (mode) {
	case RNE: return rest > 0.5 || (rest == 0.5 && is_odd) ? whole + away : whole;
	case RTZ: return whole;
	case RDN: return value < 0 ? whole - 1 : whole;
	case RUP: return value > 0 ? whole + 1 : whole;
	default: return rest >= 0.5 ? whole + away : whole;
	}
}

/* fcvt to an integer: kind 0: int32, 1: uint32, 2: int64, 3: uint64. What does not fit is the nearest. */
static uint64_t to_integer(double value, unsigned int kind, unsigned int mode)
{
	static const double limit[] = { 0x1p31, 0x1p32, 0x1p63, 0x1p64 };
	static const uint64_t largest[] = { INT32_MAX, UINT64_MAX, INT64_MAX, UINT64_MAX };
	static const uint64_t least[] = { (uint64_t)INT32_MIN, 0, (uint64_t)INT64_MIN, 0 };
	double rounded;

	if (isnan(value)) {
		feraiseexcept(FE_INVALID);
		return largest[kind];
	}
	rounded = integral(value, mode);
	if (rounded >= limit[kind] || rounded < (kind & 1 ? 0 : -limit[kind])) {
		feraiseexcept(FE_INVALID);
		return rounded > 0 ? largest[kind] : least[kind];
	}
	if (rounded != value)
		feraiseexcept(FE_INEXACT);
	switch (kind) {
	case 0: return (uint64_t)(int64_t)rounded;
	case 1: return (uint64_t)(int32_t)(uint32_t)(int64_t)rounded;
	case 2: return (uint64_t)(int64_t)rounded;
	default:
		return rounded < 0x1p63 ? (uint64_t)(int64_t)rounded
					: (uint64_t)(int64_t)(rounded - 0x1p63) + ((uint64_t)1 << 63);
	}
}

static void write_single(struct cpu *cpu, unsigned int number, uint32_t bits)
{
	cpu->f[number] = bits | (uint64_t)UINT32_MAX << 32;
}

static uint32_t bits_single(struct cpu *cpu, unsigned int number)
{
	uint64_t bits = cpu->f[number];

	return bits >> 32 == UINT32_MAX ? (uint32_t)bits : 0x7fc00000; /* not boxed: a NaN */
}

static void write_double(struct cpu *cpu, unsigned int number, uint64_t bits)
{
	cpu->f[number] = bits;
}

static uint64_t bits_double(struct cpu *cpu, unsigned int number)
{
	return cpu->f[number];
}

#define REAL	   float
#define BITS	   uint32_t
#define SIGNED	   int32_t
#define NAME(verb) verb##_single
#define FRACTION   23
#define CANONICAL  0x7fc00000u
#define FMA	   fmaf
#define SQRT	   sqrtf
#include "float_format.h"

#define REAL	   double
#define BITS	   uint64_t
#define SIGNED	   int64_t
#define NAME(verb) verb##_double
#define FRACTION   52
#define CANONICAL  0x7ff8000000000000u
#define FMA	   fma
#define SQRT	   sqrt
#include "float_format.h"

/* ---- what is decoded here ---- */

static void load_store(struct cpu *cpu, uint32_t insn)
{
	bool single = funct3(insn) == 2;

	if (!single && funct3(insn) != 3)
		cpu_illegal(cpu);
	if ((insn & 0x7f) == 0x07) {
		uint64_t addr = cpu->x[rs1(insn)] + imm_i(insn);

		if (single)
			write_single(cpu, rd(insn), load32(cpu, addr));
		else
			cpu->f[rd(insn)] = load64(cpu, addr);
	} else {
		uint64_t addr = cpu->x[rs1(insn)] + imm_s(insn), value = cpu->f[rs2(insn)];

		if (single)
			store32(cpu, addr, (uint32_t)value);
		else
			store64(cpu, addr, value);
	}
}

static void to_single(struct cpu *cpu, uint32_t insn)
{
	unsigned int mode = round_begin(cpu, insn);

	result_single(cpu, rd(insn), (float)real_double(cpu, rs1(insn)));
	round_end(cpu, mode);
}

static void to_double(struct cpu *cpu, uint32_t insn)
{
	result_double(cpu, rd(insn), (double)real_single(cpu, rs1(insn)));
}

void execute_float(struct cpu *cpu, uint32_t insn)
{
	if ((insn & 0x7f) != 0x53)
		load_store(cpu, insn);
	else if (funct7(insn) == 0x20 && rs2(insn) == 1)
		to_single(cpu, insn);
	else if (funct7(insn) == 0x21 && rs2(insn) == 0)
		to_double(cpu, insn);
	else if ((funct7(insn) & 3) == 0)
		execute_single(cpu, insn);
	else if ((funct7(insn) & 3) == 1)
		execute_double(cpu, insn);
	else
		cpu_illegal(cpu);
}

void execute_fma(struct cpu *cpu, uint32_t insn)
{
	switch (insn >> 25 & 3) {
	case 0: fma_single(cpu, insn); break;
	case 1: fma_double(cpu, insn); break;
	default: cpu_illegal(cpu);
	}
}
