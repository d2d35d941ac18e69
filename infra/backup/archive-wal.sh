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

# What a call left that was killed, which none but SIGKILL and a crash does.
rm -f "$folder/.$name".*
if [ -e "$folder/$name" ]; then
  # Perhaps of a call that did not get to the end.
  cmp -s "$path" "$folder/$name" && sync "$folder" && exit 0
  echo "archive-wal: $folder/$name is there and differs" >&2
  exit 1
fi

umask 077
draft=$folder/.$name.$$
trap 'rm -f "$draft"' EXIT
trap 'exit 143' HUP INT TERM
cp "$path" "$draft"
sync "$draft"
# A link fails where the name was taken meanwhile; a rename would not.
ln "$draft" "$folder/$name"
sync "$folder"
