/* SPDX-License-Identifier: Apache-2.0
 * One JSON object a line. Keys are never renamed. Addresses are "0x..." strings. */
#include <string.h>

#include "dump/row.h"

static void put_value(const struct print_options *o, struct json *j, const struct value *v);

static void put_children(const struct print_options *o, struct json *j, const struct value *v)
{
	const struct value *c;
	bool named = v->kind == VALUE_STRUCT;

	json_begin(j, named ? '{' : '[');
	for (c = v->child; c; c = c->next) {
		if (named)
			json_key(j, c->name);
		put_value(o, j, c);
	}
	json_end(j, named ? '}' : ']');
}

static void put_address(const struct print_options *o, struct json *j, const struct value *v)
{
	json_begin(j, '{');
	if (!o->stable || !v->allocation) {
		json_key(j, v->kind == VALUE_DEVICE ? "device" : "host");
		if (o->stable)
			json_null(j);
		else
			json_hex(j, v->u);
	}
	if (v->allocation) {
		json_key_uint(j, "allocation", v->allocation);
		json_key_uint(j, "offset", v->offset);
		if (v->variable)
			json_key_text(j, "variable", v->variable);
	}
	json_end(j, '}');
}

static void put_handle(const struct print_options *o, struct json *j, const struct value *v)
{
	json_begin(j, '{');
	json_key_text(j, "handle", v->type);
	if (o->stable) {
		json_key_uint(j, "number", v->number);
	} else {
		json_key(j, "value");
		json_hex(j, v->u);
	}
	if (v->text)
		json_key_text(j, "kernel", v->text);
	json_end(j, '}');
}

static void put_bytes(struct json *j, const struct value *v)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * 64];
	uint64_t i, n = v->n < 64 ? v->n : 64;

	for (i = 0; i < n; i++) {
		hex[2 * i] = digits[(unsigned char)v->text[i] >> 4];
		hex[2 * i + 1] = digits[v->text[i] & 15];
	}
	json_begin(j, '{');
	json_key(j, "hex");
	json_string(j, hex, 2 * n);
	json_key_uint(j, "bytes", v->n + v->more);
	json_end(j, '}');
}

static void put_payload(const struct print_options *o, struct json *j, const struct value *v)
{
	json_begin(j, '{');
	json_key_uint(j, "bytes", v->n);
	if (!o->stable)
		json_key_uint(j, "buffer", v->u);
	json_end(j, '}');
}

static void put_change(const struct print_options *o, struct json *j, const struct value *v)
{
	json_begin(j, '{');
	json_key(j, "before");
	put_value(o, j, v->child);
	json_key(j, "after");
	put_value(o, j, v->child->next);
	json_end(j, '}');
}

static void put_value(const struct print_options *o, struct json *j, const struct value *v)
{
	if (o->stable && v->measured) {
		json_null(j);
		return;
	}
	switch (v->kind) {
	case VALUE_UNKNOWN:
	case VALUE_NULL: json_null(j); break;
	case VALUE_INT: json_int(j, v->i); break;
	case VALUE_UINT: json_uint(j, v->u); break;
	case VALUE_RAW:
		if (o->stable)
			json_null(j);
		else
			json_hex(j, v->u);
		break;
	case VALUE_F32: json_double(j, v->f, 9); break;
	case VALUE_F64: json_double(j, v->f, 17); break;
	case VALUE_STRING: json_string(j, v->text, v->n); break;
	case VALUE_SYMBOL: json_text(j, v->text); break;
	case VALUE_HANDLE: put_handle(o, j, v); break;
	case VALUE_DEVICE:
	case VALUE_HOST: put_address(o, j, v); break;
	case VALUE_BYTES: put_bytes(j, v); break;
	case VALUE_LIST:
	case VALUE_STRUCT: put_children(o, j, v); break;
	case VALUE_REF: put_value(o, j, v->child); break;
	case VALUE_CHANGE: put_change(o, j, v); break;
	case VALUE_PAYLOAD: put_payload(o, j, v); break;
	}
}

static void put_triple(struct json *j, const char *key, const uint32_t v[3])
{
	int i;

	json_key(j, key);
	json_begin(j, '[');
	for (i = 0; i < 3; i++)
		json_uint(j, v[i]);
	json_end(j, ']');
}

static void put_kernel_args(const struct print_options *o, struct json *j, const struct row *r)
{
	const struct value *v;

	json_key(j, "args");
	if (!r->kernel_args_known) {
		json_null(j);
		return;
	}
	json_begin(j, '[');
	for (v = r->kernel_args; v; v = v->next) {
		json_begin(j, '{');
		json_key_text(j, "name", v->name);
		json_key_text(j, "type", v->type);
		json_key(j, "value");
		put_value(o, j, v);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void put_launch(const struct print_options *o, struct json *j, const struct row *r)
{
	json_key(j, "launch");
	json_begin(j, '{');
	json_key_text(j, "kernel", r->kernel);
	json_key(j, "has_ptx");
	json_bool(j, r->kernel_has_ptx);
	put_triple(j, "grid", r->launch.grid);
	put_triple(j, "block", r->launch.block);
	json_key_uint(j, "shared_bytes", r->launch.shared_bytes);
	json_key(j, "cooperative");
	json_bool(j, r->launch.cooperative);
	put_kernel_args(o, j, r);
	json_end(j, '}');
}

static void put_payload_row(const struct print_options *o, struct json *j, const struct row_payload *p)
{
	json_begin(j, '{');
	json_key_text(j, "kind", p->kind);
	json_key_int(j, "param", p->param);
	if (p->buffer) {
		json_key_uint(j, "bytes", p->bytes);
		if (!o->stable)
			json_key_uint(j, "buffer", p->buffer);
	}
	if (p->height > 1 || p->depth > 1) {
		json_key_uint(j, "width", p->width);
		json_key_uint(j, "height", p->height);
		json_key_uint(j, "depth", p->depth);
	}
	if (p->device) {
		json_key(j, "device");
		put_value(o, j, p->device);
	}
	if (p->note)
		json_key_text(j, "note", p->note);
	json_end(j, '}');
}

static void put_lists(const struct print_options *o, struct json *j, const struct row *r)
{
	unsigned i;

	if (r->npayloads) {
		json_key(j, "payloads");
		json_begin(j, '[');
		for (i = 0; i < r->npayloads; i++)
			put_payload_row(o, j, &r->payloads[i]);
		json_end(j, ']');
	}
	if (!r->ndiagnostics)
		return;
	json_key(j, "diagnostics");
	json_begin(j, '[');
	for (i = 0; i < r->ndiagnostics; i++) {
		json_begin(j, '{');
		json_key_text(j, "severity", r->diagnostics[i].severity);
		json_key_text(j, "source", r->diagnostics[i].source);
		json_key_text(j, "message", r->diagnostics[i].message);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void put_args(const struct print_options *o, struct json *j, const struct row *r)
{
	const struct value *v;
	bool named = r->args && r->args->name;

	json_key(j, "args");
	json_begin(j, named || !r->args ? '{' : '[');
	for (v = r->args; v; v = v->next) {
		if (named)
			json_key(j, v->name);
		put_value(o, j, v);
	}
	json_end(j, named || !r->args ? '}' : ']');
}

void print_json(const struct print_options *o, struct json *j, const struct row *r)
{
	json_begin(j, '{');
	json_key_uint(j, "id", r->call.id);
	json_key_uint(j, "process", r->process);
	json_key_uint(j, "thread", r->call.thread);
	if (r->call.parent)
		json_key_uint(j, "parent", r->call.parent);
	json_key_text(j, "function", r->function);
	put_args(o, j, r);
	json_key(j, "in_flight");
	json_bool(j, !r->call.done);
	json_key(j, "result");
	if (r->call.done)
		put_value(o, j, r->result);
	else
		json_null(j);
	if (r->call.done)
		json_key_int(j, "status", r->call.result);
	if (!o->stable)
		json_key_int(j, "start_ns", r->call.t_enter);
	if (!o->stable && r->call.done)
		json_key_int(j, "duration_ns", row_duration_ns(r));
	if (r->launch.call)
		put_launch(o, j, r);
	put_lists(o, j, r);
	json_end(j, '}');
	json_line(j);
}
