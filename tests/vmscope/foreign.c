/* SPDX-License-Identifier: MIT */
/* foreign.c - maps memory through the entry for 32-bit programs. Fails where there is none. */
int main(void)
{
	long result = 0;

#ifdef __x86_64__
	/* mmap2(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) */
	__asm__ volatile("push %%rbp; xor %%ebp, %%ebp; int $0x80; pop %%rbp" : "=a"(result)
			 : "a"(192L), "b"(0L), "c"(4096L), "d"(1L), "S"(0x22L), "D"(-1L)
			 : "memory", "r8", "r9", "r10", "r11");
#endif
	return result <= 0;
}
