"""Settings: frozen, validated, and the same after a round trip through config.toml."""

import pytest
from pydantic import ValidationError

from srlite.config import Settings, merged, read_settings, settings_from, settings_toml
from srlite.errors import InputError


def test_the_defaults_are_the_papers():
    s = Settings()
    assert (s.sampling.group, s.schedule.rounds, s.schedule.epochs, s.schedule.batch_pairs) == (16, 5, 2, 8)
    assert (s.schedule.learning_rate, s.grpo.clip, s.grpo.beta, s.grpo.delta) == (1e-5, 0.2, 0.04, 1e-4)
    assert s.sampling.temperature == s.sampling.top_p == 1.0 and s.sampling.max_new_tokens == 128
    assert s.reward.terms == ("outcome", "unrelated", "relevance", "quality")
    assert s.schedule.mismatched_share == 0.25


def test_a_round_trip_through_toml(tmp_path):
    settings = settings_from(
        {"seed": 3, "reward": {"terms": ["outcome"]}, "judge": {"thresholds": {"met": 0.3}}, "split": {"how": "site"}},
        where="x",
    )
    (tmp_path / "config.toml").write_text(settings_toml(settings))
    assert read_settings(tmp_path / "config.toml") == settings


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"sampling": {"group": 1}}, "sampling.group"),
        ({"video": {"frames": 7}}, "video.frames"),
        ({"sampling": {"temprature": 1.0}}, "sampling.temprature"),
        ({"reward": {"terms": ["beauty"]}}, "reward.terms"),
        ({"schedule": {"learning_rate": float("nan")}}, "schedule.learning_rate"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(values, name):
    with pytest.raises(InputError, match=name):
        settings_from(values, where="config.toml")


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        Settings().seed = 1


def test_merged_keeps_what_is_not_given():
    assert merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 4}}) == {"a": {"b": 1, "c": 4}, "d": 3}
