/* SPDX-License-Identifier: MIT */
/* Which functions addresses are in, as far as that was found out. */
#ifndef VMSCOPE_LOG_SITE_NAMES_H
#define VMSCOPE_LOG_SITE_NAMES_H

/* What is known of a file, whoever has mapped it: to look through its symbols takes long. */
struct site_names;

/* Of the file at @path as it is now. NULL: there is none, or no memory for it. */
struct site_names *site_names_of(const char *path);

/*
 * The text that was kept for @place, a number of the caller's for an address in the file; NULL:
 * none was.
 */
const char *site_names_find(struct site_names *names, unsigned long place);

/* Keeps @text, of which it makes a copy. Without memory for it, it is looked up again. */
void site_names_keep(struct site_names *names, unsigned long place, const char *text);

/* Frees all of it; no site finder may be open. */
void site_names_forget(void);

#endif
