#!/bin/bash
# Runs inside of the virtual machine, as root, started by its systemd. The folders beside it are
# exports; what is done with each is what its own comments say.
set -u
here=$(cd "$(dirname "$0")" && pwd)
kept=/var/tmp/recorded
failures=0
install -d -m 1777 "$kept"
useradd --create-home --shell /bin/sh vllm

check() { # WHAT, a command
  local what=$1
  shift
  if "$@"; then
    echo "held   $what"
  else
    echo "failed $what"
    failures=$((failures + 1))
  fi
}

# The commands of a file's comments: those that install, and the one that starts.
install_as_told() { # FILE
  (cd "$(dirname "$1")" && sh -eu <(sed -n '/^# Install/,/^# Start/s/^#   *\([a-z].*[^:]\)$/\1/p' "$1"))
}
start_as_told() { # FILE
  sh -eu <(sed -n 's/^# Start, .*: \(systemctl .*\)$/\1/p' "$1")
}

is() { [ "$(systemctl is-active "$1")" = "$2" ]; }
property() { systemctl show --property "$2" --value "$1"; }
answers() { curl --fail --silent --output /dev/null --max-time 5 "http://127.0.0.1:$1/health"; }
user_of() { [ "$(ps -o user= -p "$(property "$1" MainPID)")" = "$2" ]; }
same() { [ "$1" = "$2" ] || { echo "       found: $1" && false; }; }
has() { grep -qxF -- "$2" <(tr '\0' '\n' <"$1") || { tr '\0' '\n' <"$1" && false; }; }
within() { # SECONDS, a command
  local left=$1
  shift
  until "$@"; do
    [ "$((left -= 1))" -ge 0 ] || return 1
    sleep 1
  done
}
limit() { # FILE, NAME, VALUE
  same "$(sed -n "s/^$2  *\([^ ]*\) .*/\1/p" "$1")" "$3"
}

echo "systemd $(systemctl --version | sed -n '1s/systemd \([^ ]*\).*/\1/p')"

one=$here/one/vllm-one.service
check "a server alone is installed as its comments say" install_as_told "$one"
check "its file of secrets is root's alone" \
  same "$(stat -c '%a %U' /etc/vllm-launch/one.env)" "600 root"
sed -i 's/^#HF_TOKEN=$/HF_TOKEN=hf_secret/' /etc/vllm-launch/one.env
check "and started" start_as_told "$one"
check "once it answers, no sooner" answers 8000
check "it will be started at each boot" systemctl is-enabled --quiet vllm-one.service
check "its words are the plan's, byte for byte" cmp "$kept/8000/argv" "$here/one/argv"
while IFS= read -r -d '' variable; do
  check "it has the variable ${variable%%=*}" has "$kept/8000/environ" "$variable"
done <"$here/one/environ"
check "the secret reaches it" has "$kept/8000/environ" HF_TOKEN=hf_secret
check "it runs as the user asked for" user_of vllm-one.service vllm
check "in that user's home directory" same "$(cat "$kept/8000/directory")" /home/vllm
check "it may lock memory" limit "$kept/8000/limits" "Max locked memory" unlimited
check "it may open files" limit "$kept/8000/limits" "Max open files" 1048576
check "it leaves no core file" limit "$kept/8000/limits" "Max core file size" 0

before=$(property vllm-one.service MainPID)
kill -KILL "$before"
check "killed, it is started again" within 40 answers 8000
check "as another process" test "$before" != "$(property vllm-one.service MainPID)"
pids=$(paste --serial --delimiters=, /sys/fs/cgroup/system.slice/vllm-one.service/cgroup.procs)
systemctl stop vllm-one.service
check "stopped, it is told by SIGTERM" same "$(cat "$kept/8000/told")" TERM
check "which is no failure" same "$(property vllm-one.service Result)" success
check "what it left behind has gone" test -z "$(ps -o pid= -p "$pids")"
touch "$kept/fails"
check "one that ends before it answers is not started" \
  bash -c '! timeout 60 systemctl start vllm-one.service 2>/dev/null'
rm "$kept/fails"
touch "$kept/slow"
rm "$kept/8000/limits"
systemctl reset-failed vllm-one.service
systemctl start --no-block vllm-one.service
within 20 test -e "$kept/8000/limits"
systemctl stop vllm-one.service
check "one that is stopped while it starts has not failed" is vllm-one.service inactive
rm "$kept/slow"
systemctl disable --now --quiet vllm-one.service

pair=$here/pair/vllm-pair.target
check "two pools and a router are installed as their comments say" install_as_told "$pair"
check "and started" start_as_told "$pair"
for part in prefill-0 decode-0 router; do
  check "$part runs" is "vllm-pair-$part.service" active
done
within 20 test -e "$kept/router"
check "the router came when both pools answered" same "$(xargs <"$kept/router")" "8001 8002"
kill -KILL "$(property vllm-pair-decode-0.service MainPID)"
check "the router outlives a pool that is started again" within 40 answers 8002
check "and is the same" is vllm-pair-router.service active
systemctl stop vllm-pair.target
for part in prefill-0 decode-0 router; do
  check "$part is stopped with the target" within 10 is "vllm-pair-$part.service" inactive
done

shared=$here/shared/vllm-shared.target
check "a server and its companion are installed as their comments say" install_as_told "$shared"
check "and started" start_as_told "$shared"
check "the companion runs" is vllm-shared-companion.service active
check "root's own server writes in no /usr, /etc or control group" \
  same "$(cat "$kept/8000/writes")" tmp
systemctl stop vllm-shared-companion.service
check "a server is stopped with the companion that it needs" \
  within 10 is vllm-shared-server-0.service inactive

[ "$failures" = 0 ] && echo "outcome: passed" || echo "outcome: $failures failed"
