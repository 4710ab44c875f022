/* SPDX-License-Identifier: Apache-2.0
 *
 * export_tables: the driver's private function tables. The CUDA runtime has the driver prove its
 * identity by a hash over the addresses of two of these tables and of one function in them, so the driver's
 * own tables are handed through, and their slots are patched in place with thunks. Names: "export:UUID:slot".
 */
#include "interpose/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_TABLE_BYTES 8192u
#define MAX_TABLES      64u

struct known_slot {
	uint8_t slot;
	struct rec_thunk_traits traits;
};

struct known_table {
	uint8_t uuid[16];
	uint8_t length;             /* where entry 0 is a function and not the size; else 0 */
	uint8_t untouched;          /* a slot whose address is part of the identity hash */
	struct known_slot slots[7]; /* slot 0: end */
};

static const struct known_table known_tables[] = {
	/* the runtime's interface: modules from fatbins, primary contexts */
	{{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
	 0,
	 0,
	 {{1, {1, 0, false}},
	  {2, {-1, 0, false}},
	  {6, {1, 0, false}},
	  {7, {-1, -1, true}},
	  {8, {0, 1, false}},
	  {12, {-1, -1, true}}}},
	/* scratch buffers of the tools' hooks */
	{{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66},
	 0,
	 0,
	 {{2, {-1, -1, true}}, {6, {-1, -1, true}}}},
	/* context-local storage has no size entry */
	{{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93},
	 4,
	 0,
	 {{0}}},
	/* the identity check itself */
	{{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2},
	 0,
	 1,
	 {{0}}},
};

static const void *done[MAX_TABLES]; /* tables seen */
static unsigned ndone;

static const struct known_table *known(const CUuuid *uuid)
{
	for (size_t i = 0; i < sizeof(known_tables) / sizeof(known_tables[0]); i++)
		if (!memcmp(known_tables[i].uuid, uuid, 16))
			return &known_tables[i];
	return NULL;
}

/* ---- what memory is what ---------------------------------------------------- */

/* /proc/self/maps, whole; in pages. */
static char *read_maps(size_t *capacity)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	char *text;

	*capacity = 4u << 20;
	text = fd < 0 ? NULL : rec_pages(*capacity);
	if (text) {
		ssize_t n;

		while (used < *capacity - 1 && (n = read(fd, text + used, *capacity - 1 - used)) > 0)
			used += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* PROT_* of the mapping that holds `address`; -1 when there is none. */
static int protection(const char *maps, uintptr_t address)
{
	for (const char *line = maps; line && *line;
	     line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		char *end;
		uintptr_t low = strtoul(line, &end, 16), high = strtoul(end + 1, &end, 16);

		if (address >= low && address < high)
			return (end[1] == 'r' ? PROT_READ : 0) | (end[2] == 'w' ? PROT_WRITE : 0) |
			       (end[3] == 'x' ? PROT_EXEC : 0);
	}
	return -1;
}

static bool is_code(const char *maps, void *p)
{
	int prot = protection(maps, (uintptr_t)p);

	return prot >= 0 && (prot & PROT_EXEC);
}

static size_t table_slots(const struct known_table *k, void *const *table)
{
	uintptr_t bytes = (uintptr_t)table[0];

	if (k && k->length)
		return k->length;
	return bytes % 8 == 0 && bytes >= 16 && bytes <= MAX_TABLE_BYTES ? bytes / 8 : 0;
}

static bool set_protection(void *const *table, size_t slots, int prot)
{
	uintptr_t low = (uintptr_t)table & ~(uintptr_t)4095,
		  high = ((uintptr_t)(table + slots) + 4095) & ~(uintptr_t)4095;

	return mprotect((void *)low, high - low, prot) == 0;
}

/* ---- patching ----------------------------------------------------------------- */

static void name_slot(char *name, size_t max, const CUuuid *uuid, size_t slot)
{
	const unsigned char *b = (const unsigned char *)uuid;

	snprintf(name, max, "export:%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x:%zu",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
		 b[14], b[15], slot);
}

static const struct rec_thunk_traits *traits_of(const struct known_table *k, size_t slot)
{
	for (unsigned i = 0; k && k->slots[i].slot; i++)
		if (k->slots[i].slot == slot)
			return &k->slots[i].traits;
	return NULL;
}

static void patch(const CUuuid *uuid, const struct known_table *k, void **table, size_t slots,
		  const char *maps)
{
	for (size_t i = k && k->length ? 0 : 1; i < slots; i++) {
		char name[80];

		if ((k && k->untouched && i == k->untouched) || !table[i] || !is_code(maps, table[i]))
			continue;
		name_slot(name, sizeof(name), uuid, i);
		__atomic_store_n(&table[i], rec_thunk(name, table[i], traits_of(k, i)), __ATOMIC_RELEASE);
	}
}

static bool first_time(const void *table)
{
	bool fresh = true;

	rec_lock(REC_LOCK_TABLES);
	for (unsigned i = 0; i < ndone; i++)
		fresh &= done[i] != table;
	if (fresh && ndone < MAX_TABLES)
		done[ndone++] = table;
	rec_unlock(REC_LOCK_TABLES);
	return fresh;
}

void rec_export_table(const CUuuid *uuid, const void *t)
{
	void **table = (void **)(uintptr_t)t;
	const struct known_table *k = known(uuid);
	size_t slots = table_slots(k, table), capacity;
	int saved = errno, before;
	char name[80], *maps;

	if (!first_time(t))
		return;
	name_slot(name, sizeof(name), uuid, 0);
	maps = slots ? read_maps(&capacity) : NULL;
	before = maps ? protection(maps, (uintptr_t)t) : -1;
	if (before >= 0 && set_protection(table, slots, before | PROT_READ | PROT_WRITE)) {
		patch(uuid, k, table, slots, maps);
		set_protection(table, slots, before);
	} else {
		rec_diag2(1, rec_current(),
			  "calls through this table are not recorded, it could not be patched: ", name);
	}
	rec_pages_free(maps, maps ? capacity : 0);
	errno = saved;
}
