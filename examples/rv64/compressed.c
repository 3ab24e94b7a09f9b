/* SPDX-License-Identifier: MIT */
/* compressed.c - extension C: what each instruction of two bytes stands for, in a table. */
#include "cpu.h"

uint32_t compressed_table[1 << 16];

/* Bits [high:low] of an instruction, moved to where the lowest is bit `to`. */
static uint32_t bits(uint32_t insn, unsigned int high, unsigned int low, unsigned int to)
{
	return (insn >> low & ((1u << (high - low + 1)) - 1)) << to;
}

static uint32_t sign(uint32_t value, unsigned int width)
{
	return (uint32_t)((int32_t)(value << (32 - width)) >> (32 - width));
}

static uint32_t i_type(uint32_t opcode, uint32_t kind, uint32_t to, uint32_t from, uint32_t imm)
{
	return opcode | to << 7 | kind << 12 | from << 15 | imm << 20;
}

static uint32_t s_type(uint32_t opcode, uint32_t kind, uint32_t base, uint32_t from, uint32_t imm)
{
	return opcode | (imm & 31) << 7 | kind << 12 | base << 15 | from << 20 | imm >> 5 << 25;
}

static uint32_t r_type(uint32_t opcode, uint32_t kind, uint32_t to, uint32_t a, uint32_t b)
{
	return opcode | to << 7 | (kind & 7) << 12 | a << 15 | b << 20 | kind >> 3 << 25;
}

static uint32_t j_type(uint32_t imm)
{
	return 0x6f | bits(imm, 19, 12, 12) | bits(imm, 11, 11, 20) | bits(imm, 10, 1, 21) |
	       bits(imm, 20, 20, 31);
}

static uint32_t b_type(uint32_t kind, uint32_t a, uint32_t imm)
{
	return 0x63 | kind << 12 | a << 15 | bits(imm, 11, 11, 7) | bits(imm, 4, 1, 8) |
	       bits(imm, 10, 5, 25) | bits(imm, 12, 12, 31);
}

static uint32_t quadrant_0(uint32_t c)
{
	uint32_t to = bits(c, 4, 2, 0) + 8, base = bits(c, 9, 7, 0) + 8;
	uint32_t word = bits(c, 12, 10, 3) | bits(c, 6, 6, 2) | bits(c, 5, 5, 6);
	uint32_t twice = bits(c, 12, 10, 3) | bits(c, 6, 5, 6);
	uint32_t imm = bits(c, 12, 11, 4) | bits(c, 10, 7, 6) | bits(c, 6, 6, 2) | bits(c, 5, 5, 3);

	switch (c >> 13) {
	case 0: return imm ? i_type(0x13, 0, to, 2, imm) : 0;      /* addi4spn */
	case 1: return i_type(0x07, 3, to, base, twice);           /* fld */
	case 2: return i_type(0x03, 2, to, base, word);            /* lw */
	case 3: return i_type(0x03, 3, to, base, twice);           /* ld */
	case 5: return s_type(0x27, 3, base, to, twice);           /* fsd */
	case 6: return s_type(0x23, 2, base, to, word);            /* sw */
	case 7: return s_type(0x23, 3, base, to, twice);           /* sd */
	default: return 0;
	}
}

static uint32_t arithmetic(uint32_t c)
{
	uint32_t to = bits(c, 9, 7, 0) + 8, b = bits(c, 4, 2, 0) + 8;
	uint32_t imm = bits(c, 12, 12, 5) | bits(c, 6, 2, 0);

	switch (bits(c, 11, 10, 0)) {
	case 0: return i_type(0x13, 5, to, to, imm);               /* srli */
	case 1: return i_type(0x13, 5, to, to, imm | 0x400);       /* srai */
	case 2: return i_type(0x13, 7, to, to, sign(imm, 6));      /* andi */
	}
	switch (bits(c, 12, 12, 2) | bits(c, 6, 5, 0)) {
	case 0: return r_type(0x33, 0x100, to, to, b);             /* sub */
	case 1: return r_type(0x33, 4, to, to, b);                 /* xor */
	case 2: return r_type(0x33, 6, to, to, b);                 /* or */
	case 3: return r_type(0x33, 7, to, to, b);                 /* and */
	case 4: return r_type(0x3b, 0x100, to, to, b);             /* subw */
	case 5: return r_type(0x3b, 0, to, to, b);                 /* addw */
	default: return 0;
	}
}

static uint32_t lui(uint32_t c)
{
	uint32_t to = bits(c, 11, 7, 0), imm = sign(bits(c, 12, 12, 5) | bits(c, 6, 2, 0), 6);
	uint32_t sp = bits(c, 12, 12, 9) | bits(c, 6, 6, 4) | bits(c, 5, 5, 6) | bits(c, 4, 3, 7) |
		      bits(c, 2, 2, 5);

	if (to == 2)
		return sp ? i_type(0x13, 0, 2, 2, sign(sp, 10)) : 0; /* addi16sp */
	return imm ? 0x37 | to << 7 | imm << 12 : 0;
}

static uint32_t quadrant_1(uint32_t c)
{
	uint32_t to = bits(c, 11, 7, 0), imm = sign(bits(c, 12, 12, 5) | bits(c, 6, 2, 0), 6);
	uint32_t jump = bits(c, 12, 12, 11) | bits(c, 11, 11, 4) | bits(c, 10, 9, 8) |
			bits(c, 8, 8, 10) | bits(c, 7, 7, 6) | bits(c, 6, 6, 7) |
			bits(c, 5, 3, 1) | bits(c, 2, 2, 5);
	uint32_t branch = bits(c, 12, 12, 8) | bits(c, 11, 10, 3) | bits(c, 6, 5, 6) |
			  bits(c, 4, 3, 1) | bits(c, 2, 2, 5);

	switch (c >> 13) {
	case 0: return i_type(0x13, 0, to, to, imm);               /* addi, nop */
	case 1: return to ? i_type(0x1b, 0, to, to, imm) : 0;      /* addiw */
	case 2: return i_type(0x13, 0, to, 0, imm);                /* li */
	case 3: return lui(c);
	case 4: return arithmetic(c);
	case 5: return j_type(sign(jump, 12));                     /* j */
	case 6: return b_type(0, bits(c, 9, 7, 0) + 8, sign(branch, 9)); /* beqz */
	default: return b_type(1, bits(c, 9, 7, 0) + 8, sign(branch, 9)); /* bnez */
	}
}

static uint32_t move(uint32_t c)
{
	uint32_t to = bits(c, 11, 7, 0), from = bits(c, 6, 2, 0);

	if (!(c & 0x1000)) {
		if (from)
			return r_type(0x33, 0, to, 0, from);       /* mv */
		return to ? i_type(0x67, 0, 0, to, 0) : 0;         /* jr */
	}
	if (from)
		return r_type(0x33, 0, to, to, from);              /* add */
	return to ? i_type(0x67, 0, 1, to, 0) : 0x100073;          /* jalr, ebreak */
}

static uint32_t quadrant_2(uint32_t c)
{
	uint32_t to = bits(c, 11, 7, 0), from = bits(c, 6, 2, 0);
	uint32_t load_word = bits(c, 12, 12, 5) | bits(c, 6, 4, 2) | bits(c, 3, 2, 6);
	uint32_t load_twice = bits(c, 12, 12, 5) | bits(c, 6, 5, 3) | bits(c, 4, 2, 6);
	uint32_t store_word = bits(c, 12, 9, 2) | bits(c, 8, 7, 6);
	uint32_t store_twice = bits(c, 12, 10, 3) | bits(c, 9, 7, 6);

	switch (c >> 13) {
	case 0: return i_type(0x13, 1, to, to, bits(c, 12, 12, 5) | from); /* slli */
	case 1: return i_type(0x07, 3, to, 2, load_twice);         /* fldsp */
	case 2: return to ? i_type(0x03, 2, to, 2, load_word) : 0; /* lwsp */
	case 3: return to ? i_type(0x03, 3, to, 2, load_twice) : 0; /* ldsp */
	case 4: return move(c);
	case 5: return s_type(0x27, 3, 2, from, store_twice);      /* fsdsp */
	case 6: return s_type(0x23, 2, 2, from, store_word);       /* swsp */
	default: return s_type(0x23, 3, 2, from, store_twice);     /* sdsp */
	}
}

void compressed_init(void)
{
	for (uint32_t c = 0; c < 1 << 16; c++)
		switch (c & 3) {
		case 0: compressed_table[c] = quadrant_0(c); break;
		case 1: compressed_table[c] = quadrant_1(c); break;
		case 2: compressed_table[c] = quadrant_2(c); break;
		}
}
