#!/bin/sh
# A copy of the whole database as it runs, checked, and old ones removed. With the pieces that archive-wal.sh keeps it can be brought
# to any moment since: restore.sh. Run nightly, and before every upgrade.
#
#   base-backup.sh FOLDER
#
# The server and its user come from PGHOST, PGPORT, PGUSER and PGPASSFILE; the user needs REPLICATION, and owns the tables or is a
# superuser: it tells the database PGDATABASE (svc) that there is a backup, so that somebody hears when there is none. Keep FOLDER on another
# machine's encrypted disk, and the keys, which open what is sealed in it, on yet another.
#
#   KEEP=7      backups that stay
#   WAL=DIR     the archive of archive-wal.sh: pieces that no backup needs any more are removed
#   PG_BIN=DIR  where pg_basebackup and pg_verifybackup are, if neither on the path nor where Debian has them
set -eu

[ $# -eq 1 ] || { echo "usage: base-backup.sh FOLDER" >&2; exit 64; }
folder=$1
keep=${KEEP:-7}
case $keep in '' | *[!0-9]* | 0) echo "base-backup: KEEP=$keep is no number from 1" >&2; exit 64 ;; esac
# Debian keeps the programs of each version apart. The newest copies from older servers, too.
for dir in /usr/lib/postgresql/*/bin; do PATH=$dir:$PATH; done
[ -z "${PG_BIN:-}" ] || PATH=$PG_BIN:$PATH

umask 077
mkdir -p "$folder"
# What a run left that was killed.
find "$folder" -mindepth 1 -maxdepth 1 -name '.*.partial' -mtime +0 -exec rm -rf {} +
name=$(date -u +%Y%m%dT%H%M%SZ)
draft=$folder/.$name.partial
# Not another run's of the same second.
mkdir "$draft"
trap 'rm -rf "$draft"' EXIT
# An end by a signal is none that the line above hears of.
trap 'exit 143' HUP INT TERM

pg_basebackup --pgdata="$draft" --format=plain --wal-method=stream --checkpoint=fast \
  --label="svc $name" --manifest-checksums=SHA256 --no-password
# What checks it reads the log, so it is of the version that wrote it.
[ -n "${PG_BIN:-}" ] || PATH=/usr/lib/postgresql/$(cat "$draft/PG_VERSION")/bin:$PATH
pg_verifybackup --quiet "$draft"
mv "$draft" "$folder/$name"
sync

# Names sort by their time.
remove=$(find "$folder" -mindepth 1 -maxdepth 1 -type d -name '2*Z' | sort -r | tail -n +$((keep + 1)))
for old in $remove; do rm -rf "$old"; done
oldest=$(find "$folder" -mindepth 1 -maxdepth 1 -type d -name '2*Z' | sort | head -n 1)

if [ -n "${WAL:-}" ]; then
  first=$(sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\))$/\1/p' "$oldest/backup_label")
  [ -n "$first" ] || { echo "base-backup: $oldest/backup_label names no piece" >&2; exit 1; }
  pg_archivecleanup "$WAL" "$first"
fi

# A schema from before it was told of backups has nowhere to keep that.
psql --no-psqlrc --quiet --no-password --set=ON_ERROR_STOP=1 --dbname="${PGDATABASE:-svc}" >&2 <<SQL || {
do \$\$ begin
  if to_regclass('svc.base_backup') is not null then
    insert into svc.base_backup (name) values ('$name')
      on conflict (only_one) do update set name = excluded.name, finished_at = now();
  end if;
end \$\$;
SQL
  echo "base-backup: $folder/$name is made, and the database was not told" >&2
  exit 1
}
echo "$folder/$name"
