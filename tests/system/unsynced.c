/* A PostgreSQL that asks for fewer flushes than it should: loaded before libc into a server (LD_PRELOAD), it answers
   some calls of fsync and fdatasync with success and does nothing. UNSYNCED says which ones. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EACH 50

static unsigned *calls; /* of all processes of one server, which the postmaster forks */

__attribute__((constructor)) static void begin(void)
{
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (calls == MAP_FAILED)
        abort();
}

static int is_checkpointer(void)
{
    char title[256] = "";
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (read(file, title, sizeof title - 1) < 0)
            title[0] = 0;
        close(file);
    }
    return strstr(title, "checkpointer") != NULL;
}

static int is_dropped(int fd)
{
    const char *which = getenv("UNSYNCED");
    char link[64], path[4096] = "";
    if (which == NULL)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) < 0)
        path[0] = 0;
    if (strcmp(which, "pg_xact") == 0)
        return strstr(path, "/pg_xact") != NULL;
    if (strcmp(which, "relations") == 0)
        return strstr(path, "/base/") != NULL;
    if (strcmp(which, "each_50th") == 0)
        return __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED) % EACH == 0;
    if (strcmp(which, "checkpointer") == 0)
        return is_checkpointer();
    abort();
}

static int passed_on(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return is_dropped(fd) ? 0 : real(fd);
}

int fsync(int fd) { return passed_on("fsync", fd); }

int fdatasync(int fd) { return passed_on("fdatasync", fd); }
