#!/usr/bin/env bash
# Exported units on a real systemd: a small virtual machine of Debian starts them, with a stand-in
# for vllm that writes down how it was started. Nothing is installed or started on this machine.
# Needs Debian, root (for mmdebstrap), qemu-system-x86, mmdebstrap and cpio, and downloads some
# 100 MB; it takes some five minutes.
#
#   scripts/e2e_systemd_vm.sh [RECORD]
#
# RECORD is the file that the outcome is written to. VLLM_LAUNCH is the launcher, by default the one
# on PATH.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
record=${1:-/dev/null}
launch=${VLLM_LAUNCH:-$(command -v vllm-launch)}
for program in qemu-system-x86_64 mmdebstrap cpio apt-get dpkg-deb; do
  command -v "$program" >/dev/null || { echo "$program is not installed" >&2; exit 5; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The exports, and beside the first one its plan's words and variables.
m3=(MiniMaxAI/MiniMax-M3 --hardware h200)
# shellcheck disable=SC2016 # what looks like a variable is to stay as it is
odd=(-e 'ODD=a "b" $HOME ${HOME} %h \n '"'c'" -- --chat-template 'x $HOME %i "q" \\ ; #')
units=(--to systemd --program-dir /opt/vllm/bin --service-user)
mkdir guest
"$launch" export "${m3[@]}" "${units[@]}" vllm --name one --out guest/one "${odd[@]}" 2>/dev/null
"$launch" export "${m3[@]}" "${units[@]}" vllm --name pair --strategy pd_cluster \
  --out guest/pair 2>/dev/null
"$launch" export "${m3[@]}" "${units[@]}" root --name shared --kv-offload lmcache \
  --out guest/shared 2>/dev/null
"$launch" serve "${m3[@]}" --output json "${odd[@]}" 2>/dev/null | python3 -c '
import json, sys
(process,) = json.load(sys.stdin)["deployment"]["processes"]
argv = ["/opt/vllm/bin/vllm", *process["argv"][1:]]
environ = [f"{name}={value}" for name, value in process["env"].items()]
for name, words in (("argv", argv), ("environ", environ)):
    with open(f"guest/one/{name}", "w", encoding="utf-8") as file:
        file.write("".join(f"{word}\0" for word in words))
'
cp "$root/tests/e2e/systemd_guest.sh" guest/

# The machine is all in memory: its kernel takes Debian's files as they are, and needs no driver.
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources=/etc/apt/sources.list
[ -s "$sources" ] || sources=/etc/apt/sources.list.d/debian.sources
mmdebstrap --quiet --variant=minbase \
  --include=systemd,systemd-sysv,busybox-static,curl,procps "$suite" system.tar - <"$sources"
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/ *Depends: \(linux-image-[0-9].*\)/\1/p')
apt-get download -qq "$kernel" 2>/dev/null
mkdir system boot
tar xf system.tar -C system
dpkg-deb --extract linux-image-*.deb boot
cp -r guest system/root/guest
install -D "$root/tests/e2e/systemd_standin.sh" system/opt/vllm/bin/vllm
ln -s vllm system/opt/vllm/bin/vllm-router
ln -s vllm system/opt/vllm/bin/lmcache
rm -rf system/usr/share/{doc,locale,man} system/var/{cache,lib}/apt
cat >system/etc/systemd/system/guest.service <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
TimeoutStartSec=infinity
StandardOutput=file:/dev/ttyS0
ExecStart=/bin/bash /root/guest/systemd_guest.sh
ExecStopPost=/bin/systemctl poweroff --force
UNIT
mkdir -p system/etc/systemd/system/default.target.wants
ln -s ../guest.service system/etc/systemd/system/default.target.wants/
ln -sf /dev/null system/etc/systemd/system/serial-getty@ttyS0.service
(cd system && find . -print0 | cpio --null --create --format=newc --quiet) >system.cpio

timeout 900 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1500 -nographic \
  -no-reboot -nic none -kernel boot/boot/vmlinuz-* -initrd system.cpio \
  -append "rdinit=/lib/systemd/systemd console=ttyS0 quiet systemd.show_status=no" \
  </dev/null | tr -d '\r' >console.txt || :

{
  echo "date: $(date -u +%F)"
  echo "machine: $(uname -m), Debian $suite in a virtual machine"
  grep '^outcome: ' console.txt || echo "outcome: none, the machine ended before it"
  echo
  "$launch" --version
  grep -E '^(systemd |held   |failed |       )' console.txt || :
} | tee "$record"
grep -q '^outcome: passed' console.txt
