"""The options that several commands have, in groups."""

from __future__ import annotations

from .option import Option

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
    Option(name="prefill_port", flags=("--prefill-port",), metavar="N", kind="port",
           help="The prefill servers' HTTP port, for them and for whatever asks them."),
    Option(name="decode_port", flags=("--decode-port",), metavar="N", kind="port",
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
    Option(name="port", flags=("--port",), metavar="N", kind="port",
           help="The server's HTTP port."),
    Option(name="host", flags=("--host",), metavar="ADDR",
           help="The address that the server listens on."),
    Option(name="env", flags=("-e", "--env"), metavar="K=V", many=True,
           help="Set a variable; NAME alone passes on the one that is set."),
    Option(name="name", flags=("--name",), metavar="NAME",
           help="The container's name; with --wait and --detach the server's."),
    Option(name="hardened", flags=("--hardened",), kind="flag",
           help="A container with only the capabilities that the plan needs."),
)  # fmt: skip

CHECKS = (
    Option(name="skip", flags=("--skip",), metavar="CODE", many=True, completes="check",
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
    help="The running server; by default the model's in the background, else http://localhost:8000.",
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
# check compares machines: one file for each.
CHOICE_OF_MACHINES = tuple(
    option.replace(
        many=True,
        help="Plan for the machine whose facts 'detect --save' wrote; of several, one a node, "
        "compare them too.",
    )
    if option.name == "host_facts"
    else option
    for option in CHOICE
)
