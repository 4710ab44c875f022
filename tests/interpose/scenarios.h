/* SPDX-License-Identifier: Apache-2.0
 *
 * scenarios: what the program app can be told to do. app.c has calls, threads and processes, app_payloads.c copies, images
 * and launches, app_odds.c what goes wrong between recorder and collector.
 */
#ifndef CUTRACE_TESTS_INTERPOSE_SCENARIOS_H
#define CUTRACE_TESTS_INTERPOSE_SCENARIOS_H

extern char **args; /* of main */

int scenario_bad_pointers(void);
int scenario_pinned(void);
int scenario_pinned_many(void);
int scenario_faulted(void);
int scenario_capture(void);
int scenario_pitched(void);
int scenario_large(void);
int scenario_noise(void);
int scenario_launch_cubin(void);
int scenario_launch_opaque(void);
int scenario_reload(void);
int scenario_launch(void);
int scenario_launch_ask(void);
int scenario_pinned_flood(void);
int scenario_pinned_small(void);
int scenario_many_parts(void);
int scenario_stuck(void);
int scenario_orphaned_inside(void);
int scenario_other_version(void);
int scenario_refused_ring(void);
int scenario_no_ring(void);
int scenario_many_children(void);
int scenario_no_descriptor(void);
int scenario_fork_learning(void);

#endif
