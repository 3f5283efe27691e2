"""Every command, with its options."""

from __future__ import annotations

from .export import EXPORT_KUBERNETES, EXPORT_SLURM, EXPORT_SYSTEMD, PART_IMAGE, TARGETS
from .groups import (
    CHECKS,
    CHOICE,
    CHOICE_OF_MACHINES,
    DRY_RUN,
    LOCK,
    MACHINE,
    MODEL_NAME,
    OUTPUT,
    RUNTIME,
    SHOWN,
    SUPERVISED,
    TEXT_OR_JSON,
    URL,
    WAITING,
    WANTED,
)
from .option import Command, Option

_MODEL = "A recipe's id, a checkpoint's, a recipe file, or a local checkpoint directory."


def _only_named(option: Option) -> Option:
    """The option where no machine is looked at unless it is named."""
    if option.name != "hardware":
        return option
    return option.replace(help="Only for this hardware profile; 'auto' for the GPUs here.")


COMMANDS = (
    Command(
        name="serve", module="serve", argument="MODEL", argument_help=_MODEL,
        help="Resolve a recipe into a command, check it, and become it.",
        options=(*CHOICE, *RUNTIME, *CHECKS, *LOCK, *SUPERVISED, *WAITING, DRY_RUN, OUTPUT),
        passes_on=True,
        examples=(
            "vllm-launch serve MiniMaxAI/MiniMax-M3.1-Flash",
            "vllm-launch serve MiniMaxAI/MiniMax-M3.1-Flash --wait",
            "vllm-launch serve MiniMaxAI/MiniMax-M3.1-Flash --detach --name flash",
            "vllm-launch serve MiniMaxAI/MiniMax-M3.1-Flash --hardware b300 --dry-run",
            "vllm-launch serve MiniMaxAI/MiniMax-M3 --preset mi355x_agentx:tp4_c1 --dry-run",
            "vllm-launch serve MiniMaxAI/MiniMax-M3 --runtime docker -- --max-model-len 65536",
        ),
    ),
    Command(
        name="explain", module="explain", argument="MODEL", argument_help=_MODEL,
        help="Say which layer and line each flag and variable is from, and why each choice.",
        options=(*CHOICE, *RUNTIME, TEXT_OR_JSON), passes_on=True,
        examples=(
            "vllm-launch explain MiniMaxAI/MiniMax-M3 --hardware h200",
            "vllm-launch explain MiniMaxAI/MiniMax-M3 --preset mi355x_agentx:tp4_c1",
        ),
    ),
    Command(
        name="check", module="check", argument="MODEL", argument_required=False,
        argument_help=_MODEL, help="Say what would make a launch fail, before it does.",
        options=(
            *CHOICE_OF_MACHINES, *RUNTIME,
            *CHECKS,
            Option(name="list", flags=("--list",), kind="flag", help="List the checks."),
            Option(name="fix", flags=("--fix",), kind="flag",
                   help="Print the remedies as a script; nothing is run."),
            TEXT_OR_JSON,
        ),
        passes_on=True,
        examples=(
            "vllm-launch check MiniMaxAI/MiniMax-M3.1-Flash",
            "vllm-launch check MiniMaxAI/MiniMax-M3 --hardware b300 --runtime docker",
            "vllm-launch check MiniMaxAI/MiniMax-M3 --deep",
            "vllm-launch check MiniMaxAI/MiniMax-M3 --host-facts n1.json --host-facts n2.json",
            "vllm-launch check --list",
        ),
    ),
    Command(
        name="export", module="export", argument="MODEL", argument_help=_MODEL,
        help="Write the deployment as the files of an engine that runs it.",
        options=(
            Option(name="to", flags=("--to",), metavar="TARGET", choices=TARGETS,
                   help="The engine."),
            Option(name="out", flags=("--out",), metavar="DIR",
                   help="Write the files into this directory; without it they are printed."),
            *CHOICE, *RUNTIME, PART_IMAGE, *EXPORT_KUBERNETES,
            *EXPORT_SYSTEMD, *EXPORT_SLURM,
        ),
        passes_on=True,
        examples=(
            "vllm-launch export MiniMaxAI/MiniMax-M3 --hardware h200 --nodes 2 --to slurm",
            "vllm-launch export MiniMaxAI/MiniMax-M3 --hardware h200 --to compose",
            "vllm-launch export MiniMaxAI/MiniMax-M3 --hardware h200 --to kubernetes --out files",
        ),
    ),
    Command(
        name="resolve", module="resolve",
        help="Resolve many choices: JSON lines in, JSON lines out.",
        options=(Option(name="batch", flags=("--batch",), metavar="FILE|-",
                        help="The file with the choices; - is the standard input."),),
        examples=("vllm-launch resolve --batch choices.jsonl",),
    ),
    Command(
        name="fit", module="fit", argument="MODEL", argument_help=_MODEL,
        help="Say which variants fit under which strategies, or the smallest change that would.",
        options=(
            *MACHINE,
            Option(name="max_model_len", flags=("--max-model-len",), metavar="TOKENS",
                   kind="count", help="Context that each request may have."),
            Option(name="concurrency", flags=("--concurrency",), metavar="N", kind="count",
                   help="Requests at a time."),
            TEXT_OR_JSON,
        ),
        examples=(
            "vllm-launch fit MiniMaxAI/MiniMax-M3 --hardware h200",
            "vllm-launch fit MiniMaxAI/MiniMax-M3 --host-facts node7.json --max-model-len 131072",
        ),
    ),
    Command(
        name="bench", module="bench", argument="MODEL", argument_required=False,
        argument_help=_MODEL,
        help="Measure the running server with the recipe's benchmark; compare two results.",
        options=(
            URL, MODEL_NAME,
            Option(name="label", flags=("--label",), metavar="NAME",
                   help="What the result is called; by default the time."),
            Option(name="compare", flags=("--compare",), metavar="RESULT", many=True,
                   help="Compare two results instead; given twice."),
            DRY_RUN, *CHOICE, *RUNTIME, TEXT_OR_JSON,
        ),
        passes_on=True,
        examples=(
            "vllm-launch bench MiniMaxAI/MiniMax-M3 --dry-run",
            "vllm-launch bench MiniMaxAI/MiniMax-M3 --label tp8 -- --max-concurrency 64",
            "vllm-launch bench --compare tp4.json --compare tp8.json",
        ),
    ),
    Command(
        name="client", module="client", argument="MODEL", argument_help=_MODEL,
        help="Show how the model is asked, with the recipe's settings: curl and Python.",
        options=(
            *(o for o in CHOICE if o.name == "variant"),
            URL,
            MODEL_NAME,
            OUTPUT.replace(choices=("text", "json", "curl", "python")),
        ),
        examples=(
            "vllm-launch client MiniMaxAI/MiniMax-M3",
            "vllm-launch client MiniMaxAI/MiniMax-M3 --url http://node7:8000 --output python",
        ),
    ),
    Command(
        name="verify", module="verify", argument="MODEL", argument_required=False,
        argument_help=_MODEL,
        help="Wait until a server is ready, and test what its recipe promises.",
        options=(
            URL.replace(help="The server's address; without it, where the plan has it listen."),
            *WAITING, *CHOICE, *RUNTIME,
            Option(name="strict", flags=("--strict",), kind="flag",
                   help="Let what is not as planned fail too."),
            TEXT_OR_JSON,
        ),
        passes_on=True,
        examples=(
            "vllm-launch verify MiniMaxAI/MiniMax-M3.1-Flash",
            "vllm-launch verify --url http://10.0.0.1:8000",
            "vllm-launch verify MiniMaxAI/MiniMax-M3 --url http://10.0.0.1:8000 -f text_only",
        ),
    ),
    Command(
        name="status", module="status", argument="NAME", argument_required=False,
        argument_help="A server's name; without one, all of them.",
        help="Show the servers that were started with --wait or --detach, as they are now.",
        options=(TEXT_OR_JSON,), examples=("vllm-launch status",),
    ),
    Command(
        name="logs", module="logs", argument="NAME", argument_required=False,
        argument_help="A server's name; may be left out where there is one.",
        help="Print a server's log.",
        options=(Option(name="follow", flags=("-f", "--follow"), kind="flag",
                        help="Go on until the server ends."),),
        examples=("vllm-launch logs flash --follow",),
    ),
    Command(
        name="stop", module="stop", argument="NAME", argument_required=False,
        argument_help="A server's name; may be left out where there is one.",
        help="End a server and forget it; forget one that has ended.",
        options=(
            Option(name="stop_timeout", flags=("--timeout", "--stop-timeout"), metavar="SECONDS",
                   kind="count",
                   help="How long it may take to answer what it was asked before; 120 without it."),
        ),
        examples=("vllm-launch stop flash", "vllm-launch stop flash --timeout 10"),
    ),
    Command(
        name="diagnose", module="diagnose", argument="LOG", argument_required=False,
        argument_help="A server's log; - is the standard input, as in docker logs NAME 2>&1 | …",
        help="Say what a server's log tells of its failure, and what to try next.",
        options=(TEXT_OR_JSON,),
        examples=(
            "vllm-launch diagnose server.log",
            "vllm-launch diagnose -",
        ),
    ),
    Command(
        name="detect", module="detect",
        help="Say what this host has, and which hardware profile that is.",
        options=(
            TEXT_OR_JSON,
            Option(name="save", flags=("--save",), metavar="FILE",
                   help="Write the host's facts, to plan for it elsewhere."),
            Option(name="with_hostname", flags=("--with-hostname",), kind="flag",
                   help="Put the host's name into what is written."),
        ),
        examples=("vllm-launch detect", "vllm-launch detect --save node7.json"),
    ),
    Command(
        name="recipes sync", module="sync", argument="URL|NAME", argument_required=False,
        argument_many=True,
        argument_help="Sources' addresses or names; without any, every source there is.",
        help="Fetch a source of recipes: a git repository, or the published JSON.",
        options=(
            Option(name="pin", flags=("--pin",), metavar="REV",
                   help="Take this commit, branch or tag, and stay at it."),
            Option(name="unpin", flags=("--unpin",), kind="flag",
                   help="Follow the newest revision again."),
            Option(name="ca", flags=("--ca",), metavar="FILE",
                   help="Trust the certificates in this file instead of the system's."),
            Option(name="timeout", flags=("--timeout",), metavar="SECONDS", kind="count",
                   help="How long a source may take; 300 without it."),
            TEXT_OR_JSON,
        ),
        examples=(
            "vllm-launch recipes sync https://github.com/vllm-project/recipes",
            "vllm-launch recipes sync github.com-vllm-project-recipes --unpin",
        ),
    ),
    Command(
        name="recipes sources", module="sources",
        help="List the sources of recipes in their order, with revision and age.",
        options=(TEXT_OR_JSON,), examples=("vllm-launch recipes sources",),
    ),
    Command(
        name="recipes list", module="recipes",
        help="List the recipes there are.",
        options=(*WANTED, TEXT_OR_JSON),
        examples=(
            "vllm-launch recipes list",
            "vllm-launch recipes list --fits --hardware rtx_pro_6000_2x",
            "vllm-launch recipes list --task multimodal --max-params 40B",
        ),
    ),
    Command(
        name="recipes search", module="recipes", argument="WORDS", argument_many=True,
        argument_help="What a recipe must have in its names, checkpoints or description.",
        help="List the recipes that have some words, the best match first.",
        options=(*WANTED, TEXT_OR_JSON),
        examples=(
            "vllm-launch recipes search glm nvfp4",
            "vllm-launch recipes search coder --verified h200",
        ),
    ),
    Command(
        name="recipes show", module="show", argument="MODEL", argument_help=_MODEL,
        help="Show one recipe: what there is to choose among, and what options lead to.",
        options=(
            Option(name="presets", flags=("--presets",), kind="flag",
                   help="Show the presets: every point, and the evidence."),
            Option(name="notes", flags=("--notes",), kind="flag", help="Show the notes."),
            Option(name="guide", flags=("--guide",), kind="flag", help="Show the guide."),
            Option(name="all", flags=("--all",), kind="flag", help="Show everything."),
            *(_only_named(o) for o in CHOICE if o.name in SHOWN),
            TEXT_OR_JSON,
        ),
        examples=(
            "vllm-launch recipes show MiniMaxAI/MiniMax-M3",
            "vllm-launch recipes show MiniMaxAI/MiniMax-M3 --hardware mi355x",
            "vllm-launch recipes show MiniMaxAI/MiniMax-M3 --presets",
            "vllm-launch recipes show MiniMaxAI/MiniMax-M3 --guide",
        ),
    ),
    Command(
        name="recipes diff", module="diff", argument="A B [MODEL]", argument_many=True,
        argument_help="Two sources (a directory, a recipe file, NAME or NAME@REVISION of a "
                      "synced source, bundled), then the recipes to compare; without, all.",
        help="Say which flags and variables change from one source, or revision, to another.",
        options=(
            *(_only_named(o) for o in MACHINE if o.name != "gpus"),
            Option(name="exit_code", flags=("--exit-code",), kind="flag",
                   help="Exit with status 4 where something changes."),
            TEXT_OR_JSON,
        ),
        examples=(
            "vllm-launch recipes diff bundled my-recipes",
            "vllm-launch recipes diff ours@previous ours --hardware h200 MiniMaxAI/MiniMax-M3",
            "vllm-launch recipes diff --exit-code old.yaml new.yaml",
        ),
    ),
    Command(
        name="recipes new", module="new", argument="ORG/MODEL",
        argument_help="The model; what its config.json says is filled in where it is at hand.",
        help="Write a recipe to begin with.",
        options=(
            Option(name="out", flags=("--out",), metavar="FILE",
                   help="Write it there; without it, it is printed."),
            Option(name="force", flags=("--force",), kind="flag",
                   help="Write over a file that is there."),
        ),
        examples=(
            "vllm-launch recipes new acme/Model-70B",
            "vllm-launch recipes new acme/Model-70B --out Model-70B.yaml",
        ),
    ),
    Command(
        name="recipes lint", module="lint", argument="PATH", argument_required=False,
        argument_many=True,
        argument_help="A recipe file or a recipes directory; without one, all that are in use.",
        help="Say what is wrong in recipes, in every combination; exit status 4 for an error.",
        options=(
            OUTPUT.replace(choices=("text", "json", "sarif")),
            next(option for option in CHECKS if option.name == "strict"),
            Option(name="fix", flags=("--fix",), kind="flag",
                   help="Mend in the files what is mechanical, and print what was changed."),
            DRY_RUN.replace(help="With --fix: print what would be changed, and change nothing."),
            Option(name="list", flags=("--list",), kind="flag", help="List the codes."),
        ),
        examples=(
            "vllm-launch recipes lint",
            "vllm-launch recipes lint --strict models/org/repo.yaml",
            "vllm-launch recipes lint --output sarif my-recipes",
            "vllm-launch recipes lint --fix --dry-run my-recipes",
        ),
    ),
)  # fmt: skip
