/* SPDX-License-Identifier: Apache-2.0
 *
 * cache_file: the cache's SQLite file, between cache.c and cache_contents.c: where it is, opening, making it anew.
 */
#ifndef CUTRACE_CACHE_FILE_H
#define CUTRACE_CACHE_FILE_H

#include "zluda_core/compiler/cache.h"
#include "zluda_core/compiler/sqlite_api.h"

struct cache {
	char *folder; /* NULL: off */
	char off_reason[128];
	uint64_t limit;
};

struct cache_file {
	const struct sqlite_api *sql;
	sqlite3 *db;
	char path[4096];
	uint64_t device, inode;
	bool writable;
};

/* The folder and the file are made when they are missing; without permission to write it is opened for reading. */
int cache_file_open(const struct cache *c, struct cache_file *f, struct diag *d);
void cache_file_close(struct cache_file *f);
/* A file that SQLite finds damaged is removed, unless another process has done it already. */
void cache_file_discard(const struct cache *c, struct cache_file *f);
bool cache_file_is_damage(int sqlite_code);
/* Path of the file in the folder. */
void cache_file_path(const struct cache *c, char *path, size_t room);

#endif
