"""Text and place of the mistakes in options, settings and what `compile` is asked for."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

import pypto
from pypto.config import read_config


def error(name: str, *parts: str, call) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return caught.value


def config(**keys):
    return lambda: read_config(keys)


def test_unknown_key_of_a_dict_names_the_nearest():
    error(
        "unknown-option", "config has no option called 'tile_nun'", "did you mean 'tile_num'?", call=config(tile_nun=8)
    )


def test_unknown_key_of_tile_config():
    error(
        "unknown-option",
        "TileConfig has no option called 'aicore_nm'",
        "did you mean 'aicore_num'?",
        call=lambda: pypto.TileConfig(aicore_nm=8),
    )


def test_unknown_attribute_of_a_config_object():
    def assign():
        pypto.TileConfig().tile_mm = 4

    error("unknown-option", "no option called 'tile_mm'", "did you mean 'tile_m'?", call=assign)


def test_unknown_key_of_buffer_config():
    error(
        "unknown-option",
        "BufferConfig has no option called 'stratgy'",
        "did you mean 'strategy'?",
        call=lambda: pypto.BufferConfig(stratgy=1),
    )


def test_unknown_key_of_dependency():
    error(
        "unknown-option",
        "Dependency has no option called 'source_buffer'",
        "did you mean 'src_buffer'?",
        call=lambda: pypto.Dependency("a", "b", source_buffer="x"),
    )


@pytest.mark.parametrize(
    ("key", "value", "wants"),
    [
        ("tile_num", 0, "a positive whole number"),
        ("tile_num", True, "a positive whole number"),
        ("tile_m", 2.0, "a positive whole number"),
        ("shape", (4, -1), "a tuple of positive whole numbers or None"),
        ("shape", 4, "a tuple"),
        ("enable_pipeline", 1, "True or False"),
        ("dependency", "a->b", "a pypto.Dependency, BroadcastDep or GatherDep"),
        ("dependency_graph", [], "a pypto.DependencyGraph"),
        ("barrier", 1, "a pypto.BarrierConfig, a pypto.Barrier or a list of them"),
        ("buffer", "double", "a pypto.BufferConfig"),
        ("fusion_boundary", "L3", "one of GM, L1, UB"),
        ("l1_workspace_mb", -1, "a positive number of megabytes"),
        ("pto_ir_path", 3, "a path"),
        ("strategy", "DOUBLE", "a pypto.BufferStrategy"),
        ("overlap_compute_ratio", 1.5, "a number from 0 to 1"),
    ],
)
def test_wrong_values(key, value, wants):
    error("option-value", f"{key} is {value!r}", f"{key} must be {wants}", call=config(**{key: value}))


@pytest.mark.parametrize(
    "keys",
    [
        {"enable_hybrid": True},
        {"extern_kernels": ["f"]},
        {"fusion_boundary": "GM"},
        {"enable_store_clean": True},
    ],
)
def test_keys_of_later_versions_are_never_ignored(keys):
    error("later-option", "is not available in this version", f"leave {next(iter(keys))} out", call=config(**keys))


@pytest.mark.parametrize("tiles", ["3..1", "a", "", (2, 1), (1, 2, 3), -1, True, 1.0, None, "1..", "-1"])
def test_wrong_tile_ranges_of_a_dependency(tiles):
    error(
        "option-value",
        f"Dependency: src_tile_idx is {tiles!r}",
        'a tile number, "first..last", (first, last) or "*"',
        call=lambda: pypto.Dependency("a", "b", src_tile_idx=tiles),
    )


def test_wrong_stage_in_a_dependency():
    error("option-value", "src_op is 3", "the name of a stage", call=lambda: pypto.Dependency(3, "b"))


def test_config_of_a_wrong_type():
    error("config-type", "config is of type list", "pass a pypto.TileConfig", call=lambda: read_config([1]))


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        ({"shape": (4, 4), "tile_m": 4}, "shape and tile_m"),
        (
            {"dependency": pypto.Dependency("a", "b"), "dependency_graph": pypto.DependencyGraph()},
            "dependency and dependency_graph",
        ),
        (
            {"enable_double_buffer": True, "strategy": pypto.BufferStrategy.TRIPLE},
            "enable_double_buffer=True and BufferStrategy.TRIPLE",
        ),
        ({"buffer": pypto.BufferConfig(), "enable_prefetch": True}, "buffer and enable_prefetch"),
    ],
)
def test_keys_that_contradict_each_other(keys, first):
    error("option-conflict", first, "contradict each other", "give one of the two", call=config(**keys))


def test_unknown_setting():
    def scope():
        with pypto.settings(debg=1):
            pass

    error("unknown-setting", "there is no setting called 'debg'", "did you mean 'debug'?", call=scope)


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("PYPTO_DEBUG", "loud", "a whole number of at least 0"),
        ("PYPTO_NUM_THREADS", "-3", "a whole number of at least 0"),
        ("PYPTO_SPECIALIZATIONS", "0", "a whole number of at least 1"),
        ("PYPTO_VERIFY", "yes", "0 or 1"),
        ("PYPTO_VERIFY", "2", "0 or 1"),
    ],
)
def test_environment_variable_of_a_wrong_value(variable, value, wanted):
    from pypto.ir.base.settings import from_environment

    shown = int(value) if value == "2" or value.lstrip("-").isdigit() else value
    error(
        "setting-value",
        f"{variable} is {shown!r}, which is not {wanted}",
        f"set {variable} to {wanted}",
        call=lambda: from_environment({variable: value}),
    )


@pytest.mark.parametrize(
    "change", [{"debug": "2"}, {"debug": True}, {"verify": "no"}, {"verify": 1}, {"num_threads": -1}, {"cache": 3}]
)
def test_scope_with_a_wrong_value(change):
    (name,) = change

    def scope():
        with pypto.settings(**change):
            pass

    error("setting-value", f"{name} is {change[name]!r}, which is not", call=scope)


def test_empty_variables_count_as_not_set_and_folders_may_be_in_the_home_folder(tmp_path, monkeypatch):
    from pypto.ir.base.settings import Settings, current, from_environment

    names = (field.name for field in dataclasses.fields(Settings))
    assert from_environment({f"PYPTO_{name.upper()}": "" for name in names}) == Settings()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert from_environment({"PYPTO_CACHE": "~/objects"}).cache == str(tmp_path / "objects")
    with pypto.settings(dump=tmp_path, cache=""):
        assert (current().dump, current().cache) == (str(tmp_path), "off")


def test_every_number_among_the_settings_has_a_least_value():
    from pypto.ir.base.settings import _LEAST, Settings

    numbers = {field.name for field in dataclasses.fields(Settings) if type(getattr(Settings(), field.name)) is int}
    assert numbers == set(_LEAST)


def test_unknown_environment_variable_warns_with_the_nearest():
    from pypto.ir.base.settings import from_environment

    with pytest.warns(UserWarning, match="unknown setting PYPTO_DUMB: did you mean 'PYPTO_DUMP'?"):
        from_environment({"PYPTO_DUMB": "x", "HOME": "/"})


@pytest.mark.parametrize("target", ["cpu", "ascendc"])
def test_dump_folder_that_cannot_be_made(tmp_path, target):
    @pypto.tile(shape=(64,), tile_num=2)
    def double(x, out):
        out[:] = x * 2.0

    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "dump"

    def dumped():
        with pypto.settings(dump=folder):
            pypto.compile(double, target=target, shapes={"x": (128,), "out": (128,)})

    error("cannot-write", str(folder), "give a path in a folder that you may write to", call=dumped)


def test_errors_survive_pickling():
    failure = error("config-type", call=lambda: read_config(3))
    copy = pickle.loads(pickle.dumps(failure))
    assert (copy.name, str(copy)) == (failure.name, str(failure))
