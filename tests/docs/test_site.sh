#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_site.sh STEP SITE: the documents' site, in the folder SITE.
#   site      it builds, and no link of it is dead (links.py)
#   browser   in a real browser: no page scrolls sideways in a window of 400 pixels, and pages are drawn; CJ_SCREENSHOTS=DIR keeps the pictures
# Skipped (exit code 77) where there is no markdown-it-py, or no Chromium.
set -euo pipefail

step=$1 site=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

do_site() {
    local rc=0
    "$root/docs/build" "$site" || rc=$?
    if [ $rc = 3 ]; then exit 77; fi  # docs/build has said what is missing
    [ $rc = 0 ] || exit 1
    "${CJ_PYTHON:-python3}" "$here/links.py" "$site"
}

do_browser() {
    local browser
    browser=$(command -v chromium || command -v chromium-headless-shell || command -v google-chrome) || { echo "skipped: no Chromium"; exit 77; }
    [ -e "$site/index.html" ] || { echo "skipped: the site was not built"; exit 77; }
    {
        sed '/^PAGES$/,$d' "$here/widths.html"
        (cd "$site" && find . -name '*.html' ! -path './source/*' ! -name widths.html | sort | sed 's/.*/"&",/')
        sed '1,/^PAGES$/d' "$here/widths.html"
    } >"$site/widths.html"
    profile=$(mktemp -d)
    trap 'rm -rf "$profile" "$site/widths.html"' EXIT
    timeout 150 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$profile" --allow-file-access-from-files \
        --window-size=400,900 --virtual-time-budget=600000 --dump-dom "file://$site/widths.html" 2>/dev/null >"$profile/dom"
    grep -E '^(FAIL: [^$]|[0-9]+ pages are)' "$profile/dom" | sed 's/<.*//'
    grep -qE '^[0-9]+ pages are no wider' "$profile/dom"
    local pictures=${CJ_SCREENSHOTS:-$profile}
    mkdir -p "$pictures"
    for page in index families/softmax why_did_my_launch_fail tutorial/10_pipeline; do
        for width in 400 1280; do draw "$page" $width "$pictures/${page//\//_}_$width.png"; done
    done
}

# A picture of a page. What is blank takes a few hundred bytes as PNG.
draw() {
    local page=$1 width=$2 picture=$3
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" --window-size="$width,1600" \
        --screenshot="$picture" "file://$site/$page.html" 2>/dev/null
    [ "$(stat -c %s "$picture")" -gt 20000 ] || { echo "FAIL: $page in $width pixels is drawn as $(stat -c %s "$picture") bytes"; exit 1; }
}

"do_$step"
