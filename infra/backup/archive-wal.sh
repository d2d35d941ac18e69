#!/bin/sh
# Keeps one finished piece of the write-ahead log. PostgreSQL calls it and repeats the call until it succeeds:
#   archive_mode = on
#   archive_command = '/usr/lib/svc/backup/archive-wal.sh %p %f /var/backups/svc/wal'
#   archive_timeout = 60          # what is lost at most, in seconds, when the disk is
# A piece that is there already is no error when it is the same, and never written over when it is not.
set -eu

[ $# -eq 3 ] || { echo "usage: archive-wal.sh PATH NAME FOLDER" >&2; exit 64; }
path=$1 name=$2 folder=$3

case $name in
*[!A-Za-z0-9.]* | '' | .*) echo "archive-wal: $name is no name of a piece" >&2; exit 64 ;;
esac

if [ -e "$folder/$name" ]; then
  cmp -s "$path" "$folder/$name" && exit 0
  echo "archive-wal: $folder/$name is there and differs" >&2
  exit 1
fi

umask 077
draft=$folder/.$name.$$
trap 'rm -f "$draft"' EXIT
cp "$path" "$draft"
sync "$draft"
# A link fails where the name was taken meanwhile; a rename would not.
ln "$draft" "$folder/$name"
sync "$folder"
