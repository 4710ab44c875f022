/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one recorded kernel launch on whichever libcuda.so.1 there is, and compares what it wrote with what was recorded.
 * What the launch is, launch.h tells; its memory is in data/. Needs nothing but a C compiler: the driver is opened when
 * the program runs, and what is needed of its interface is declared below.
 *
 * Exit status: 0 the results are equal, 1 they differ or the kernel faulted, 2 wrong usage, 125 the launch could not be
 * made (git bisect run skips such a commit).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_EQUAL = 0, EXIT_DIFFERS = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 125 };

/* ---- what launch.h fills in ------------------------------------------------------------------- */

struct memory {
	uint64_t address, bytes; /* when it was recorded */
	const char *file;        /* what it holds before the launch; NULL: zeros */
	int module;              /* >= 0: it is a variable of that module */
	const char *variable;
};
/* A place in the parameters that held an address: of `memory`, `offset` bytes into it. */
struct pointer {
	unsigned at, memory;
	uint64_t offset;
	const char *
		how; /* "parameter": declared as a pointer, or as wide as one; "word": its value alone tells */
};
struct parameter {
	unsigned at, bytes;
	const char *name;
};
struct result {
	unsigned memory;
	uint64_t offset, bytes;
	const char *file, *type; /* type of its elements: "f32", "s32", "b8"... */
};
struct launch {
	int module;
	const char *kernel, *parameters; /* parameters: file */
	unsigned parameter_bytes, grid[3], block[3], shared_bytes, cooperative, cluster[3];
};

#include "launch.h"

enum {
	NMODULES = sizeof(modules) / sizeof(modules[0]),
	NMEMORIES = sizeof(memories) / sizeof(memories[0]) - 1, /* the last of each table is empty */
	NPOINTERS = sizeof(pointers) / sizeof(pointers[0]) - 1,
	NPARAMETERS = sizeof(parameters) / sizeof(parameters[0]) - 1,
	NRESULTS = sizeof(results) / sizeof(results[0]) - 1,
};

static struct {
	const char *driver;
	bool has_ulp, has_tolerance, translate, list_pointers;
	uint64_t ulp;
	double rtol, atol;
} options = {.driver = "libcuda.so.1"};

static void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("could not run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_COULD_NOT);
}

/* ---- files, beside the program ------------------------------------------------------------------ */

static char folder[4096];

static void find_folder(void)
{
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	folder[n > 0 ? n : 0] = '\0';
	slash = strrchr(folder, '/');
	if (!slash)
		die("the program's folder is not known: %s", strerror(errno));
	*slash = '\0';
}

/* `bytes` from the file, with a NUL behind them. bytes 0: all of it. */
static void *load(const char *name, uint64_t bytes, uint64_t *got)
{
	char path[8400];
	void *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "rb");
	if (!f)
		die("%s: %s", path, strerror(errno));
	if (!bytes && !fseek(f, 0, SEEK_END))
		bytes = (uint64_t)ftell(f);
	rewind(f);
	p = malloc(bytes + 1);
	if (!p)
		die("%s: no memory for its %" PRIu64 " bytes", path, bytes);
	if (fread(p, 1, bytes, f) != bytes)
		die("%s: it has less than %" PRIu64 " bytes", path, bytes);
	((char *)p)[bytes] = '\0';
	fclose(f);
	if (got)
		*got = bytes;
	return p;
}

/* ---- the driver: CUDA's driver API, as far as it is needed --------------------------------------- */

typedef uint64_t address;
typedef void *handle;

struct location {
	int type, id;
};
/* CUmemAllocationProp and CUmemAccessDesc. */
struct allocation_properties {
	int type, handle_types;
	struct location location;
	void *win32;
	uint8_t flags[8];
};
struct access {
	struct location location;
	int flags;
};
/* CUlaunchConfig and CUlaunchAttribute. */
struct launch_config {
	unsigned grid[3], block[3], shared_bytes;
	handle stream;
	void *attributes;
	unsigned nattributes;
};
struct launch_attribute {
	int id, unused;
	unsigned value[16];
};
enum { PINNED = 1, ON_DEVICE = 1, READ_WRITE = 3, CLUSTER_DIMENSION = 4 };
enum { MAX_DYNAMIC_SHARED = 8, NON_PORTABLE_CLUSTER = 11 }; /* attributes of functions */
enum { PARAM_END = 0, PARAM_POINTER = 1, PARAM_SIZE = 2 };  /* of cuLaunchKernel's last argument */
enum { GRANULE = 2 << 20 };

/* X(result, name, parameters): each becomes a pointer to the function. */
#define DRIVER(X)                                                                                          \
	X(cuInit, (unsigned))                                                                              \
	X(cuDriverGetVersion, (int *))                                                                     \
	X(cuDeviceGet, (int *, int))                                                                       \
	X(cuDeviceGetName, (char *, int, int))                                                             \
	X(cuCtxCreate_v2, (handle *, unsigned, int))                                                       \
	X(cuCtxSynchronize, (void))                                                                        \
	X(cuGetErrorName, (int, const char **))                                                            \
	X(cuModuleLoadData, (handle *, const void *))                                                      \
	X(cuModuleLoadDataEx, (handle *, const void *, unsigned, int *, void **))                          \
	X(cuModuleGetFunction, (handle *, handle, const char *))                                           \
	X(cuModuleGetGlobal_v2, (address *, size_t *, handle, const char *))                               \
	X(cuFuncSetAttribute, (handle, int, int))                                                          \
	X(cuMemAlloc_v2, (address *, size_t))                                                              \
	X(cuMemcpyHtoD_v2, (address, const void *, size_t))                                                \
	X(cuMemcpyDtoH_v2, (void *, address, size_t))                                                      \
	X(cuMemAddressReserve, (address *, size_t, size_t, address, unsigned long long))                   \
	X(cuMemAddressFree, (address, size_t))                                                             \
	X(cuMemCreate, (uint64_t *, size_t, const struct allocation_properties *, unsigned long long))     \
	X(cuMemMap, (address, size_t, size_t, uint64_t, unsigned long long))                               \
	X(cuMemSetAccess, (address, size_t, const struct access *, size_t))                                \
	X(cuLaunchKernel, (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
			   handle, void **, void **))                                                      \
	X(cuLaunchCooperativeKernel,                                                                       \
	  (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **)) \
	X(cuLaunchKernelEx, (const struct launch_config *, handle, void **, void **))
#define POINTER(name, parameters) static int(*name) parameters;
DRIVER(POINTER)

static const char *error_name(int result)
{
	const char *name = NULL;

	if (cuGetErrorName)
		cuGetErrorName(result, &name);
	return name ? name : "an unknown error";
}

static void check(int result, const char *call)
{
	if (result)
		die("%s: %s (%d)", call, error_name(result), result);
}
#define CHECK(name, ...) check(name ? name(__VA_ARGS__) : 500, #name)

static void open_driver(void)
{
	void *lib = dlopen(options.driver, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		die("%s", dlerror());
#define LOOK_UP(name, parameters) *(void **)&name = dlsym(lib, #name);
	DRIVER(LOOK_UP)
}

static void begin(void)
{
	char name[256] = "?";
	int device = 0, version = 0;
	handle context;

	open_driver();
	CHECK(cuInit, 0);
	CHECK(cuDeviceGet, &device, 0);
	if (cuDeviceGetName)
		cuDeviceGetName(name, sizeof(name), device);
	if (cuDriverGetVersion)
		cuDriverGetVersion(&version);
	printf("device: %s, CUDA %d.%d\n", name, version / 1000, version % 1000 / 10);
	CHECK(cuCtxCreate_v2, &context, 0, device);
}

/* ---- code ------------------------------------------------------------------------------------------ */

static handle loaded[NMODULES];

/* Again, to be told why. */
static void say_why_not(const char *file, const void *image, int result)
{
	static char log[8192];
	int names[2] = {5 /* CU_JIT_ERROR_LOG_BUFFER */, 6 /* ..._SIZE_BYTES */};
	void *values[2] = {log, (void *)(uintptr_t)sizeof(log)};
	handle again;

	if (cuModuleLoadDataEx)
		cuModuleLoadDataEx(&again, image, 2, names, values);
	die("%s can't be loaded: %s%s%s", file, error_name(result), log[0] ? "\n" : "", log);
}

static void load_modules(void)
{
	for (int k = 0; k < NMODULES; k++) {
		void *image = load(modules[k], 0, NULL);
		int result = cuModuleLoadData ? cuModuleLoadData(&loaded[k], image) : 500;

		if (result)
			say_why_not(modules[k], image, result);
		/* A driver may go on reading it: it stays. */
	}
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static address live[NMEMORIES + 1];
static bool moved;

/* Memory at the recorded addresses `first` to `end`, in whole granules. */
static bool map_at(address first, address end)
{
	struct allocation_properties p = {.type = PINNED, .location = {ON_DEVICE, 0}};
	struct access rw = {.location = {ON_DEVICE, 0}, .flags = READ_WRITE};
	size_t bytes = end - first;
	uint64_t physical;
	address got = 0;

	if (!cuMemAddressReserve || !cuMemCreate || !cuMemMap || !cuMemSetAccess)
		return false;
	if (cuMemAddressReserve(&got, bytes, GRANULE, first, 0))
		return false;
	if (got == first && !cuMemCreate(&physical, bytes, &p, 0) && !cuMemMap(got, bytes, 0, physical, 0) &&
	    !cuMemSetAccess(got, bytes, &rw, 1))
		return true;
	if (cuMemAddressFree)
		cuMemAddressFree(got, bytes);
	return false;
}

static bool is_plain(int k)
{
	return memories[k].module < 0;
}

/* Granules that several of them share are mapped once: launch.h has them by address. */
static bool place_all(void)
{
	const address mask = GRANULE - 1;
	address first = 0, end = 0;

	for (int k = 0; k < NMEMORIES; k++) {
		address from = memories[k].address & ~mask;

		live[k] = memories[k].address;
		if (!is_plain(k))
			continue;
		if (end > first && from >= end) {
			if (!map_at(first, end))
				return false;
			first = from;
		}
		first = end ? first : from;
		end = (memories[k].address + memories[k].bytes + mask) & ~mask;
	}
	return end == first || map_at(first, end);
}

static void allocate_all(void)
{
	for (int k = 0; k < NMEMORIES; k++)
		if (is_plain(k))
			CHECK(cuMemAlloc_v2, &live[k], memories[k].bytes);
}

static void find_variables(void)
{
	for (int k = 0; k < NMEMORIES; k++) {
		size_t bytes = 0;

		if (is_plain(k))
			continue;
		CHECK(cuModuleGetGlobal_v2, &live[k], &bytes, loaded[memories[k].module],
		      memories[k].variable);
		if (bytes != memories[k].bytes)
			die("variable %s has %zu bytes instead of %" PRIu64, memories[k].variable, bytes,
			    memories[k].bytes);
	}
}

/* The memory that an address lies in, or else ends at; -1: none. */
static int memory_at(address a, bool recorded)
{
	int end = -1;

	for (int k = 0; k < NMEMORIES; k++) {
		address at = a - (recorded ? memories[k].address : live[k]);

		if (at < memories[k].bytes)
			return k;
		end = at == memories[k].bytes ? k : end;
	}
	return end;
}

/* Words that are addresses of memory that is elsewhere now. */
static uint64_t translate_words(void *data, uint64_t bytes, bool to_live, int memory)
{
	uint64_t n = 0;

	for (uint64_t at = 0; moved && at + 8 <= bytes; at += 8) {
		address a, b;
		int k;

		memcpy(&a, (char *)data + at, 8);
		k = memory_at(a, to_live);
		if (k < 0 || live[k] == memories[k].address)
			continue;
		b = to_live ? a - memories[k].address + live[k] : a - live[k] + memories[k].address;
		memcpy((char *)data + at, &b, 8);
		n++;
		if (options.list_pointers && to_live)
			printf("pointer: memory %d + %" PRIu64 ": 0x%" PRIx64 " -> 0x%" PRIx64 "\n", memory,
			       at, a, b);
	}
	return n;
}

static void fill_memory(void)
{
	uint64_t words = 0;

	for (int k = 0; k < NMEMORIES; k++) {
		void *data = memories[k].file ? load(memories[k].file, memories[k].bytes, NULL)
					      : calloc(1, memories[k].bytes + 1);

		if (!data)
			die("no memory for %" PRIu64 " bytes", memories[k].bytes);
		words += translate_words(data, memories[k].bytes, true, k);
		CHECK(cuMemcpyHtoD_v2, live[k], data, memories[k].bytes);
		free(data);
	}
	if (words)
		printf("pointers: %" PRIu64 " words of the memory rewritten (--pointers lists them)\n",
		       words);
}

static void prepare_memory(bool placed)
{
	if (!placed)
		allocate_all();
	find_variables();
	for (int k = 0; k < NMEMORIES; k++)
		moved |= live[k] != memories[k].address;
	printf("addresses: %s\n", !moved   ? "as recorded"
				  : placed ? "as recorded, but for variables: pointers to those are rewritten"
					   : "others than when it was recorded: pointers are rewritten");
	fill_memory();
}

/* ---- the launch ------------------------------------------------------------------------------------------ */

static uint8_t *prepare_parameters(void)
{
	uint8_t *p =
		launch.parameter_bytes ? load(launch.parameters, launch.parameter_bytes, NULL) : calloc(1, 1);

	for (int k = 0; k < NPOINTERS; k++) {
		const struct pointer *q = &pointers[k];
		address a = live[q->memory] + q->offset;

		if (live[q->memory] == memories[q->memory].address)
			continue;
		if (options.list_pointers)
			printf("pointer: parameters + %u (%s): 0x%" PRIx64 " -> 0x%" PRIx64 "\n", q->at,
			       q->how, memories[q->memory].address + q->offset, a);
		memcpy(p + q->at, &a, 8);
	}
	return p;
}

static int start(handle f, uint8_t *parameter_bytes)
{
	const unsigned *g = launch.grid, *b = launch.block;
	size_t size = launch.parameter_bytes;
	void *packed[] = {(void *)PARAM_POINTER, parameter_bytes, (void *)PARAM_SIZE, &size,
			  (void *)PARAM_END};
	void *each[NPARAMETERS + 1];
	struct launch_attribute cluster = {.id = CLUSTER_DIMENSION};
	struct launch_config config = {
		.shared_bytes = launch.shared_bytes, .attributes = &cluster, .nattributes = 1};

	for (int k = 0; k < NPARAMETERS; k++)
		each[k] = parameter_bytes + parameters[k].at;
	if (launch.cluster[0]) {
		memcpy(config.grid, g, sizeof(config.grid));
		memcpy(config.block, b, sizeof(config.block));
		memcpy(cluster.value, launch.cluster, sizeof(launch.cluster));
		return cuLaunchKernelEx ? cuLaunchKernelEx(&config, f, each, NULL) : 500;
	}
	if (launch.cooperative)
		return cuLaunchCooperativeKernel
			       ? cuLaunchCooperativeKernel(f, g[0], g[1], g[2], b[0], b[1], b[2],
							   launch.shared_bytes, NULL, each)
			       : 500;
	if (!cuLaunchKernel)
		return 500;
	return cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], launch.shared_bytes, NULL, NULL,
			      size ? packed : NULL);
}

/* False: the kernel faulted. */
static bool run(void)
{
	uint8_t *parameter_bytes = prepare_parameters();
	int result;
	handle f;

	CHECK(cuModuleGetFunction, &f, loaded[launch.module], launch.kernel);
	if (launch.shared_bytes > 48 << 10)
		CHECK(cuFuncSetAttribute, f, MAX_DYNAMIC_SHARED, (int)launch.shared_bytes);
	if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 8)
		CHECK(cuFuncSetAttribute, f, NON_PORTABLE_CLUSTER, 1);
	printf("launch: %s, %ux%ux%u blocks of %ux%ux%u\n", launch.kernel, launch.grid[0], launch.grid[1],
	       launch.grid[2], launch.block[0], launch.block[1], launch.block[2]);
	fflush(stdout);
	result = start(f, parameter_bytes);
	if (result)
		die("the kernel can't be launched: %s (%d)", error_name(result), result);
	result = cuCtxSynchronize ? cuCtxSynchronize() : 500; /* also what it prints appears now */
	fflush(stdout);
	free(parameter_bytes);
	if (!result)
		return true;
	printf("fault: %s (%d); there was none when it was recorded\n", error_name(result), result);
	return false;
}

/* ---- comparing ---------------------------------------------------------------------------------------------- */

enum class { BITS, UNSIGNED, SIGNED, FLOAT };
static const struct type {
	const char *name;
	unsigned bytes, class, mantissa, exponent;
} types[] = {
	{"b8", 1, BITS, 0, 0},      {"b16", 2, BITS, 0, 0},     {"b32", 4, BITS, 0, 0},
	{"b64", 8, BITS, 0, 0},     {"u8", 1, UNSIGNED, 0, 0},  {"u16", 2, UNSIGNED, 0, 0},
	{"u32", 4, UNSIGNED, 0, 0}, {"u64", 8, UNSIGNED, 0, 0}, {"s8", 1, SIGNED, 0, 0},
	{"s16", 2, SIGNED, 0, 0},   {"s32", 4, SIGNED, 0, 0},   {"s64", 8, SIGNED, 0, 0},
	{"f16", 2, FLOAT, 10, 5},   {"bf16", 2, FLOAT, 7, 8},   {"f32", 4, FLOAT, 23, 8},
	{"f64", 8, FLOAT, 52, 11},
};

static const struct type *type_of(const char *name)
{
	for (unsigned k = 0; k < sizeof(types) / sizeof(types[0]); k++)
		if (!strcmp(types[k].name, name))
			return &types[k];
	return &types[0];
}

static uint64_t magnitude(const struct type *t, uint64_t bits)
{
	return bits & ((UINT64_C(1) << (t->mantissa + t->exponent)) - 1);
}

static bool is_nan(const struct type *t, uint64_t bits)
{
	return t->class == FLOAT && magnitude(t, bits) > ((UINT64_C(1) << t->exponent) - 1) << t->mantissa;
}

static int64_t as_signed(const struct type *t, uint64_t bits)
{
	unsigned shift = 64 - 8 * t->bytes;

	return (int64_t)(bits << shift) >> shift;
}

static double value(const struct type *t, uint64_t bits)
{
	int exponent;
	double m;

	if (t->class != FLOAT)
		return t->class == SIGNED ? (double)as_signed(t, bits) : (double)bits;
	exponent = (int)(magnitude(t, bits) >> t->mantissa);
	m = (double)(bits & ((UINT64_C(1) << t->mantissa) - 1));
	if (exponent == (1 << t->exponent) - 1)
		m = m != 0 ? NAN : INFINITY;
	else if (exponent)
		m = ldexp(m + ldexp(1, (int)t->mantissa),
			  exponent - (1 << (t->exponent - 1)) + 1 - (int)t->mantissa);
	else
		m = ldexp(m, 2 - (1 << (t->exponent - 1)) - (int)t->mantissa);
	return bits >> (8 * t->bytes - 1) & 1 ? -m : m;
}

static void show(const struct type *t, uint64_t bits)
{
	if (is_nan(t, bits))
		printf("nan(0x%0*" PRIx64 ")", (int)t->bytes * 2, bits);
	else if (t->class == FLOAT)
		printf("%.*g", t->bytes == 8 ? 17 : t->bytes == 4 ? 9 : 5, value(t, bits));
	else if (t->class == SIGNED)
		printf("%" PRId64, as_signed(t, bits));
	else if (t->class == UNSIGNED)
		printf("%" PRIu64, bits);
	else
		printf("0x%0*" PRIx64, (int)t->bytes * 2, bits);
}

/* Distance in units in the last place; UINT64_MAX: a NaN on one side. */
static uint64_t distance(const struct type *t, uint64_t a, uint64_t b)
{
	int64_t x, y;

	if (is_nan(t, a) || is_nan(t, b))
		return UINT64_MAX;
	if (t->class == BITS || t->class == UNSIGNED)
		return a > b ? a - b : b - a;
	x = as_signed(t, a);
	y = as_signed(t, b);
	if (t->class == FLOAT) {
		x = x < 0 ? -(int64_t)magnitude(t, a) : x;
		y = y < 0 ? -(int64_t)magnitude(t, b) : y;
	}
	return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

static bool is_tolerated(const struct type *t, uint64_t want, uint64_t got, uint64_t ulp)
{
	double d = fabs(value(t, got) - value(t, want));

	if (ulp == UINT64_MAX)
		return false;
	if (options.has_ulp && ulp <= options.ulp)
		return true;
	return options.has_tolerance && isfinite(d) &&
	       d <= options.atol + options.rtol * fabs(value(t, want));
}

struct tally {
	uint64_t differing, beyond, worst;
};

static void compare_element(const struct result *r, const struct type *t, uint64_t index, uint64_t want,
			    uint64_t got, struct tally *s)
{
	enum { SHOWN = 5 };
	uint64_t ulp;

	if (want == got || (is_nan(t, want) && is_nan(t, got)))
		return;
	ulp = distance(t, want, got);
	s->differing++;
	s->worst = ulp > s->worst ? ulp : s->worst;
	if (is_tolerated(t, want, got, ulp) || s->beyond++ >= SHOWN)
		return;
	printf("differs: element %" PRIu64 " at 0x%" PRIx64 " (%s): recorded ", index,
	       memories[r->memory].address + r->offset + index * t->bytes, t->name);
	show(t, want);
	fputs(", here ", stdout);
	show(t, got);
	fputc('\n', stdout);
}

static void print_tally(int k, const struct type *t, uint64_t elements, const struct tally *s)
{
	printf("result %d: %" PRIu64 " elements (%s) at 0x%" PRIx64 ": ", k, elements, t->name,
	       memories[results[k].memory].address + results[k].offset);
	if (!s->differing)
		puts("equal");
	else if (s->worst == UINT64_MAX)
		printf("%" PRIu64 " differ, one side is not a number\n", s->differing);
	else if (t->class == FLOAT)
		printf("%" PRIu64 " differ, by up to %" PRIu64 " units in the last place%s\n", s->differing,
		       s->worst, s->beyond ? "" : ", which is tolerated");
	else
		printf("%" PRIu64 " differ, by up to %" PRIu64 "%s\n", s->differing, s->worst,
		       s->beyond ? "" : ", which is tolerated");
}

/* Whether nothing differs more than it may. */
static bool compare_result(int k)
{
	const struct result *r = &results[k];
	const struct type *t = type_of(r->type);
	uint8_t *want = load(r->file, r->bytes, NULL), *got = malloc(r->bytes + 1);
	uint64_t elements = (r->bytes + t->bytes - 1) / t->bytes;
	struct tally s = {0};

	if (!got)
		die("no memory for %" PRIu64 " bytes", r->bytes);
	CHECK(cuMemcpyDtoH_v2, got, live[r->memory] + r->offset, r->bytes);
	translate_words(got, r->bytes, false, (int)r->memory);
	for (uint64_t i = 0; i < elements; i++) {
		uint64_t left = r->bytes - i * t->bytes, a = 0, b = 0;
		size_t n = left < t->bytes ? left : t->bytes;

		memcpy(&a, want + i * t->bytes, n);
		memcpy(&b, got + i * t->bytes, n);
		compare_element(r, t, i, a, b, &s);
	}
	print_tally(k, t, elements, &s);
	free(want);
	free(got);
	return !s.beyond;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

static const char help[] =
	"usage: run [OPTIONS]\n\n"
	"Makes the recorded launch and compares what it wrote with what was recorded.\n\n"
	"  --driver PATH        the libcuda.so.1 to use (default: as the dynamic loader finds it)\n"
	"  --ulp N              accept differences of up to N units in the last place\n"
	"  --rtol X, --atol X   accept |here - recorded| <= atol + rtol * |recorded|\n"
	"  --translate          don't ask for the recorded addresses: rewrite pointers\n"
	"  --pointers           list the pointers that are rewritten\n"
	"  -h, --help           this text\n\n"
	"Exit status: 0 equal, 1 differs, 2 wrong usage, 125 could not run.\n";

static bool number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0 && isfinite(*out);
}

static bool take_option(int c, const char *text)
{
	double v = 0;

	switch (c) {
	case 'd': options.driver = text; return true;
	case 't': options.translate = true; return true;
	case 'p': options.list_pointers = true; return true;
	case 'u': options.has_ulp = true; break;
	case 'r':
	case 'a': options.has_tolerance = true; break;
	default: return false;
	}
	if (!number(text, &v))
		return false;
	if (c == 'u')
		options.ulp = (uint64_t)v;
	*(c == 'r' ? &options.rtol : c == 'a' ? &options.atol : &v) = v;
	return true;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{"driver", required_argument, NULL, 'd'}, {"ulp", required_argument, NULL, 'u'},
		{"rtol", required_argument, NULL, 'r'},   {"atol", required_argument, NULL, 'a'},
		{"translate", no_argument, NULL, 't'},    {"pointers", no_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			exit(EXIT_EQUAL);
		}
		if (!take_option(c, optarg))
			break;
	}
	if (c == -1 && optind == argc)
		return;
	fputs(help, stderr);
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	bool equal, placed;

	parse(argc, argv);
	find_folder();
	begin();
	placed = !options.translate && place_all(); /* before the modules' variables take the addresses */
	load_modules();
	prepare_memory(placed);
	equal = run();
	if (equal)
		for (int k = 0; k < NRESULTS; k++)
			equal &= compare_result(k);
	puts(equal ? "equal" : "differs");
	return fflush(stdout) ? EXIT_COULD_NOT : equal ? EXIT_EQUAL : EXIT_DIFFERS;
}
