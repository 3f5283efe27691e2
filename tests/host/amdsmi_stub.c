/* A stand-in for libamd_smi.so, so that tests run the real amdsmi: see stub.h.
 * Of the driver: count. Of a GPU: name, device, gfx, serial, uuid, bdf (an integer), total, used,
 * compute, memory, numa, driver, processes (PID:NAME:MIB,…). One left out is NotSupported.
 * The functions that this project does not call are generated: see amdsmi_stub.py. */
#define SCENARIO "AMDSMI_STUB_SCENARIO"
#include "stub.h"

typedef unsigned int u32;
enum { NOT_SUPPORTED = 2 };

EXPORT int amdsmi_init(u64 flags) { (void)flags; return called(NULL, "amdsmi_init"); }
EXPORT int amdsmi_shut_down(void) { return called(NULL, "amdsmi_shut_down"); }

EXPORT int amdsmi_get_socket_handles(u32 *count, void **out) {
    u64 sockets = 0;
    int rc = number(NULL, "amdsmi_get_socket_handles", "count", &sockets, 0);
    if (rc) return rc;
    *count = (u32)sockets;
    for (u32 i = 0; out && i < *count; i++) out[i] = HANDLE((int)i, -1);
    return 0;
}

EXPORT int amdsmi_get_processor_handles(void *socket, u32 *count, void **out) {
    *count = 1;
    if (out) *out = socket;
    return called(NULL, "amdsmi_get_processor_handles");
}

#define TEXT 256
struct asic {
    char market_name[TEXT]; u32 vendor; char vendor_name[TEXT]; u32 subvendor; u64 device;
    u32 revision; char serial[TEXT]; u32 oam, units, padding; u64 gfx; u32 subsystem, reserved[21];
} __attribute__((packed));

EXPORT int amdsmi_get_gpu_asic_info(void *gpu, struct asic *out) {
    char value[32];
    int rc = called(gpu, "amdsmi_get_gpu_asic_info");
    if (rc) return rc;
    memset(out, 0, sizeof *out);
    of(gpu, "name", out->market_name, TEXT);
    of(gpu, "serial", out->serial, TEXT);
    strcpy(out->vendor_name, "Advanced Micro Devices Inc. [AMD/ATI]");
    out->vendor = out->subvendor = 0x1002;
    out->device = strtoull(of(gpu, "device", value, sizeof value), NULL, 16);
    out->gfx = strtoull(of(gpu, "gfx", value, sizeof value), NULL, 16);
    return 0;
}

EXPORT int amdsmi_get_gpu_device_bdf(void *gpu, u64 *out) {
    return number(gpu, "amdsmi_get_gpu_device_bdf", "bdf", out, NOT_SUPPORTED);
}

EXPORT int amdsmi_get_gpu_device_uuid(void *gpu, u32 *size, char *out) {
    return words(gpu, "amdsmi_get_gpu_device_uuid", "uuid", out, *size);
}

EXPORT int amdsmi_get_gpu_memory_total(void *gpu, u32 kind, u64 *out) {
    return kind ? NOT_SUPPORTED : number(gpu, "amdsmi_get_gpu_memory_total", "total", out, NOT_SUPPORTED);
}

EXPORT int amdsmi_get_gpu_memory_usage(void *gpu, u32 kind, u64 *out) {
    return kind ? NOT_SUPPORTED : number(gpu, "amdsmi_get_gpu_memory_usage", "used", out, NOT_SUPPORTED);
}

static int mode(void *gpu, const char *function, const char *name, char *out, u32 size) {
    int rc = words(gpu, function, name, out, size);
    return rc ? rc : *out ? 0 : NOT_SUPPORTED;
}

EXPORT int amdsmi_get_gpu_compute_partition(void *gpu, char *out, u32 size) {
    return mode(gpu, "amdsmi_get_gpu_compute_partition", "compute", out, size);
}

EXPORT int amdsmi_get_gpu_memory_partition(void *gpu, char *out, u32 size) {
    return mode(gpu, "amdsmi_get_gpu_memory_partition", "memory", out, size);
}

EXPORT int amdsmi_topo_get_numa_node_number(void *gpu, u32 *out) {
    u64 node = 0;
    int rc = number(gpu, "amdsmi_topo_get_numa_node_number", "numa", &node, NOT_SUPPORTED);
    *out = (u32)node;
    return rc;
}

struct driver { char version[TEXT], date[TEXT], name[TEXT]; };

EXPORT int amdsmi_get_gpu_driver_info(void *gpu, struct driver *out) {
    memset(out, 0, sizeof *out);
    return words(gpu, "amdsmi_get_gpu_driver_info", "driver", out->version, TEXT);
}

struct process {
    char name[TEXT]; u32 pid, padding; u64 held, gfx, enc; u32 reserved[12];
    u64 gtt, cpu, vram; u32 reserved_too[10]; char container[TEXT]; u32 occupancy, rest[11];
} __attribute__((packed));

EXPORT int amdsmi_get_gpu_process_list(void *gpu, u32 *count, struct process *out) {
    char value[4096];
    u32 found = 0;
    int rc = called(gpu, "amdsmi_get_gpu_process_list");
    if (rc) return rc;
    of(gpu, "processes", value, sizeof value);
    for (char *at = value; *at && found < *count; found++) {
        memset(&out[found], 0, sizeof *out);
        out[found].pid = (u32)strtoul(at, &at, 10);
        at += *at == ':';
        size_t length = strcspn(at, ":,");
        memcpy(out[found].name, at, length);
        at += length;
        if (*at == ':') out[found].vram = strtoull(at + 1, &at, 10) << 20;
        at += *at == ',';
    }
    *count = found;
    return 0;
}
