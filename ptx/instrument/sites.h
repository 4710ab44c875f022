/* SPDX-License-Identifier: Apache-2.0
 *
 * The statements of a kernel and the functions that it may call, in order of the text.
 */
#ifndef CUTRACE_PTX_SITES_H
#define CUTRACE_PTX_SITES_H

#include "ptx/instrument/instrument.h"

int ptx_sites_find(struct ptx_module *m, struct ptx_func *entry, struct ptx_instrumented *out,
		   struct diag *d);
/* Places its registers in a record. */
void ptx_site_layout(struct ptx_site *s);
/* As it is written in the statement. */
const char *ptx_site_register_name(const struct ptx_site *s, const struct ptx_site_register *r);
#define PTX_CARRY_NAME "%cc"

/* Whether the function is instrumented with this entry; NULL: with all. */
bool ptx_sites_has(const struct ptx_func *entry, const struct ptx_func *f);

#endif
