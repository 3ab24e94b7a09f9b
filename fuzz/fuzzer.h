/* SPDX-License-Identifier: MIT */
/*
 * fuzzer.h - what a fuzz target offers to libFuzzer, to AFL++ and to the replaying program.
 */
#ifndef FUZZ_FUZZER_H
#define FUZZ_FUZZER_H

#include <stddef.h>
#include <stdint.h>

/* LLVMFuzzerTestOneInput - run one input; aborts at a finding. The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* fuzzer_print_calls - from now on, print the calls that an input stands for. */
void fuzzer_print_calls(void);

#endif
