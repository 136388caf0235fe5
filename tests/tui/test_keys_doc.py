import pytest

from data.settings import FACE_KEYS, TAKEN_KEYS, Settings, face_key_problem
from tui.actions import REGISTRY
from tui.keys_doc import PATH, text
from tui.registry import is_function_key, key_name

STEERING = {"enter", "escape", "tab", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "ctrl+c"}
"""Keys of lists and dialogs, which cannot be given away."""


def test_the_page_of_keys_is_as_the_registry_says() -> None:
    assert PATH.read_text(encoding="utf-8") == text(), "docs/keys.md is stale: python -m tui.keys_doc"


def test_every_key_of_ours_can_be_given_to_another_action() -> None:
    ours = {key for action in REGISTRY.actions for key in action.keys} - STEERING
    shown = {key if key.startswith("ctrl+") or is_function_key(key) else key_name(key) for key in ours}
    assert shown <= set(FACE_KEYS)


def test_keys_that_never_arrive_are_refused_with_who_takes_them() -> None:
    for key in (*TAKEN_KEYS, "alt+x", "ctrl+ö", "F5", "", "enter"):
        assert face_key_problem(key), key
        with pytest.raises(ValueError, match="use a, b, c") as refused:
            Settings.model_validate({"keys": {"face": {"sessions": f"b,{key}"}}})
        assert face_key_problem(key) in str(refused.value)
    assert face_key_problem("ctrl+b") == "tmux takes it"
    assert face_key_problem("b") == ""
