/* SPDX-License-Identifier: Apache-2.0
 *
 * The main thread watches for the end of the program, or of its interest: LLVM can't be interrupted. The other one
 * serves requests, on a stack that is large enough for LLVM's recursions. What LLVM can't cope with becomes the last
 * message.
 */
#include "zluda_core/compiler/worker.h"

#include <errno.h>
#include <llvm-c/ErrorHandling.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zluda_core/compiler/cache.h"
#include "zluda_core/compiler/compile_kernel.h"
#include "zluda_core/compiler/compile_options.h"
#include "zluda_core/compiler/disassemble.h"
#include "zluda_core/compiler/pass_bisect.h"
#include "zluda_core/compiler/service.h"
#include "zluda_core/compiler/wire.h"

enum { IDLE_MS = 60 * 1000, MODULES = 4, STACK_BYTES = 256 << 20, EXIT_FATAL = 70 };
#define MAX_BUILT (1ull << 30) /* of a module's IR: then it is parsed anew */

static const struct {
	int signal;
	const char *name;
} crashes[] = {{SIGSEGV, "a segmentation fault"},
	       {SIGBUS, "a bus error"},
	       {SIGILL, "an illegal instruction"},
	       {SIGFPE, "an arithmetic exception"},
	       {SIGABRT, "it aborted, which out of memory may be the reason for"}};

static struct {
	struct wire_message
		last_words[sizeof(crashes) / sizeof(crashes[0])]; /* nothing is allocated in a crash */
	atomic_bool detached;                                     /* lives on without the socket */
	struct worker_module {
		uint8_t hash[16];
		struct ptx_module *module;
		uint64_t used;
	} modules[MODULES];
	uint64_t clock;
} worker;

/* ---- the end ---------------------------------------------------------------------------------------- */

static void say_fatal(const char *what)
{
	struct wire_message m;

	wire_begin(&m, WIRE_FATAL);
	wire_put_string(&m, what);
	wire_send(WIRE_FD, &m, wire_now_ms() + 5000);
	_exit(EXIT_FATAL);
}

static void on_crash(int signal)
{
	for (size_t k = 0; k < sizeof(crashes) / sizeof(crashes[0]); k++)
		if (crashes[k].signal == signal)
			wire_send(WIRE_FD, &worker.last_words[k], wire_now_ms() + 5000);
	_exit(EXIT_FATAL);
}

static void catch_crashes(void)
{
	struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};

	for (size_t k = 0; k < sizeof(crashes) / sizeof(crashes[0]); k++) {
		wire_begin(&worker.last_words[k], WIRE_FATAL);
		wire_put_string(&worker.last_words[k], crashes[k].name);
		sigaction(crashes[k].signal, &action, NULL);
	}
	LLVMInstallFatalErrorHandler(say_fatal);
}

/* -1 where the kernel has no pidfd_open. */
static int open_program(void)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(WIRE_FD, SOL_SOCKET, SO_PEERCRED, &peer, &n))
		return -1;
	return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

static void watch(void)
{
	struct pollfd f[2] = {{WIRE_FD, POLLRDHUP, 0}, {open_program(), POLLIN, 0}};

	for (;;) {
		if (poll(f, 2, -1) < 0 && errno != EINTR)
			_exit(EXIT_FATAL);
		if (f[1].revents)
			_exit(0);
		if (f[0].revents && !atomic_load(&worker.detached))
			_exit(0);
		if (f[0].revents)
			f[0].fd = -1;
	}
}

/* ---- modules ---------------------------------------------------------------------------------------- */

static struct ptx_module *find_module(const uint8_t hash[16])
{
	for (unsigned k = 0; k < MODULES; k++) {
		struct worker_module *w = &worker.modules[k];

		if (!w->module || memcmp(w->hash, hash, 16))
			continue;
		w->used = ++worker.clock;
		if (w->module->arena.total_bytes < MAX_BUILT)
			return w->module;
		ptx_module_free(w->module);
		w->module = NULL;
	}
	return NULL;
}

static struct worker_module *oldest_slot(void)
{
	struct worker_module *oldest = &worker.modules[0];

	for (unsigned k = 1; k < MODULES; k++)
		if (worker.modules[k].used < oldest->used)
			oldest = &worker.modules[k];
	ptx_module_free(oldest->module);
	*oldest = (struct worker_module){0};
	return oldest;
}

static int send_kind(enum wire_kind kind)
{
	struct wire_message m;

	wire_begin(&m, kind);
	return wire_send(WIRE_FD, &m, 0);
}

static int ask_for_text(struct wire_message *text)
{
	int rc = send_kind(WIRE_NEED_TEXT);

	if (!rc)
		rc = wire_receive(WIRE_FD, text, 0);
	if (rc || text->kind != WIRE_TEXT)
		_exit(EXIT_FATAL);
	return 0;
}

static int parse(const uint8_t hash[16], const char *name, struct wire_message *message,
		 struct ptx_module **out, struct diag *d)
{
	size_t bytes;
	const uint8_t *text = wire_get_bytes(message, &bytes);
	uint8_t is[16];

	cache_hash(text, bytes, is);
	if (message->failed || memcmp(is, hash, 16))
		return diag_set(d, CUTRACE_EINVAL, name, "the module's hash is not that of its text");
	struct ptx_module *m = ptx_module_parse((const char *)text, bytes, name, d);
	if (!m)
		return d->code ? d->code : CUTRACE_EFORMAT;
	if (m->nown_errors) {
		*d = m->errors[0];
		ptx_module_free(m);
		return d->code;
	}
	*out = m;
	return 0;
}

static int get_module(const uint8_t hash[16], const char *name, struct ptx_module **out, struct diag *d)
{
	struct wire_message text;

	*out = find_module(hash);
	if (*out)
		return 0;
	struct worker_module *slot = oldest_slot();
	ask_for_text(&text);
	int rc = parse(hash, name, &text, out, d);
	wire_free(&text);
	if (rc)
		return rc;
	*slot = (struct worker_module){.module = *out, .used = ++worker.clock};
	memcpy(slot->hash, hash, 16);
	return 0;
}

/* ---- requests --------------------------------------------------------------------------------------- */

static const uint8_t *get_hash(struct wire_message *m)
{
	size_t n;
	const uint8_t *p = wire_get_bytes(m, &n);

	if (n != 16)
		m->failed = true;
	return p;
}

static void put_result(struct wire_message *m, int rc, const struct diag *d, const struct compile_result *r,
		       unsigned want, double seconds)
{
	wire_begin(m, WIRE_COMPILED);
	wire_put_diag(m, rc, d);
	wire_put_u32(m, r->lowered.line);
	wire_put_string(m, r->lowered.op);
	wire_put_string(m, r->lowered.reason);
	wire_put_u32(m, (uint32_t)(seconds * 1e6));
	wire_put_bytes(m, r->code_object, rc ? 0 : r->bytes);
	wire_put_bytes(m, r->lowered.text, want & SERVICE_IR && r->lowered.text ? r->lowered.bytes : 0);
	wire_put_bytes(m, r->compiled.optimized, r->compiled.optimized ? r->compiled.optimized_bytes : 0);
	wire_put_bytes(m, r->compiled.assembly, r->compiled.assembly ? r->compiled.assembly_bytes : 0);
	wire_put_bytes(m, r->compiled.passes, r->compiled.passes ? strlen(r->compiled.passes) : 0);
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

/* Of the processor, since workers may be more than processors; with children (emit_apart.h). */
static double seconds_used(void)
{
	struct rusage children;
	struct timespec own;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)own.tv_sec + (double)own.tv_nsec * 1e-9 + seconds_of(&children.ru_utime) +
	       seconds_of(&children.ru_stime);
}

static void compile_into(const struct compile_job *job, struct wire_message *answer)
{
	struct compile_result r = {0};
	struct diag d = DIAG_INIT;
	double start = seconds_used();
	int rc = compile_kernel(job, &r, &d);

	put_result(answer, rc, &d, &r, job->want, seconds_used() - start);
	compile_result_free(&r);
}

/* In the child, whose socket is `fd`: what LLVM can't cope with is said there, too. */
static _Noreturn void bisect_child(const struct compile_job *job, unsigned limit, unsigned apart, int fd)
{
	struct wire_message answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(fd, WIRE_FD);
	pass_bisect_begin(limit, apart);
	compile_into(job, &answer);
	if (pass_bisect_wants()) {
		wire_free(&answer);
		wire_begin(&answer, WIRE_NEED_TEXT);
		wire_put_u32(&answer, pass_bisect_wants());
	}
	_exit(wire_send(WIRE_FD, &answer, 0) ? EXIT_FATAL : 0);
}

/* One try; false: the child ended without a word. */
static bool bisect_once(const struct compile_job *job, unsigned limit, unsigned apart,
			struct wire_message *answer)
{
	int pair[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return false;
	pid = fork();
	if (!pid)
		bisect_child(job, limit, apart, pair[1]);
	close(pair[1]);
	rc = pid < 0 ? CUTRACE_EIO : wire_receive(pair[0], answer, 0);
	close(pair[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc == 0;
}

/* With a part of LLVM's passes (pass_bisect.h). */
static void compile_bisected(const struct compile_job *job, unsigned limit, struct wire_message *answer)
{
	const struct compile_result none = {0};
	struct diag d = DIAG_INIT;
	bool said = bisect_once(job, limit, 0, answer);

	if (said && answer->kind == WIRE_NEED_TEXT) {
		unsigned apart = wire_get_u32(answer);

		wire_free(answer);
		said = bisect_once(job, limit, apart, answer);
	}
	if (said && answer->kind != WIRE_NEED_TEXT)
		return;
	diag_set(&d, CUTRACE_ENOTSUP, job->kernel, "LLVM ended with a part of its passes");
	put_result(answer, d.code, &d, &none, 0, 0);
}

static void serve_compile(struct wire_message *request, struct wire_message *answer)
{
	const struct compile_result none = {0};
	struct diag d = DIAG_INIT;
	struct compile_job job = {.text_hash = get_hash(request)};
	const char *name = wire_get_string(request);
	unsigned limit;
	int rc;

	job.build = wire_get_string(request);
	job.kernel = wire_get_string(request);
	job.target = wire_get_string(request);
	job.options = wire_get_string(request);
	job.want = wire_get_u32(request);
	if (request->failed)
		_exit(EXIT_FATAL);
	rc = get_module(job.text_hash, name, &job.module, &d);
	if (rc)
		put_result(answer, rc, &d, &none, job.want, 0);
	else if (compile_options_bisect(job.options, &limit))
		compile_bisected(&job, limit, answer);
	else
		compile_into(&job, answer);
}

static void serve_decode(struct wire_message *request, struct wire_message *answer)
{
	struct diag d = DIAG_INIT;
	const char *target = wire_get_string(request);
	size_t bytes, lines_bytes = 0;
	const uint8_t *code = wire_get_bytes(request, &bytes);
	char *lines = NULL;

	if (request->failed)
		_exit(EXIT_FATAL);
	int rc = disassemble(target, code, bytes, &lines, &lines_bytes, &d);
	wire_begin(answer, WIRE_LINES);
	wire_put_diag(answer, rc, &d);
	wire_put_bytes(answer, lines, lines_bytes);
	free(lines);
}

/* ---- a module ahead --------------------------------------------------------------------------------- */

/* In a process of its own: a kernel that LLVM fails on costs only itself. */
static void compile_one(const struct compile_job *job, struct cache *cache)
{
	const struct cache_key key = {CACHE_CODE,  job->text_hash, job->kernel,
				      job->target, job->options,   job->build};
	struct compile_result r;
	struct diag d = DIAG_INIT;
	size_t bytes;
	void *data;

	if (cache_get(cache, &key, &data, &bytes)) {
		free(data);
		return;
	}
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!compile_kernel(job, &r, &d))
			cache_put(cache, &key, r.code_object, r.bytes);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void serve_ahead(struct wire_message *request)
{
	struct diag d = DIAG_INIT;
	struct wire_message answer;
	struct compile_job job = {.text_hash = get_hash(request)};
	const char *name = wire_get_string(request);
	uint32_t share, shares, n = 0;

	job.build = wire_get_string(request);
	job.target = wire_get_string(request);
	job.options = wire_get_string(request);
	struct cache *cache = cache_open(wire_get_string(request), 0);
	share = wire_get_u32(request);
	shares = wire_get_u32(request);
	if (request->failed || !shares || !cache)
		_exit(EXIT_FATAL);
	int rc = get_module(job.text_hash, name, &job.module, &d);
	wire_begin(&answer, WIRE_LINES);
	wire_put_diag(&answer, rc, &d);
	atomic_store(&worker.detached, true);
	wire_send(WIRE_FD, &answer, 0);
	wire_free(&answer);
	setpriority(PRIO_PROCESS, 0, 10);
	for (uint32_t k = 0; !rc && k < job.module->nfuncs; k++) {
		job.kernel = job.module->funcs[k]->name;
		if (job.module->funcs[k]->is_entry && n++ % shares == share)
			compile_one(&job, cache);
	}
	_exit(0);
}

/* ---- the loop --------------------------------------------------------------------------------------- */

static void serve(struct wire_message *request)
{
	struct wire_message answer = {0};

	if (send_kind(WIRE_ACCEPTED))
		_exit(0);
	switch (request->kind) {
	case WIRE_COMPILE: serve_compile(request, &answer); break;
	case WIRE_DECODE: serve_decode(request, &answer); break;
	case WIRE_AHEAD: serve_ahead(request); break;
	default: _exit(EXIT_FATAL);
	}
	if (wire_send(WIRE_FD, &answer, 0))
		_exit(0);
	wire_free(&answer);
}

static void *serve_all(void *arg)
{
	static char crash_stack[64 << 10];
	stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};
	struct wire_message request;
	struct pollfd f = {WIRE_FD, POLLIN, 0};

	(void)arg;
	sigaltstack(&stack, NULL);
	compiler_init();
	for (;;) {
		int n = poll(&f, 1, IDLE_MS);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || wire_receive(WIRE_FD, &request, 0))
			_exit(0);
		serve(&request);
		wire_free(&request);
	}
	return NULL;
}

/* A kernel that takes all memory must not take the program's. */
static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	rlim_t bytes = (rlim_t)pages * (rlim_t)page / 4 * 3;
	struct rlimit limit = {bytes, bytes};

	if (pages > 0 && bytes > 2ul << 30)
		setrlimit(RLIMIT_AS, &limit);
#endif
}

int worker_main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	syscall(SYS_close_range, WIRE_FD + 1, ~0u, 0);
	if (chdir("/"))
		return EXIT_FATAL;
	limit_memory();
	catch_crashes();
	/* One arena for both threads, which keeps what LLVM frees: it will be asked for again. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&thread, &attr, serve_all, NULL))
		return EXIT_FATAL;
	watch();
	return 0;
}
