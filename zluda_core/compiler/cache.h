/* SPDX-License-Identifier: Apache-2.0
 *
 * cache: compiled code on disk, one SQLite file for all processes of a user. An entry is found by what it was made
 * from, and handed out only if its bytes have the hash they were stored with; anything else is removed and counts as
 * absent. A cache that can't be read or written is as good as an empty one: nothing here is an error of the program.
 *
 * The file is opened for each operation and closed again: a program may fork or close descriptors at any time.
 *
 * Depends on base/, SQLite (by dlopen), xxHash.
 */
#ifndef CUTRACE_CACHE_H
#define CUTRACE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct cache;

/* where: a folder, "off", or NULL: CUTRACE_CACHE, else XDG_CACHE_HOME/cutrace, else HOME/.cache/cutrace. limit_bytes: 0:
 * CUTRACE_CACHE_SIZE (bytes, or with K, M, G), else 1 GiB. NULL only without memory. */
struct cache *cache_open(const char *where, uint64_t limit_bytes);
/* Of CUTRACE_CACHE_SIZE: "500M". False, and *bytes as it was, when it is no size: who reads the options says so. */
bool cache_parse_size(const char *s, uint64_t *bytes);
void cache_close(struct cache *c);
const char *cache_folder(const struct cache *c);     /* NULL: off */
const char *cache_off_reason(const struct cache *c); /* when the folder is NULL */
uint64_t cache_limit(const struct cache *c);

enum cache_kind { CACHE_CODE = 1, CACHE_LINES = 2 };

struct cache_key {
	enum cache_kind kind;
	const uint8_t *hash; /* 16 bytes: of the module's text, or of the code */
	const char *kernel, *target, *options, *build;
};

/* True: *data is malloc'ed and has the bytes that were put. */
bool cache_get(struct cache *c, const struct cache_key *key, void **data, size_t *bytes);
/* When the file grows over the limit, the entries that were used longest ago go. */
void cache_put(struct cache *c, const struct cache_key *key, const void *data, size_t bytes);
/* Whether there is anything of this source (cache_key.hash) and compiler. */
bool cache_knows(struct cache *c, const uint8_t hash[16], const char *build);
/* An entry that turned out to be unusable. */
void cache_drop(struct cache *c, const struct cache_key *key);

/* ---- for the command line: these say what is wrong ---- */

struct cache_info {
	char path[4096];
	uint64_t file_bytes, data_bytes, entries, kernels, limit_bytes;
	int64_t oldest, newest; /* use; seconds since 1970 */
};
int cache_info(struct cache *c, struct cache_info *out, struct diag *d);

struct cache_entry {
	enum cache_kind kind;
	const char *kernel, *target, *options, *build;
	uint64_t bytes;
	int64_t made, used; /* seconds since 1970 */
	bool intact;        /* cache_verify: its bytes have the hash */
};
typedef void (*cache_visit)(void *ctx, const struct cache_entry *e);
int cache_list(struct cache *c, cache_visit visit, void *ctx, struct diag *d);
/* Reads all entries, removes the damaged ones and checks the file. */
int cache_verify(struct cache *c, cache_visit visit, void *ctx, struct diag *d);
int cache_clear(struct cache *c, struct diag *d);

/* XXH3, 128 bits, in its canonical form. */
void cache_hash(const void *data, size_t bytes, uint8_t hash[16]);

#endif
