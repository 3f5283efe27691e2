"""What the scripts have in them as it stands: finding addresses, waiting, watching, ending.

It needs bash 4.4; on the job's first node Slurm's own commands too, and coreutils everywhere.
A node's part may run in a container, where there is little else.
"""

from __future__ import annotations

WAITING = r"""
# Waits until an address and a port answer, and says so in the log.
await() {  # open|healthy NAME ADDRESS PORT
  local said=
  until "$1" "$3" "$4"; do
    [[ $said ]] || echo "waiting for $2 at $3:$4"
    said=1
    sleep 1
  done
}

# Whether a port takes connections.
open() { : 3<>"/dev/tcp/$1/$2"; } 2>/dev/null

# Whether a server says over HTTP that it is ready.
healthy() {
  local answer=
  { printf 'GET /health HTTP/1.0\r\n\r\n' >&3 && read -rt 5 answer <&3; } \
    3<>"/dev/tcp/$1/$2" && [[ $answer == HTTP/*' 200 '* ]]
} 2>/dev/null
"""

INTERFACE = r"""
# The interface that an IPv4 address is reached by: that of the most specific route.
interface_to() {
  local a b c d device target mask metric rest address bits prefix
  local best= longest=-1 least=0
  IFS=. read -r a b c d <<<"$1"
  [[ $a != 127 ]] || { echo lo; return; }
  address=$((d << 24 | c << 16 | b << 8 | a))  # as the kernel writes it
  while read -r device target rest rest rest rest metric mask rest; do
    [[ $device != Iface ]] || continue
    [[ $((address & 16#$mask)) == $((16#$target)) ]] || continue
    bits=$((16#$mask)) prefix=0
    while [[ $bits != 0 ]]; do
      prefix=$((prefix + (bits & 1))) bits=$((bits >> 1))
    done
    ((prefix > longest || (prefix == longest && metric < least))) || continue
    best=$device longest=$prefix least=$metric
  done </proc/net/route
  [[ $best ]] || fail "no route to $1 on ${SLURMD_NODENAME-}"
  echo "$best"
}
"""

PROCESSES = r"""
# Starts a process of this node beside the others, with a log of its own.
start() {  # NAME FUNCTION
  "$2" "$1" >>"$logs/$1.log" 2>&1 </dev/null &
  pids+=($!) names+=("$1")
}

# Waits until the first process ends, ends the others, and takes over its exit status. None is
# meant to end: status 0 would keep Slurm from ending the other nodes at once. When Slurm ends
# this node, that is no failure of the node's.
watch() {
  local status=0 i
  trap 'told=1; kill -TERM "${pids[@]}" 2>/dev/null || :' TERM INT
  { wait -n || status=$?; } 2>/dev/null
  sleep 0.2 || :  # the signal may come right behind the end that it caused
  for i in "${!pids[@]}"; do
    [[ $told ]] || running "${pids[i]}" ||
      echo "${names[i]} on ${SLURMD_NODENAME-} ended, status $status: $logs/${names[i]}.log"
  done
  kill -TERM "${pids[@]}" 2>/dev/null || :
  for ((i = 0; i < 100; i++)); do
    running "${pids[@]}" || break
    sleep 0.2 || :
  done
  [[ $status != 0 || $SLURM_JOB_NUM_NODES == 1 ]] || status=1
  [[ $told ]] || return "$status"
}

# Whether any of these processes is there.
running() {
  local pid
  for pid; do
    ! kill -0 "$pid" 2>/dev/null || return 0
  done
  return 1
}

fail() {
  echo "$1" >&2
  exit 1
}
"""

ADDRESSES = r"""
# The IPv4 address of a node: what Slurm reaches it by, or what its name stands for. On itself
# that may be a loopback address, of no use to others: then it is the node's first other one.
address_of() {
  local node address known=$1
  node=$(scontrol show node --oneliner "$1" 2>/dev/null) || node=
  [[ ! $node =~ \ NodeAddr=([^ ]+) ]] || known=${BASH_REMATCH[1]}
  if [[ $known =~ ^[0-9]+(\.[0-9]+){3}$ ]]; then
    echo "$known"
    return
  fi
  for address in $(getent ahostsv4 "$known") $(own_addresses "$1"); do
    [[ $address =~ ^[0-9]+(\.[0-9]+){3}$ && $address != 127.* ]] || continue
    echo "$address"
    return
  done
  fail "no IPv4 address is known for node $1"
}

own_addresses() {
  [[ $1 != "${SLURMD_NODENAME-}" ]] || hostname -I
}
"""
