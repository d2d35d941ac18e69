#!/bin/sh
# Lays a backup of base-backup.sh out as the data folder of a server, to be brought to a moment when that server starts.
#
#   restore.sh BACKUP WAL_ARCHIVE DATA_FOLDER [TIME]
#
# DATA_FOLDER must be empty or not be there; the caller must be the user that runs PostgreSQL. TIME is as PostgreSQL reads it
# ('2026-11-28 10:15:00+00'); without it everything that the archive holds is replayed. Keys are not touched: give the control planes
# the KEYS_DIR of FOLDER/keys.
#
#   PG_BIN=DIR  where pg_verifybackup is, if not on the path
set -eu

case $# in 3 | 4) ;; *)
  echo "usage: restore.sh BACKUP WAL_ARCHIVE DATA_FOLDER [TIME]" >&2
  exit 64
  ;;
esac
backup=$1 wal=$2 data=$3 time=${4:-}
# Debian keeps some of them off the path.
for dir in /usr/lib/postgresql/*/bin; do PATH=$PATH:$dir; done
[ -z "${PG_BIN:-}" ] || PATH=$PG_BIN:$PATH

refuse() { echo "restore: $1" >&2; exit 1; }
[ -f "$backup/backup_manifest" ] || refuse "$backup is no backup"
[ -d "$wal" ] || refuse "$wal is no folder"
case $wal in /*) ;; *) refuse "$wal must be a whole path: the server looks for it from elsewhere" ;; esac
# They end up inside quotes of a configuration file.
case $wal$time in *[\'\\\"%]* | *"
"*) refuse 'the archive and the time must be without quotes, backslashes and %' ;; esac
if [ -e "$data" ] && [ -n "$(ls -A "$data")" ]; then refuse "$data is not empty"; fi

pg_verifybackup --quiet "$backup"

umask 077
mkdir -p "$data"
cp -a "$backup/." "$data/"
chmod 700 "$data"
# What was said on the server that is gone, ALTER SYSTEM and archiving included, stays; later lines win.
{
  echo "restore_command = 'cp \"$wal/%f\" \"%p\"'"
  echo "recovery_target_timeline = 'latest'"
  echo "recovery_target_action = 'promote'"
  if [ -n "$time" ]; then echo "recovery_target_time = '$time'"; fi
} >>"$data/postgresql.auto.conf"
touch "$data/recovery.signal"
sync
echo "$data is laid out: start PostgreSQL on it; it accepts connections once it has got there"
