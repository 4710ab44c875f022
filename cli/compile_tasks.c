/* SPDX-License-Identifier: Apache-2.0
 *
 * As many threads as workers take tasks in order; the caller's thread hands the results on, in the same order.
 */
#include "cli/compile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_JOBS = 256 };

struct queue {
	struct compile_run *run;
	pthread_mutex_t lock;
	pthread_cond_t done;
	size_t next;
};

static int parse_module(struct compile_run *r, unsigned k, struct diag *d)
{
	struct code_module *c = &r->code.modules[k];
	struct service_module *m = &r->modules[k];

	*m = (struct service_module){.text = c->text, .name = c->name, .bytes = c->bytes};
	service_hash(c->text, c->bytes, m->hash);
	r->parsed[k] = ptx_module_parse(c->text, c->bytes, c->name, d);
	if (!r->parsed[k])
		return d->code;
	if (r->parsed[k]->nown_errors) {
		*d = r->parsed[k]->errors[0];
		return d->code;
	}
	return 0;
}

static size_t count(const struct compile_run *r, const char *kernel)
{
	size_t n = 0;

	for (unsigned k = 0; k < r->code.nmodules; k++)
		for (uint32_t f = 0; f < r->parsed[k]->nfuncs; f++)
			n += r->parsed[k]->funcs[f]->is_entry &&
			     (!kernel || !strcmp(r->parsed[k]->funcs[f]->name, kernel));
	return n;
}

static void list_function(struct compile_run *r, unsigned module, const struct ptx_func *f,
			  const struct lower_target *const *targets, unsigned ntargets)
{
	for (unsigned t = 0; t < ntargets; t++)
		r->tasks[r->ntasks++] = (struct compile_task){
			.module = module, .kernel = f->name, .line = f->line, .target = targets[t]};
}

int compile_tasks_list(struct compile_run *r, const struct lower_target *const *targets, unsigned ntargets,
		       const char *kernel, struct diag *d)
{
	unsigned n = r->code.nmodules;
	int rc = 0;

	r->modules = calloc(n + 1, sizeof(*r->modules));
	r->parsed = calloc(n + 1, sizeof(struct ptx_module *));
	if (!r->modules || !r->parsed)
		return diag_set(d, CUTRACE_ENOMEM, "compile", "out of memory");
	for (unsigned k = 0; k < n && !rc; k++)
		rc = parse_module(r, k, d);
	if (rc)
		return rc;
	size_t kernels = count(r, kernel);
	if (!kernels)
		return diag_set(d, CUTRACE_ENOENT, r->code.modules[0].name, "there is no kernel%s%s",
				kernel ? " " : "", kernel ? kernel : "");
	r->tasks = calloc(kernels * ntargets, sizeof(*r->tasks));
	if (!r->tasks)
		return diag_set(d, CUTRACE_ENOMEM, "compile", "out of memory");
	for (unsigned k = 0; k < n; k++)
		for (uint32_t f = 0; f < r->parsed[k]->nfuncs; f++) {
			const struct ptx_func *func = r->parsed[k]->funcs[f];
			if (func->is_entry && (!kernel || !strcmp(func->name, kernel)))
				list_function(r, k, func, targets, ntargets);
		}
	return 0;
}

static void compile(struct compile_run *r, struct compile_task *t)
{
	struct service_request request = {.module = &r->modules[t->module],
					  .kernel = t->kernel,
					  .target = t->target->name,
					  .options = r->options,
					  .want = r->want};

	t->rc = service_compile(r->service, &request, &t->answer, &t->d);
	if (!t->rc)
		t->has_contract = !contract_read(t->answer.code_object, t->answer.bytes, &t->contract, &t->d);
}

static void *work(void *ctx)
{
	struct queue *q = ctx;

	pthread_mutex_lock(&q->lock);
	while (q->next < q->run->ntasks) {
		struct compile_task *t = &q->run->tasks[q->next++];

		pthread_mutex_unlock(&q->lock);
		compile(q->run, t);
		pthread_mutex_lock(&q->lock);
		t->done = true;
		pthread_cond_signal(&q->done);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static void show_progress(const struct compile_run *r, size_t k, time_t start, time_t *last)
{
	time_t now = time(NULL);

	if (!r->progress || now == *last || now - start < 2)
		return;
	fprintf(stderr, "\r%zu of %zu kernels ", k, r->ntasks);
	*last = now;
}

static void hand_on(struct queue *q)
{
	time_t start = time(NULL), last = start;

	for (size_t k = 0; k < q->run->ntasks; k++) {
		struct compile_task *t = &q->run->tasks[k];

		pthread_mutex_lock(&q->lock);
		while (!t->done)
			pthread_cond_wait(&q->done, &q->lock);
		pthread_mutex_unlock(&q->lock);
		q->run->finished(q->run->ctx, t);
		service_answer_free(&t->answer);
		show_progress(q->run, k + 1, start, &last);
	}
	if (last != start)
		fprintf(stderr, "\r%*s\r", 40, "");
}

void compile_tasks_run(struct compile_run *r)
{
	struct queue q = {.run = r, .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
	unsigned want = r->jobs < 1 ? 1 : r->jobs > MAX_JOBS ? MAX_JOBS : r->jobs, n = 0;
	pthread_t threads[MAX_JOBS];

	while (n < want && n < r->ntasks && !pthread_create(&threads[n], NULL, work, &q))
		n++;
	if (!n)
		work(&q);
	hand_on(&q);
	for (unsigned k = 0; k < n; k++)
		pthread_join(threads[k], NULL);
}

void compile_tasks_free(struct compile_run *r)
{
	for (unsigned k = 0; r->parsed && k < r->code.nmodules; k++)
		ptx_module_free(r->parsed[k]);
	free(r->parsed);
	free(r->modules);
	free(r->tasks);
	device_code_free(&r->code);
	service_close(r->service);
}
