#!/usr/bin/env bash
# A study over machines that you reach by ssh, this one being the head: certificates, a scheduler here, a worker there.
# usage: ssh.sh HEAD STUDY HOST HOST…      HEAD is this machine's name as the hosts know it
# Each host has pgassay with the extra fleet, and PostgreSQL. Workers end with the scheduler, and the scheduler with this script.
set -euo pipefail
(($# >= 4)) || { echo "usage: ssh.sh HEAD STUDY HOST HOST…" >&2; exit 2; }
head=$1 study=$2
shift 2
port=${PORT:-8786} certs=${CERTS:-certs}

[[ -d $certs ]] || pgassay fleet certs "$certs"
dask scheduler --host "tls://0.0.0.0:$port" --no-dashboard --dashboard-address 127.0.0.1:0 \
  --tls-ca-file "$certs/ca.pem" --tls-cert "$certs/head.pem" --tls-key "$certs/head-key.pem" &
trap 'kill %1' EXIT

for host in "$@"; do
  # shellcheck disable=SC2029 # the values are this machine's
  ssh "$host" "mkdir -p -m 700 pgassay-certs"
  scp -q "$certs/ca.pem" "$certs/worker.pem" "$certs/worker-key.pem" "$host:pgassay-certs/"
  # shellcheck disable=SC2029
  ssh "$host" "pgassay fleet worker tls://$head:$port --certs pgassay-certs --name $host" &
done

pgassay run "$study" --on "tls://$head:$port" --certs "$certs" --hosts $#
