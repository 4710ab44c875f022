/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything is read through a cursor that knows its end: a read beyond it gives 0 and marks the cursor as bad.
 */
#include "zluda_core/amdgpu_emulator/line_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

struct sections {
	struct cursor line, line_str, str;
};

/* A unit's header, as far as its program needs it. */
struct unit {
	uint16_t version;
	uint8_t offset_bytes, address_bytes, minimum, opcode_base, line_range;
	int8_t line_base;
	uint8_t lengths[256];
	size_t first_file; /* in the table; DWARF 4 counts from 1, DWARF 5 from 0 */
	size_t nfiles;
	struct cursor program;
};

/* DWARF 5, 7.22, 7.5.6 */
enum { LNS_COPY = 1, LNS_ADVANCE_PC, LNS_ADVANCE_LINE, LNS_SET_FILE, LNS_SET_COLUMN, LNS_NEGATE_STMT };
enum { LNS_BASIC_BLOCK = 7, LNS_CONST_ADD_PC, LNS_FIXED_ADVANCE_PC, LNS_PROLOGUE_END, LNS_EPILOGUE, LNS_ISA };
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };
enum { LNCT_PATH = 1 };
enum {
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_BLOCK = 0x09,
	FORM_DATA1 = 0x0b,
	FORM_STRP = 0x0e,
	FORM_UDATA = 0x0f,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f
};

/* ---- reading */

static const uint8_t *take(struct cursor *c, uint64_t bytes)
{
	const uint8_t *p = c->p;

	if (c->bad || bytes > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return NULL;
	}
	c->p += bytes;
	return p;
}

static uint64_t fixed(struct cursor *c, unsigned bytes)
{
	const uint8_t *p = take(c, bytes);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, bytes);
	return v;
}

static uint64_t uleb(struct cursor *c)
{
	uint64_t v = 0, byte;
	unsigned shift = 0;

	do {
		byte = fixed(c, 1);
		if (shift >= 64)
			c->bad = true;
		else
			v |= (byte & 127) << shift;
		shift += 7;
	} while (byte & 128 && !c->bad);
	return v;
}

static int64_t sleb(struct cursor *c)
{
	uint64_t v = 0, byte;
	unsigned shift = 0;

	do {
		byte = fixed(c, 1);
		if (shift >= 64)
			c->bad = true;
		else
			v |= (byte & 127) << shift;
		shift += 7;
	} while (byte & 128 && !c->bad);
	if (shift < 64 && byte & 64)
		v |= ~0ull << shift;
	return (int64_t)v;
}

static const char *text(struct cursor *c)
{
	const uint8_t *p = c->p, *end = c->bad ? NULL : memchr(p, 0, (size_t)(c->end - p));

	if (!end) {
		c->bad = true;
		return "";
	}
	c->p = end + 1;
	return (const char *)p;
}

static const char *text_at(struct cursor *c, const struct cursor *in, uint64_t offset)
{
	struct cursor s = *in;

	if (c->bad || !take(&s, offset)) {
		c->bad = true;
		return "";
	}
	const char *t = text(&s);
	c->bad |= s.bad;
	return t;
}

static struct cursor part(struct cursor *c, uint64_t bytes)
{
	const uint8_t *p = take(c, bytes);

	return p ? (struct cursor){p, p + bytes, false} : (struct cursor){c->p, c->p, true};
}

/* ---- the header's tables of files */

static bool add_file(struct line_table *t, struct cursor *c, const char *name)
{
	char **more;

	if (t->nfiles % 16 == 0) {
		more = realloc(t->files, (t->nfiles + 16) * sizeof *more);
		if (!more)
			return false;
		t->files = more;
	}
	if (!(t->files[t->nfiles] = strdup(c->bad ? "" : name)))
		return false;
	t->nfiles++;
	return true;
}

/* DWARF 4, 6.2.4: directories and files are lists that end with an empty name. */
static bool files_4(struct line_table *t, struct unit *u, struct cursor *h)
{
	const char *name;

	while (*text(h) && !h->bad)
		;
	u->first_file = t->nfiles;
	if (!add_file(t, h, "")) /* number 0 is no file */
		return false;
	while (*(name = text(h)) && !h->bad) {
		uleb(h);
		uleb(h);
		uleb(h);
		if (!add_file(t, h, name))
			return false;
	}
	return true;
}

/* A value of a form; a text for those that are names. */
static const char *value(struct cursor *h, const struct sections *s, unsigned offset_bytes, uint64_t form)
{
	switch (form) {
	case FORM_STRING: return text(h);
	case FORM_LINE_STRP: return text_at(h, &s->line_str, fixed(h, offset_bytes));
	case FORM_STRP: return text_at(h, &s->str, fixed(h, offset_bytes));
	case FORM_UDATA: uleb(h); break;
	case FORM_DATA1: take(h, 1); break;
	case FORM_DATA2: take(h, 2); break;
	case FORM_DATA4: take(h, 4); break;
	case FORM_DATA8: take(h, 8); break;
	case FORM_DATA16: take(h, 16); break;
	case FORM_BLOCK: take(h, uleb(h)); break;
	default: h->bad = true;
	}
	return "";
}

/* DWARF 5, 6.2.4.1: a format, then entries; files are added to the table, directories are only passed. */
static bool entries_5(struct line_table *t, struct cursor *h, const struct sections *s, unsigned offset_bytes,
		      bool files)
{
	uint64_t format[256][2], n = fixed(h, 1), count;

	for (uint64_t i = 0; i < n; i++) {
		format[i][0] = uleb(h);
		format[i][1] = uleb(h);
	}
	count = uleb(h);
	if (count && !n)
		h->bad = true;
	for (uint64_t k = 0; k < count && !h->bad; k++) {
		const char *name = "";
		const uint8_t *before = h->p;
		for (uint64_t i = 0; i < n; i++) {
			const char *v = value(h, s, offset_bytes, format[i][1]);
			if (format[i][0] == LNCT_PATH)
				name = v;
		}
		if (h->p == before) /* entries of no bytes could be any number */
			h->bad = true;
		if (files && !add_file(t, h, name))
			return false;
	}
	return true;
}

/* ---- rows */

struct row {
	uint64_t address;
	uint64_t file;
	uint32_t line;
	bool valid; /* a row has been written in this sequence */
};

static bool add_range(struct line_table *t, const struct unit *u, const struct row *from, uint64_t end)
{
	if (!from->valid || from->address >= end || !from->line || from->file >= u->nfiles)
		return true;
	if (t->nranges == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct line_range *more = realloc(t->ranges, room * sizeof *more);
		if (!more)
			return false;
		t->ranges = more;
		t->room = room;
	}
	t->ranges[t->nranges++] =
		(struct line_range){from->address, end, from->line, (uint32_t)(u->first_file + from->file)};
	return true;
}

/* The state machine of one unit (DWARF 5, 6.2.2, 6.2.5). */
struct machine {
	struct line_table *t;
	const struct unit *u;
	struct cursor *c;
	struct row now, last;
	struct row known; /* the last row of the sequence that has a line */
	bool memory;
};

static void write_row(struct machine *m)
{
	if (m->last.valid && m->now.address < m->last.address)
		m->c->bad = true; /* addresses of a sequence only grow */
	m->memory &= add_range(m->t, m->u, &m->last, m->now.address);
	m->last = m->now;
	m->last.valid = true;
	/* Line 0: code of the compiler's own, a branch or a copy. It is near what came before. */
	if (m->now.line)
		m->known = m->now;
	m->last.line = m->known.line;
	m->last.file = m->known.file;
}

static void begin_sequence(struct machine *m)
{
	m->now = (struct row){.file = 1, .line = 1};
	m->last.valid = false;
	m->known.line = 0;
}

static void extended(struct machine *m)
{
	uint64_t bytes = uleb(m->c);
	struct cursor c = part(m->c, bytes);

	switch (fixed(&c, 1)) {
	case LNE_END_SEQUENCE:
		write_row(m);
		begin_sequence(m);
		break;
	case LNE_SET_ADDRESS:
		if (bytes != m->u->address_bytes + 1u)
			m->c->bad = true;
		m->now.address = fixed(&c, m->u->address_bytes);
		break;
	}
	m->c->bad |= c.bad;
}

static uint64_t constant_advance(const struct unit *u)
{
	return (uint64_t)((255u - u->opcode_base) / u->line_range) * u->minimum;
}

static void standard(struct machine *m, unsigned op)
{
	switch (op) {
	case LNS_COPY: write_row(m); break;
	case LNS_ADVANCE_PC: m->now.address += uleb(m->c) * m->u->minimum; break;
	case LNS_ADVANCE_LINE: m->now.line += (uint32_t)sleb(m->c); break;
	case LNS_SET_FILE: m->now.file = uleb(m->c); break;
	case LNS_SET_COLUMN:
	case LNS_ISA: uleb(m->c); break;
	case LNS_CONST_ADD_PC: m->now.address += constant_advance(m->u); break;
	case LNS_FIXED_ADVANCE_PC: m->now.address += fixed(m->c, 2); break;
	case LNS_NEGATE_STMT:
	case LNS_BASIC_BLOCK:
	case LNS_PROLOGUE_END:
	case LNS_EPILOGUE: break;
	default: /* of a later version: its operands are numbers */
		for (unsigned i = 0; i < m->u->lengths[op]; i++)
			uleb(m->c);
	}
}

static void special(struct machine *m, unsigned op)
{
	unsigned k = op - m->u->opcode_base;

	m->now.address += (uint64_t)(k / m->u->line_range) * m->u->minimum;
	m->now.line += (uint32_t)(m->u->line_base + (int)(k % m->u->line_range));
	write_row(m);
}

static bool run_program(struct line_table *t, struct unit *u)
{
	struct machine m = {.t = t, .u = u, .c = &u->program, .memory = true};

	begin_sequence(&m);
	while (m.c->p < m.c->end && !m.c->bad && m.memory) {
		unsigned op = (unsigned)fixed(m.c, 1);
		if (op >= u->opcode_base)
			special(&m, op);
		else if (op)
			standard(&m, op);
		else
			extended(&m);
	}
	return m.memory;
}

/* ---- units */

/* Behind the version; false: not enough memory. *skip: a unit that is not read. */
static bool read_header(struct line_table *t, struct unit *u, struct cursor *c, const struct sections *s)
{
	struct cursor h;
	bool memory = true;

	u->address_bytes = 8;
	if (u->version == 5) {
		u->address_bytes = (uint8_t)fixed(c, 1);
		c->bad |= fixed(c, 1) != 0 || (u->address_bytes != 8 && u->address_bytes != 4);
	}
	h = part(c, fixed(c, u->offset_bytes));
	u->minimum = (uint8_t)fixed(&h, 1);
	h.bad |= fixed(&h, 1) != 1; /* operations of one instruction: no VLIW */
	fixed(&h, 1);
	u->line_base = (int8_t)fixed(&h, 1);
	u->line_range = (uint8_t)fixed(&h, 1);
	u->opcode_base = (uint8_t)fixed(&h, 1);
	h.bad |= !u->line_range || !u->opcode_base;
	for (unsigned i = 1; i < u->opcode_base; i++)
		u->lengths[i] = (uint8_t)fixed(&h, 1);
	u->first_file = t->nfiles;
	if (u->version == 4)
		memory = files_4(t, u, &h);
	else
		memory = entries_5(t, &h, s, u->offset_bytes, false) &&
			 entries_5(t, &h, s, u->offset_bytes, true);
	u->nfiles = t->nfiles - u->first_file;
	c->bad |= h.bad;
	u->program = *c;
	return memory;
}

/* One unit; the section's cursor ends up behind it. */
static bool read_unit(struct line_table *t, struct sections *s)
{
	struct unit u = {.offset_bytes = 4};
	uint64_t bytes = fixed(&s->line, 4);
	bool memory;

	if (bytes == 0xffffffff) {
		bytes = fixed(&s->line, 8);
		u.offset_bytes = 8;
	}
	struct cursor c = part(&s->line, bytes);
	u.version = (uint16_t)fixed(&c, 2);
	if (!c.bad && u.version != 4 && u.version != 5)
		return true;
	memory = read_header(t, &u, &c, s);
	if (memory && !c.bad) {
		memory = run_program(t, &u);
		c.bad |= u.program.bad;
	}
	s->line.bad |= c.bad;
	return memory;
}

/* ---- sections of the file */

static struct cursor section(const uint8_t *file, size_t bytes, const Elf64_Shdr *s)
{
	if (s->sh_type == SHT_NOBITS || s->sh_flags & SHF_COMPRESSED || s->sh_offset > bytes ||
	    s->sh_size > bytes - s->sh_offset)
		return (struct cursor){file, file, false};
	return (struct cursor){file + s->sh_offset, file + s->sh_offset + s->sh_size, false};
}

static void find_sections(const uint8_t *file, size_t bytes, struct sections *out)
{
	static const char *const names[] = {".debug_line", ".debug_line_str", ".debug_str"};
	struct cursor *const places[] = {&out->line, &out->line_str, &out->str};
	Elf64_Ehdr h;
	Elf64_Shdr s, strings;

	for (unsigned k = 0; k < 3; k++)
		*places[k] = (struct cursor){file, file, false};
	if (bytes < sizeof h)
		return;
	memcpy(&h, file, sizeof h);
	if (h.e_shentsize != sizeof s || h.e_shoff > bytes || h.e_shnum > (bytes - h.e_shoff) / sizeof s ||
	    h.e_shstrndx >= h.e_shnum)
		return;
	memcpy(&strings, file + h.e_shoff + h.e_shstrndx * sizeof s, sizeof s);
	for (unsigned i = 0; i < h.e_shnum; i++) {
		memcpy(&s, file + h.e_shoff + i * sizeof s, sizeof s);
		struct cursor in = section(file, bytes, &strings), unused = {0};
		const char *name = text_at(&unused, &in, s.sh_name);
		for (unsigned k = 0; k < 3; k++)
			if (!strcmp(name, names[k]))
				*places[k] = section(file, bytes, &s);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct line_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int line_table_read(struct line_table *t, const uint8_t *file, size_t bytes, struct diag *d)
{
	struct sections s;

	memset(t, 0, sizeof *t);
	find_sections(file, bytes, &s);
	while (s.line.p < s.line.end && !s.line.bad)
		if (!read_unit(t, &s))
			return diag_set(d, CUTRACE_ENOMEM, "", "no memory for the line table");
	if (s.line.bad)
		return diag_set(d, CUTRACE_EFORMAT, "",
				"not a usable AMD code object: its line table (.debug_line) is damaged");
	if (t->nranges)
		qsort(t->ranges, t->nranges, sizeof *t->ranges, by_start);
	return 0;
}

bool line_table_find(const struct line_table *t, uint64_t address, const char **file, unsigned *line)
{
	size_t low = 0, high = t->nranges;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (t->ranges[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || t->ranges[low - 1].end <= address)
		return false;
	*file = t->files[t->ranges[low - 1].file];
	*line = t->ranges[low - 1].line;
	return true;
}

void line_table_free(struct line_table *t)
{
	for (size_t i = 0; i < t->nfiles; i++)
		free(t->files[i]);
	free(t->files);
	free(t->ranges);
	memset(t, 0, sizeof *t);
}
