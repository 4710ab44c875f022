/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/compiler/service.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zluda_core/compiler/cache.h"
#include "zluda_core/compiler/compile_options.h"
#include "zluda_core/compiler/locate.h"
#include "zluda_core/compiler/pool.h"
#include "zluda_core/compiler/spawn.h"
#include "zluda_core/compiler/wire.h"

enum { DEFAULT_TIMEOUT_MS = 10 * 60 * 1000, MAX_AHEAD = 64 };

struct service {
	struct service *next; /* of all, for the child of a fork */
	struct cache *cache;
	struct pool pool;
	unsigned timeout_ms;
	pthread_mutex_t lock; /* of what follows */
	bool located;
	struct diag missing;    /* why compiler is "" */
	struct service *others; /* with other compilers, by `next_other` */
	struct service *next_other;
	char compiler[PATH_MAX], build[160];
};

static struct service *services;
static pthread_mutex_t services_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- life ------------------------------------------------------------------------------------------- */

/* The one thread of a forked child: locks may be held by threads that aren't here. */
static void in_child(void)
{
	pthread_mutex_init(&services_lock, NULL);
	for (struct service *s = services; s; s = s->next) {
		pthread_mutex_init(&s->lock, NULL);
		workers_forget(&s->pool);
	}
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static unsigned processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

static int choose_timeout(const struct service_config *config, unsigned *out, struct diag *d)
{
	static const char name[] = "CUTRACE_COMPILE_TIMEOUT_MS";
	const char *text = secure_getenv(name);
	unsigned long v = DEFAULT_TIMEOUT_MS;
	char *end;

	if (!config->timeout_ms && text && *text) {
		v = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
		if (!v || v > INT_MAX || *end)
			return diag_set(d, CUTRACE_EINVAL, name,
					"'%.40s' is not a number of milliseconds from 1 to %d", text,
					INT_MAX);
	}
	*out = config->timeout_ms ? config->timeout_ms : (unsigned)v;
	return 0;
}

int service_open(struct service **out, const struct service_config *config, struct diag *d)
{
	static const struct service_config none;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct service *s;
	unsigned timeout_ms = 0;

	*out = NULL;
	config = config ? config : &none;
	if (choose_timeout(config, &timeout_ms, d))
		return CUTRACE_EINVAL;
	s = calloc(1, sizeof(*s));
	if (s)
		s->cache = cache_open(config->cache, 0);
	if (!s || !s->cache) {
		free(s);
		return diag_set(d, CUTRACE_ENOMEM, "compile service", "out of memory");
	}
	if (config->compiler)
		snprintf(s->compiler, sizeof(s->compiler), "%s", config->compiler);
	s->timeout_ms = timeout_ms;
	pthread_mutex_init(&s->lock, NULL);
	workers_init(&s->pool, config->workers ? config->workers : processors());
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&services_lock);
	s->next = services;
	services = s;
	pthread_mutex_unlock(&services_lock);
	*out = s;
	return 0;
}

void service_close(struct service *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&services_lock);
	for (struct service **at = &services; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	pthread_mutex_unlock(&services_lock);
	while (s->others) {
		struct service *o = s->others;

		s->others = o->next_other;
		service_close(o);
	}
	workers_close(&s->pool);
	pthread_mutex_destroy(&s->lock);
	cache_close(s->cache);
	free(s);
}

/* Once; a missing compiler stays missing. */
static int locate(struct service *s, struct diag *d)
{
	pthread_mutex_lock(&s->lock);
	if (!s->located) {
		if (!s->compiler[0] && locate_compiler(s->compiler, sizeof(s->compiler), &s->missing))
			s->compiler[0] = '\0';
		if (s->compiler[0] && locate_build_id(s->compiler, s->build, sizeof(s->build), &s->missing))
			s->compiler[0] = s->build[0] = '\0';
		s->located = true;
	}
	int rc = s->compiler[0] ? 0 : s->missing.code;
	if (rc && d)
		*d = s->missing;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

const char *service_build_id(struct service *s)
{
	return locate(s, NULL) ? "" : s->build;
}

const char *service_compiler(struct service *s, struct diag *d)
{
	return locate(s, d) ? NULL : s->compiler;
}

void service_warm_up(struct service *s, const struct service_module *m)
{
	if (!locate(s, NULL) && !cache_knows(s->cache, m->hash, s->build))
		workers_warm(&s->pool, s->compiler);
}

void service_hash(const void *data, size_t bytes, uint8_t hash[16])
{
	cache_hash(data, bytes, hash);
}

/* ---- one request to one worker ----------------------------------------------------------------------- */

struct exchange {
	struct service *s;
	const struct wire_message *request;
	const struct service_module *module; /* its text, if the worker asks for it */
	const char *subject;                 /* of messages */
	enum wire_kind expected;
	struct wire_message answer;
	int64_t deadline_ms;
	bool accepted, text_sent;
};

static int send_text(struct exchange *x, int fd)
{
	struct wire_message text;

	if (!x->module || x->text_sent) {
		errno = EPROTO;
		return CUTRACE_EIO;
	}
	x->text_sent = true;
	wire_begin(&text, WIRE_TEXT);
	wire_put_bytes(&text, x->module->text, x->module->bytes);
	int rc = wire_send(fd, &text, x->deadline_ms);
	wire_free(&text);
	return rc;
}

/* Until the answer is there. */
static int converse(struct exchange *x, int fd)
{
	int rc = wire_send(fd, x->request, x->deadline_ms);

	while (!rc && !(rc = wire_receive(fd, &x->answer, x->deadline_ms))) {
		if (x->answer.kind == x->expected || x->answer.kind == WIRE_FATAL)
			return 0;
		if (x->answer.kind == WIRE_ACCEPTED && !x->accepted) {
			x->accepted = true;
		} else if (x->answer.kind == WIRE_NEED_TEXT) {
			rc = send_text(x, fd);
		} else {
			errno = EPROTO;
			rc = CUTRACE_EIO;
		}
		wire_free(&x->answer);
	}
	return rc;
}

static int say_fatal(struct exchange *x, struct diag *d)
{
	diag_set(d, CUTRACE_EFORMAT, x->subject, "the compiler failed: %s", wire_get_string(&x->answer));
	diag_hint(d, "other kernels are not affected; this is an error of cutrace or LLVM");
	wire_free(&x->answer);
	return CUTRACE_EFORMAT;
}

static int say_broken(struct exchange *x, int rc, int error, struct diag *d)
{
	if (rc == CUTRACE_ENOENT)
		diag_set(d, CUTRACE_EIO, x->subject,
			 "the compile worker ended: it was killed, crashed, or ran out of memory");
	else if (error == ETIMEDOUT)
		diag_set(d, CUTRACE_EIO, x->subject, "compiling took longer than %u ms and was ended",
			 x->s->timeout_ms);
	else
		diag_set(d, CUTRACE_EIO, x->subject, "the compile worker can't be talked to: %s",
			 strerror(error));
	diag_hint(d, error == ETIMEDOUT && rc != CUTRACE_ENOENT
			     ? "CUTRACE_COMPILE_TIMEOUT_MS sets the limit"
			     : "other kernels are not affected: they get a new worker");
	return CUTRACE_EIO;
}

static int attempt(struct exchange *x, bool *again, struct diag *d)
{
	unsigned index;
	bool fresh;
	int rc = workers_take(&x->s->pool, x->s->compiler, x->deadline_ms, &index, &fresh, d);

	*again = false;
	if (rc)
		return rc;
	x->accepted = x->text_sent = false;
	rc = converse(x, x->s->pool.workers[index].fd);
	int error = errno;
	workers_return(&x->s->pool, index, rc || x->answer.kind == WIRE_FATAL);
	if (!rc)
		return x->answer.kind == WIRE_FATAL ? say_fatal(x, d) : 0;
	/* Idle workers end by themselves: one that never took the request. */
	*again = rc == CUTRACE_ENOENT && !x->accepted && !fresh;
	return say_broken(x, rc, error, d);
}

/* A cancelled thread would leave its worker busy. */
static int exchange_run(struct exchange *x, struct diag *d)
{
	int state, rc;
	bool again;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	x->deadline_ms = wire_now_ms() + x->s->timeout_ms;
	do
		rc = attempt(x, &again, d);
	while (again);
	pthread_setcancelstate(state, NULL);
	return rc;
}

/* ---- compiling -------------------------------------------------------------------------------------- */

static struct cache_key key_of(struct service *s, const struct service_request *r)
{
	return (struct cache_key){CACHE_CODE, r->module->hash, r->kernel, r->target, r->options, s->build};
}

/* Whatever made it, cache or worker: it has to be what was asked for. */
static int check_answer(struct service *s, const struct service_request *r, const struct service_answer *a,
			struct diag *d)
{
	struct contract c;
	int rc = contract_read(a->code_object, a->bytes, &c, d);

	if (rc)
		return rc;
	if (strcmp(c.kernel, r->kernel) || strcmp(c.target, r->target) || strcmp(c.build, s->build) ||
	    memcmp(c.text_hash, r->module->hash, sizeof(c.text_hash)))
		return diag_set(d, CUTRACE_EFORMAT, r->kernel, "the code object is not of this kernel");
	return 0;
}

static bool from_cache(struct service *s, const struct service_request *r, struct service_answer *out)
{
	struct cache_key key = key_of(s, r);

	if (r->want || !cache_get(s->cache, &key, &out->code_object, &out->bytes))
		return false;
	out->cached = true;
	if (!check_answer(s, r, out, NULL))
		return true;
	cache_drop(s->cache, &key);
	service_answer_free(out);
	return false;
}

static char *take_text(struct wire_message *m)
{
	size_t n;
	const uint8_t *p = wire_get_bytes(m, &n);
	char *copy = p && n ? malloc(n + 1) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

static int take_answer(struct wire_message *m, struct service_answer *out, struct diag *d)
{
	int rc = wire_get_diag(m, d);
	size_t n;
	const uint8_t *p;

	out->line = wire_get_u32(m);
	snprintf(out->op, sizeof(out->op), "%s", wire_get_string(m));
	snprintf(out->reason, sizeof(out->reason), "%s", wire_get_string(m));
	out->seconds = wire_get_u32(m) * 1e-6;
	p = wire_get_bytes(m, &n);
	out->ir = take_text(m);
	out->optimized = take_text(m);
	out->assembly = take_text(m);
	out->passes = take_text(m);
	if (m->failed)
		return diag_set(d, CUTRACE_EIO, "", "the compile worker's answer is damaged");
	if (rc)
		return rc;
	out->code_object = malloc(n ? n : 1);
	if (!out->code_object)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	memcpy(out->code_object, p, n);
	out->bytes = n;
	return 0;
}

static void write_request(struct service *s, const struct service_request *r, struct wire_message *m)
{
	wire_begin(m, WIRE_COMPILE);
	wire_put_bytes(m, r->module->hash, sizeof(r->module->hash));
	wire_put_string(m, r->module->name);
	wire_put_string(m, s->build);
	wire_put_string(m, r->kernel);
	wire_put_string(m, r->target);
	wire_put_string(m, r->options);
	wire_put_u32(m, r->want);
}

static int from_worker(struct service *s, const struct service_request *r, struct service_answer *out,
		       struct diag *d)
{
	struct exchange x = {.s = s, .module = r->module, .subject = r->kernel, .expected = WIRE_COMPILED};
	struct cache_key key = key_of(s, r);
	struct wire_message m;

	write_request(s, r, &m);
	x.request = &m;
	int rc = exchange_run(&x, d);
	wire_free(&m);
	if (!rc)
		rc = take_answer(&x.answer, out, d);
	wire_free(&x.answer);
	if (!rc)
		rc = check_answer(s, r, out, d);
	if (!rc)
		cache_put(s->cache, &key, out->code_object, out->bytes);
	return rc;
}

/* The service of another compiler, for single kernels; it lives as long as this one. */
static int other_service(struct service *s, const char *compiler, struct service **out, struct diag *d)
{
	const struct service_config config = {.compiler = compiler,
					      .cache =
						      cache_folder(s->cache) ? cache_folder(s->cache) : "off",
					      .workers = s->pool.limit,
					      .timeout_ms = s->timeout_ms};
	struct service *o;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	for (o = s->others; o && strcmp(o->compiler, compiler) != 0; o = o->next_other)
		;
	if (!o && !(rc = service_open(&o, &config, d))) {
		o->next_other = s->others;
		s->others = o;
	}
	pthread_mutex_unlock(&s->lock);
	*out = o;
	return rc;
}

static int compile_here(struct service *s, const struct service_request *r, struct service_answer *out,
			struct diag *d)
{
	int rc = locate(s, d);

	if (rc || from_cache(s, r, out))
		return rc;
	rc = from_worker(s, r, out, d);
	if (rc) {
		free(out->code_object);
		out->code_object = NULL;
		out->bytes = 0;
	}
	return rc;
}

int service_compile(struct service *s, const struct service_request *r, struct service_answer *out,
		    struct diag *d)
{
	char options[COMPILE_OPTIONS_ROOM], compiler[COMPILE_OPTIONS_ROOM];
	struct service_request request = *r;
	struct diag own = DIAG_INIT;
	struct service *by = s;
	int rc;

	d = d ? d : &own;
	memset(out, 0, sizeof(*out));
	rc = compile_options_of_kernel(r->kernel, r->options ? r->options : "", options, compiler, d);
	request.options = options;
	if (!rc && compiler[0])
		rc = other_service(s, compiler, &by, d);
	return rc ? rc : compile_here(by, &request, out, d);
}

void service_answer_free(struct service_answer *a)
{
	free(a->code_object);
	free(a->ir);
	free(a->optimized);
	free(a->assembly);
	free(a->passes);
	memset(a, 0, sizeof(*a));
}

/* ---- the whole module, in the background --------------------------------------------------------------- */

/* The worker has all that it needs once it has the text: it then lives as long as this process, not the socket. */
static int start_share(struct service *s, const struct service_module *m, const struct wire_message *request,
		       struct diag *d)
{
	struct exchange x = {
		.s = s, .request = request, .module = m, .subject = m->name, .expected = WIRE_LINES};
	int fd, rc = spawn_worker(s->compiler, &fd, d);

	if (rc)
		return rc;
	x.deadline_ms = wire_now_ms() + s->timeout_ms;
	rc = converse(&x, fd);
	int error = errno;
	close(fd);
	if (!rc && x.answer.kind == WIRE_FATAL)
		return say_fatal(&x, d);
	wire_free(&x.answer);
	return rc ? say_broken(&x, rc, error, d) : 0;
}

int service_compile_ahead(struct service *s, const struct service_module *m, const char *target,
			  const char *options, struct diag *d)
{
	unsigned shares = s->pool.limit < MAX_AHEAD ? s->pool.limit : MAX_AHEAD;
	int state, rc = locate(s, d);

	if (!rc && !cache_folder(s->cache))
		rc = diag_set(d, CUTRACE_ENOENT, "cache", "%s: there is nowhere to compile to",
			      cache_off_reason(s->cache));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	for (unsigned k = 0; k < shares && !rc; k++) {
		struct wire_message request;

		wire_begin(&request, WIRE_AHEAD);
		wire_put_bytes(&request, m->hash, sizeof(m->hash));
		wire_put_string(&request, m->name);
		wire_put_string(&request, s->build);
		wire_put_string(&request, target);
		wire_put_string(&request, options);
		wire_put_string(&request, cache_folder(s->cache));
		wire_put_u32(&request, k);
		wire_put_u32(&request, shares);
		rc = start_share(s, m, &request, d);
		wire_free(&request);
	}
	pthread_setcancelstate(state, NULL);
	return rc;
}

/* ---- disassembly ------------------------------------------------------------------------------------- */

static int deliver(const uint8_t *p, size_t bytes, uint64_t base, size_t code_bytes, service_line line,
		   void *ctx, struct diag *d)
{
	uint64_t at = 0;

	while (bytes) {
		const uint8_t *end = memchr(p + 1, 0, bytes - 1);

		if (!end || !p[0] || p[0] > code_bytes - at)
			return diag_set(d, CUTRACE_EIO, "", "the disassembly is damaged");
		int rc = line(ctx, base + at, p[0], (const char *)p + 1, d);
		if (rc)
			return rc;
		at += p[0];
		bytes -= (size_t)(end + 1 - p);
		p = end + 1;
	}
	return at == code_bytes ? 0 : diag_set(d, CUTRACE_EIO, "", "the disassembly is incomplete");
}

static int decode_by_worker(struct service *s, const char *target, const void *code, size_t bytes,
			    void **lines, size_t *lines_bytes, struct diag *d)
{
	struct exchange x = {.s = s, .subject = target, .expected = WIRE_LINES};
	struct wire_message m;
	const uint8_t *p;

	wire_begin(&m, WIRE_DECODE);
	wire_put_string(&m, target);
	wire_put_bytes(&m, code, bytes);
	x.request = &m;
	int rc = exchange_run(&x, d);
	wire_free(&m);
	if (!rc)
		rc = wire_get_diag(&x.answer, d);
	if (!rc) {
		p = wire_get_bytes(&x.answer, lines_bytes);
		*lines = p ? malloc(*lines_bytes + 1) : NULL;
		if (*lines)
			memcpy(*lines, p, *lines_bytes);
		else
			rc = diag_set(d, CUTRACE_EIO, target, "the compile worker's answer is damaged");
	}
	wire_free(&x.answer);
	return rc;
}

int service_decode(struct service *s, const char *target, const void *code, size_t bytes, uint64_t base,
		   service_line line, void *ctx, struct diag *d)
{
	struct diag own = DIAG_INIT;
	uint8_t hash[16];
	void *lines = NULL;
	size_t n = 0;
	int rc = locate(s, d);

	d = d ? d : &own;
	if (rc || !bytes)
		return rc;
	cache_hash(code, bytes, hash);
	struct cache_key key = {CACHE_LINES, hash, "", target, "", s->build};
	if (cache_get(s->cache, &key, &lines, &n)) {
		rc = deliver(lines, n, base, bytes, line, ctx, d);
		free(lines);
		return rc;
	}
	rc = decode_by_worker(s, target, code, bytes, &lines, &n, d);
	if (!rc)
		rc = deliver(lines, n, base, bytes, line, ctx, d);
	if (!rc)
		cache_put(s->cache, &key, lines, n);
	free(lines);
	return rc;
}
