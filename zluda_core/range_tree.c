/* SPDX-License-Identifier: Apache-2.0
 *
 * A treap (Seidel and Aragon, "Randomized Search Trees"), augmented with gaps.
 */
#include "range_tree.h"

static uint64_t end_of(const struct range *r)
{
	return r->addr + r->span;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What is known of a subtree, from its root and the subtrees below. */
static struct range *update(struct range *r)
{
	const struct range *left = r->tree.left, *right = r->tree.right;

	r->tree.begin = left ? left->tree.begin : r->addr;
	r->tree.end = right ? right->tree.end : end_of(r);
	r->tree.widest = 0;
	r->tree.count = 1 + range_tree_count(left) + range_tree_count(right);
	if (left)
		r->tree.widest = max(left->tree.widest, r->addr - left->tree.end);
	if (right)
		r->tree.widest = max(r->tree.widest, max(right->tree.widest, right->tree.begin - end_of(r)));
	return r;
}

static void split(struct range *root, uint64_t addr, struct range **low, struct range **high)
{
	if (!root) {
		*low = *high = NULL;
	} else if (root->addr < addr) {
		split(root->tree.right, addr, &root->tree.right, high);
		*low = update(root);
	} else {
		split(root->tree.left, addr, low, &root->tree.left);
		*high = update(root);
	}
}

static struct range *join(struct range *low, struct range *high)
{
	if (!low || !high)
		return low ? low : high;
	if (low->tree.priority > high->tree.priority) {
		low->tree.right = join(low->tree.right, high);
		return update(low);
	}
	high->tree.left = join(low, high->tree.left);
	return update(high);
}

static struct range *insert(struct range *root, struct range *r)
{
	if (!root || root->tree.priority < r->tree.priority) {
		split(root, r->addr, &r->tree.left, &r->tree.right);
		return update(r);
	}
	if (r->addr < root->addr)
		root->tree.left = insert(root->tree.left, r);
	else
		root->tree.right = insert(root->tree.right, r);
	return update(root);
}

struct range *range_tree_insert(struct range *root, struct range *r)
{
	static uint64_t state = 0x9e3779b97f4a7c15ull; /* xorshift64: the same in every run */

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	r->tree.priority = state;
	return insert(root, r);
}

struct range *range_tree_remove(struct range *root, struct range *r)
{
	if (!root)
		return NULL;
	if (root == r)
		return join(r->tree.left, r->tree.right);
	if (r->addr < root->addr)
		root->tree.left = range_tree_remove(root->tree.left, r);
	else
		root->tree.right = range_tree_remove(root->tree.right, r);
	return update(root);
}

size_t range_tree_count(const struct range *root)
{
	return root ? root->tree.count : 0;
}

struct range *range_tree_after(struct range *root, uint64_t addr)
{
	struct range *found = NULL;

	while (root) {
		if (end_of(root) > addr) {
			found = root;
			root = root->tree.left;
		} else {
			root = root->tree.right;
		}
	}
	return found;
}

/* What is looked for: the lowest place in a gap that is at least that wide. */
struct wish {
	uint64_t begin, span, align;
};

/* In the gap [from, to); 0: it does not fit. */
static uint64_t fit_gap(const struct wish *w, uint64_t from, uint64_t to)
{
	uint64_t at = max(from, w->begin), rest = at % w->align;

	if (rest && __builtin_add_overflow(at, w->align - rest, &at))
		return 0;
	return at < to && to - at >= w->span ? at : 0;
}

/* In the gaps between the ranges of a subtree. */
static uint64_t fit_between(const struct wish *w, const struct range *r)
{
	const struct range *left, *right;
	uint64_t at;

	if (!r || r->tree.widest < w->span || r->tree.end <= w->begin)
		return 0;
	left = r->tree.left;
	right = r->tree.right;
	at = fit_between(w, left);
	if (!at && left)
		at = fit_gap(w, left->tree.end, r->addr);
	if (!at && right)
		at = fit_gap(w, end_of(r), right->tree.begin);
	return at ? at : fit_between(w, right);
}

uint64_t range_tree_fit(const struct range *root, uint64_t begin, uint64_t end, uint64_t span, uint64_t align)
{
	const struct wish w = {begin, span, align};
	uint64_t at = root ? fit_gap(&w, begin, root->tree.begin) : 0;

	if (!at)
		at = fit_between(&w, root);
	if (!at)
		at = fit_gap(&w, root ? root->tree.end : begin, end);
	return at && at < end && span <= end - at ? at : 0;
}
