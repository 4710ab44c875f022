#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The job array of share/slurm on a Slurm of this test's own: munged, slurmctld and slurmd with a configuration made here, one
# node. The result of the parts is that of the whole, also when a part's time was up.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
for program in sbatch squeue scontrol slurmctld slurmd munged mungekey; do
	PATH=$PATH:/usr/sbin command -v $program >/dev/null 2>&1 ||
		{ echo "skipped: $program is not installed (Debian: slurm-wlm, munge)"; exit 77; }
done
fresh_work slurm
PATH=$PATH:/usr/sbin
script=$(cd "$(dirname "$0")/../../share/slurm" && pwd)/cutrace-replay.sbatch

# Paths of sockets are short.
folder=$(mktemp -d /tmp/cutrace-slurm-XXXXXX)
chmod 755 "$folder"
mkdir -m 755 "$folder/munge"
mkdir "$folder/spool" "$folder/state"
started=
stop()
{
	# Of this test's own Slurm; none is left where all went well.
	[ ! -S "$folder/munge/socket" ] || SLURM_CONF=$folder/slurm.conf scancel --signal=KILL --full --user="$(id -un)" 2>/dev/null || true
	# shellcheck disable=SC2086 # numbers
	[ -z "$started" ] || kill $started 2>/dev/null || true
	# shellcheck disable=SC2086
	for pid in $started; do wait "$pid" 2>/dev/null || true; done
	rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

start()
{
	"$@" >>"$work/daemons.log" 2>&1 &
	started="$! $started"
}

# The first port of two that nobody listens on: hexadecimal in /proc/net/tcp.
port=20817
while grep -qiE ":$(printf '%04X|:%04X' $port $((port + 1))) " /proc/net/tcp /proc/net/tcp6 2>/dev/null; do port=$((port + 2)); done
host=$(hostname -s)
cat >"$folder/slurm.conf" <<END
ClusterName=cutrace
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
KillWait=5
JobRequeue=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
SLURM_CONF=$folder/slurm.conf
export SLURM_CONF
mungekey --create --keyfile="$folder/munge/key"
start munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
	--log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
for _ in $(seq 50); do [ -S "$folder/munge/socket" ] && break; sleep 0.1; done
start slurmctld -D -c
start slurmd -D -N "$host"

# up: within N seconds the command succeeds.
within()
{
	tries=$1
	shift
	while ! "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 1
	done
}
node_is_idle() { scontrol show node "$host" 2>/dev/null | grep -q 'State=IDLE'; }
within 30 node_is_idle || {
	sed 's/^/  | /' "$work/daemons.log" | tail -20
	echo 'skipped: this machine does not let a Slurm run'
	exit 77
}

queue_is_empty() { [ -z "$(squeue -h 2>/dev/null)" ]; }
verdicts()
{
	sqlite3 "$1" "SELECT process, call, kind, grade, kernel_name, base, bytes, elements, differing FROM verdict ORDER BY 1, 2, 3, 6"
	sqlite3 "$1" "SELECT what, n FROM count WHERE what IN ('launches', 'written') ORDER BY 1"
}

trace=$work/long.trace
CUTRACE=$cutrace
export CUTRACE
expect 0 "$cutrace" record -q --check=contents -o "$trace" --device interp -- "$build/tests/replay/many_launches" 1500
expect 1 "$cutrace" replay -j 2 --no-narrow --inject mix:25:3 -o "$work/whole.db" "$trace"
verdicts "$work/whole.db" >"$work/whole"

cd "$work"
expect 0 sbatch --array=1-4 -n 1 "$script" "$trace" "$work/parts" --no-narrow --inject mix:25:3
cat "$work/out"
within 120 queue_is_empty || fail "jobs do not end: $(squeue)"
[ "$(cat "$work/parts/status" 2>/dev/null)" = 1 ] || fail "status $(cat "$work/parts/status" 2>&1) instead of 1"
verdicts "$work/parts/whole.db" >"$work/merged"
cmp -s "$work/whole" "$work/merged" || fail 'the parts are not the whole'
grep -q '^differs: 1500 launches' "$work/parts/report.txt" || fail 'the report is not there'
cat cutrace-replay-*.log

# A part whose time is up goes on later.
rm -rf "$work/parts"
expect 0 sbatch --array=1-1 -n 1 "$script" "$trace" "$work/parts" --no-narrow --inject mix:25:3
job=$(sed 's/[^0-9]//g' "$work/out")
part_is_there() { ls "$work/parts"/1.db* >/dev/null 2>&1; } # running, or done before anybody looked
within 60 part_is_there || fail "the part does not run"
scancel --signal=TERM --batch "${job}_1" || true
within 120 queue_is_empty || fail "jobs do not end: $(squeue)"
cat "cutrace-replay-${job}_1.log"
verdicts "$work/parts/whole.db" >"$work/merged"
cmp -s "$work/whole" "$work/merged" || fail 'a part that was interrupted is not the whole'
finish
