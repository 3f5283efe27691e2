"""Every option of the command line: one table that the parsers, the help, the environment
variables and the config file are made from."""

from __future__ import annotations

from .model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Option(Record):
    """One option. Its environment variable is VLLM_LAUNCH_NAME, its config key NAME."""

    name: str
    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    kind: str = "text"  # "text", "count" (1 or more), "rank" (0 or more), "flag", "source", "size"
    many: bool = False  # may be given several times
    choices: tuple[str, ...] = ()
    completes: str = ""  # what a shell completes its value with

    @property
    def variable(self) -> str:
        return f"VLLM_LAUNCH_{self.name.upper()}"


class Command(Record):
    """One command: what it takes, and where its function is."""

    name: str  # "serve", "recipes list"
    help: str
    module: str  # of vllm_launch.commands
    argument: str = ""  # its positional argument
    argument_required: bool = True
    argument_many: bool = False  # it may be given several times
    argument_help: str = ""
    options: tuple[Option, ...] = ()
    passes_on: bool = False  # what follows "--" is handed to vLLM
    examples: tuple[str, ...] = ()


GLOBAL = (
    Option(
        name="recipes_dir", flags=("--recipes-dir",), metavar="DIR|FILE|URL", many=True,
        help="Recipes beside the bundled ones: a directory, a published JSON file, or the "
             "address of a synced source; the first named is the nearest.",
    ),
    Option(name="sources", flags=("--sources",), metavar="URL", kind="source", many=True,
           help="Synced sources that are looked through before the bundled recipes."),
    Option(name="config", flags=("--config",), metavar="FILE",
           help="Settings file; by default ~/.config/vllm-launch/config.yaml."),
    Option(name="debug", flags=("--debug",), kind="flag",
           help="Show the traceback of an error."),
    Option(name="no_color", flags=("--no-color",), kind="flag", help="Plain text."),
)  # fmt: skip

CHOICE = (
    Option(name="hardware", flags=("--hardware",), metavar="ID", completes="hardware",
           help="Plan for this hardware profile; without it, for the GPUs that are here."),
    Option(name="gpus", flags=("--gpus",), metavar="0,1|UUID,…",
           help="Use only these GPUs, by index or UUID."),
    Option(name="variant", flags=("--variant",), metavar="NAME", completes="variant",
           help="The checkpoint or precision to serve."),
    Option(name="strategy", flags=("--strategy",), metavar="NAME", completes="strategy",
           help="The parallelism layout."),
    Option(name="tp", flags=("--tp",), metavar="N", kind="count",
           help="Tensor parallel size on one node."),
    Option(name="nodes", flags=("--nodes",), metavar="N", kind="count",
           help="How many nodes serve together."),
    Option(name="node_rank", flags=("--node-rank",), metavar="N", kind="rank",
           help="Which of the nodes this is; the first is 0."),
    Option(name="role", flags=("--role",), metavar="ROLE",
           choices=("server", "head", "worker", "prefill", "decode", "instance", "router",
                    "store", "master", "companion", "etcd", "nats", "frontend", "proxy"),
           help="Which role's process this is."),
    Option(name="feature", flags=("-f", "--feature"), metavar="NAME[=MODE]", many=True,
           completes="feature", help="Turn a feature on, in a mode."),
    Option(name="no_feature", flags=("--no-feature",), metavar="NAME", many=True,
           completes="feature", help="Turn a feature off."),
    Option(name="preset", flags=("--preset",), metavar="NAME[:POINT]", completes="preset",
           help="A tuned configuration; it sets hardware, strategy and variant."),
    Option(name="prefill", flags=("--prefill",), metavar="NODES[:MODE]",
           help="The prefill pool of pd_cluster; MODE is tp, tep or dep."),
    Option(name="decode", flags=("--decode",), metavar="NODES[:MODE]",
           help="The decode pool of pd_cluster."),
    Option(name="prefill_port", flags=("--prefill-port",), metavar="N", kind="count",
           help="The prefill servers' HTTP port, for them and for whatever asks them."),
    Option(name="decode_port", flags=("--decode-port",), metavar="N", kind="count",
           help="The decode servers' HTTP port."),
    Option(name="frontend", flags=("--frontend",), metavar="WHAT", choices=("vllm", "dynamo"),
           help="What answers requests: vLLM's API server, or Dynamo's frontend before its "
                "workers, which a preset that ran behind it has."),
    Option(name="kv_offload", flags=("--kv-offload",), metavar="NAME", completes="kv_offload",
           help="Move KV cache to host memory, or to a shared store."),
    Option(name="instances", flags=("--instances",), metavar="N", kind="count",
           help="Instances that share a KV store."),
    Option(name="endpoint", flags=("--endpoint",), metavar="NAME=VALUE|@FILE", many=True,
           help="Fill a placeholder such as $HEAD_IP; a file has one NAME=VALUE a line."),
    Option(name="host_facts", flags=("--host-facts",), metavar="FILE",
           help="Plan for the machine whose facts 'detect --save' wrote."),
)  # fmt: skip

RUNTIME = (
    Option(name="runtime", flags=("--runtime",), metavar="KIND",
           choices=("native", "docker", "podman"),
           help="What runs the server: vllm itself, or a container engine."),
    Option(name="image", flags=("--image",), metavar="REF", help="Container image."),
    Option(name="port", flags=("--port",), metavar="N", kind="count",
           help="The server's HTTP port."),
    Option(name="host", flags=("--host",), metavar="ADDR",
           help="The address that the server listens on."),
    Option(name="env", flags=("-e", "--env"), metavar="K=V", many=True,
           help="Set a variable; NAME alone passes on the one that is set."),
    Option(name="name", flags=("--name",), metavar="NAME", help="The container's name."),
    Option(name="hardened", flags=("--hardened",), kind="flag",
           help="A container with only the capabilities that the plan needs."),
)  # fmt: skip

CHECKS = (
    Option(name="skip", flags=("--skip",), metavar="CODE", many=True,
           help="Leave a check out; 'all' leaves out every one."),
    Option(name="strict", flags=("--strict",), kind="flag", help="Let warnings fail too."),
    Option(name="deep", flags=("--deep",), kind="flag",
           help="Ask the very vLLM that will run what its parser takes, on the first time for "
                "some tens of seconds."),
)  # fmt: skip

LOCK = (
    Option(name="lock", flags=("--lock",), metavar="FILE",
           help="Write down what this launch stands on: recipe, choice, command, image, hardware."),
    Option(name="locked", flags=("--locked",), metavar="FILE",
           help="Start only what this lock holds; name every field that differs."),
)  # fmt: skip
URL = Option(
    name="url",
    flags=("--url",),
    metavar="URL",
    help="The running server; by default the model's kept one, else http://localhost:8000.",
)
MODEL_NAME = Option(
    name="model_name",
    flags=("--model-name",),
    metavar="NAME",
    help="The name that the server has for the model, where it has its own.",
)
DRY_RUN = Option(name="dry_run", flags=("--dry-run",), kind="flag",
                 help="Print what would run, and run nothing.")  # fmt: skip
OUTPUT = Option(name="output", flags=("--output", "-o"), metavar="FORM",
                choices=("shell", "json", "argv", "env"),
                help="How to print it.")  # fmt: skip
TEXT_OR_JSON = OUTPUT.replace(choices=("text", "json"))
PART_IMAGE = Option(name="part_image", flags=("--part-image",), metavar="ROLE=REF", many=True,
                    help="kubernetes, compose, systemd: the image of what runs beside the servers, "
                         "such as router=REF.")  # fmt: skip
EXPORT_SYSTEMD = (
    Option(name="program_dir", flags=("--program-dir",), metavar="DIR",
           help="systemd: the directory with vllm and vllm-router, or the container engine, on "
                "the machine; without it, where they are on this one."),
    Option(name="service_user", flags=("--service-user",), metavar="NAME",
           help="systemd: who runs the services; without it, you, and root for containers."),
)  # fmt: skip
EXPORT_KUBERNETES = (
    Option(name="namespace", flags=("--namespace",), metavar="NAME",
           help="kubernetes: the namespace of every object."),
    Option(name="secret_name", flags=("--secret-name",), metavar="NAME",
           help="kubernetes: the Secret with the variables that are passed by name."),
    Option(name="hub_cache_claim", flags=("--hub-cache-claim",), metavar="NAME",
           help="kubernetes: the PersistentVolumeClaim with the hub cache."),
    Option(name="hub_cache_path", flags=("--hub-cache-path",), metavar="DIR",
           help="kubernetes: the nodes' directory with the hub cache."),
    Option(name="gpu_resource", flags=("--gpu-resource",), metavar="NAME",
           help="kubernetes: the resource that GPUs are, such as nvidia.com/mig-3g.71gb."),
    Option(name="rdma_resource", flags=("--rdma-resource",), metavar="NAME[=N]",
           help="kubernetes: the resource that RDMA devices are, and how many a pod has."),
    Option(name="node_selector", flags=("--node-selector",), metavar="K=V", many=True,
           help="kubernetes: run servers only on nodes with this label."),
    Option(name="runtime_class", flags=("--runtime-class",), metavar="NAME",
           help="kubernetes: the RuntimeClass of pods with GPUs."),
    Option(name="resource_claim_template", flags=("--resource-claim-template",), metavar="NAME",
           help="kubernetes: claims for pods with GPUs, such as a ComputeDomain's channel."),
    Option(name="host_network", flags=("--host-network",), kind="flag",
           help="kubernetes: servers use the node's network."),
    Option(name="privileged", flags=("--privileged",), kind="flag",
           help="kubernetes: servers run with all privileges."),
    Option(name="disaggregated_set", flags=("--disaggregated-set",), kind="flag",
           help="kubernetes: both pools in one DisaggregatedSet."),
    Option(name="startup_minutes", flags=("--startup-minutes",), metavar="N", kind="count",
           help="kubernetes: how long a server may take to start."),
)  # fmt: skip
EXPORT_SLURM = (
    Option(name="time", flags=("--time",), metavar="LIMIT",
           help="slurm: the job's time limit, such as 7-0; without it the partition's."),
    Option(name="partition", flags=("--partition",), metavar="NAME",
           help="slurm: the partition."),
    Option(name="account", flags=("--account",), metavar="NAME",
           help="slurm: the account that is charged."),
    Option(name="qos", flags=("--qos",), metavar="NAME",
           help="slurm: the quality of service."),
    Option(name="constraint", flags=("--constraint",), metavar="FEATURES",
           help="slurm: features that the nodes must have."),
    Option(name="gres", flags=("--gres",), metavar="LIST",
           help="slurm: ask for GPUs by this, such as gpu:h200:8; none asks for no GPUs."),
    Option(name="pyxis", flags=("--pyxis",), kind="flag",
           help="slurm: run the servers in the image, by enroot and pyxis."),
    Option(name="submit", flags=("--submit",), kind="flag",
           help="slurm: hand the job to sbatch, and print its number."),
)  # fmt: skip
MACHINE = tuple(o for o in CHOICE if o.name in ("hardware", "gpus", "host_facts"))
SHOWN = ("hardware", "gpus", "variant", "strategy", "nodes", "feature", "no_feature", "preset",
         "kv_offload", "host_facts")  # fmt: skip
WANTED = (
    Option(name="provider", flags=("--provider",), metavar="NAME", many=True,
           help="Only models of this provider or organisation; several: of any of them."),
    Option(name="task", flags=("--task",), metavar="NAME", many=True,
           help="Only models for this task, such as text or multimodal; several: any of them."),
    Option(name="min_params", flags=("--min-params",), metavar="SIZE", kind="size",
           help="Only models of at least so many parameters, such as 30B."),
    Option(name="max_params", flags=("--max-params",), metavar="SIZE", kind="size",
           help="Only models of at most so many parameters, such as 1.5T."),
    Option(name="verified", flags=("--verified",), metavar="ID", many=True, completes="hardware",
           help="Only what was seen to run on this hardware profile; several: on each of them."),
    Option(name="fits", flags=("--fits",), kind="flag",
           help="Only what fits the GPUs that are here, or those of --hardware or --host-facts."),
    *MACHINE,
)  # fmt: skip
WAITING = (
    Option(name="wait_timeout", flags=("--timeout", "--wait-timeout"), metavar="SECONDS",
           kind="count",
           help="How long to wait until it is ready; without it, as long as its process lives, "
                "and an hour for a server of which only the address is known."),
    Option(name="request_timeout", flags=("--request-timeout",), metavar="SECONDS", kind="count",
           help="How long one answer may take before the server counts as hung; 120 without it."),
)  # fmt: skip
SUPERVISED = (
    Option(name="wait", flags=("--wait",), kind="flag",
           help="Stay, test the server once it is ready, pass signals on, and exit with its "
                "status; a server that does not hold what its recipe promises is ended."),
    Option(name="detach", flags=("--detach",), kind="flag",
           help="Start it in the background, and print the name that status, logs and stop "
                "take; with --wait, once it is tested."),
)  # fmt: skip
TARGETS = ("slurm", "kubernetes", "compose", "systemd", "vllm-config")
_MODEL = "A recipe's id, a checkpoint's, a recipe file, or a local checkpoint directory."

# check compares machines: one file for each.
_SEVERAL_FACTS = tuple(
    option.replace(
        many=True,
        help="Plan for the machine whose facts 'detect --save' wrote; of several, one a node, "
        "compare them too.",
    )
    if option.name == "host_facts"
    else option
    for option in CHOICE
)

COMMANDS = (
    Command(
        name="serve", module="serve", argument="MODEL", argument_help=_MODEL,
        help="Resolve a recipe into a command and become it.",
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
        help="Say where every flag, variable and choice comes from, and what each beat.",
        options=(*CHOICE, *RUNTIME, TEXT_OR_JSON), passes_on=True,
        examples=(
            "vllm-launch explain MiniMaxAI/MiniMax-M3 --preset mi355x_agentx:tp4_c1",
        ),
    ),
    Command(
        name="check", module="check", argument="MODEL", argument_required=False,
        argument_help=_MODEL, help="Say what would make a launch fail, before it does.",
        options=(
            *_SEVERAL_FACTS, *RUNTIME,
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
        help="Say which variants fit this host under which strategies, or what would do.",
        options=(
            *MACHINE,
            Option(name="max_model_len", flags=("--max-model-len",), metavar="TOKENS",
                   kind="count", help="Context that each request may have."),
            Option(name="concurrency", flags=("--concurrency",), metavar="N", kind="count",
                   help="Requests at a time."),
            TEXT_OR_JSON,
        ),
        examples=("vllm-launch fit MiniMaxAI/MiniMax-M3 --hardware h200",),
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
        help="Say what GPUs this host has, and which hardware profile they are.",
        options=(
            TEXT_OR_JSON,
            Option(name="save", flags=("--save",), metavar="FILE",
                   help="Write the host's facts, to plan for it elsewhere."),
            Option(name="with_hostname", flags=("--with-hostname",), kind="flag",
                   help="Put the host's name into what is written."),
        ),
        examples=("vllm-launch detect --save node7.json",),
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
            *(o for o in CHOICE if o.name in SHOWN),
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
            *(o for o in MACHINE if o.name != "gpus"),
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


def checked(option: Option, text: str) -> Any:
    """An option's value out of text. Raises ValueError with what was expected."""
    if option.kind == "flag":
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off", ""):
            return False
        raise ValueError("1 or 0")
    if option.kind in ("count", "rank"):
        least = 1 if option.kind == "count" else 0
        if not (text.isascii() and text.isdecimal() and least <= int(text[:9]) and len(text) < 9):
            raise ValueError(f"a whole number of {least} or more")
        return int(text)
    if option.kind == "size":
        from .catalog.search import parameters

        size = parameters(text)
        if size is None:
            raise ValueError("a number of parameters, such as 70B or 1.5T")
        return size
    if option.kind == "source":
        from .catalog.sources import parse

        parse(text)
    if option.choices and text not in option.choices:
        raise ValueError(", ".join(option.choices))
    if "\0" in text:
        raise ValueError("text without NUL characters")
    return text
