/* SPDX-License-Identifier: Apache-2.0
 *
 * session: the inside of the debugger.
 *
 * Time is the number of PTX instructions that warps of the launch have begun: the execution is deterministic, so a time
 * names a state. Going back is going forward from an earlier state: processes that were forked on the way wait as
 * checkpoints, each for the one that it forked; who wants to go back writes where to and exits, and the newest
 * checkpoint that is early enough forks another process, which runs up to that time (timeline.c). So the machine's state
 * is private to a process and goes back with it. What must survive, the session, is in memory that all of them share.
 *
 * - cmd_debug.c: options; timeline.c: time, checkpoints; stops.c: where execution stops
 * - code.c: the module, lines, registers that are live; typed.c: values as text; expression.c, evaluate.c, value.c; places.c: variables and memory
 * - state.c: all of the state as one number
 * - commands.c: the table; cmd_*.c: what they do; input.c: where they come from
 */
#ifndef CUTRACE_DEBUG_SESSION_H
#define CUTRACE_DEBUG_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/debugger.h"
#include "base/diag.h"
#include "ptx/analysis.h"
#include "ptx/ir.h"
#include "replay/visit.h"

enum { MAX_BREAKS = 64, MAX_PLACES = 32, MAX_DISPLAYS = 16, MAX_LINE = 512, MAX_HISTORY = 128 };
enum { MAX_INPUT = 1 << 20, MAX_BACK = 1 << 20 };
#define NEVER UINT64_MAX

/* The thread that is looked at. */
struct focus {
	uint64_t block;
	uint32_t warp, lane;
	uint32_t level; /* of the call stack; 0 is where it executes */
};

/* ---- stops ----------------------------------------------------------------------- */

enum break_kind { BREAK_FREE, BREAK_CODE, BREAK_WRITE, BREAK_READ, BREAK_ACCESS };

struct code_place {
	uint32_t func, inst;
};

struct breakpoint {
	uint8_t kind; /* enum break_kind */
	bool enabled, temporary;
	uint32_t number;
	uint64_t ignore, hits;
	char text[128];      /* as the user named it */
	char condition[256]; /* "": none */
	uint32_t nplaces;
	struct code_place places[MAX_PLACES];
	/* watchpoints */
	struct debug_place at;
	uint32_t bytes;
	uint8_t type; /* enum ptx_type */
	bool is_register;
	struct code_place where; /* of a register: its function, and slot */
	uint32_t depth;
};

enum stop_reason {
	STOP_NOTHING,
	STOP_BEGIN,
	STOP_BREAK,
	STOP_WATCH,
	STOP_STEP,
	STOP_TIME,
	STOP_EXITED,
	STOP_SIGNAL,
	STOP_FAULTED,
	STOP_END,
	STOP_BOUND
};

struct stop {
	uint8_t reason;
	uint32_t number; /* of the breakpoint */
	uint64_t now;
	bool switches; /* to this thread */
	struct focus focus;
	char text[800]; /* what a watchpoint saw */
};

/* ---- motion ---------------------------------------------------------------------- */

enum goal {
	GOAL_RUN,  /* until something stops it */
	GOAL_TIME, /* to `target`, whatever is on the way */
	GOAL_SCAN, /* backwards: the last stop before `limit` is looked for */
};

enum step { STEP_NONE, STEP_INST, STEP_INST_OVER, STEP_LINE, STEP_LINE_OVER, STEP_OUT, STEP_WARP };

struct motion {
	uint8_t goal, step;
	bool quiet; /* breakpoints don't count */
	uint64_t count;
	uint64_t target, limit;
	struct focus from;
	uint32_t depth, file, line; /* at its begin */
	struct stop stop;           /* GOAL_TIME: what is said there */
};

/* Shared by all processes of the debugger. */
struct shared {
	uint64_t rewind_to; /* a checkpoint of at most this time goes on */
	struct motion motion;
	struct focus focus;
	struct breakpoint breaks[MAX_BREAKS];
	uint32_t next_number;
	struct {
		uint32_t number; /* 0: free */
		char text[256], format[32];
	} displays[MAX_DISPLAYS];
	uint32_t next_display;
	uint64_t printed_at,
		printed; /* what the kernel prints is shown once: of this time so many texts were */
	/* input */
	char pending[MAX_INPUT]; /* commands of scripts that are still to do: from pending_at */
	uint32_t pending_at, pending_end, scripts;
	bool batch, echo, stdin_ended;
	char raw[4096]; /* read from stdin, and not yet a line */
	uint32_t raw_at, raw_end;
	char history[MAX_HISTORY][MAX_LINE];
	uint32_t nhistory;
	char last_format[32];
	uint64_t list_line; /* the next `list` begins there; 0: around where it is */
	bool list_source;
	uint32_t list_file;
	/* outcome */
	bool over; /* quit, or the end of the input */
	bool arrived;
	int status;    /* exit status */
	char why[512]; /* the launch can't be debugged */
};

/* ---- a process ------------------------------------------------------------------- */

enum state { STATE_RUNS, STATE_FAULTED, STATE_ENDED };

struct watch_value {
	bool known;
	uint8_t bytes[16];
};

struct session {
	struct shared *sh;
	const struct visit *visit;
	const struct visit_memory *memory;
	size_t nmemory;
	struct debug_launch launch;
	struct debug_view view;
	struct debugger hooks;
	char kernel[256];
	/* code */
	struct ptx_module *module;
	struct ptx_func *entry;
	/* time */
	uint64_t now, next;
	uint64_t checkpoint_at, fine_at, base; /* base: time of the checkpoint below */
	unsigned depth;                        /* checkpoints below */
	struct debug_at at, before;            /* before: the previous instruction, of any warp */
	bool has_before;
	enum state state;
	char fault[512];
	/* stops.c */
	uint64_t alarm;
	uint8_t **flags; /* by function, by instruction: a breakpoint */
	struct expression *conditions[MAX_BREAKS];
	struct watch_value watched[MAX_BREAKS];
	bool has_watches, attentive;
	uint64_t *found; /* GOAL_SCAN: a ring of the last `count` stops */
	uint64_t scan_start;
	uint64_t nfound, definite; /* stops from `definite` on are known for certain */
	struct stop last_found;
	struct {
		bool known;
		uint32_t file, line, depth;
	} seen;                     /* STEP_LINE backwards: where the thread was last */
	uint64_t print_at, nprints; /* texts of this time so far */
	bool resume;                /* the command loop ends */
};

/* commands return 0, or -1 with *d filled */
struct command {
	const char *name, *short_name; /* short_name may be NULL */
	int (*run)(struct session *s, const char *arg, struct diag *d);
	const char *arguments, *help;
	bool repeats; /* an empty line at the terminal does it again */
};

/* ---- timeline.c ---- */
void timeline_begin(struct session *s); /* the root checkpoint */
void timeline_arrive(struct session *s, const struct debug_at *at);
void timeline_over(struct session *s, enum state state, const char *fault);
/* A motion that was put into sh->motion begins: forwards in this process, backwards in another (no return). */
void timeline_move(struct session *s);
void timeline_leave(struct session *s) __attribute__((noreturn));
extern volatile sig_atomic_t debug_interrupted;

/* ---- stops.c ---- */
void stops_prepare(struct session *s); /* before execution goes on */
bool stops_flagged(const struct session *s, const struct debug_at *at);
bool stops_check(struct session *s, const struct debug_at *at, struct stop *out);
struct breakpoint *break_find(struct session *s, uint32_t number);
struct breakpoint *break_new(struct session *s, struct diag *d);
const char *break_kind_name(uint8_t kind);

/* ---- code.c ---- */
int code_open(struct session *s, struct diag *d);
struct ptx_func *code_func(const struct session *s, uint32_t func); /* built, or NULL */
const struct ptx_inst *code_inst(const struct session *s, uint32_t func, uint32_t inst);
bool code_executes(const struct session *s, uint32_t func, uint32_t inst);
/* Source of an instruction; false: none. */
bool code_source(const struct session *s, uint32_t func, uint32_t inst, uint32_t *file, uint32_t *line);
const char *code_file_name(const struct session *s, uint32_t file);
void code_describe(const struct session *s, uint32_t func, uint32_t inst, char *out,
		   size_t size); /* "m.ptx:31 (saxpy.cu:9)" */
void code_line_text(const struct session *s, uint32_t line, char *out, size_t size);
uint32_t code_nlines(const struct session *s);
/* "212", "saxpy.cu:17", "kernel_name", "entry". */
int code_resolve(const struct session *s, const char *text, struct breakpoint *b, struct diag *d);
/* A named register of a function: its slot, or PTX_NONE. */
uint32_t code_register(const struct ptx_func *f, const char *name);
/* The type as which it is used; PTX_TYPE_NONE never. */
enum ptx_type code_register_type(const struct ptx_func *f, uint32_t slot);
/* Slots whose value may be read from this instruction on; `live` has nslots entries. */
int code_live(const struct ptx_func *f, uint32_t inst, bool *live);

/* ---- typed.c ---- */
struct format {
	uint32_t count;
	char letter;   /* x d u o t c f a, 0 = by type */
	uint8_t type;  /* enum ptx_type; NONE = by the value */
	uint8_t bytes; /* b h w g; 0 = by type */
};
int format_parse(const char *text, size_t n, struct format *f, struct diag *d);
/* Elements of at most 16 bytes. */
void typed_format(const void *bytes, unsigned nbytes, enum ptx_type type, const struct format *f, char *out,
		  size_t size);
enum ptx_type typed_by_name(const char *name, size_t n); /* PTX_TYPE_NONE */
double typed_float(const void *bytes, enum ptx_type type);
bool typed_is_float(enum ptx_type t);

/* ---- expression.c ---- */
struct value {
	uint8_t type; /* enum ptx_type */
	bool literal;
	bool pointer;   /* an address of `type` in `space` */
	uint8_t space;  /* enum debug_space */
	uint64_t count; /* of a variable: elements at `address` */
	bool stored;    /* it lies at `address` */
	uint64_t address;
	uint8_t bytes[16];
};
/* Whose registers and memory: a thread at a level of its stack. */
int expression_parse(const struct session *s, uint32_t func, const char *text, struct expression **out,
		     struct diag *d);
void expression_free(struct expression *e);
int expression_eval(const struct session *s, const struct expression *e, const struct focus *f,
		    struct value *out, struct diag *d);
bool value_true(const struct value *v);
uint64_t value_integer(const struct value *v);
/* Both at once, for a command's argument in the focus's function. */
int evaluate(const struct session *s, const char *text, struct value *out, struct diag *d);
unsigned type_bytes(enum ptx_type t);

/* ---- places.c ---- */
struct variable {
	const char *name;
	uint8_t type, space; /* enum debug_space */
	uint64_t address, bytes;
	bool needs_thread; /* in the stack of a lane: address is that of level's activation */
};
/* By name, whole or behind the last underscore before "param"; of function `func` and the module. */
bool place_find(const struct session *s, uint32_t func, const char *name, size_t n, struct variable *out);
void place_each(const struct session *s, uint32_t func, void (*fn)(void *ctx, const struct variable *v),
		void *ctx);
/* Address of a variable that needs a thread. */
bool place_of(const struct session *s, const struct variable *v, const struct focus *f,
	      struct debug_place *out);
bool place_read(const struct session *s, const struct debug_place *p, void *out, size_t bytes);
void place_name(const struct session *s, enum debug_space space, uint64_t address, char *out,
		size_t size); /* "<alloc+4>" */
const char *space_name(enum debug_space s);
/* What an instruction that is about to be executed, or just was, accesses: lanes that touch [address, address + bytes). */
uint32_t place_accessed(const struct session *s, const struct debug_at *at, const struct breakpoint *b,
			bool *reads, bool *writes);

/* ---- commands.c ---- */
extern const struct command commands[];
int command_run(struct session *s, const char *line, struct diag *d);
const struct command *command_find(const char *word, size_t n, struct diag *d);
void talk(struct session *s, const struct stop *why);
void show_where(struct session *s);
bool focus_is_there(const struct session *s, const struct focus *f, struct debug_frame *frame);
int need_thread(const struct session *s, struct debug_frame *frame, struct diag *d);
void thread_index(const struct session *s, uint32_t warp, uint32_t lane, uint32_t xyz[3]);
void block_index(const struct session *s, uint64_t linear, uint32_t xyz[3]);
void show_displays(struct session *s);
uint32_t focus_mask(const struct session *s); /* lanes that are where the focus is */
int takes_nothing(const char *arg, const char *command, struct diag *d);

#define COMMAND(name) int name(struct session *s, const char *arg, struct diag *d)
/* cmd_run.c */
COMMAND(do_continue);
COMMAND(do_step);
COMMAND(do_stepi);
COMMAND(do_next);
COMMAND(do_nexti);
COMMAND(do_finish);
COMMAND(do_stepwarp);
COMMAND(do_until);
COMMAND(do_reverse_continue);
COMMAND(do_reverse_step);
COMMAND(do_reverse_stepi);
COMMAND(do_reverse_next);
COMMAND(do_reverse_nexti);
COMMAND(do_reverse_finish);
COMMAND(do_reverse_stepwarp);
COMMAND(do_goto);
COMMAND(do_run);
/* cmd_break.c */
COMMAND(do_break);
COMMAND(do_tbreak);
COMMAND(do_watch);
COMMAND(do_rwatch);
COMMAND(do_awatch);
COMMAND(do_delete);
COMMAND(do_enable);
COMMAND(do_disable);
COMMAND(do_condition);
COMMAND(do_ignore);
COMMAND(info_breakpoints);
/* cmd_data.c */
COMMAND(do_print);
COMMAND(do_x);
COMMAND(do_lanes);
COMMAND(do_display);
COMMAND(do_undisplay);
COMMAND(info_registers);
COMMAND(info_variables);
COMMAND(info_params);
COMMAND(info_display);
/* cmd_info.c */
COMMAND(do_info);
COMMAND(do_where);
COMMAND(do_frame);
COMMAND(do_up);
COMMAND(do_down);
COMMAND(do_thread);
COMMAND(do_block);
COMMAND(do_warp);
COMMAND(do_lane);
/* state.c */
COMMAND(info_state);
/* cmd_list.c */
COMMAND(do_list);
COMMAND(info_line);
/* commands.c, input.c */
COMMAND(do_help);
COMMAND(do_quit);
COMMAND(do_source);
COMMAND(do_echo);
COMMAND(do_set);

/* ---- input.c ---- */
int input_file(struct shared *sh, const char *path, struct diag *d); /* put before what is pending */
int input_text(struct shared *sh, const char *text, struct diag *d); /* put behind it */
/* The next command; false: there is no more. *scripted: not typed. */
bool input_line(struct session *s, char *line, size_t size, bool *scripted);
bool input_is_terminal(void);

#endif
