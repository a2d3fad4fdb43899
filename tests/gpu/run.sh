#!/usr/bin/env bash
# A whole slice on the card that is here, beside the memory plan. Wants srlite installed; some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
python tests/gpu/slice.py --json "${1:-gpu-slice.json}"
