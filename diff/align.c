/* SPDX-License-Identifier: Apache-2.0
 *
 * Alignments in windows: of whole calls first; between two that are equal, of what was called. A window
 * without anything in common is made larger; then a run of one side's next calls is looked for far ahead in the other.
 */
#include "diff/align.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 256, LARGE = 2048, RUN = 8, PROBES = 8, FAR = 1 << 20 };

struct stream {
	const struct call_list *list;
	const struct call_file *file;
	uint64_t at, n; /* consumed, of all */
	struct entry w[LARGE];
	unsigned have; /* entries in w, from `at` */
};

struct aligner {
	struct stream a, b;
	unsigned role;
	void (*found)(void *ctx, const struct hunk *h);
	void *ctx;
	uint64_t equal, last_a;
	int16_t *table; /* (LARGE + 1)^2 */
	bool failed;
};

static void fill(struct aligner *al, struct stream *s, unsigned want)
{
	uint64_t left = s->n - s->at;

	s->have = left < want ? (unsigned)left : want;
	if (s->have && !call_list_read(s->list, s->file, s->at, s->have, s->w))
		al->failed = true;
}

static void emit(struct aligner *al, const struct entry *a, const struct entry *b)
{
	struct hunk h = {HUNK_CHANGED, al->role, a ? a->call : 0, b ? b->call : 0, 0};

	al->last_a = a ? a->call : al->last_a;
	h.order = al->last_a;

	if (!b)
		h.kind = HUNK_ONLY_A;
	if (!a)
		h.kind = HUNK_ONLY_B;
	al->found(al->ctx, &h);
}

/* ---- common subsequence --------------------------------------------------------------- */

typedef bool same_fn(const struct entry *a, const struct entry *b);

static bool same_whole(const struct entry *a, const struct entry *b)
{
	return a->whole == b->whole && a->kind == b->kind;
}

static bool same_kind(const struct entry *a, const struct entry *b)
{
	return a->kind == b->kind;
}

static int16_t *cell(struct aligner *al, unsigned i, unsigned j)
{
	return &al->table[(size_t)i * (LARGE + 1) + j];
}

/* cell(i, j) becomes the score of the best alignment of a[i..na) and b[j..nb): 1 for what they have in common, -penalty
 * for a call of only one. The rest of one costs nothing when the other has ended: where that is not the end of the lists,
 * a penalty keeps the alignment from saving calls behind the window by giving up calls in it. */
static void fill_table(struct aligner *al, const struct entry *a, unsigned na, const struct entry *b,
		       unsigned nb, same_fn *same, int penalty)
{
	for (unsigned i = 0; i <= na; i++)
		*cell(al, i, nb) = 0;
	for (unsigned j = 0; j <= nb; j++)
		*cell(al, na, j) = 0;
	for (unsigned i = na; i-- > 0;)
		for (unsigned j = nb; j-- > 0;) {
			int16_t down = *cell(al, i + 1, j), right = *cell(al, i, j + 1);

			*cell(al, i, j) = same(&a[i], &b[j])
						  ? (int16_t)(*cell(al, i + 1, j + 1) + 1)
						  : (int16_t)((down > right ? down : right) - penalty);
		}
}

/* Calls of the two sides between two that are equal: those of one kind are opposite each other. */
static void emit_gap(struct aligner *al, const struct entry *a, unsigned na, const struct entry *b,
		     unsigned nb)
{
	unsigned i = 0, j = 0;

	if (na && nb)
		fill_table(al, a, na, b, nb, same_kind, 0);
	while (i < na && j < nb) {
		if (same_kind(&a[i], &b[j])) {
			emit(al, &a[i++], &b[j++]);
		} else if (*cell(al, i + 1, j) >= *cell(al, i, j + 1)) {
			emit(al, &a[i++], NULL);
		} else {
			emit(al, NULL, &b[j++]);
		}
	}
	while (i < na)
		emit(al, &a[i++], NULL);
	while (j < nb)
		emit(al, NULL, &b[j++]);
}

/* The windows hold all that is left. */
static bool at_end(const struct aligner *al)
{
	return al->a.at + al->a.have == al->a.n && al->b.at + al->b.have == al->b.n;
}

struct match {
	unsigned i, j;
};

/* The windows' common calls, in order. */
static unsigned matches_of(struct aligner *al, struct match *out)
{
	unsigned i = 0, j = 0, n = 0;

	fill_table(al, al->a.w, al->a.have, al->b.w, al->b.have, same_whole, at_end(al) ? 0 : 2);
	while (i < al->a.have && j < al->b.have) {
		if (same_whole(&al->a.w[i], &al->b.w[j]))
			out[n++] = (struct match){i++, j++};
		else if (*cell(al, i + 1, j) >= *cell(al, i, j + 1))
			i++;
		else
			j++;
	}
	return n;
}

/* ---- windows ------------------------------------------------------------------------------ */

/* Consumes what both sides have in common at once; then their windows stand where they differ. */
static void skip_equal(struct aligner *al)
{
	for (;;) {
		fill(al, &al->a, SMALL);
		fill(al, &al->b, SMALL);
		unsigned k = 0, n = al->a.have < al->b.have ? al->a.have : al->b.have;
		while (k < n && same_whole(&al->a.w[k], &al->b.w[k]))
			k++;
		al->equal += k;
		al->last_a = k ? al->a.w[k - 1].call : al->last_a;
		al->a.at += k;
		al->b.at += k;
		if (al->failed)
			return;
		if (k < n || !n)
			break;
	}
	fill(al, &al->a, SMALL);
	fill(al, &al->b, SMALL);
}

/* Where in `far`, from the end of its window on, the run stands; UINT64_MAX: not within reach. */
static uint64_t find_run(const struct stream *far, const struct entry *run)
{
	static const unsigned step = LARGE - RUN;
	struct entry *w = malloc(LARGE * sizeof(*w));
	uint64_t result = UINT64_MAX, end = far->n - far->at > FAR ? far->at + FAR : far->n;

	for (uint64_t at = far->at; w && at + RUN <= end && result == UINT64_MAX; at += step) {
		unsigned n = end - at < LARGE ? (unsigned)(end - at) : LARGE;

		if (!call_list_read(far->list, far->file, at, n, w))
			break; /* so will the next fill() */
		for (unsigned k = 0; k + RUN <= n && result == UINT64_MAX; k++) {
			unsigned m = 0;
			while (m < RUN && same_whole(&w[k + m], &run[m]))
				m++;
			if (m == RUN)
				result = at + k;
		}
	}
	free(w);
	return result;
}

static void emit_until(struct aligner *al, struct stream *s, uint64_t end)
{
	while (s->at < end && !al->failed) {
		fill(al, s, end - s->at < LARGE ? (unsigned)(end - s->at) : LARGE);
		for (unsigned k = 0; k < s->have; k++)
			emit(al, s == &al->a ? &s->w[k] : NULL, s == &al->a ? NULL : &s->w[k]);
		s->at += s->have;
	}
}

/* A long insertion on one side: the other's next calls come far ahead. */
static bool jump(struct aligner *al, struct stream *near, struct stream *far)
{
	for (unsigned probe = 0; probe < PROBES && probe * RUN + RUN <= near->have; probe++) {
		uint64_t near_at = near->at + probe * RUN;
		uint64_t at = find_run(far, &near->w[probe * RUN]);

		if (at == UINT64_MAX)
			continue;
		emit_until(al, near, near_at);
		emit_until(al, far, at);
		return true;
	}
	return false;
}

/* The windows' gaps, up to the last call that they have in common. */
static void emit_window(struct aligner *al, const struct match *m, unsigned n)
{
	unsigned i = 0, j = 0;

	for (unsigned k = 0; k < n; k++) {
		emit_gap(al, al->a.w + i, m[k].i - i, al->b.w + j, m[k].j - j);
		al->last_a = al->a.w[m[k].i].call;
		i = m[k].i + 1;
		j = m[k].j + 1;
	}
	al->equal += n;
	if (!n || at_end(al)) {
		emit_gap(al, al->a.w + i, al->a.have - i, al->b.w + j, al->b.have - j);
		i = al->a.have;
		j = al->b.have;
	}
	al->a.at += i;
	al->b.at += j;
}

static void align_window(struct aligner *al, struct match *m)
{
	unsigned n;

	n = matches_of(al, m);
	if (!n && (al->a.have == SMALL || al->b.have == SMALL)) {
		fill(al, &al->a, LARGE);
		fill(al, &al->b, LARGE);
		n = matches_of(al, m);
	}
	if (!n && (jump(al, &al->a, &al->b) || jump(al, &al->b, &al->a)))
		return;
	emit_window(al, m, n);
}

bool align_lists(const struct call_list *a, const struct call_file *fa, const struct call_list *b,
		 const struct call_file *fb, unsigned role, void (*found)(void *ctx, const struct hunk *h),
		 void *ctx, uint64_t *equal)
{
	struct aligner *al = calloc(1, sizeof(*al));
	struct match *m = malloc(LARGE * sizeof(*m));
	bool ok = al && m && (al->table = malloc((size_t)(LARGE + 1) * (LARGE + 1) * sizeof(*al->table)));

	if (ok) {
		al->a = (struct stream){.list = a, .file = fa, .n = a->n};
		al->b = (struct stream){.list = b, .file = fb, .n = b->n};
		al->role = role;
		al->found = found;
		al->ctx = ctx;
		for (skip_equal(al); (al->a.have || al->b.have) && !al->failed; skip_equal(al))
			align_window(al, m);
		*equal += al->equal;
		ok = !al->failed;
		free(al->table);
	}
	free(m);
	free(al);
	return ok;
}
