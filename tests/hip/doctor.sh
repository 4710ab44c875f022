#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: doctor.sh BUILD
#
# cutrace doctor over made-up machines (CUTRACE_TEST_ROOT has their /dev, /sys, /proc) and stand-ins of ROCm.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
build=$(cd "$build" && pwd)
cutrace=$build/bin/cutrace
stand_ins=$build/tests/hip
fresh_work doctor
unset ROCM_PATH HIP_PATH CUTRACE_DEVICE CUTRACE_HIP_LIBRARY HIP_VISIBLE_DEVICES LD_LIBRARY_PATH || true
export CUTRACE_TEST_ROOT="$work/root"

json()
{
	sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/out') AS TEXT), '$1')"
}

# A machine of one GPU: the kernel driver has it.
machine()
{
	rm -rf "$work/root"
	nodes=$work/root/sys/class/kfd/kfd/topology/nodes
	device=$work/root/sys/bus/pci/devices/0000:41:00.0
	mkdir -p "$device" "$nodes/0" "$nodes/1" "$work/root/sys/module/amdgpu" "$work/root/dev/dri"
	echo 0x1002 >"$device/vendor"
	echo 0x038000 >"$device/class"
	echo 'simd_count 0' >"$nodes/0/properties"
	printf 'simd_count 440\ngfx_target_version 90010\ndrm_render_minor 128\n' >"$nodes/1/properties"
	: >"$work/root/dev/kfd"
	: >"$work/root/dev/dri/renderD128"
}

# A machine with nothing: nothing is wrong.
mkdir -p "$work/root"
expect 0 env CUTRACE_HIP_LIBRARY= "$cutrace" doctor
says out "no AMD GPU on this machine's bus"
says out 'Programs run on: interp'
says out 'emulated, not yet run on hardware'
says out 'Nothing is wrong'
expect 0 "$cutrace" doctor --json
[ "$(json '$.problems')" = 0 ] || fail "the JSON report has problems"
[ "$(json '$.device')" = interp ] || fail "the JSON report's device is not interp"
[ "$(json '$.checks[0].status')" = note ] || fail "the first check is not a note"

# ROCm and a GPU, in each version.
machine
for flavour in 5:gfx90a:0 6:gfx1100:1 7:gfx942:1; do
	version=${flavour%%:*} rest=${flavour#*:}
	export ROCM_PATH="$stand_ins/rocm$version"
	expect 0 "$cutrace" doctor
	says out "GPU 0: gfx90a, $work/root/dev/dri/renderD128"
	says out '/dev/kfd can be opened'
	says out "HIP $version\.[0-9.]+ \("
	says out "hip:0 is stand-in for ${rest%:*} \(${rest%:*}\), 4096 MiB"
	says out "a kernel was compiled for ${rest%:*}"
	says out 'Programs run on: hip'
	expect 0 "$cutrace" doctor --json
	[ "$(json '$.gpus[0].target')" = "${rest%:*}" ] || fail "JSON: wrong target"
	[ "$(json '$.gpus[0].virtual_memory_management')" = "${rest#*:}" ] || fail "JSON: wrong virtual_memory_management"
	[ "$(json '$.device')" = hip ] || fail "JSON: the device is not hip"
done

# What is wrong, one at a time.
rm "$work/root/dev/kfd"
expect 1 "$cutrace" doctor
says out 'dev/kfd does not exist'
says out '--device=/dev/kfd'
says out '1 thing is wrong'
machine
chmod 0 "$work/root/dev/kfd"
as=
if [ "$(id -u)" -eq 0 ]; then
	as="setpriv --reuid=65534 --regid=65534 --clear-groups"
fi
if $as "$cutrace" --version >/dev/null 2>&1; then
	# shellcheck disable=SC2086 # a command and its arguments
	expect 1 $as "$cutrace" doctor
	says out 'dev/kfd: this user may not open it'
	says out 'usermod -aG'
fi
machine
rm -r "$work/root/sys/class" "$work/root/sys/module"
expect 1 "$cutrace" doctor
says out '1 AMD GPU is on the bus, but the driver amdgpu is not loaded'
says out 'modprobe amdgpu'
machine
expect 1 env CUTRACE_HIP_LIBRARY=/nowhere/libamdhip64.so.6 "$cutrace" doctor
says out 'CUTRACE_HIP_LIBRARY: can.t be loaded: /nowhere'
expect 1 env HIP_STAND_IN_VERSION=90100000 "$cutrace" doctor
says out 'HIP 9.1 is not known to this version of cutrace'
expect 1 env HIP_STAND_IN_DEVICES=0 "$cutrace" doctor
says out 'sees no AMD GPU \(hipErrorInvalidDevice\)'
expect 1 env HIP_STAND_IN_CRASH=1 "$cutrace" doctor
says out 'HIP ends the process when it is initialised \(signal 6\)'
expect 1 env HIP_STAND_IN_TARGET=gfx803 "$cutrace" doctor
says out 'cutrace has no code for gfx803'
expect 1 env CUTRACE_HIP_LIBRARY="$stand_ins/libhip_without_launch.so" "$cutrace" doctor
says out 'lacks hipModuleLaunchKernel'
expect 1 env CUTRACE_DEVICE=nonsense "$cutrace" doctor
says out "no device 'nonsense'"
expect 1 env CUTRACE_COMPILER=/nowhere "$cutrace" doctor
says out '/nowhere'

# Worth knowing.
expect 0 env HIP_VISIBLE_DEVICES=0 CUTRACE_DEVICE=interp "$cutrace" doctor
says out 'HIP_VISIBLE_DEVICES=0 hides GPUs from HIP'
says out 'CUTRACE_DEVICE=interp: programs run on it'
says out 'Programs run on: interp \(CUTRACE_DEVICE says so\)'
expect 0 env HIP_STAND_IN_DEVICES=2 "$cutrace" doctor
says out 'hip:1 is stand-in'
for comgr in 2:2.8 3:3.0; do
	expect 0 env LD_LIBRARY_PATH="$stand_ins/comgr${comgr%:*}" "$cutrace" doctor
	says out "comgr ${comgr#*:} \($stand_ins/comgr${comgr%:*}/"
done

expect 2 "$cutrace" doctor --nonsense
expect 0 "$cutrace" doctor --help
finish
