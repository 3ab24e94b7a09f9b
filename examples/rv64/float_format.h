/* SPDX-License-Identifier: MIT */
/*
 * float_format.h - the instructions of one format; included by float.c for singles and for doubles.
 *
 * Takes REAL, BITS, SIGNED, NAME(), FRACTION (bits of the fraction), CANONICAL (the NaN that results
 * are), FMA and SQRT, and undefines them.
 */
static REAL NAME(real)(struct cpu *cpu, unsigned int number)
{
	BITS bits = NAME(bits)(cpu, number);
	REAL value;

	memcpy(&value, &bits, sizeof(value));
	__asm__ volatile("" : "+m"(value)); /* not computed with before the rounding is set */
	return value;
}

static bool NAME(is_nan)(BITS bits)
{
	return (BITS)(bits << 1) > (((BITS)CANONICAL << 1) & ~((BITS)1 << FRACTION));
}

static bool NAME(is_signaling)(BITS bits)
{
	return NAME(is_nan)(bits) && !(bits >> (FRACTION - 1) & 1);
}

static void NAME(result)(struct cpu *cpu, unsigned int number, REAL value)
{
	BITS bits;

	__asm__ volatile("" : "+m"(value)); /* nor after it is set back */
	memcpy(&bits, &value, sizeof(bits));
	NAME(write)(cpu, number, NAME(is_nan)(bits) ? (BITS)CANONICAL : bits);
}

static void NAME(arithmetic)(struct cpu *cpu, uint32_t insn)
{
	unsigned int mode = round_begin(cpu, insn);
	REAL a = NAME(real)(cpu, rs1(insn)), b = NAME(real)(cpu, rs2(insn));

	switch (funct7(insn) >> 2) {
	case 0: a = a + b; break;
	case 1: a = a - b; break;
	case 2: a = a * b; break;
	case 3: a = a / b; break;
	default: a = SQRT(a); break;
	}
	NAME(result)(cpu, rd(insn), a);
	round_end(cpu, mode);
}

static void NAME(fma)(struct cpu *cpu, uint32_t insn)
{
	unsigned int mode = round_begin(cpu, insn), third = insn >> 27;
	REAL a = NAME(real)(cpu, rs1(insn)), b = NAME(real)(cpu, rs2(insn));
	REAL c = NAME(real)(cpu, third);
	bool negated = insn & 8, subtracts = insn & 4;

	/* Infinity times zero is invalid, also where a NaN is added. */
	if ((isinf(a) && fpclassify(b) == FP_ZERO) || (isinf(b) && fpclassify(a) == FP_ZERO))
		feraiseexcept(FE_INVALID);
	NAME(result)(cpu, rd(insn), FMA(negated ? -a : a, b, subtracts ? -c : c));
	round_end(cpu, mode);
}

static void NAME(inject_sign)(struct cpu *cpu, uint32_t insn)
{
	BITS a = NAME(bits)(cpu, rs1(insn)), b = NAME(bits)(cpu, rs2(insn));
	BITS mask = (BITS)1 << (sizeof(BITS) * 8 - 1);

	switch (funct3(insn)) {
	case 0: break;
	case 1: b = ~b; break;
	case 2: b ^= a; break;
	default: cpu_illegal(cpu);
	}
	NAME(write)(cpu, rd(insn), (a & ~mask) | (b & mask));
}

/* As numbers with a sign: those of neither is a NaN; -0 is less than +0. */
static bool NAME(is_less)(BITS a, BITS b)
{
	SIGNED mask = (SIGNED)((BITS)~(BITS)0 >> 1);
	SIGNED x = (SIGNED)a, y = (SIGNED)b;

	return (x < 0 ? x ^ mask : x) < (y < 0 ? y ^ mask : y);
}

static void NAME(choose)(struct cpu *cpu, uint32_t insn)
{
	BITS a = NAME(bits)(cpu, rs1(insn)), b = NAME(bits)(cpu, rs2(insn)), chosen;

	if (funct3(insn) > 1)
		cpu_illegal(cpu);
	if (NAME(is_signaling)(a) || NAME(is_signaling)(b))
		feraiseexcept(FE_INVALID);
	if (NAME(is_nan)(a))
		chosen = NAME(is_nan)(b) ? (BITS)CANONICAL : b;
	else if (NAME(is_nan)(b))
		chosen = a;
	else
		chosen = NAME(is_less)(a, b) == !funct3(insn) ? a : b;
	NAME(write)(cpu, rd(insn), chosen);
}

static void NAME(compare)(struct cpu *cpu, uint32_t insn)
{
	BITS a = NAME(bits)(cpu, rs1(insn)), b = NAME(bits)(cpu, rs2(insn));
	bool nan = NAME(is_nan)(a) || NAME(is_nan)(b);
	bool zeros = !(BITS)((a | b) << 1), equal = a == b || zeros;
	bool less = !zeros && NAME(is_less)(a, b), answer;

	if (funct3(insn) > 2)
		cpu_illegal(cpu);
	answer = funct3(insn) == 2 ? equal : funct3(insn) == 1 ? less : less || equal;
	if (nan && (funct3(insn) < 2 || NAME(is_signaling)(a) || NAME(is_signaling)(b)))
		feraiseexcept(FE_INVALID);
	cpu->x[rd(insn)] = !nan && answer;
}

static uint64_t NAME(classify)(BITS bits)
{
	bool negative = bits >> (sizeof(BITS) * 8 - 1);
	REAL value;

	if (NAME(is_nan)(bits))
		return NAME(is_signaling)(bits) ? 1 << 8 : 1 << 9;
	memcpy(&value, &bits, sizeof(value));
	switch (fpclassify(value)) {
	case FP_INFINITE: return negative ? 1 << 0 : 1 << 7;
	case FP_NORMAL: return negative ? 1 << 1 : 1 << 6;
	case FP_SUBNORMAL: return negative ? 1 << 2 : 1 << 5;
	default: return negative ? 1 << 3 : 1 << 4;
	}
}

static void NAME(from_integer)(struct cpu *cpu, uint32_t insn)
{
	unsigned int mode = round_begin(cpu, insn);
	volatile uint64_t a = cpu->x[rs1(insn)]; /* converted where the rounding is set */

	switch (rs2(insn)) {
	case 0: NAME(result)(cpu, rd(insn), (REAL)(int32_t)a); break;
	case 1: NAME(result)(cpu, rd(insn), (REAL)(uint32_t)a); break;
	case 2: NAME(result)(cpu, rd(insn), (REAL)(int64_t)a); break;
	default: NAME(result)(cpu, rd(insn), (REAL)(uint64_t)a); break;
	}
	round_end(cpu, mode);
}

static void NAME(to_integer)(struct cpu *cpu, uint32_t insn)
{
	unsigned int mode = funct3(insn) == DYN ? cpu->rounding : funct3(insn);
	BITS bits = NAME(bits)(cpu, rs1(insn));
	double value = NAME(is_nan)(bits) ? (double)NAN : (double)NAME(real)(cpu, rs1(insn));

	if (mode > RMM)
		cpu_illegal(cpu);
	cpu->x[rd(insn)] = to_integer(value, rs2(insn), mode);
}

static void NAME(to_register)(struct cpu *cpu, uint32_t insn)
{
	if (funct3(insn) == 1)
		cpu->x[rd(insn)] = NAME(classify)(NAME(bits)(cpu, rs1(insn)));
	else if (funct3(insn) == 0)
		cpu->x[rd(insn)] = (uint64_t)(int64_t)(SIGNED)cpu->f[rs1(insn)];
	else
		cpu_illegal(cpu);
}

static void NAME(execute)(struct cpu *cpu, uint32_t insn)
{
	unsigned int kind = funct7(insn) >> 2;
	bool unary = kind == 0x0b || kind >= 0x1c;

	if (unary && rs2(insn))
		cpu_illegal(cpu);
	if ((kind == 0x18 || kind == 0x1a) && rs2(insn) > 3)
		cpu_illegal(cpu);
	switch (kind) {
	case 0: case 1: case 2: case 3: case 0x0b: NAME(arithmetic)(cpu, insn); break;
	case 0x04: NAME(inject_sign)(cpu, insn); break;
	case 0x05: NAME(choose)(cpu, insn); break;
	case 0x14: NAME(compare)(cpu, insn); break;
	case 0x18: NAME(to_integer)(cpu, insn); break;
	case 0x1a: NAME(from_integer)(cpu, insn); break;
	case 0x1c: NAME(to_register)(cpu, insn); break;
	case 0x1e: NAME(write)(cpu, rd(insn), (BITS)cpu->x[rs1(insn)]); break;
	default: cpu_illegal(cpu);
	}
}

#undef REAL
#undef BITS
#undef SIGNED
#undef NAME
#undef FRACTION
#undef CANONICAL
#undef FMA
#undef SQRT
