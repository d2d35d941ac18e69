#!/bin/sh
# Lays a backup of base-backup.sh out as the data folder of a server, to be brought to a moment when that server starts.
#
#   restore.sh BACKUP WAL_ARCHIVE DATA_FOLDER [TIME]
#
# DATA_FOLDER must be empty or not be there; the caller must be the user that runs PostgreSQL. TIME is as PostgreSQL reads it
# ('2026-11-28 10:15:00+00'); without it everything that the archive holds is replayed. Keys are not touched: give the control planes
# the newest copy of theirs.
#
#   TIMELINE=N  whose log is followed. A restore before this one has begun a timeline of its own, which leaves the one before at the
#               moment that was asked for then: where the archive holds such a one, it must be said which (`latest` or a number)
#   PG_BIN=DIR  where pg_verifybackup is, if neither on the path nor where Debian has it
set -eu

case $# in 3 | 4) ;; *)
  echo "usage: restore.sh BACKUP WAL_ARCHIVE DATA_FOLDER [TIME]" >&2
  exit 64
  ;;
esac
backup=$1 wal=$2 data=$3 time=${4:-} timeline=${TIMELINE:-}

refuse() { echo "restore: $1" >&2; exit 1; }
[ -f "$backup/backup_manifest" ] || refuse "$backup is no backup"
[ -d "$wal" ] || refuse "$wal is no folder"
case $wal in /*) ;; *) refuse "$wal must be a whole path: the server looks for it from elsewhere" ;; esac
# They end up inside quotes of a configuration file, and the archive inside those of a shell.
case $wal$time in *[\'\\\"%\$\`]* | *"
"*) refuse 'the archive and the time must be without quotes, backslashes, $ and %' ;; esac
case $timeline in '' | latest) ;; *[!0-9]* | 0*) refuse "TIMELINE=$timeline is neither a number nor 'latest'" ;; esac
if [ -e "$data" ] && [ -n "$(ls -A "$data")" ]; then refuse "$data is not empty"; fi

# Which timelines begin after the backup, and where: the last line of each history.
begun=$(sed -n 's/^START TIMELINE: \([0-9]*\)$/\1/p' "$backup/backup_label")
[ -n "$begun" ] || refuse "$backup/backup_label names no timeline"
later=$(
  for history in "$wal"/*.history; do
    [ -e "$history" ] || continue
    name=${history##*/}
    number=$((0x${name%.history}))
    [ "$number" -le "$begun" ] || printf '  %d left %s\n' "$number" "$(grep '^[0-9]' "$history" | tail -n 1 | tr '\t' ' ')"
  done
)
[ -n "$timeline" ] || [ -z "$later" ] || refuse "the backup is of timeline $begun, and the archive holds later ones:
$later
Say which is meant: TIMELINE=latest, or a number ($begun for what was before the first of them)"

# Debian keeps the programs of each version apart; a backup is checked by those of its own.
PATH=/usr/lib/postgresql/$(cat "$backup/PG_VERSION")/bin:$PATH
[ -z "${PG_BIN:-}" ] || PATH=$PG_BIN:$PATH
pg_verifybackup --quiet "$backup"

umask 077
mkdir -p "$data"
cp -a "$backup/." "$data/"
chmod 700 "$data"
# What was said on the server that is gone, ALTER SYSTEM and archiving included, stays; later lines win. So each target is said, if
# only to be none: a server that was restored itself has another one here. A piece that is not there ends the replay; one that is and
# cannot be read must not, and above 125 a failure is no end.
{
  echo "restore_command = 'test -d \"$wal\" || exit 255; test -e \"$wal/%f\" || exit 1; cp \"$wal/%f\" \"%p\" || exit 255'"
  echo "recovery_target_timeline = '${timeline:-latest}'"
  echo "recovery_target_action = 'promote'"
  for target in '' _name _xid _lsn; do echo "recovery_target$target = ''"; done
  echo "recovery_target_time = '$time'"
} >>"$data/postgresql.auto.conf"
rm -f "$data/standby.signal"
touch "$data/recovery.signal"
sync
echo "$data is laid out: start PostgreSQL on it, and wait until 'select pg_is_in_recovery()' is false"
