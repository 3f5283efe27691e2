#!/bin/bash
# Stands in for vllm, vllm-router and lmcache: it writes down how it was started, and answers.
kept=/var/tmp/recorded
name=$(basename "$0") port=8000 before=
for word; do
  [ "$before" != --port ] || port=$word
  before=$word
done
if [ "$name" = vllm-router ]; then
  for port in 8001 8002; do
    curl --fail --silent --output /dev/null "http://127.0.0.1:$port/health" && echo "$port"
  done >"$kept/asked"
  mv "$kept/asked" "$kept/router"
  exec sleep infinity
fi
[ "$name" = vllm ] || exec sleep infinity

place=$kept/$port
mkdir -p "$place/www"
printf '%s\0' "$0" "$@" >"$place/argv"
cp "/proc/$$/environ" "/proc/$$/limits" "$place"
pwd >"$place/directory"
for directory in /usr /etc /sys/fs/cgroup /var/tmp; do
  : 2>/dev/null >"$directory/written.$$" && basename "$directory"
done >"$place/writes"
[ ! -e "$kept/fails" ] || exit 3
echo ready >"$place/www/health"
(trap '' TERM && exec sleep 1000) & # a worker that nobody would end
sleep 4                             # the weights
while [ -e "$kept/slow" ]; do sleep 1; done
busybox httpd -f -p "$port" -h "$place/www" &
server=$!
trap 'echo TERM >"$place/told"; kill "$server"; exit 143' TERM
wait "$server"
