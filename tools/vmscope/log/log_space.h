/* SPDX-License-Identifier: MIT */
/* The records that tell what an address space begins with, what else the kernel said, and how it ends. */
#ifndef VMSCOPE_LOG_LOG_SPACE_H
#define VMSCOPE_LOG_LOG_SPACE_H

#include "log/log.h"

/* All of them do nothing without a log. */

/* Taken over from the kernel: @detail, taken, holds the areas and the image. */
void log_space_begins(struct session *session, const struct log_who *who, const struct vmspace *vm,
		    bool attach, struct json_object *detail);

/* @who's space began as a copy of space @from; @answers: what was asked for it. */
void log_space_forked(struct session *session, const struct log_who *who, unsigned int from,
		     struct answers *answers);

/* The kernel's maps showed what no call had told. Nothing if @answers is empty. */
void log_space_observed(struct session *session, const struct log_who *who, struct answers *answers);

/* Limits or privileges are others now. */
void log_space_limits(struct session *session, const struct log_who *who, const struct vmspace *vm);

/* The space is gone: @occasion is "exit", "exec" or "detach". */
void log_space_ends(struct session *session, const struct log_who *who, const struct vmspace *vm,
		    const char *command, const char *occasion);

#endif
