#!/usr/bin/env bash
# Records a noisy-neighbour incident with real I/O on scratch space: three steady volumes and, for a while, a hog, all on
# one disk. Needs Linux, root (for a loop device), fio, sysstat and util-linux, and 5 GB of free space. About 6 minutes.
#
#   sudo ./record.sh OUTPUT_DIR [SCRATCH_DIR]
#
# The volumes are the partitions of one loop device over one file, so they share a component that the kernel's own names
# show. Nothing but that file is written; it is removed at the end.
set -euo pipefail
out=$(mkdir -p "${1:?usage: record.sh OUTPUT_DIR [SCRATCH_DIR]}" && cd "$1" && pwd)
scratch=$(mktemp -d "${2:-/var/tmp}/storscope-record.XXXXXX")
loop=""
cleanup() {
  jobs -p | xargs -r kill 2>/dev/null || true
  wait || true
  [ -z "$loop" ] || losetup -d "$loop"
  rm -rf "$scratch"
}
trap cleanup EXIT

file=$scratch/disk.img
# Written once, so that no read meets an unwritten extent.
fio --name=prefill --filename="$file" --size=4g --rw=write --bs=1m --direct=1 --ioengine=libaio --iodepth=8 \
  --refill_buffers --output=/dev/null
loop=$(losetup --find --show --partscan --direct-io=on "$file")
for number in 1 2 3 4; do
  addpart "$loop" "$number" $(((number - 1) * 2097152)) 2097152 # in sectors of 512 bytes: 1 GiB each
done
name=${loop#/dev/}

volume() { # volume NUMBER NAME SECONDS fio-options...
  local number=$1 job=$2 seconds=$3
  shift 3
  fio --name="$job" --filename="${loop}p$number" --direct=1 --ioengine=libaio --time_based --runtime="$seconds" \
    --output-format=json+ --output="$out/fio-$job.json" --randrepeat=1 --allrandrepeat=1 "$@"
}
now() { date -u +%Y-%m-%dT%H:%M:%S.%NZ; }

total=300 hog_after=120 hog_for=75
export S_TIME_FORMAT=ISO TZ=UTC LC_ALL=C
iostat -x -y -t -p "$name" -o JSON 1 $((total - 2)) >"$out/iostat.json" &
iostat -x -y -t -p "$name" 1 $((total - 2)) >"$out/iostat.txt" &
(for _ in $(seq $((total - 2))); do now; grep " $name" /proc/diskstats; sleep 1; done) >"$out/diskstats.txt" &

started=$(now)
volume 1 database $total --rw=randrw --rwmixread=70 --bs=8k --iodepth=4 --rate_iops=420,180 --rate_process=linear &
volume 2 mail $total --rw=randrw --rwmixread=50 --bs=16k --iodepth=2 --rate_iops=100,100 &
volume 3 web $total --rw=randread --bs=4k --iodepth=2 --rate_iops=500 &
sleep $hog_after
hog_started=$(now)
volume 4 reports $hog_for --rw=randrw --rwmixread=60 --bs=256k --iodepth=32
hog_ended=$(now)
sleep $((total - hog_after - hog_for + 1))

cat >"$out/truth.json" <<JSON
{
  "what": "Four volumes on one disk; one of them is a hog for part of the time.",
  "recorded": {"from": "$started", "to": "$(now)", "host": "$(uname -srm)", "fio": "$(fio --version)", "sysstat": "$(iostat -V | head -1)"},
  "disk": "$name",
  "volumes": {"${name}p1": "database", "${name}p2": "mail", "${name}p3": "web", "${name}p4": "reports"},
  "hog": {"volume": "${name}p4", "from": "$hog_started", "to": "$hog_ended"},
  "victims": ["${name}p1", "${name}p2", "${name}p3"]
}
JSON
