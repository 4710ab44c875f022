/* SPDX-License-Identifier: Apache-2.0
 *
 * hooks: functions that do something no description can say stand in rec_real[] in place of the driver's. An
 * entry point has published its enter record when it calls one, so a hook only adds: payloads before and
 * after, hashes, addresses of ours.
 */
#include "interpose/recorder.h"

static void install(const struct rec_hook *hooks, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (rec_driver_has(hooks[i].id))
			rec_real[hooks[i].id] = hooks[i].hook;
}

void rec_hooks_install(void)
{
	install(rec_copy_hooks, rec_ncopy_hooks);
	install(rec_image_hooks, rec_nimage_hooks);
	install(rec_launch_hooks, rec_nlaunch_hooks);
	install(rec_proc_hooks, rec_nproc_hooks);
	install(rec_stream_hooks, rec_nstream_hooks);
	install(rec_context_hooks, rec_ncontext_hooks);
	install(rec_device_hooks, rec_ndevice_hooks);
}

void rec_option_hooks_install(void)
{
	if (rec_looking) {
		install(rec_allocation_hooks, rec_nallocation_hooks);
		install(rec_graph_hooks, rec_ngraph_hooks);
	}
	if (rec_as_cc)
		install(rec_as_hooks, rec_nas_hooks);
}
