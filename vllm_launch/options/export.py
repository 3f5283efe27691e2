"""The options of export: each one's help begins with the targets that it is for."""

from __future__ import annotations

from .option import Option

TARGETS = ("slurm", "kubernetes", "compose", "systemd", "vllm-config")
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
