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

static void file(uint64_t seq, int param, const char *path)
{
	struct rec_payload p = describe(seq, param, path, 0);
	int saved = errno, fd = seq && path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	void *map;

	if (fd < 0) {
		if (seq && path)
			rec_unavailable(&p, "the file could not be read");
		errno = saved;
		return;
	}
	if (old_fstat(fd, &st) == 0 && st.st_size > 0 &&
	    (map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED) {
		bytes(seq, param, map, (size_t)st.st_size);
		munmap(map, (size_t)st.st_size);
	}
	close(fd);
	errno = saved;
}

static CUresult hook_cuModuleLoad(CUmodule *module, const char *path)
{
	uint64_t seq = rec_current();

	file(seq, 1, path);
	return rec_context_record(seq, REAL(cuModuleLoad)(module, path));
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
	file(rec_current(), 1, path);
	return REAL(cuLibraryLoadFromFile)(library, path, options, values, n, library_options, library_values,
					   m);
}

static CUresult hook_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
				      const char *name, unsigned n, CUjit_option *options, void **values)
{
	bytes(rec_current(), 2, data, size);
	return REAL(cuLinkAddData_v2)(state, type, data, size, name, n, options, values);
}

static CUresult hook_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned n,
				      CUjit_option *options, void **values)
{
	file(rec_current(), 2, path);
	return REAL(cuLinkAddFile_v2)(state, type, path, n, options, values);
}

/* The forms of CUDA 5.5 differ in nothing but their names. */
static CUresult hook_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
				   const char *name, unsigned n, CUjit_option *options, void **values)
{
	bytes(rec_current(), 2, data, size);
	return REAL(cuLinkAddData)(state, type, data, size, name, n, options, values);
}

static CUresult hook_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned n,
				   CUjit_option *options, void **values)
{
	file(rec_current(), 2, path);
	return REAL(cuLinkAddFile)(state, type, path, n, options, values);
}

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
