/* SPDX-License-Identifier: MIT */
/*
 * replay.c - run inputs from files through a fuzz target: the corpus, random bytes, a finding;
 * under AFL++ the inputs it makes.
 */
#include "fuzzer.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

#define INPUT_MAX 4096

#ifdef __AFL_FUZZ_TESTCASE_LEN
__AFL_FUZZ_INIT();
#endif

static unsigned long inputs;

static void die(const char *name)
{
	fprintf(stderr, "replay: %s: %s\n", name, strerror(errno));
	exit(2);
}

static void run_file(const char *name)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(name, "rb");
	size_t size;

	if (!file)
		die(name);
	size = fread(bytes, 1, sizeof(bytes), file);
	if (ferror(file))
		die(name);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, size);
	inputs++;
}

static void run_path(const char *name)
{
	struct stat info;
	struct dirent **names;
	char path[4096];
	int count;

	if (stat(name, &info))
		die(name);
	if (!S_ISDIR(info.st_mode)) {
		run_file(name);
		return;
	}
	count = scandir(name, &names, NULL, alphasort);
	if (count < 0)
		die(name);
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", name, names[i]->d_name);
			run_path(path);
		}
		free(names[i]);
	}
	free(names);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Random inputs for a while. Input n is made of seed + n, so that a finding can be repeated. */
static void run_random(uint64_t seed, double duration)
{
	double end = seconds() + duration;
	const char *keep = getenv("FUZZ_KEEP");
	static uint8_t bytes[INPUT_MAX];

	printf("random inputs from seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	do {
		struct random random;
		size_t size;

		random_seed(&random, seed++);
		size = random_below(&random, sizeof(bytes) / 4);
		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)random_next(&random);
		if (keep) { /* the last one survives an abort */
			FILE *file = fopen(keep, "wb");

			if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
				die(keep);
		}
		LLVMFuzzerTestOneInput(bytes, size);
		inputs++;
	} while (seconds() < end);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: replay [-v] [-r SECONDS] [-s SEED] FILE_OR_DIRECTORY...\n"
		"  -v  print the calls that each input stands for\n"
		"  -r  run random inputs too; FUZZ_KEEP=FILE keeps the last one there\n"
		"  -s  their seed (default: from the clock)\n");
	return 2;
}

static int replay(int argc, char **argv)
{
	uint64_t seed = (uint64_t)time(NULL) << 20;
	double duration = 0;
	int option;

	while ((option = getopt(argc, argv, "vr:s:")) != -1) {
		switch (option) {
		case 'v': fuzzer_print_calls(); break;
		case 'r': duration = atof(optarg); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		default: return usage();
		}
	}
	if (optind == argc && duration <= 0)
		return usage();
	for (int i = optind; i < argc; i++)
		run_path(argv[i]);
	if (duration > 0)
		run_random(seed, duration);
	printf("%lu inputs, no finding\n", inputs);
	return 0;
}

#ifdef __AFL_FUZZ_TESTCASE_LEN
/* Under afl-fuzz one process runs many inputs, handed over in shared memory. */
static int persist(void)
{
	const unsigned char *bytes = __AFL_FUZZ_TESTCASE_BUF;

	while (__AFL_LOOP(10000))
		LLVMFuzzerTestOneInput(bytes, (size_t)__AFL_FUZZ_TESTCASE_LEN);
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 ? replay(argc, argv) : persist();
}
#else
int main(int argc, char **argv)
{
	return replay(argc, argv);
}
#endif
