"""The merge order: of any two layers, the later one wins, and where it stands tells so."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from tests.resolve.build import arguments, deploy, flags, recipe, server, variables
from vllm_launch.model.deployment import ProcessPlan


class Layer(NamedTuple):
    """One layer of the merge order, and the key that it stands under."""

    name: str
    place: str  # "" for what the launcher computes itself


def in_order(*layers: str) -> list[Layer]:
    return [Layer(*(part.strip() for part in layer.split(" @ "))) for layer in layers]


ARGUMENTS = in_order(
    "model @ recipe.model.base_args",
    "variant @ recipe.variants.default.extra_args",
    "variant-exact-gpu @ recipe.variants.default.hardware_overrides.b200.extra_args",
    "strategy @ strategy.vllm_args",
    "parallelism @ ",
    "override-extra-args @ recipe.strategy_overrides.single_node_tp.extra_args",
    "override-vllm-args @ recipe.strategy_overrides.single_node_tp.vllm_args",
    "generation @ recipe.hardware_overrides.blackwell.extra_args",
    "variant-generation @ recipe.variants.default.hardware_overrides.blackwell.extra_args",
    "override-generation @ "
    "recipe.strategy_overrides.single_node_tp.hardware_overrides.blackwell.extra_args",
    "override-exact-gpu @ "
    "recipe.strategy_overrides.single_node_tp.hardware_overrides.b200.extra_args",
    "feature @ recipe.features.first.args",
    "next-feature @ recipe.features.second.args",
    "mode @ recipe.features.third.modes.only.args",
    "kv-offload @ option.args",
    "kv-store @ store.vllm.vllm_args",
    "preset @ recipe.presets.tuned.args",
    "point @ recipe.presets.tuned.points.c1.args",
    "operator @ request.args",
)
VARIABLES = in_order(
    "model @ recipe.model.base_env",
    "variant @ recipe.variants.default.extra_env",
    "variant-exact-gpu @ recipe.variants.default.hardware_overrides.b200.extra_env",
    "strategy @ strategy.env",
    "kv-offload @ option.env",
    "kv-store @ store.vllm.env",
    "placement @ ",
    "override-env @ recipe.strategy_overrides.single_node_tp.env",
    "override-extra-env @ recipe.strategy_overrides.single_node_tp.extra_env",
    "generation @ recipe.hardware_overrides.blackwell.extra_env",
    "variant-generation @ recipe.variants.default.hardware_overrides.blackwell.extra_env",
    "override-generation @ "
    "recipe.strategy_overrides.single_node_tp.hardware_overrides.blackwell.extra_env",
    "override-exact-gpu @ "
    "recipe.strategy_overrides.single_node_tp.hardware_overrides.b200.extra_env",
    "feature @ recipe.features.first.env",
    "mode @ recipe.features.third.modes.only.env",
    "preset @ recipe.presets.tuned.env",
    "point @ recipe.presets.tuned.points.c1.env",
    "operator @ request.env",
)
ROLE_ARGUMENTS = in_order(
    "model @ recipe.model.base_args",
    "variant @ recipe.variants.default.extra_args",
    "variant-exact-gpu @ recipe.variants.default.hardware_overrides.b200.extra_args",
    "strategy-role @ strategy.prefill.vllm_args",
    "parallelism @ ",
    "override-role-extra-args @ recipe.strategy_overrides.pd_cluster.prefill.extra_args",
    "override-role @ recipe.strategy_overrides.pd_cluster.prefill.vllm_args",
    "generation @ recipe.hardware_overrides.blackwell.extra_args",
    "variant-generation @ recipe.variants.default.hardware_overrides.blackwell.extra_args",
    "override-generation @ "
    "recipe.strategy_overrides.pd_cluster.hardware_overrides.blackwell.extra_args",
    "override-exact-gpu @ recipe.strategy_overrides.pd_cluster.hardware_overrides.b200.extra_args",
    "role-exact-gpu @ "
    "recipe.strategy_overrides.pd_cluster.prefill.hardware_overrides.b200.extra_args",
    "feature @ recipe.features.first.args",
    "kv-store-role @ store.pd.prefill.args",
    "preset @ recipe.presets.tuned.args",
    "point @ recipe.presets.tuned.points.c1.args",
    "operator @ request.args",
)
ROLE_VARIABLES = in_order(
    "model @ recipe.model.base_env",
    "variant @ recipe.variants.default.extra_env",
    "variant-exact-gpu @ recipe.variants.default.hardware_overrides.b200.extra_env",
    "strategy-role @ strategy.prefill.env",
    "kv-store @ store.vllm.env",
    "placement @ ",
    "override-env @ recipe.strategy_overrides.pd_cluster.env",
    "override-role @ recipe.strategy_overrides.pd_cluster.prefill.env",
    "generation @ recipe.hardware_overrides.blackwell.extra_env",
    "variant-generation @ recipe.variants.default.hardware_overrides.blackwell.extra_env",
    "override-generation @ "
    "recipe.strategy_overrides.pd_cluster.hardware_overrides.blackwell.extra_env",
    "override-exact-gpu @ recipe.strategy_overrides.pd_cluster.hardware_overrides.b200.extra_env",
    "role-exact-gpu @ "
    "recipe.strategy_overrides.pd_cluster.prefill.hardware_overrides.b200.extra_env",
    "feature @ recipe.features.first.env",
    "preset @ recipe.presets.tuned.env",
    "point @ recipe.presets.tuned.points.c1.env",
    "operator @ request.env",
)

# Of these only one is ever there: a strategy's entry for the generation REPLACES the others.
REPLACED = {
    ("generation", "override-generation"),
    ("variant-generation", "override-generation"),
}
EXCLUSIVE = {("kv-offload", "kv-store")}


def pairs(layers: list[Layer]) -> list[Any]:
    """Every two layers that can be there together, the earlier one first."""
    return [
        pytest.param(earlier, later, id=f"{later.name} beats {earlier.name}")
        for earlier, later in combinations(layers, 2)
        if (earlier.name, later.name) not in REPLACED | EXCLUSIVE
    ]


def world(strategy: str) -> dict[str, Any]:
    """Files in which every place of a layer exists, and none says anything."""
    return {
        "recipe": {
            "model": {"model_id": "org/model"},
            "variants": {"default": {"precision": "bf16", "vram_minimum_gb": 1000}},
            "features": {"first": {}, "second": {}, "third": {"modes": {"only": {}}}},
            "presets": {"tuned": {"hardware": "b200", "strategy": strategy, "points": {"c1": {}}}},
        },
        "strategy": {
            "single_node_tp": {"deploy_type": "single_node"},
            "pd_cluster": {"deploy_type": "pd_cluster", "prefill": {}, "decode": {}},
        }[strategy],
        "option": {},
        "store": {},
        "request": {"preset": "tuned", "point": "c1"},
    }


def put(files: dict[str, Any], place: str, value: Any) -> None:
    """Write a value under a key path."""
    *parents, last = place.split(".")
    for key in parents:
        files = files.setdefault(key, {})
    files[last] = value


def processes(strategy: str, layers: dict[str, Any]) -> dict[str, ProcessPlan]:
    """The processes, by role, of files that say something at these places only."""
    files = copy.deepcopy(world(strategy))
    for place, value in layers.items():
        if place:
            put(files, place, value)
    request = files["request"]
    if files["option"]:
        request["kv_offload"] = "option"
    if files["store"]:
        request["kv_offload"] = "store"
    resolver = recipe(
        files["recipe"],
        strategies={strategy: files["strategy"]},
        stores={"store": files["store"]},
        taxonomy={"kv_offload": {"option": files["option"]}},
    )
    return {plan.role: plan for plan in deploy(resolver, **request).processes}


def serving(layers: dict[str, Any]) -> ProcessPlan:
    """The one process of a single_node_tp deployment."""
    (plan,) = processes("single_node_tp", layers).values()
    return plan


def contested(flag: str, layer: Layer) -> list[str] | Any:
    """A layer's arguments: the flag that both want, then one that is the layer's own."""
    tokens = [flag, layer.name, f"--from-{layer.name}", "x"]
    return arguments(*tokens) if layer.place == "request.args" else tokens


def marks(plan: ProcessPlan, flag: str) -> list[str]:
    """What stands in a command of the flag and of the layers' own ones."""
    return [
        word
        for name, tokens, _ in plan.arguments
        for word in tokens
        if name == flag or name.startswith("--from-")
    ]


def mark(layer: Layer) -> list[str]:
    return [f"--from-{layer.name}", "x"] if layer.place else []


@pytest.mark.parametrize(("earlier", "later"), pairs(ARGUMENTS))
def test_a_later_layers_argument_wins_and_stands_at_its_place(earlier: Layer, later: Layer) -> None:
    computed = {"--tensor-parallel-size": "8"} if "" in (earlier.place, later.place) else {}
    flag = next(iter(computed), "--contested")
    plan = serving({e.place: contested(flag, e) for e in (earlier, later)})
    won = [flag, later.name if later.place else computed[flag]]
    assert marks(plan, flag) == [*mark(earlier), *won, *mark(later)]


@pytest.mark.parametrize(("earlier", "later"), pairs(ROLE_ARGUMENTS))
def test_a_later_layers_argument_wins_for_a_role(earlier: Layer, later: Layer) -> None:
    # Both pools share the node: four GPUs each.
    computed = {"--tensor-parallel-size": "4"} if "" in (earlier.place, later.place) else {}
    flag = next(iter(computed), "--contested")
    plans = processes("pd_cluster", {e.place: contested(flag, e) for e in (earlier, later)})
    won = [flag, later.name if later.place else computed[flag]]
    assert marks(plans["prefill"], flag) == [*mark(earlier), *won, *mark(later)]


def wanted(name: str, layer: Layer) -> Any:
    """A layer's variables: one that is its own, then the one that both want."""
    values = {f"FROM_{layer.name.upper().replace('-', '_')}": "x", name: layer.name}
    return variables(**values) if layer.place == "request.env" else values


def own_variable(layer: Layer) -> list[tuple[str, str]]:
    return [(f"FROM_{layer.name.upper().replace('-', '_')}", "x")] if layer.place else []


def seen(plan: ProcessPlan, name: str) -> list[tuple[str, str]]:
    return [(k, v) for k, v in plan.env.items() if k == name or k.startswith("FROM_")]


@pytest.mark.parametrize(("earlier", "later"), pairs(VARIABLES))
def test_a_later_layers_variable_wins_and_keeps_the_first_place(
    earlier: Layer, later: Layer
) -> None:
    placed = "" in (earlier.place, later.place)
    name = "CUDA_VISIBLE_DEVICES" if placed else "CONTESTED"
    layers = {e.place: wanted(name, e) for e in (earlier, later)}
    if placed:
        layers["request.devices"] = ("6", "7")
    assert seen(serving(layers), name) == [
        *own_variable(earlier),
        (name, later.name if later.place else "6,7"),
        *own_variable(later),
    ]


@pytest.mark.parametrize(("earlier", "later"), pairs(ROLE_VARIABLES))
def test_a_later_layers_variable_wins_for_a_role(earlier: Layer, later: Layer) -> None:
    placed = "" in (earlier.place, later.place)
    name = "CUDA_VISIBLE_DEVICES" if placed else "CONTESTED"
    plans = processes("pd_cluster", {e.place: wanted(name, e) for e in (earlier, later)})
    assert seen(plans["prefill"], name) == [
        *own_variable(earlier),
        (name, later.name if later.place else "0,1,2,3"),
        *own_variable(later),
    ]


@pytest.mark.parametrize(
    ("layers", "strategy"),
    [
        pytest.param(ARGUMENTS, "single_node_tp", id="arguments"),
        pytest.param(ROLE_ARGUMENTS, "pd_cluster", id="arguments of a role"),
    ],
)
def test_all_layers_together_stand_in_the_merge_order(layers: list[Layer], strategy: str) -> None:
    present = [e for e in layers if e.name not in ("kv-offload", "override-generation")]
    plans = processes(strategy, {e.place: contested("--contested", e) for e in present})
    plan = next(iter(plans.values()))
    given = [e for e in present if e.place]
    expected = [word for layer in given for word in mark(layer)]
    expected[-2:-2] = ["--contested", "operator"]
    assert marks(plan, "--contested") == expected
    names = [name for name, _, _ in plan.arguments]
    assert (
        names.index(f"--from-{present[3].name}")
        < names.index("--tensor-parallel-size")
        < names.index(f"--from-{present[5].name}")
    )


OTHERS_BLOCKS = [
    pytest.param("strategy.vllm_args", id="the strategy's own"),
    pytest.param("strategy.decode.vllm_args", id="the other role's of the strategy"),
    pytest.param("recipe.strategy_overrides.pd_cluster.extra_args", id="override's extra_args"),
    pytest.param("recipe.strategy_overrides.pd_cluster.vllm_args", id="override's vllm_args"),
    pytest.param(
        "recipe.strategy_overrides.pd_cluster.decode.vllm_args", id="the other role's override"
    ),
    pytest.param(
        "recipe.strategy_overrides.pd_cluster.decode.extra_args", id="the other role's extra_args"
    ),
    pytest.param(
        "recipe.strategy_overrides.pd_cluster.decode.hardware_overrides.b200.extra_args",
        id="the other role's exact GPU",
    ),
    pytest.param("store.vllm.vllm_args", id="the store's serving arguments"),
    pytest.param("store.pd.decode.args", id="the store's for the other role"),
]


@pytest.mark.parametrize("place", OTHERS_BLOCKS)
def test_a_role_takes_arguments_from_its_own_blocks_only(place: str) -> None:
    own_block = {"strategy.prefill.vllm_args": ["--own"]}
    plans = processes("pd_cluster", {**own_block, place: ["--foreign", "x"]})
    assert "--own" in plans["prefill"].argv
    assert "--foreign" not in plans["prefill"].argv
    assert ("--foreign" in plans["decode"].argv) == ("decode" in place)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("strategy.env", id="the strategy's own"),
        pytest.param("strategy.decode.env", id="the other role's of the strategy"),
        pytest.param("recipe.strategy_overrides.pd_cluster.extra_env", id="override's extra_env"),
        pytest.param("recipe.strategy_overrides.pd_cluster.decode.env", id="the other role's"),
        pytest.param(
            "recipe.strategy_overrides.pd_cluster.decode.hardware_overrides.b200.extra_env",
            id="the other role's exact GPU",
        ),
    ],
)
def test_a_role_takes_variables_from_its_own_blocks_only(place: str) -> None:
    plans = processes("pd_cluster", {"strategy.prefill.env": {"OWN": "x"}, place: {"NOT": "x"}})
    assert "OWN" in plans["prefill"].env
    assert "NOT" not in plans["prefill"].env
    assert ("NOT" in plans["decode"].env) == ("decode" in place)


class TestHardwareLayers:
    """Which of the blocks for a generation count."""

    GENERATION = "recipe.hardware_overrides.{}.extra_args"
    OF_VARIANT = "recipe.variants.default.hardware_overrides.{}.extra_args"
    OF_STRATEGY = "recipe.strategy_overrides.single_node_tp.hardware_overrides.{}.extra_args"

    @staticmethod
    def put_forward(layers: dict[str, list[str]]) -> list[str]:
        plan = serving(layers)
        assert plan.layers == plan.arguments  # no two blocks name the same flag here
        return [word for word in flags(plan) if word.startswith("--from")]

    @pytest.mark.parametrize("key", ["blackwell", "nvidia"])
    def test_a_strategys_entry_replaces_the_recipes_and_the_variants(self, key: str) -> None:
        assert self.put_forward(
            {
                self.GENERATION.format("blackwell"): ["--from-recipe"],
                self.OF_VARIANT.format("blackwell"): ["--from-variant"],
                self.OF_STRATEGY.format(key): ["--from-strategy"],
            }
        ) == ["--from-strategy"]

    def test_an_empty_entry_replaces_them_with_nothing(self) -> None:
        files = {
            self.GENERATION.format("blackwell"): ["--from-recipe"],
            self.OF_VARIANT.format("blackwell"): ["--from-variant"],
            self.OF_STRATEGY.format("blackwell"): [],
        }
        assert self.put_forward(files) == []

    def test_it_replaces_neither_exact_entries_nor_other_layers(self) -> None:
        assert self.put_forward(
            {
                "recipe.model.base_args": ["--from-model"],
                self.OF_VARIANT.format("b200"): ["--from-variant-exact"],
                self.OF_STRATEGY.format("blackwell"): ["--from-strategy"],
                self.OF_STRATEGY.format("b200"): ["--from-strategy-exact"],
            }
        ) == ["--from-model", "--from-variant-exact", "--from-strategy", "--from-strategy-exact"]

    def test_another_strategys_entry_replaces_nothing(self) -> None:
        other = "recipe.strategy_overrides.single_node_tep.hardware_overrides.blackwell.extra_args"
        assert self.put_forward(
            {self.GENERATION.format("blackwell"): ["--from-recipe"], other: ["--from-other"]}
        ) == ["--from-recipe"]

    @pytest.mark.parametrize("place", [GENERATION, OF_VARIANT, OF_STRATEGY])
    def test_nvidia_stands_in_for_a_missing_generation(self, place: str) -> None:
        assert self.put_forward({place.format("nvidia"): ["--from-nvidia"]}) == ["--from-nvidia"]

    @pytest.mark.parametrize("place", [GENERATION, OF_VARIANT, OF_STRATEGY])
    def test_nvidia_does_not_count_beside_the_generation(self, place: str) -> None:
        assert self.put_forward(
            {
                place.format("nvidia"): ["--from-nvidia"],
                place.format("blackwell"): ["--from-generation"],
            }
        ) == ["--from-generation"]

    @pytest.mark.parametrize("hardware", ["mi355x", "h200"])
    def test_other_generations_and_brands_get_none_of_it(self, hardware: str) -> None:
        resolver = recipe(
            """
            hardware_overrides:
              blackwell: {extra_args: [--from-blackwell], extra_env: {A: "1"}}
              nvidia: {extra_args: [--from-nvidia], extra_env: {B: "1"}}
            """
        )
        plan = server(resolver, hardware=hardware)
        assert ("--from-nvidia" in plan.argv) == (hardware == "h200")
        assert ("B" in plan.env) == (hardware == "h200")
        assert "--from-blackwell" not in plan.argv
        assert "A" not in plan.env


class TestFeatureLayers:
    """Which arguments a feature adds, and in which order features stand."""

    RECIPE = """
        features:
          a: {args: [--a], env: {A: "1"}}
          b: {args: [--b]}
          c: {args: [--c]}
    """

    @pytest.mark.parametrize(
        ("request_", "expected"),
        [
            pytest.param({}, ["--a", "--b", "--c"], id="recipe order by default"),
            pytest.param(
                {"features": (("c", None), ("a", None))}, ["--c", "--a"], id="the order given"
            ),
            pytest.param({"features": ()}, [], id="none"),
            pytest.param({"drop_features": ("b",)}, ["--a", "--c"], id="without one"),
        ],
    )
    def test_features_stand_in_order(self, request_: dict[str, Any], expected: list[str]) -> None:
        assert flags(server(recipe(self.RECIPE), **request_))[2:] == expected

    PLAIN = """
        features:
          f:
            args: [--general]
            env: {WHERE: general}
            hardware_overrides:
              blackwell: {args: [--blackwell]}
              nvidia: {args: [--nvidia], env: {WHERE: nvidia}}
              amd: {env: {WHERE: amd}}
    """

    @pytest.mark.parametrize(
        ("hardware", "flag", "where"),
        [
            pytest.param("b200", "--blackwell", "general", id="generation, before nvidia"),
            pytest.param("h200", "--nvidia", "nvidia", id="nvidia, failing the generation"),
            pytest.param("mi355x", "--general", "amd", id="variables alone"),
        ],
    )
    def test_a_plain_features_hardware_entry_replaces_its_own(
        self, hardware: str, flag: str, where: str
    ) -> None:
        plan = server(recipe(self.PLAIN), hardware=hardware)
        assert flags(plan)[2:] == [flag]
        assert plan.env == {"WHERE": where}

    MODES = """
        features:
          f:
            args: [--never]
            modes:
              m:
                args: [--general]
                hardware_overrides:
                  b200: {args: [--exact]}
                  blackwell: {args: [--generation]}
                  nvidia: {args: [--brand]}
                  default: {args: [--default]}
    """

    @pytest.mark.parametrize(
        ("hardware", "flag"),
        [("b200", "--exact"), ("gb200", "--generation"), ("h200", "--brand"),
         ("mi355x", "--default")],
    )  # fmt: skip
    def test_a_modes_most_specific_hardware_entry_replaces_its_own(
        self, hardware: str, flag: str
    ) -> None:
        assert flags(server(recipe(self.MODES), hardware=hardware))[2:] == [flag]

    PICK = """
        variants:
          default: {precision: bf16}
          other: {precision: bf16, default_modes: {f: of_variant}}
        features:
          f:
            default_mode: usual
            modes:
              first: {args: [--first]}
              usual: {args: [--usual], hardware: {hopper: unsupported}}
              of_variant: {args: [--of-variant], variants: [other], hardware: {amd: unsupported}}
              asked: {args: [--asked], hardware: {b300: unsupported}}
    """

    @pytest.mark.parametrize(
        ("variant", "hardware", "mode", "flag"),
        [
            pytest.param("other", "b200", "asked", "--asked", id="the operator's pick"),
            pytest.param("other", "b200", None, "--of-variant", id="then the variant's"),
            pytest.param("default", "b200", None, "--usual", id="then the default one"),
            pytest.param("default", "h200", None, "--first", id="then the first allowed"),
            pytest.param("other", "mi355x", None, "--usual", id="the variant's is unsupported"),
            pytest.param("default", "b200", "of_variant", "--usual", id="of another variant"),
            pytest.param("other", "b300", "asked", "--of-variant", id="unsupported on the GPU"),
        ],
    )
    def test_a_feature_adds_exactly_one_mode(
        self, variant: str, hardware: str, mode: str | None, flag: str
    ) -> None:
        plan = server(
            recipe(self.PICK), variant=variant, hardware=hardware, features=(("f", mode),)
        )
        assert flags(plan)[2:] == [flag]

    def test_a_feature_for_other_strategies_adds_nothing(self) -> None:
        resolver = recipe(
            """
            features:
              f: {args: [--f], env: {F: "1"}, strategies: [single_node_tep, single_node_dep]}
            """
        )
        deployment = deploy(resolver)
        assert "--f" not in deployment.processes[0].argv
        assert deployment.processes[0].env == {}
        (note,) = deployment.notes
        assert note == (
            "the feature f adds nothing under single_node_tp; it is for single_node_tep, "
            "single_node_dep"
        )
        assert "--f" in server(resolver, strategy="single_node_tep").argv


class TestTuning:
    """What presets and points do beyond adding arguments."""

    RECIPE = """
        model:
          model_id: org/model
          base_args:
            - --untouched
            - '{"a": 1,  "b":2}'
            - --config
            - '{"keep": {"x": 1.50, "drop": true}, "last": "é"}'
            - --gone
            - "1"
            - --gone-too=2
        presets:
          tuned:
            hardware: h200
            strategy: single_node_tp
            tp: 4
            env: {A: preset, B: preset}
            args: [--added, preset]
            remove_args: [--gone, --gone-too]
            json_args:
              --config: {keep: {drop: null, y: 2}, new: [1]}
              --made: {deep: {er: true}}
            points:
              c1:
                tp: 2
                env: {B: point}
                args: [--added, point, --gone, back]
                json_args:
                  --config: {new: null}
              c2: {}
    """

    def test_arguments_are_removed_added_and_merged_by_preset_then_point(self) -> None:
        plan = server(recipe(self.RECIPE), preset="tuned", point="c1")
        assert flags(plan) == [
            "--untouched", '{"a": 1,  "b":2}',
            "--config", '{"keep":{"x":1.5,"y":2},"last":"é"}',
            "--tensor-parallel-size", "2",
            "--made", '{"deep":{"er":true}}',
            "--added", "point",
            "--gone", "back",
        ]  # fmt: skip
        assert plan.env == {"A": "preset", "B": "point"}

    @pytest.mark.parametrize(
        ("point", "size"), [(None, "4"), ("c2", "4"), ("c1", "2")], ids=["preset", "none", "point"]
    )
    def test_the_points_tp_goes_before_the_presets(self, point: str | None, size: str) -> None:
        plan = server(recipe(self.RECIPE), preset="tuned", point=point)
        assert plan.value("--tensor-parallel-size") == size

    def test_the_operators_tp_goes_before_both(self) -> None:
        plan = server(recipe(self.RECIPE), preset="tuned", point="c1", tp=8)
        assert plan.value("--tensor-parallel-size") == "8"

    def test_an_equals_sign_makes_the_same_flag(self) -> None:
        resolver = recipe(
            """
            model:
              model_id: org/model
              base_args: ['--config={"a": {"x": 1}}']
            presets:
              tuned:
                hardware: h200
                strategy: single_node_tp
                json_args:
                  --config: {a: {y: 2}}
            """
        )
        plan = server(resolver, preset="tuned", args=arguments("--tensor-parallel-size=4"))
        assert flags(plan) == [
            "--config", '{"a":{"x":1,"y":2}}', "--tensor-parallel-size=4",
        ]  # fmt: skip

    SELECT = """
        features:
          a: {args: [--a]}
          b: {args: [--b]}
          c:
            modes:
              one: {args: [--one]}
              two: {args: [--two]}
        opt_in_features: [b]
        presets:
          tuned:
            hardware: h200
            strategy: multi_node_tp
            select: {features: {a: false, b: true, c: two}, kv_offload: simple, nodes: 3}
            points:
              c1:
                select: {features: {b: false, c: one}, kv_offload: "off", nodes: 2}
              c2: {}
    """

    @pytest.mark.parametrize(
        ("point", "picked", "offload", "nodes"),
        [
            pytest.param("c2", ["--b", "--two"], "simple", 3, id="the preset's"),
            pytest.param("c1", ["--one"], None, 2, id="the point's before the preset's"),
        ],
    )
    def test_select_picks_features_offload_and_nodes(
        self, point: str, picked: list[str], offload: str | None, nodes: int
    ) -> None:
        deployment = deploy(recipe(self.SELECT), preset="tuned", point=point)
        own = [word for word in deployment.processes[0].argv if word[:3] in ("--a", "--b", "--o")]
        assert deployment.choice.kv_offload == offload
        assert deployment.choice.nodes == nodes == len(deployment.processes)
        assert [f"--{mode or name}" for name, mode in deployment.choice.features] == picked
        assert [word for word in own if word in ("--a", "--b", "--one")] == [
            word for word in picked if word != "--two"
        ]

    def test_the_operators_features_go_before_a_presets(self) -> None:
        plan = server(
            recipe(self.SELECT),
            preset="tuned",
            add_features=(("a", None), ("c", "one")),
            drop_features=("b",),
        )
        assert [word for word in plan.argv if word in ("--a", "--b", "--one", "--two")] == [
            "--a",
            "--one",
        ]


def test_values_that_yaml_reads_as_numbers_stay_text() -> None:
    resolver = recipe('{model: {model_id: org/model, base_env: {A: "0", B: 0, C: "0.30"}}}')
    assert server(resolver).env == {"A": "0", "B": "0", "C": "0.30"}
