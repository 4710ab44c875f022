/* SPDX-License-Identifier: Apache-2.0
 *
 * api_sql: text of the view that shows a function's calls by parameter name. The writer of a
 * trace creates the views of the functions that occur. Owns constant text only.
 */
#ifndef CUTRACE_API_SQL_H
#define CUTRACE_API_SQL_H

#include <stddef.h>

/* api_nfuncs entries (and a NULL), by function id: CREATE VIEW "cuMemAlloc_v2" AS ... */
extern const char *const api_sql_views[];

#endif
