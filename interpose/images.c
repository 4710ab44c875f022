/* SPDX-License-Identifier: Apache-2.0
 *
 * images: code on its way to the driver. Taken before the call, so that a driver that crashes in its compiler
 * leaves the culprit in the trace.
 */
#include "interpose/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/image.h"

static struct rec_payload describe(uint64_t seq, int param, const void *address, uint64_t bytes)
{
	return (struct rec_payload){.seq = seq,
				    .kind = RING_IMAGE,
				    .param = param,
				    .address = (uintptr_t)address,
				    .width = bytes,
				    .height = 1,
				    .depth = 1};
}

static void bytes(uint64_t seq, int param, const void *data, size_t n)
{
	struct rec_payload p = describe(seq, param, data, n);

	if (seq && data && n)
		rec_payload(&p, data);
}

static void parts(const struct rec_payload *p, const struct image_part *part, size_t n)
{
	struct rec_payload piece = *p;
	uint64_t id = rec_unique();

	for (size_t i = 0; i < n; piece.offset += part[i++].bytes)
		rec_payload_piece(&piece, id, p->width,
				  (i == 0 ? RING_PAYLOAD_FIRST : 0) | (i == n - 1 ? RING_PAYLOAD_LAST : 0),
				  part[i].data, part[i].bytes);
}

#define FEW_PARTS 64

/* A wrapper lists a part for each translation unit: rarely more than a stack has room for. */
void rec_image(uint64_t seq, int param, const void *image)
{
	struct image_part few[FEW_PARTS], *many = NULL;
	struct rec_payload p;
	size_t n;

	if (!seq || !image)
		return;
	n = image_parts(image, few, FEW_PARTS);
	p = describe(seq, param, image, image_size(image));
	if (n > FEW_PARTS && (many = rec_pages(n * sizeof(*many))))
		image_parts(image, many, n);
	if (n && (n <= FEW_PARTS || many))
		parts(&p, many ? many : few, n);
	else
		rec_unavailable(&p, n ? "there is no memory for the list of the fatbin's parts"
				      : "neither PTX nor ELF nor a fatbin: its size is unknown");
	rec_pages_free(many, n * sizeof(*many));
}

/* A code file in memory; data NULL: it has none, or can't be read. */
struct file {
	void *data;
	size_t bytes;
};

static struct file file_open(uint64_t seq, int param, const char *path)
{
	struct rec_payload p = describe(seq, param, path, 0);
	int saved = errno, fd = seq && path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct file f = {0};
	struct stat st;
	void *map;

	if (fd < 0) {
		if (seq && path)
			rec_unavailable(&p, "the file could not be read");
		errno = saved;
		return f;
	}
	if (old_fstat(fd, &st) == 0 && st.st_size > 0 &&
	    (map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED)
		f = (struct file){map, (size_t)st.st_size};
	close(fd);
	errno = saved;
	return f;
}

static void file_close(struct file *f)
{
	if (f->data)
		munmap(f->data, f->bytes);
}

/* Records a file's bytes, or what the driver is given in their place, which is returned then. */
static const void *file(uint64_t seq, int param, const char *path, struct rec_steered *s)
{
	struct file f = file_open(seq, param, path);
	const void *instead = rec_steer_bytes(seq, f.data, f.bytes, s);

	if (instead)
		rec_image(seq, param, instead);
	else
		bytes(seq, param, f.data, f.bytes);
	file_close(&f);
	return instead;
}

static CUresult hook_cuModuleLoad(CUmodule *module, const char *path)
{
	uint64_t seq = rec_current();
	struct rec_steered s;
	const void *instead = file(seq, 1, path, &s);
	CUresult r = rec_context_record(seq, instead ? REAL(cuModuleLoadData)(module, instead)
						     : REAL(cuModuleLoad)(module, path));

	rec_steer_done(&s);
	return r;
}

static CUresult hook_cuModuleLoadData(CUmodule *module, const void *image)
{
	uint64_t seq = rec_current();
	struct rec_steered s;
	CUresult r;

	image = rec_steer_image(seq, image, &s);
	rec_image(seq, 1, image);
	r = rec_context_record(seq, REAL(cuModuleLoadData)(module, image));
	rec_steer_done(&s);
	return r;
}

static CUresult hook_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n,
					CUjit_option *options, void **values)
{
	uint64_t seq = rec_current();
	struct rec_steered s;
	CUresult r;

	image = rec_steer_image(seq, image, &s);
	rec_image(seq, 1, image);
	r = rec_context_record(seq, REAL(cuModuleLoadDataEx)(module, image, n, options, values));
	rec_steer_done(&s);
	return r;
}

static CUresult hook_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	uint64_t seq = rec_current();
	struct rec_steered s;
	CUresult r;

	image = rec_steer_image(seq, image, &s);
	rec_image(seq, 1, image);
	r = rec_context_record(seq, REAL(cuModuleLoadFatBinary)(module, image));
	rec_steer_done(&s);
	return r;
}

/* The driver may look at it until the library is unloaded; then what stands in for it stays. */
static bool is_preserved(const CUlibraryOption *options, unsigned n)
{
	for (unsigned i = 0; options && i < n; i++)
		if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			return true;
	return false;
}

static CUresult hook_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
				       void **values, unsigned n, CUlibraryOption *library_options,
				       void **library_values, unsigned m)
{
	struct rec_steered s;
	CUresult r;

	code = rec_steer_image(rec_current(), code, &s);
	rec_image(rec_current(), 1, code);
	r = REAL(cuLibraryLoadData)(library, code, options, values, n, library_options, library_values, m);
	if (!is_preserved(library_options, m))
		rec_steer_done(&s);
	return r;
}

static CUresult hook_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options,
					   void **values, unsigned n, CUlibraryOption *library_options,
					   void **library_values, unsigned m)
{
	struct rec_steered s;
	const void *instead = file(rec_current(), 1, path, &s);
	CUresult r = instead ? REAL(cuLibraryLoadData)(library, instead, options, values, n, library_options,
						       library_values, m)
			     : REAL(cuLibraryLoadFromFile)(library, path, options, values, n, library_options,
							   library_values, m);

	if (!is_preserved(library_options, m))
		rec_steer_done(&s);
	return r;
}

/* The forms of CUDA 5.5 differ in nothing but their names. */
#define LINK_DATA(fn)                                                                                 \
	static CUresult hook_##fn(CUlinkState state, CUjitInputType type, void *data, size_t size,    \
				  const char *name, unsigned n, CUjit_option *options, void **values) \
	{                                                                                             \
		uint64_t seq = rec_current();                                                         \
		struct rec_steered s;                                                                 \
		void *instead = (void *)(uintptr_t)rec_steer_link(seq, type, data, size, &s);         \
		CUresult r;                                                                           \
                                                                                                      \
		if (instead) {                                                                        \
			data = instead;                                                               \
			size = image_size(instead);                                                   \
		}                                                                                     \
		bytes(seq, 2, data, size);                                                            \
		r = REAL(fn)(state, type, data, size, name, n, options, values);                      \
		rec_steer_done(&s);                                                                   \
		return r;                                                                             \
	}
#define LINK_FILE(fn, add_data)                                                                           \
	static CUresult hook_##fn(CUlinkState state, CUjitInputType type, const char *path, unsigned n,   \
				  CUjit_option *options, void **values)                                   \
	{                                                                                                 \
		uint64_t seq = rec_current();                                                             \
		struct file f = file_open(seq, 2, path);                                                  \
		struct rec_steered s;                                                                     \
		void *instead = (void *)(uintptr_t)rec_steer_link(seq, type, f.data, f.bytes, &s);        \
		CUresult r;                                                                               \
                                                                                                          \
		bytes(seq, 2, instead ? instead : f.data, instead ? image_size(instead) : f.bytes);       \
		r = instead ? REAL(add_data)(state, type, instead, image_size(instead), path, n, options, \
					     values)                                                      \
			    : REAL(fn)(state, type, path, n, options, values);                            \
		rec_steer_done(&s);                                                                       \
		file_close(&f);                                                                           \
		return r;                                                                                 \
	}
LINK_DATA(cuLinkAddData)
LINK_DATA(cuLinkAddData_v2)
LINK_FILE(cuLinkAddFile, cuLinkAddData)
LINK_FILE(cuLinkAddFile_v2, cuLinkAddData_v2)

static CUresult hook_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	uint64_t seq = rec_current();
	CUresult r = REAL(cuLinkComplete)(state, cubin, size);

	if (r == CUDA_SUCCESS && cubin && size)
		bytes(seq, 1, *cubin, *size);
	return r;
}

/* Handles of functions may come back for other functions afterwards. */
static CUresult hook_cuModuleUnload(CUmodule module)
{
	rec_layouts_flush();
	return REAL(cuModuleUnload)(module);
}

static CUresult hook_cuLibraryUnload(CUlibrary library)
{
	rec_layouts_flush();
	return REAL(cuLibraryUnload)(library);
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_image_hooks[] = {
	HOOK(cuModuleLoad),          HOOK(cuModuleLoadData),  HOOK(cuModuleLoadDataEx),
	HOOK(cuModuleLoadFatBinary), HOOK(cuLibraryLoadData), HOOK(cuLibraryLoadFromFile),
	HOOK(cuLinkAddData_v2),      HOOK(cuLinkAddFile_v2),  HOOK(cuLinkAddData),
	HOOK(cuLinkAddFile),         HOOK(cuLinkComplete),    HOOK(cuModuleUnload),
	HOOK(cuLibraryUnload),
};
const unsigned rec_nimage_hooks = sizeof(rec_image_hooks) / sizeof(rec_image_hooks[0]);
