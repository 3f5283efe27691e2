/* A stand-in for libnvidia-ml.so.1, so that tests run the real pynvml: see stub.h.
 * Of a driver: driver, cuda, count, process.PID (its name).
 * Of a GPU: name, uuid, bus, device, cc, total, used, reserved, mig, migs (instances),
 * processes and graphics (PID:MIB,…), nvlinks (how many are up), nvlink_to ("switch", or the
 * bus id at the other end), fabric (STATE:STATUS:CLIQUE:CLUSTER, the last 32 hex digits),
 * persistence, ecc, remapped and retired (is one pending), numa. One left out is what the
 * GPU has not: NotSupported. With OLD, the library lacks the functions that came later. */
#define SCENARIO "NVML_STUB_SCENARIO"
#include "stub.h"

typedef void *gpu_t;
enum { INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };
#define LINKS 18

EXPORT int nvmlInitWithFlags(unsigned flags) { (void)flags; return called(NULL, "nvmlInit"); }
EXPORT int nvmlInit_v2(void) { return called(NULL, "nvmlInit"); }
EXPORT int nvmlShutdown(void) { return called(NULL, "nvmlShutdown"); }
EXPORT const char *nvmlErrorString(int rc) { return rc == 999 ? "Unknown Error" : "Error of the stub"; }

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    return words(NULL, "nvmlSystemGetDriverVersion", "driver", out, size);
}

EXPORT int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size) {
    char name[32];
    snprintf(name, sizeof name, "process.%u", pid);
    int rc = words(NULL, "nvmlSystemGetProcessName", name, out, size);
    return rc ? rc : *out ? 0 : NOT_FOUND;
}

static int unsigned_of(gpu_t gpu, const char *function, const char *name, unsigned *out, int otherwise) {
    u64 value = 0;
    int rc = number(gpu, function, name, &value, otherwise);
    if (!rc) *out = (unsigned)value;
    return rc;
}

EXPORT int nvmlSystemGetCudaDriverVersion(unsigned *out) {
    return unsigned_of(NULL, "nvmlSystemGetCudaDriverVersion", "cuda", out, 999);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *out) {
    return unsigned_of(NULL, "nvmlDeviceGetCount", "count", out, 999);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu_t *out) {
    *out = HANDLE((int)index, -1);
    return called(*out, "nvmlDeviceGetHandleByIndex");
}

EXPORT int nvmlDeviceGetName(gpu_t gpu, char *out, unsigned size) {
    return words(gpu, "nvmlDeviceGetName", "name", out, size);
}

EXPORT int nvmlDeviceGetUUID(gpu_t gpu, char *out, unsigned size) {
    return words(gpu, "nvmlDeviceGetUUID", "uuid", out, size);
}

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};

EXPORT int nvmlDeviceGetPciInfo_v3(gpu_t gpu, struct pci *out) {
    char value[32];
    int rc = called(gpu, "nvmlDeviceGetPciInfo");
    if (rc) return rc;
    memset(out, 0, sizeof *out);
    of(gpu, "bus", out->address, sizeof out->address);
    of(gpu, "device", value, sizeof value);
    out->id = (unsigned)(strtoul(value, NULL, 16) << 16) | 0x10de;
    return 0;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(gpu_t gpu, int *major, int *minor) {
    char value[32];
    int rc = called(gpu, "nvmlDeviceGetCudaComputeCapability");
    if (!rc) sscanf(of(gpu, "cc", value, sizeof value), "%d.%d", major, minor);
    return rc;
}

static u64 amount(gpu_t gpu, const char *name) {
    char value[32];
    return strtoull(of(gpu, name, value, sizeof value), NULL, 10);
}

struct memory { u64 total, free, used; };
struct memory_v2 { unsigned version; u64 total, reserved, free, used; };

EXPORT int nvmlDeviceGetMemoryInfo(gpu_t gpu, struct memory *out) {
    int rc = called(gpu, "nvmlDeviceGetMemoryInfo");
    if (rc) return rc;
    out->total = amount(gpu, "total");
    out->used = amount(gpu, "used") + amount(gpu, "reserved");
    out->free = out->total - out->used;
    return 0;
}

EXPORT int nvmlDeviceGetMigMode(gpu_t gpu, unsigned *current, unsigned *pending) {
    int rc = unsigned_of(gpu, "nvmlDeviceGetMigMode", "mig", current, NOT_SUPPORTED);
    *pending = *current;
    return rc;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(gpu_t gpu, unsigned *out) {
    *out = 7;
    return called(gpu, "nvmlDeviceGetMaxMigDeviceCount");
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(gpu_t gpu, unsigned index, gpu_t *out) {
    char value[96];
    int rc = called(gpu, "nvmlDeviceGetMigDeviceHandleByIndex");
    *out = HANDLE(GPU(gpu), (int)index);
    return rc ? rc : *of(*out, "uuid", value, sizeof value) ? 0 : NOT_FOUND;
}

struct attributes { unsigned counts[6], gpu_slices, compute_slices; u64 mib; };

EXPORT int nvmlDeviceGetAttributes_v2(gpu_t gpu, struct attributes *out) {
    int rc = called(gpu, "nvmlDeviceGetAttributes");
    if (rc) return rc;
    memset(out, 0, sizeof *out);
    out->gpu_slices = (unsigned)amount(gpu, "slices");
    out->mib = amount(gpu, "total") >> 20;
    return 0;
}

struct process { unsigned pid; u64 used; unsigned gpu_instance, compute_instance; };

static int running(gpu_t gpu, const char *function, const char *name, unsigned *count, struct process *out) {
    char value[4096];
    unsigned found = 0;
    int rc = called(gpu, function);
    if (rc) return rc;
    of(gpu, name, value, sizeof value);
    for (char *at = value; *at; found++) {
        unsigned pid = (unsigned)strtoul(at, &at, 10);
        u64 used = *at == ':' ? strtoull(at + 1, &at, 10) << 20 : ~0ull;
        if (out && found < *count) out[found] = (struct process){pid, used, ~0u, ~0u};
        at += *at == ',';
    }
    rc = found && (!out || found > *count) ? TOO_SMALL : 0;
    *count = found;
    return rc;
}

#define RUNNING(kind, name, version) \
    EXPORT int nvmlDeviceGet##kind##RunningProcesses_##version( \
        gpu_t gpu, unsigned *count, struct process *out) { \
        return running(gpu, "nvmlDeviceGet" #kind "RunningProcesses", name, count, out); \
    }
RUNNING(Compute, "processes", v2)
RUNNING(Graphics, "graphics", v2)

static int link_of(gpu_t gpu, unsigned link, const char *function) {
    char value[64];
    int rc = called(gpu, function);
    if (rc) return rc;
    if (!*of(gpu, "nvlinks", value, sizeof value)) return NOT_SUPPORTED;
    return link < LINKS ? 0 : INVALID;
}

EXPORT int nvmlDeviceGetNvLinkState(gpu_t gpu, unsigned link, unsigned *out) {
    int rc = link_of(gpu, link, "nvmlDeviceGetNvLinkState");
    if (!rc) *out = link < amount(gpu, "nvlinks");
    return rc;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu_t gpu, unsigned link, struct pci *out) {
    int rc = link_of(gpu, link, "nvmlDeviceGetNvLinkRemotePciInfo");
    if (!rc) of(gpu, "nvlink_to", out->address, sizeof out->address);
    return rc;
}

static int fabric(gpu_t gpu, const char *function, unsigned char *uuid, unsigned *status, unsigned *clique, unsigned *state) {
    char value[96], digits[33] = "";
    int rc = called(gpu, function);
    if (rc) return rc;
    if (!*of(gpu, "fabric", value, sizeof value)) return NOT_SUPPORTED;
    sscanf(value, "%u:%u:%u:%32s", state, status, clique, digits);
    for (int i = 0; i < 16; i++) {
        unsigned byte = 0;
        sscanf(digits + 2 * i, "%2x", &byte);
        uuid[i] = (unsigned char)byte;
    }
    return 0;
}

struct fabric { unsigned char uuid[16]; unsigned status, clique, state; };

EXPORT int nvmlDeviceGetGpuFabricInfo(gpu_t gpu, struct fabric *out) {
    return fabric(gpu, "nvmlDeviceGetGpuFabricInfo", out->uuid, &out->status, &out->clique, &out->state);
}

EXPORT int nvmlDeviceGetPersistenceMode(gpu_t gpu, unsigned *out) {
    return unsigned_of(gpu, "nvmlDeviceGetPersistenceMode", "persistence", out, NOT_SUPPORTED);
}

EXPORT int nvmlDeviceGetTotalEccErrors(gpu_t gpu, unsigned kind, unsigned since, u64 *out) {
    if (kind != 1 || since != 0) return INVALID; /* uncorrected, since the driver was loaded */
    return number(gpu, "nvmlDeviceGetTotalEccErrors", "ecc", out, NOT_SUPPORTED);
}

EXPORT int nvmlDeviceGetRemappedRows(gpu_t gpu, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
    *corrected = *uncorrected = *failed = 0;
    return unsigned_of(gpu, "nvmlDeviceGetRemappedRows", "remapped", pending, NOT_SUPPORTED);
}

EXPORT int nvmlDeviceGetRetiredPagesPendingStatus(gpu_t gpu, unsigned *out) {
    return unsigned_of(gpu, "nvmlDeviceGetRetiredPagesPendingStatus", "retired", out, NOT_SUPPORTED);
}

#ifndef OLD

EXPORT int nvmlSystemGetCudaDriverVersion_v2(unsigned *out) {
    return unsigned_of(NULL, "nvmlSystemGetCudaDriverVersion_v2", "cuda", out, 999);
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(gpu_t gpu, struct memory_v2 *out) {
    struct memory plain;
    int rc = nvmlDeviceGetMemoryInfo(gpu, &plain);
    if (rc) return rc;
    out->total = plain.total;
    out->reserved = amount(gpu, "reserved");
    out->used = plain.used - out->reserved;
    out->free = plain.free;
    return 0;
}

RUNNING(Compute, "processes", v3)
RUNNING(Graphics, "graphics", v3)

EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(gpu_t gpu, unsigned link, unsigned *out) {
    char value[64];
    int rc = link_of(gpu, link, "nvmlDeviceGetNvLinkRemoteDeviceType");
    if (!rc) *out = strcmp(of(gpu, "nvlink_to", value, sizeof value), "switch") ? 0 : 2;
    return rc;
}

struct fabric_v2 { unsigned version; unsigned char uuid[16]; unsigned status, clique, state, health; };

EXPORT int nvmlDeviceGetGpuFabricInfoV(gpu_t gpu, struct fabric_v2 *out) {
    return fabric(gpu, "nvmlDeviceGetGpuFabricInfoV", out->uuid, &out->status, &out->clique, &out->state);
}

EXPORT int nvmlDeviceGetMemoryAffinity(gpu_t gpu, unsigned size, unsigned long *out, unsigned scope) {
    u64 node = 0;
    int rc = number(gpu, "nvmlDeviceGetMemoryAffinity", "numa", &node, NOT_SUPPORTED);
    if (rc || scope) return rc;
    memset(out, 0, size * sizeof *out);
    out[node / 64] = 1ul << node % 64;
    return 0;
}

#endif
