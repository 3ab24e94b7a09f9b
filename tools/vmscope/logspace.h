/* SPDX-License-Identifier: MIT */
/* The records that tell what an address space begins with, what else the kernel said, and how it ends. */
#ifndef VMSCOPE_LOGSPACE_H
#define VMSCOPE_LOGSPACE_H

#include "log.h"

/* All of them do nothing without a log. */

/* Taken over from the kernel: @detail, taken, holds the areas and the image. */
void logspace_taken(struct session *session, const struct log_who *who, const struct vmspace *vm,
		    bool attach, struct json_object *detail);

/* @who's space began as a copy of space @from; @notes: what was asked for it. */
void logspace_copied(struct session *session, const struct log_who *who, unsigned int from,
		     struct notes *notes);

/* The kernel's maps showed what no call had told. Nothing if @notes is empty. */
void logspace_seen(struct session *session, const struct log_who *who, struct notes *notes);

/* Limits or privileges are others now. */
void logspace_limits(struct session *session, const struct log_who *who, const struct vmspace *vm);

/* The space is gone: @occasion is "exit", "exec" or "detach". */
void logspace_ended(struct session *session, const struct log_who *who, const struct vmspace *vm,
		    const char *command, const char *occasion);

#endif
