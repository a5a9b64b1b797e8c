#!/usr/bin/env bash
# Gradescope runs this as root when it builds the image. What was in the archive is in /autograder/source.
set -euo pipefail
bash "$(dirname "$0")/install"
