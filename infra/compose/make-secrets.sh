#!/bin/sh
# Makes what compose.yaml hands over as secrets, once: a folder `secrets` beside this file, one file each, for the users of the
# containers alone. As root, since the files belong to those users. What is there already stays.
set -eu
cd "$(dirname "$0")" || exit 1
umask 077
mkdir -p secrets
chmod 711 secrets

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

# NAME OWNER TEXT
put() {
  [ -e "secrets/$1" ] || printf '%s\n' "$3" >"secrets/$1"
  chmod 400 "secrets/$1"
  [ "$(id -u)" -ne 0 ] || chown "$2" "secrets/$1"
}

# Of the images: ours, postgres and redis (Debian's), grafana, coturn (nobody).
svc=10001 postgres=999 redis=999 grafana=472 turn=65534

database=$(random) bus=$(random)
if [ ! -e secrets/database_url ]; then
  put postgres_password "$postgres" "$database"
  put database_url "$svc" "postgres://svc:$database@postgres:5432/svc"
fi
if [ ! -e secrets/redis_url ]; then
  put redis_auth "$redis" "requirepass $bus"
  put redis_url "$svc" "redis://:$bus@redis:6379"
fi
put edge_shared_key "$svc" "$(random)"
put grafana_password "$grafana" "$(random)"
put turn_secret "$svc" "$(random)"
put turnserver.conf "$turn" "$(cat ../coturn/turnserver.conf)
static-auth-secret=$(cat secrets/turn_secret)"
[ "$(id -u)" -eq 0 ] || echo "make-secrets: not root: give secrets/* to the users of the containers, or they cannot read them" >&2
