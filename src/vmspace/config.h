/* SPDX-License-Identifier: MIT */
/* config.h - what a process is allowed beyond its limits. */
#ifndef VMSPACE_CONFIG_H
#define VMSPACE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include <mapletree/vmspace.h>

/*
 * Is the process in a user namespace of its own, as in most containers? Its capabilities then do
 * not concern limits on memory. `process`: "self", or its number. What may not be read counts as
 * the initial namespace.
 */
bool config_has_own_users(const char *process);

/*
 * Does exec choose the bottom-up layout, by personality and RLIMIT_STACK? On x86-64 the limit alone
 * does not: if the stack is unlimited, the base of the mappings is at a sixth of the space.
 */
bool config_is_bottom_up(unsigned long persona, unsigned long rlimit_stack);

/*
 * Set task_size, map_window and mmap_base_legacy, which depend on the architecture, the kernel and
 * the processor, from where pages can be mapped. page_size is set.
 */
void config_probe_layout(struct vmspace_config *config);

/*
 * Set what arm64 has; only what the kernel knows succeeds. (Elsewhere the bit of PROT_BTI may mean
 * something else.) page_size and pkeys are set.
 */
void config_probe_architecture(struct vmspace_config *config);

/* For config->mmap_apart; asked once. */
bool config_mmap_apart(void);

/* Set what the effective capabilities `caps` (CapEff in /proc/PID/status) allow. */
void config_set_privileges(struct vmspace_config *config, uint64_t caps);

#endif
