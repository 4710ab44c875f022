#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# git bisect run with a trace as the test, as docs/bisecting.md has it: a small repository builds a driver, one of its commits
# rounds wrongly, two don't compile. git names the commit; cutrace bisect, given builds of it and the one before, the kernel.
set -eu
# shellcheck source=SCRIPTDIR/../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
fresh_work git_bisect
command -v git >/dev/null || {
	echo 'skipped: git is not installed'
	exit 77
}
export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a \
	GIT_COMMITTER_EMAIL=a@example.org
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
real=$build/lib/cutrace/zluda
expect 0 "$cutrace" record -q --check=contents -o "$work/app.trace" --device interp -- "$programs/driver_nbody"

# ---- a driver: ours, but for the text that modules are loaded from -----------------------------------------------------
repo=$work/repo
mkdir "$repo"
cat >"$repo/Makefile" <<END
libcuda.so.1: driver.c round.h
	${CC:-cc} -shared -fPIC -w -o \$@ driver.c -Wl,--no-as-needed $real/libcuda.so.1 -Wl,-rpath,$real -ldl
END
cat >"$repo/driver.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "round.h"

static char *translate(const char *image)
{
	char *text = strdup(image), *at = text;

	for (; (at = strstr(at, FROM)) != NULL; at += strlen(TO))
		memcpy(at, TO, strlen(TO));
	return text;
}

int cuModuleLoadData(void **module, const void *image)
{
	int (*next)(void **, const void *) = dlsym(RTLD_NEXT, "cuModuleLoadData");

	return next(module, translate(image));
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values)
{
	int (*next)(void **, const void *, unsigned, int *, void **) = dlsym(RTLD_NEXT, "cuModuleLoadDataEx");

	return next(module, translate(image), n, options, values);
}
END
cd "$repo"
git init -q .
echo libcuda.so.1 >.gitignore

# commit N WORD: the n-th state of the driver
commit()
{
	case $2 in
	good) printf '#define FROM "@"\n#define TO "@"\n' >round.h ;;
	bad) printf '#define FROM "fma.rn.f32"\n#define TO "fma.rz.f32"\n' >round.h ;;
	broken) printf '#error "not finished"\n' >round.h ;;
	esac
	echo "/* $1 */" >>round.h
	git add -A
	git commit -q -m "driver: change $1 ($2)"
}
n=0
for word in good good good broken broken good bad bad bad bad; do
	n=$((n + 1))
	commit $n $word
done

# ---- the search ------------------------------------------------------------------------------------------------------------
cat >"$work/check.sh" <<END
#!/bin/sh
make -s || exit 125
exec "$cutrace" replay -q --isolated --driver ./libcuda.so.1 "$work/app.trace"
END
chmod +x "$work/check.sh"
git bisect start HEAD "$(git rev-list --max-parents=0 HEAD)" >"$work/out" 2>&1
status=0
git bisect run "$work/check.sh" >"$work/out" 2>"$work/err" || status=$?
[ $status -eq 0 ] || fail "git bisect run exits with $status: $(cat "$work/out" "$work/err")"
says out 'is the first bad commit'
[ "$(git log -1 --format=%s refs/bisect/bad)" = 'driver: change 7 (bad)' ] || fail "git names $(git log -1 --format=%s refs/bisect/bad)"
git bisect log >"$work/out"
says out '^# skip: .*\(broken\)'
git bisect reset >"$work/out" 2>&1

# ---- which kernel it is ----------------------------------------------------------------------------------------------------
for n in 6 7; do
	git checkout -q "HEAD~$((10 - n))"
	make -s
	mkdir "$work/$n"
	mv libcuda.so.1 "$work/$n"
	git checkout -q -
done
expect 0 "$cutrace" bisect "$work/app.trace" --good "$work/6" --bad "$work/7"
says out '^first difference: the launch of nbody_accelerate'
expect 1 "$cutrace" bisect "$work/app.trace" --good "$work/7" --bad "$work/6"
says out '^no difference'
finish
