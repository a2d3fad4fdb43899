"""`srlite init`: what a clinic begins with. Two example rows, a catalogue of one's own items, settings, one page of advice."""

from __future__ import annotations

from pathlib import Path

from srlite.config import settings_template
from srlite.errors import UsageError
from srlite.files import private_folder, write_private

ITEMS_CSV = """\
video,item,outcome,child,sex,age_months,site,description
2026/c001_walks.mp4,18_4,pass,c001,female,18,north,
2026/c002_walks.mp4,18_4,fail,c002,male,19,north,turned round and walked forward
"""

ITEMS_TOML = """\
# Your items. The code stands in the column `item` of items.csv, in quotes here: "18_4" is text, not a number.
# What may be given besides: duration_s, needs_audio, related (codes that are never taken as unrelated), paraphrases.

[items."18_4"]
name = "walks backward"
criterion = "The child takes at least two steps backward."
guidance = "Film from the side with the whole body in view."
evidence = "the way the child faces and the way the child moves"
age_months = 18
domain = "gross motor"        # gross motor, fine motor, language, personal-social, adaptive
temporal = true               # order, direction or duration decides
directed = true               # run backward it is no longer met
"""

SETTINGS_HEAD = """\
# Settings of srlite. Every line that begins with # and a name shows a default: take the # away to change it.
# A preset (models.toml) sets some of them for its card; what stands here wins over the preset, an option over both.

"""

HOW_TO = """\
# How to film and label

## Film
- One item a clip, one child in the picture, 3 to 20 seconds. Begin before the child does, end after.
- Camera still, at the child's height, the whole body or (for fine motor items) both hands and the object in view.
- From the side for walking and rolling, from the front for balance and pointing. Nobody between camera and child.
- Light from behind the camera. A phone is good enough; hold it either way up.
- An attempt that fails is worth as much as one that succeeds: keep it, all of it.
- A child does not do it at all? Keep filming for as long as the item takes, child and object in view.

## Label
- One row of items.csv for each clip and item. `video` is the path below the folder of the videos.
- `outcome` is what the clinician found: pass or fail. Not sure, or the clip does not show it (somebody stands before the child,
  the child is out of the picture)? Leave it empty: such rows are left out and counted. From a clip that shows nothing, a model
  can only learn to guess.
- `child` is a code of yours, never a name. With it no child is both trained on and tested on.
- The same code always means the same child; one clip shows one child.
- Format the columns `item` and `child` as Text in the spreadsheet before typing: 12-4 must not become 4 December.
- Save as CSV (UTF-8). Comma, semicolon and tab are all understood.
- You need passes and fails of at least two children for each item before it can be tested; some fifty clips an item
  before much can be learnt.

## Then
    srlite check items.csv videos --catalogue items.toml       what is wrong, before anything long begins
    srlite train items.csv videos --catalogue items.toml
    srlite evaluate items.csv videos --catalogue items.toml --compare base
    srlite assess CLIP --item CODE

Consent for filming covers what it was given for. Clips, settings, descriptions and runs stay on this machine; srlite sends
nothing anywhere. It is an observation aid for research and pilots, not a diagnostic device.
"""


def begin(folder: Path) -> tuple[Path, ...]:
    """Write the beginning of a data set; returns the files. Raises UsageError when something is there already."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("the folder is not empty", where=str(folder), remedy="Give another folder: nothing is written over.")
    texts = {
        "items.csv": ITEMS_CSV,
        "items.toml": ITEMS_TOML,
        "srlite.toml": SETTINGS_HEAD + settings_template(),
        "HOW-TO.md": HOW_TO,
    }
    private_folder(folder / "videos")
    for name, text in texts.items():
        write_private(folder / name, text)
    return tuple(folder / name for name in texts)
