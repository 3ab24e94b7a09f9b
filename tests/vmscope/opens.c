/* SPDX-License-Identifier: MIT */
/* opens.c LIBRARY - reads a byte, opens the library, and calls its odd(). */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char byte;
	void *library, *symbol, *(*odd)(void);

	if (argc < 2 || read(0, &byte, 1) != 1 || !(library = dlopen(argv[1], RTLD_NOW)))
		return 1;
	symbol = dlsym(library, "odd");
	memcpy(&odd, &symbol, sizeof(odd)); /* C has no conversion to a function */
	return !symbol || !odd();
}
