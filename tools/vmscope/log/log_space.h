/* SPDX-License-Identifier: MIT */
/* The log's records about address spaces: how one begins, what was observed of it, how it ends. */
#ifndef VMSCOPE_LOG_LOG_SPACE_H
#define VMSCOPE_LOG_LOG_SPACE_H

#include "log/log.h"

/* If the session has no log, these do nothing. */

/* Begins with areas read from the kernel. Consumes @detail, which holds the areas and the image. */
void log_space_begins(struct session *session, const struct log_who *who, const struct vmspace *vm,
		      bool attach, struct json_object *detail);

/*
 * @who's address space was forked from number @from. @answers: what the kernel answered meanwhile.
 */
void log_space_forked(struct session *session, const struct log_who *who, unsigned int from,
		      struct answers *answers);

/*
 * The kernel was observed to have changed areas without a call, as @answers tells. Writes nothing
 * if @answers is empty.
 */
void log_space_observed(struct session *session, const struct log_who *who,
			struct answers *answers);

/* Limits or privileges have changed. */
void log_space_limits(struct session *session, const struct log_who *who, const struct vmspace *vm);

/* The address space ends; @occasion is "exit", "exec" or "detach". */
void log_space_ends(struct session *session, const struct log_who *who, const struct vmspace *vm,
		    const char *command, const char *occasion);

#endif
