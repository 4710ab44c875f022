/* SPDX-License-Identifier: Apache-2.0
 *
 * sqlite_api: SQLite by dlopen, for code that lives in other people's programs: they get no dependency that they may
 * have in another version, and lose only the cache where it isn't installed. api->open_v2(...) is
 * sqlite3_open_v2(...).
 */
#ifndef CUTRACE_COMPILER_SQLITE_API_H
#define CUTRACE_COMPILER_SQLITE_API_H

#include <sqlite3.h>
#include <stdbool.h>

#define SQLITE_API_LIST(X) \
	X(open_v2)         \
	X(close_v2)        \
	X(exec)            \
	X(prepare_v2)      \
	X(step)            \
	X(finalize)        \
	X(reset)           \
	X(busy_timeout)    \
	X(bind_blob)       \
	X(bind_text)       \
	X(bind_int64)      \
	X(column_blob)     \
	X(column_bytes)    \
	X(column_text)     \
	X(column_int64)    \
	X(changes)         \
	X(errmsg)          \
	X(get_autocommit)

struct sqlite_api {
#define X(name) __typeof__(sqlite3_##name) *name;
	SQLITE_API_LIST(X)
#undef X
};

/* NULL where the library isn't there or lacks something. */
const struct sqlite_api *sqlite_api(void);

#endif
