-- SPDX-License-Identifier: Apache-2.0
-- Indexes for who asks with SQL; derived: nothing depends on them. They are kept up while recording, where another processor does it
-- while the program runs: made at close they would cost a scan of all calls each.
CREATE INDEX IF NOT EXISTS call_func ON call(func);
CREATE INDEX IF NOT EXISTS call_failed ON call(result) WHERE result <> 0;
CREATE INDEX IF NOT EXISTS call_in_flight ON call(id) WHERE t_exit IS NULL;
CREATE INDEX IF NOT EXISTS payload_buffer ON payload(buffer);
CREATE INDEX IF NOT EXISTS launch_kernel ON launch(kernel);
CREATE INDEX IF NOT EXISTS diagnostic_call ON diagnostic(call);
