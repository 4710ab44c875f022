/* SPDX-License-Identifier: Apache-2.0
 *
 * steer: `record --reference ptx` and `record --as`. The first hands fatbins to the driver without their machine code,
 * so that it compiles the PTX that a replay executes; code of which there is no PTX that the device takes is left as it
 * is, and the trace says so. The second answers programs that ask for the compute capability with another one, so that
 * those that choose their code by it choose a portable one.
 */
#include "interpose/recorder.h"

#include <errno.h>

#include "base/image.h"

unsigned rec_as_cc;
bool rec_reference_ptx;

/* ---- fatbins without machine code ---------------------------------------------------- */

/* A container: u32 magic, u16 version, u16 bytes of this header, u64 bytes of the entries behind it. An entry: u16 kind,
 * at 4 u32 bytes of its header, at 8 u64 bytes of its payload, at 0x1c u32 architecture. */
enum { KIND_PTX = 1, KIND_ELF = 2, ENTRY_BYTES = 64 };

struct entry {
	const uint8_t *at;
	uint64_t bytes;
	unsigned kind, arch;
};

static uint64_t word_at(const uint8_t *p, unsigned bytes)
{
	uint64_t w = 0;

	memcpy(&w, p, bytes);
	return w;
}

/* The entry at *at, which is moved behind it. False at the end, or where the container contradicts itself. */
static bool next_entry(const uint8_t **at, const uint8_t *end, struct entry *e)
{
	uint64_t room = (uint64_t)(end - *at), header, payload;

	if (room < ENTRY_BYTES)
		return false;
	header = word_at(*at + 4, 4);
	payload = word_at(*at + 8, 8);
	if (header < ENTRY_BYTES || header > room || payload > room - header)
		return false;
	*e = (struct entry){*at, header + payload, (unsigned)word_at(*at, 2),
			    (unsigned)word_at(*at + 0x1c, 4)};
	*at += e->bytes;
	return true;
}

/* Of the device that the program uses as a rule. */
static unsigned true_cc(void)
{
	static unsigned cc;
	struct rec_thread *t;
	int major = 0, minor = 0;
	CUdevice device = 0;

	if (cc)
		return cc;
	t = rec_own_begin();
	if (REAL(cuDeviceGet)(&device, 0) == CUDA_SUCCESS &&
	    REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ==
		    CUDA_SUCCESS &&
	    REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) ==
		    CUDA_SUCCESS)
		cc = (unsigned)(10 * major + minor);
	rec_own_end(t);
	return cc ? cc : UINT32_MAX;
}

struct container {
	const uint8_t *at, *entries, *end;
	bool has_machine_code, has_ptx;
};

static bool open_container(const void *p, size_t bytes, struct container *c)
{
	const uint8_t *at, *b = p;
	uint64_t header = bytes >= 16 ? word_at(b + 6, 2) : 0;
	struct entry e;

	if (header < 16 || header > bytes || word_at(b, 4) != IMAGE_FATBIN_MAGIC)
		return false;
	*c = (struct container){.at = b, .entries = b + header, .end = b + bytes};
	for (at = c->entries; next_entry(&at, c->end, &e);) {
		c->has_machine_code |= e.kind == KIND_ELF;
		c->has_ptx |= e.kind == KIND_PTX && e.arch <= true_cc();
	}
	return true;
}

/* Returns its bytes. */
static size_t copy_container(uint8_t *to, const struct container *c)
{
	bool all = !c->has_ptx;
	size_t n = (size_t)(c->entries - c->at), header = n;
	const uint8_t *at = c->entries;
	uint64_t body;
	struct entry e;

	memcpy(to, c->at, n);
	while (next_entry(&at, c->end, &e)) {
		if (!all && e.kind == KIND_ELF)
			continue;
		memcpy(to + n, e.at, e.bytes);
		n += e.bytes;
	}
	body = n - header;
	memcpy(to + 8, &body, 8);
	return n;
}

/* As base/image.h reads it: in version 2, `list` ends with NULL. */
struct wrapper {
	int magic, version;
	const void *data;
	const void **list;
};

enum { MAX_PARTS = 512 };

/* What has to be replaced; false: nothing, or there are too many parts. */
static bool open_all(uint64_t seq, const struct image_part *parts, size_t n, struct container *c)
{
	bool any = false, left = false;

	for (size_t i = 0; i < n; i++) {
		if (!open_container(parts[i].data, parts[i].bytes, &c[i]))
			return false;
		any |= c[i].has_machine_code && c[i].has_ptx;
		left |= c[i].has_machine_code && !c[i].has_ptx;
	}
	if (left)
		rec_diag(
			1, seq,
			"--reference ptx: this code has no PTX that the device takes: its machine code is left, "
			"and runs");
	return any;
}

static size_t aligned(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

/* The parts one after the other, in front of them a wrapper with its list. */
static const void *rebuild(const struct image_part *parts, const struct container *c, size_t n, bool wrapped,
			   const struct wrapper *w, struct rec_steered *s)
{
	size_t bytes = aligned(sizeof(*w)) + aligned((n + 1) * sizeof(void *)), at = bytes;
	struct wrapper *copy;
	const void **list;

	for (size_t i = 0; i < n; i++)
		bytes += aligned(parts[i].bytes);
	s->pages = rec_pages(bytes);
	s->bytes = bytes;
	if (!s->pages)
		return NULL;
	copy = s->pages;
	list = (const void **)((uint8_t *)s->pages + aligned(sizeof(*w)));
	for (size_t i = 0; i < n; i++) {
		uint8_t *to = (uint8_t *)s->pages + at;

		at += aligned(copy_container(to, &c[i]));
		if (i == 0)
			copy->data = to;
		else
			list[i - 1] = to;
	}
	if (!wrapped)
		return copy->data;
	copy->magic = w->magic;
	copy->version = w->version;
	copy->list = w->version == 2 && w->list ? list : w->list;
	return copy;
}

static const char left_alone[] = "--reference ptx: this code is machine code alone: it is left, and runs";

const void *rec_steer_image(uint64_t seq, const void *image, struct rec_steered *s)
{
	struct image_part parts[MAX_PARTS];
	struct container c[MAX_PARTS];
	enum image_kind kind;
	const void *instead = NULL;
	int saved = errno;
	size_t n;

	*s = (struct rec_steered){0};
	if (!rec_reference_ptx || !seq || !image)
		return image;
	kind = image_probe(image, SIZE_MAX);
	if (kind == IMAGE_CUBIN)
		rec_diag(1, seq, left_alone);
	if (kind == IMAGE_FATBIN || kind == IMAGE_FATBIN_WRAPPER) {
		n = image_parts(image, parts, MAX_PARTS);
		if (n > MAX_PARTS)
			rec_diag(1, seq,
				 "--reference ptx: this code has too many parts: its machine code is left");
		else if (n && open_all(seq, parts, n, c))
			instead = rebuild(parts, c, n, kind == IMAGE_FATBIN_WRAPPER, image, s);
	}
	errno = saved;
	return instead ? instead : image;
}

static const char not_opened[] =
	"--reference ptx: an object file or a library of them is handed to the linker as it is, machine code included";

const void *rec_steer_bytes(uint64_t seq, const void *data, size_t bytes, struct rec_steered *s)
{
	size_t n = rec_reference_ptx && seq && data ? image_container_size(data, bytes) : 0;
	struct image_part part = {data, n};
	const void *instead = NULL;
	struct container c;
	int saved = errno;

	*s = (struct rec_steered){0};
	if (n && open_all(seq, &part, 1, &c))
		instead = rebuild(&part, &c, 1, false, NULL, s);
	else if (rec_reference_ptx && seq && data && image_probe(data, bytes) == IMAGE_CUBIN)
		rec_diag(1, seq, left_alone);
	errno = saved;
	return instead;
}

const void *rec_steer_link(uint64_t seq, CUjitInputType type, const void *data, size_t bytes,
			   struct rec_steered *s)
{
	*s = (struct rec_steered){0};
	if (rec_reference_ptx && seq && (type == CU_JIT_INPUT_OBJECT || type == CU_JIT_INPUT_LIBRARY))
		rec_diag(1, seq, not_opened);
	return type == CU_JIT_INPUT_FATBINARY || type == CU_JIT_INPUT_CUBIN
		       ? rec_steer_bytes(seq, data, bytes, s)
		       : NULL;
}

void rec_steer_done(struct rec_steered *s)
{
	rec_pages_free(s->pages, s->bytes);
}

/* ---- another compute capability --------------------------------------------------------- */

static CUresult hook_cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
	CUresult r = REAL(cuDeviceGetAttribute)(value, what, device);

	if (r != CUDA_SUCCESS || !value || !rec_current())
		return r;
	if (what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*value = (int)(rec_as_cc / 10);
	else if (what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*value = (int)(rec_as_cc % 10);
	return r;
}

static CUresult hook_cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	CUresult r = REAL(cuDeviceComputeCapability)(major, minor, device);

	if (r != CUDA_SUCCESS || !rec_current())
		return r;
	if (major)
		*major = (int)(rec_as_cc / 10);
	if (minor)
		*minor = (int)(rec_as_cc % 10);
	return r;
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_as_hooks[] = {
	HOOK(cuDeviceGetAttribute),
	HOOK(cuDeviceComputeCapability),
};
const unsigned rec_nas_hooks = sizeof(rec_as_hooks) / sizeof(rec_as_hooks[0]);
