"""Records: frozen, keyword-only, equal by value, and exact about their fields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolve.build import arguments
from vllm_launch.model.deployment import ProcessPlan
from vllm_launch.model.problem import Problem
from vllm_launch.model.record import Record
from vllm_launch.model.source import Source


class Point(Record):
    x: int
    y: int = 0


class Named(Point):
    name: str = ""
    y: int = 7  # a default of its own


numbers = st.integers()
points = st.builds(lambda x, y: Point(x=x, y=y), numbers, numbers)


def test_defaults_fill_what_is_left_out() -> None:
    assert repr(Point(x=1)) == "Point(x=1, y=0)"


def test_a_record_has_its_parents_fields_and_its_own_defaults() -> None:
    named = Named(x=1, name="n")
    assert (named.x, named.y, named.name) == (1, 7, "n")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({}, "Point needs 'x'", id="missing"),
        pytest.param({"y": 1}, "Point needs 'x'", id="missing beside another"),
        pytest.param({"x": 1, "z": 2}, "Point has no field z", id="unknown for a default"),
        pytest.param({"x": 1, "y": 1, "z": 2}, "Point has no field z", id="unknown, too many"),
        pytest.param({"z": 1}, "Point has no field z", id="unknown and missing"),
        pytest.param({"x": 1, "b": 2, "a": 3}, "Point has no field b, a", id="several unknown"),
    ],
)
def test_fields_must_be_the_records_own(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        Point(**fields)
    assert str(caught.value) == message


def test_fields_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        Point(1, 2)  # type: ignore[call-arg]


@pytest.mark.parametrize("field", ["x", "other"])
def test_nothing_can_be_set_or_deleted(field: str) -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match=f"Point is frozen: cannot set '{field}'"):
        setattr(point, field, 2)
    with pytest.raises(AttributeError, match=f"Point is frozen: cannot delete '{field}'"):
        delattr(point, field)
    assert point == Point(x=1)


def test_a_record_has_no_dictionary() -> None:
    assert not hasattr(Point(x=1), "__dict__")
    assert not hasattr(Named(x=1), "__dict__")


@given(numbers, numbers)
def test_records_are_equal_by_value_and_so_are_their_hashes(x: int, y: int) -> None:
    assert Point(x=x, y=y) == Point(y=y, x=x)
    assert hash(Point(x=x, y=y)) == hash(Point(y=y, x=x))
    assert (Point(x=x, y=y) == Point(x=y, y=x)) == (x == y)


@given(points)
def test_another_class_is_never_equal(point: Point) -> None:
    assert point != Named(x=point.x, y=point.y)
    assert point != (point.x, point.y)


@given(points, numbers)
def test_replace_makes_a_copy_with_some_fields_changed(point: Point, x: int) -> None:
    before = (point.x, point.y)
    assert point.replace(x=x) == Point(x=x, y=point.y)
    assert point.replace() == point
    assert (point.x, point.y) == before


def test_replace_refuses_unknown_fields() -> None:
    with pytest.raises(TypeError, match="Point has no field z"):
        Point(x=1).replace(z=1)


class TestProcessPlan:
    """What a plan says of its own arguments."""

    FIRST, SECOND, THIRD = (Source(layer=name) for name in ("first", "second", "third"))

    def plan(self, *tokens: str) -> ProcessPlan:
        held = arguments(*tokens)
        return ProcessPlan(
            role="server",
            rank=0,
            model="m",
            arguments=held,
            layers=held,
            variables=(),
            variable_layers=(),
        )

    @pytest.mark.parametrize(
        ("tokens", "value"),
        [
            pytest.param(["--port", "9000"], "9000", id="the next word"),
            pytest.param(["--port=9000"], "9000", id="behind an equals sign"),
            pytest.param(["--port="], "", id="an empty one"),
            pytest.param(["--port", "--x"], None, id="none"),
            pytest.param(["--portal", "9000", "--port-x=1"], None, id="of longer flags"),
            pytest.param([], None, id="absent"),
        ],
    )
    def test_value_is_the_flags(self, tokens: list[str], value: str | None) -> None:
        assert self.plan(*tokens).value("--port") == value

    def test_beaten_names_the_losers_the_nearest_first(self) -> None:
        first = arguments("--a", "1", source=self.FIRST)
        second = arguments("--a=2", "--b", source=self.SECOND)
        third = arguments("--a", "3", source=self.THIRD)
        plan = self.plan().replace(layers=(*first, *second, *third), arguments=third)
        assert plan.beaten(third[0]) == (second[0], first[0])

    def test_beaten_variables_are_those_of_the_name(self) -> None:
        layers = (("A", "1", self.FIRST), ("B", "2", self.SECOND), ("A", "3", self.THIRD))
        plan = self.plan().replace(variable_layers=layers)
        assert plan.beaten_variables(layers[2]) == (layers[0],)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (Source(layer="operator"), "operator"),
        (Source(layer="a.b", file="f.yaml", line=3), "f.yaml:3  a.b"),
        (Source(layer="a", file="f", line=1, detail="TP 4"), "f:1  a  TP 4"),
    ],
    ids=["no file", "a place", "with a detail"],
)
def test_a_source_reads_as_place_layer_and_detail(source: Source, text: str) -> None:
    assert str(source) == text


@pytest.mark.parametrize(
    ("changes", "text"),
    [({}, "f:1:2: a.b: wrong (so)"), ({"path": ""}, "f:1:2: wrong (so)"),
     ({"hint": ""}, "f:1:2: a.b: wrong")],
    ids=["all", "the whole file", "no hint"],
)  # fmt: skip
def test_a_problem_reads_as_place_path_message_and_hint(changes: dict[str, Any], text: str) -> None:
    problem = Problem(file="f", line=1, column=2, path="a.b", message="wrong", hint="so")
    assert str(problem.replace(**changes)) == text
