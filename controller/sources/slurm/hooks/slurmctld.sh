#!/bin/sh
# Reports the beginning and the end of each job to SkeletonHunter's controller. In slurm.conf:
#
#     PrologSlurmctld=/etc/slurm/skeletonhunter.sh
#     EpilogSlurmctld=/etc/slurm/skeletonhunter.sh
#
# slurmctld runs it on its own host, as SlurmUser, once per job. /etc/skeletonhunter/slurm.env
# (or $SKH_SLURM_ENV) says where the controller is:
#
#     SKH_CONTROLLER_URL=https://controller:8770     # of several controllers all, with commas
#     SKH_CONTROLLER_TOKEN_FILE=/etc/skeletonhunter/slurm.token    # an operator's, for SlurmUser only
#     SKH_FABRIC=default
#
# It always ends with 0 within seconds: a prolog that fails holds the job back. What could not be
# reported is in syslog, and repaired by `squeue --json | skeletonhunter jobs import --from slurm -`.
set -u
PATH=/usr/local/bin:/usr/bin:/bin
env_file=${SKH_SLURM_ENV:-/etc/skeletonhunter/slurm.env}
# shellcheck source=/dev/null
[ -r "$env_file" ] && . "$env_file"

failed() {
  logger -t skeletonhunter "job ${SLURM_JOB_ID:-?}: not reported: $1" 2>/dev/null
  exit 0
}

case "${SLURM_SCRIPT_CONTEXT:-$0}" in
*prolog*) what=start ;;
*epilog*) what=end ;;
*) failed "neither prolog nor epilog: ${SLURM_SCRIPT_CONTEXT:-$0}" ;;
esac
[ -r "${SKH_CONTROLLER_TOKEN_FILE:-}" ] || failed "no token in ${SKH_CONTROLLER_TOKEN_FILE:-$env_file}"

# The token goes through a pipe, so that the list of processes does not show it.
report() {
  printf 'Authorization: Bearer %s\n' "$(cat "$SKH_CONTROLLER_TOKEN_FILE")" |
    curl --silent --show-error --fail --max-time 5 --retry 1 --retry-connrefused \
      --header @- \
      --data-urlencode "job_id=${SLURM_JOB_ID:-}" \
      --data-urlencode "nodes=${SLURM_JOB_NODELIST:-}" \
      --data-urlencode "account=${SLURM_JOB_ACCOUNT:-}" \
      --data-urlencode "start_s=${SLURM_JOB_START_TIME:-0}" \
      --data-urlencode "cluster=${SKH_SLURM_CLUSTER:-}" \
      --data-urlencode "fabric=${SKH_FABRIC:-default}" \
      "$1/api/v1/slurm/$what" 2>&1
}

# One of several controllers leads; the others refuse the report.
answers=
for url in $(printf '%s' "${SKH_CONTROLLER_URL:-http://127.0.0.1:8770}" | tr ',' ' '); do
  answer=$(report "$url") && exit 0
  answers="$answers${answers:+; }$url: $answer"
done
failed "$answers"
