/* A stand-in for libnvidia-ml.so.1, driven by a scenario file, so that tests
 * run the real pynvml. The file named by NVML_STUB_SCENARIO has lines
 *   key=value          of the driver: driver, cuda, count
 *   N.key=value        of GPU N: name, uuid, bus, device, cc, total, used, mig
 *   rc.FUNCTION=CODE   what FUNCTION returns instead of 0
 *   N.rc.FUNCTION=CODE the same for one GPU
 * Each call is appended to the file named by NVML_STUB_LOG, where that is set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
typedef void *gpu_t;
#define EXPORT __attribute__((visibility("default")))
#define GPU(handle) ((int)(size_t)(handle) - 1)

static char text[1 << 16];

static const char *find(const char *key, char *value, size_t size) {
    size_t length = strlen(key);
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        size_t whole = end ? (size_t)(end - line) : strlen(line);
        if (whole > length && !strncmp(line, key, length) && line[length] == '=') {
            size_t n = whole - length - 1;
            if (n >= size) n = size - 1;
            memcpy(value, line + length + 1, n);
            value[n] = 0;
            return value;
        }
        line += whole + (end != NULL);
    }
    return NULL;
}

static void load(void) {
    const char *path = getenv("NVML_STUB_SCENARIO");
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) {
        fprintf(stderr, "nvml stub: NVML_STUB_SCENARIO names no readable file\n");
        abort();
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
}

static int called(int gpu, const char *function) {
    char key[128], value[32];
    const char *log = getenv("NVML_STUB_LOG");
    if (!*text) load();
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) { fprintf(file, "%s\n", function); fclose(file); }
    }
    snprintf(key, sizeof key, "%d.rc.%s", gpu, function);
    if (gpu >= 0 && find(key, value, sizeof value)) return atoi(value);
    snprintf(key, sizeof key, "rc.%s", function);
    return find(key, value, sizeof value) ? atoi(value) : 0;
}

static const char *of(int gpu, const char *name, char *value, size_t size) {
    char key[64];
    snprintf(key, sizeof key, "%d.%s", gpu, name);
    if (!find(key, value, size)) *value = 0;
    return value;
}

static int words(int gpu, const char *function, const char *name, char *out, unsigned size) {
    int rc = called(gpu, function);
    if (!rc) of(gpu, name, out, size);
    return rc;
}

EXPORT int nvmlInitWithFlags(unsigned flags) { (void)flags; return called(-1, "nvmlInit"); }
EXPORT int nvmlInit_v2(void) { return called(-1, "nvmlInit"); }
EXPORT int nvmlShutdown(void) { return called(-1, "nvmlShutdown"); }
EXPORT const char *nvmlErrorString(int rc) { return rc == 999 ? "Unknown Error" : "Error of the stub"; }

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    int rc = called(-1, "nvmlSystemGetDriverVersion");
    if (!rc && !find("driver", out, size)) *out = 0;
    return rc;
}

static int cuda(const char *function, int *out) {
    char value[32];
    int rc = called(-1, function);
    if (!rc) *out = find("cuda", value, sizeof value) ? atoi(value) : 0;
    return rc;
}

EXPORT int nvmlSystemGetCudaDriverVersion(int *out) { return cuda("nvmlSystemGetCudaDriverVersion", out); }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *out) { return cuda("nvmlSystemGetCudaDriverVersion_v2", out); }

EXPORT int nvmlDeviceGetCount_v2(unsigned *out) {
    char value[32];
    int rc = called(-1, "nvmlDeviceGetCount");
    if (!rc) *out = find("count", value, sizeof value) ? (unsigned)atoi(value) : 0;
    return rc;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu_t *out) {
    int rc = called((int)index, "nvmlDeviceGetHandleByIndex");
    if (!rc) *out = (gpu_t)(size_t)(index + 1);
    return rc;
}

EXPORT int nvmlDeviceGetName(gpu_t gpu, char *out, unsigned size) {
    return words(GPU(gpu), "nvmlDeviceGetName", "name", out, size);
}

EXPORT int nvmlDeviceGetUUID(gpu_t gpu, char *out, unsigned size) {
    return words(GPU(gpu), "nvmlDeviceGetUUID", "uuid", out, size);
}

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};

EXPORT int nvmlDeviceGetPciInfo_v3(gpu_t gpu, struct pci *out) {
    char value[32];
    int rc = called(GPU(gpu), "nvmlDeviceGetPciInfo");
    if (rc) return rc;
    memset(out, 0, sizeof *out);
    of(GPU(gpu), "bus", out->address, sizeof out->address);
    of(GPU(gpu), "device", value, sizeof value);
    out->id = (unsigned)(strtoul(value, NULL, 16) << 16) | 0x10de;
    return 0;
}

EXPORT int nvmlDeviceGetCudaComputeCapability(gpu_t gpu, int *major, int *minor) {
    char value[32];
    int rc = called(GPU(gpu), "nvmlDeviceGetCudaComputeCapability");
    if (!rc) sscanf(of(GPU(gpu), "cc", value, sizeof value), "%d.%d", major, minor);
    return rc;
}

static u64 number(gpu_t gpu, const char *name) {
    char value[32];
    return strtoull(of(GPU(gpu), name, value, sizeof value), NULL, 10);
}

struct memory { u64 total, free, used; };
struct memory_v2 { unsigned version; u64 total, reserved, free, used; };

EXPORT int nvmlDeviceGetMemoryInfo(gpu_t gpu, struct memory *out) {
    int rc = called(GPU(gpu), "nvmlDeviceGetMemoryInfo");
    if (rc) return rc;
    out->total = number(gpu, "total");
    out->used = number(gpu, "used");
    out->free = out->total - out->used;
    return 0;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(gpu_t gpu, struct memory_v2 *out) {
    struct memory plain;
    int rc = nvmlDeviceGetMemoryInfo(gpu, &plain);
    if (rc) return rc;
    out->total = plain.total;
    out->used = plain.used;
    out->free = plain.free;
    out->reserved = 0;
    return 0;
}

EXPORT int nvmlDeviceGetMigMode(gpu_t gpu, unsigned *current, unsigned *pending) {
    char value[32];
    int rc = called(GPU(gpu), "nvmlDeviceGetMigMode");
    if (rc) return rc;
    if (!*of(GPU(gpu), "mig", value, sizeof value)) return 3; /* not supported */
    *current = *pending = (unsigned)atoi(value);
    return 0;
}
