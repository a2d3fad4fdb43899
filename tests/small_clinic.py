"""The clinic of four items that jobs are tested on, and settings that train on it in seconds."""

ITEMS = ("18_4", "18_3", "6_3", "12_4")
SMALL = {
    "schedule": {"rounds": 1, "slice_pairs": 6, "batch_pairs": 3},
    "sampling": {"group": 4, "max_new_tokens": 30, "pairs": 4},
    "split": {"how": "per-item", "test_fraction": 0.3, "validation_fraction": 0.2},
    "threads": 1,
    "models": {"device": "cpu"},
}
