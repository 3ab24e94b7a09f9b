/* SPDX-License-Identifier: MIT */
/* The data of the page, which page_data.js decodes; and the summary for those without scripts. */
#ifndef VMSCOPE_REPORT_PAGE_DATA_H
#define VMSCOPE_REPORT_PAGE_DATA_H

#include "report/page.h"

/* Writes a JSON object, in which no "<" is. Returns 0 or -ENOMEM. */
int page_data_write(FILE *to, struct page *page, const struct page_view *view);

/* The same as plain text, as HTML has it. */
void page_summary_write(FILE *to, struct page *page, const struct page_view *view);

/* @text as HTML has it; what is not UTF-8 becomes question marks. */
void page_put_html(FILE *to, const char *text);

#endif
