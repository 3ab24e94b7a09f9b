/* SPDX-License-Identifier: MIT */
/* request.h - the parts of a request, for calls that begin and end (begin.c). */
#ifndef VMSPACE_REQUEST_H
#define VMSPACE_REQUEST_H

#include "space.h"

/* Is there such an op? */
bool request_known(enum vmspace_op op);
/*
 * Take the tag off the request's address, if that can have one (config.address_tags). Returns the
 * address as it was, for request_tag().
 */
unsigned long request_untag(const struct vmspace *space, struct vmspace_request *req);
void request_tag(const struct vmspace *space, struct vmspace_request *req, unsigned long given);
/* Gather, with the space's lock held. */
void request_gather(struct vmspace *space, const struct vmspace_request *req);
/* Complete, with the space's lock held, in a space that several threads use. */
void request_complete(struct vmspace *space, struct vmspace_request *req);

#endif
