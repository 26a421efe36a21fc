#!/bin/sh
# Say plainly, at the top of pip-audit's report, how many packages were checked at all: where it can't reach its
# database, pip-audit itself says "No known vulnerabilities found". Usage: audit_report.sh FOLDER
folder=$1
all=$(grep -c . "$folder/packages.txt")
[ -f "$folder/report.md" ] || : > "$folder/report.md"
skipped=$(grep -c 'could not be audited' "$folder/report.md")
if [ ! -f "$folder/ran" ]; then
    said="NOTHING WAS CHECKED: pip-audit did not run to its end. $all packages are installed (packages.txt)."
elif [ "$skipped" -ge "$all" ]; then
    said="NOTHING WAS CHECKED: the database of known vulnerabilities can't be reached from here. $all packages are installed (packages.txt)."
elif [ "$skipped" -gt 0 ]; then
    said="$skipped of $all installed packages could not be checked; the others were."
else
    said="All $all installed packages were checked."
fi
rm -f "$folder/ran"
{ echo "$said"; echo; cat "$folder/report.md"; } > "$folder/report.new" && mv "$folder/report.new" "$folder/report.md"
