/* SPDX-License-Identifier: MIT */
/* Whether a result has been written, and else why not. */
#include "base/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "base/session.h"

int output_flush(FILE *to)
{
	bool failed = ferror(to) != 0;
	int error;

	errno = 0;
	/*
	 * A write that failed earlier has not left its reason. As the output is not whole in any
	 * case, a further byte asks again.
	 */
	if (failed)
		putc('\n', to);
	failed |= fflush(to) != 0;
	error = errno ? errno : EIO;
	if (!failed)
		return 0;
	__fpurge(to);
	clearerr(to);
	return -error;
}

int output_close(FILE *to)
{
	int rc = output_flush(to);

	if (fclose(to) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

static void check(void)
{
	int rc = output_flush(stdout);

	if (rc == 0)
		return;
	session_say("cannot write to standard output: %s", strerror(-rc));
	_exit(STATUS_FAILED);
}

void output_check_at_exit(void)
{
	atexit(check);
}
