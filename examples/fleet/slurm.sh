#!/usr/bin/env bash
# A study over the nodes of a Slurm job: sbatch --nodes=4 slurm.sh STUDY
# The first node is the head and measures, too; nothing else runs on any of them (--exclusive).
#SBATCH --job-name=pgassay
#SBATCH --exclusive
#SBATCH --ntasks-per-node=1
#SBATCH --time=04:00:00
set -euo pipefail
study=${1:?usage: sbatch --nodes=N slurm.sh STUDY}
head=$(hostname -f) port=${PORT:-8786}
certs=$PWD/certs-$SLURM_JOB_ID
data=${SCRATCH:-/tmp}/pgassay-$SLURM_JOB_ID

pgassay fleet certs "$certs" # in a folder that all nodes see
dask scheduler --host "tls://0.0.0.0:$port" --no-dashboard --dashboard-address 127.0.0.1:0 \
  --tls-ca-file "$certs/ca.pem" --tls-cert "$certs/head.pem" --tls-key "$certs/head-key.pem" &
trap 'kill %1; rm -rf "$certs"' EXIT
srun --overlap pgassay fleet worker "tls://$head:$port" --certs "$certs" --data-dir "$data" &

pgassay run "$study" --on "tls://$head:$port" --certs "$certs" --hosts "$SLURM_JOB_NUM_NODES" \
  --out "runs/$study-$SLURM_JOB_ID"
