"""What is said wherever results are shown to a person."""

from __future__ import annotations

NOT_A_DEVICE = "An observation aid for research and pilots, not a diagnostic device. Watch the clip; overrule where needed."
