/* What the stub driver libraries have in common: a scenario file, which is lines of
 *   key=value            of the driver
 *   N.key=value          of GPU N; N.mM.key=value of its MIG instance M
 *   rc.FUNCTION=CODE     what FUNCTION returns instead of 0; N.rc.FUNCTION=CODE for one GPU
 *   hang.FUNCTION=1      FUNCTION never returns; N.hang.FUNCTION=1 for one GPU
 *   crash.FUNCTION=1     FUNCTION takes the process down
 * Each call is appended to the file named by STUB_LOG, where that is set.
 * Whoever includes this names the variable that has the scenario: SCENARIO. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long u64;
#define EXPORT __attribute__((visibility("default")))

static char text[1 << 18];

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
    const char *path = getenv(SCENARIO);
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) {
        fprintf(stderr, "stub: %s names no readable file\n", SCENARIO);
        abort();
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
}

/* A handle is a GPU's number plus one, and an instance's plus one in its upper half. */
#define HANDLE(gpu, instance) ((void *)(size_t)(((gpu) + 1) | ((instance) + 1) << 16))
#define GPU(handle) (((int)(size_t)(handle) & 0xffff) - 1)
#define INSTANCE(handle) (((int)(size_t)(handle) >> 16) - 1)

static const char *prefix(void *handle, char *out, size_t size) {
    if (!handle) *out = 0;
    else if (INSTANCE(handle) < 0) snprintf(out, size, "%d.", GPU(handle));
    else snprintf(out, size, "%d.m%d.", GPU(handle), INSTANCE(handle));
    return out;
}

static int told(void *handle, const char *what, const char *function) {
    char key[160], before[32], value[32];
    snprintf(key, sizeof key, "%s%s.%s", prefix(handle, before, sizeof before), what, function);
    if (handle && find(key, value, sizeof value)) return atoi(value);
    snprintf(key, sizeof key, "%s.%s", what, function);
    return find(key, value, sizeof value) ? atoi(value) : 0;
}

static int called(void *handle, const char *function) {
    const char *log = getenv("STUB_LOG");
    if (!*text) load();
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) { fprintf(file, "%s\n", function); fclose(file); }
    }
    while (told(handle, "hang", function)) pause();
    if (told(handle, "crash", function)) raise(SIGKILL);
    return told(handle, "rc", function);
}

static const char *of(void *handle, const char *name, char *value, size_t size) {
    char key[96], before[32];
    snprintf(key, sizeof key, "%s%s", prefix(handle, before, sizeof before), name);
    if (!find(key, value, size)) *value = 0;
    return value;
}

static int words(void *handle, const char *function, const char *name, char *out, size_t size) {
    int rc = called(handle, function);
    if (!rc) of(handle, name, out, size);
    return rc;
}

/* A number; where the scenario has none, the function returns `otherwise`. */
static int number(void *handle, const char *function, const char *name, u64 *out, int otherwise) {
    char value[32];
    int rc = called(handle, function);
    if (rc) return rc;
    if (!*of(handle, name, value, sizeof value)) return otherwise;
    *out = strtoull(value, NULL, 0);
    return 0;
}
