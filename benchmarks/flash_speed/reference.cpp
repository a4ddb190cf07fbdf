// The yardstick of `flash_speed`: a page-mapped drive with exact greedy collection and nothing else, as fast as C++ can
// make it. No trait, no observer, no counters but two, no TRIM, no streams, powers of two (64 at
// least) only. What makes the model fast is here too: most blocks lie in no bucket, host writes go in chunks, a bit says
// whether a page is live, the next victim is fetched ahead.
//
// usage: reference GIB PAGES_PER_BLOCK OVER_PROVISIONING    a drive in steady state under uniform random writes
//        reference GIB rmw                                  random read-modify-writes of a table as large as that
//                                                            drive's two (map, and owners with 7 % spare), on huge
//                                                            pages as there
// Then, for each line with a number on standard input (for rmw two: how many, and how far ahead they are prefetched):
// does so many, and prints seconds, and bytes programmed over bytes written (1 for rmw).

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <sys/mman.h>

using u32 = uint32_t;
using u64 = uint64_t;

static u32* table(size_t count, int byte) {
    size_t bytes = (count * sizeof(u32) + (2u << 20) - 1) & ~size_t((2u << 20) - 1);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) { perror("mmap"); exit(1); }
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, byte, bytes);
    return static_cast<u32*>(memory);
}

// xoshiro256++ seeded by SplitMix64, as in the model.
struct Random {
    u64 state[4];
    explicit Random(u64 seed) {
        for (u64& slot : state) {
            seed += 0x9e3779b97f4a7c15u;
            u64 mixed = seed;
            mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
            mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
            slot = mixed ^ (mixed >> 31);
        }
    }
    static u64 rotate(u64 x, int k) { return (x << k) | (x >> (64 - k)); }
    u64 bits() {
        u64 result = rotate(state[0] + state[3], 23) + state[0], shifted = state[1] << 17;
        state[2] ^= state[0]; state[3] ^= state[1]; state[1] ^= state[2]; state[0] ^= state[3];
        state[2] ^= shifted; state[3] = rotate(state[3], 45);
        return result;
    }
    u32 below(u32 bound) { return u32((unsigned __int128)(bits()) * bound >> 64); }
};

static const u32 NONE = ~0u;
static const u32 LAG = 64;       // pages moved between the fetch of a map entry and its change
static const u32 CHUNK = 16;     // host writes done side by side, prefetched two chunks before
static const u32 SCARCITY = 32;  // one in so many blocks is kept in buckets
static const u32 CROWD = 4;      // times as many may come into them before they are made anew

struct Drive {
    int shift;
    u32 pages, user, blocks;
    u32 *map, *owners;
    u64* bits;  // which pages are live
    struct Links { u32 next, previous; };
    std::vector<u32> live;  // what is not written yet counts as live
    std::vector<Links> links;
    std::vector<unsigned char> sealed;
    std::vector<u32> bucket, free_list;  // heads of doubly linked lists by live pages, of the blocks below the horizon
    u32 lowest, horizon = 0, in_sight = 0, choices = 0, next = 0, end = 0;
    u64 host = 0, programmed = 0;

    Drive(u64 bytes, u32 pages_per_block, double op) : shift(__builtin_ctz(pages_per_block)), pages(pages_per_block) {
        user = u32(bytes >> 12);
        u32 data = u32(std::lround(double(user) * (1 + op) / pages));
        blocks = data + 1;  // one of reserve
        map = table(user, 0xff);
        owners = table(size_t(blocks) << shift, 0);
        bits = reinterpret_cast<u64*>(table((size_t(blocks) << shift) / 32, 0));
        live.assign(blocks, 0);
        links.assign(blocks, Links{NONE, NONE});
        sealed.assign(blocks, 0);
        bucket.assign(pages + 1, NONE);
        lowest = pages + 1;
        for (u32 b = blocks; b-- > 0;) free_list.push_back(b);
    }

    void link(u32 b, u32 level) {
        u32 head = bucket[level];
        links[b] = Links{head, NONE};
        if (head != NONE) links[head].previous = b;
        bucket[level] = b;
        if (level < lowest) lowest = level;
    }
    void unlink(u32 b, u32 level) {
        Links one = links[b];
        if (one.next != NONE) links[one.next].previous = one.previous;
        if (one.previous != NONE) links[one.previous].next = one.next; else bucket[level] = one.next;
    }
    void enter(u32 b) { link(b, live[b]); in_sight++; }
    __attribute__((noinline)) void fell(u32 b, u32 after) {
        if (!sealed[b]) return;
        if (after + 1 >= horizon) { enter(b); return; }
        unlink(b, after + 1);
        link(b, after);
    }
    void seal(u32 b) {
        sealed[b] = 1;
        if (live[b] < horizon) enter(b);
    }
    __attribute__((noinline)) void look_around() {
        std::vector<u32> count(pages + 1, 0);
        u32 all = 0, below = 0;
        for (u32 b = 0; b < blocks; b++) if (sealed[b]) { count[live[b]]++; all++; }
        for (horizon = 0; horizon <= pages; horizon++) if ((below += count[horizon]) >= all / SCARCITY + 1) break;
        horizon++;
        std::fill(bucket.begin(), bucket.end(), NONE);
        lowest = pages + 1; in_sight = 0; choices = 0;
        for (u32 b = 0; b < blocks; b++) if (sealed[b] && live[b] < horizon) enter(b);
    }
    u32 likely() {
        while (lowest <= pages && bucket[lowest] == NONE) lowest++;
        return lowest <= pages ? bucket[lowest] : NONE;
    }
    void fetch_owners(u32 start) {
        for (u32 i = 0; i < pages && i < 1024; i += 16) __builtin_prefetch(&owners[start + i], 1);
    }
    void open() {
        u32 b = free_list.back(); free_list.pop_back();
        live[b] = pages;
        next = b << shift; end = next + pages;
        for (u32 w = next / 64; w < end / 64; w++) bits[w] = ~0ull;
        fetch_owners(next);
    }
    inline void invalidate(u32 page) {
        u32 b = page >> shift;
        bits[page / 64] &= ~(1ull << (page % 64));
        u32 after = --live[b];
        if (after < horizon) fell(b, after);
    }
    void remap(u32 from, u32 to) {
        for (u32 page = from; page < to; page++) map[owners[page]] = page;
    }
    __attribute__((noinline)) void collect() {
        choices++;
        if (in_sight == 0 || (in_sight > blocks / SCARCITY * CROWD && choices > blocks / SCARCITY)) look_around();
        u32 victim = likely();
        unlink(victim, live[victim]);
        in_sight--;
        sealed[victim] = 0;
        // Owners are copied first, and the map is changed LAG pages later, when the entry is there.
        u32 first = victim << shift, mapped = next;
        for (u32 w = first / 64; w < (first + pages) / 64; w++) {
            u64 left = bits[w];
            while (left) {
                if (next == end) { remap(mapped, end); open(); mapped = next; }
                u32 count = u32(__builtin_popcountll(left)), room = end - next, last = next + (count < room ? count : room);
                programmed += last - next;
                for (; next != last; next++) {
                    u32 lba = owners[w * 64 + u32(__builtin_ctzll(left))];
                    left &= left - 1;
                    __builtin_prefetch(&map[lba], 1);
                    owners[next] = lba;
                }
                if (next == end) seal((next - 1) >> shift);
                u32 due = next - mapped > LAG ? next - LAG : mapped;
                remap(mapped, due);
                mapped = due;
            }
        }
        remap(mapped, next);
        live[victim] = 0;
        free_list.push_back(victim);
        // What the next victim needs is on its way while the host writes.
        u32 after = likely();
        if (after != NONE) {
            fetch_owners(after << shift);
            __builtin_prefetch(&bits[(after << shift) / 64]);
        }
    }
    void make_room() {
        while (next == end) {
            if (free_list.size() > 1) { open(); break; }
            collect();
        }
    }
    void write_all(const u32* lbas, size_t count) {
        for (size_t i = 0; i < count && i < 2 * CHUNK; i++) __builtin_prefetch(&map[lbas[i]], 1);
        while (count > 0) {
            if (next == end) make_room();
            u32 room = end - next, now = u32(count < room ? count : room);
            if (now > CHUNK) now = CHUNK;
            for (u32 i = 0; i < now && 2 * CHUNK + i < count; i++) __builtin_prefetch(&map[lbas[2 * CHUNK + i]], 1);
            u32 losers[CHUNK], lost = 0;
            memcpy(&owners[next], lbas, now * sizeof(u32));
            for (u32 i = 0; i < now; i++) {
                u32 lba = lbas[i], old = map[lba];
                map[lba] = next + i;
                __builtin_prefetch(&bits[old / 64], 1);
                losers[lost] = old;
                lost += old != NONE;
            }
            for (u32 i = 0; i < lost; i++) invalidate(losers[i]);
            next += now; programmed += now; host += now;
            if (next == end) seal((next - 1) >> shift);
            lbas += now; count -= now;
        }
    }
};

// The thread's own time: what others do to the processor meanwhile is not ours (what they do to the caches is).
static double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

template <class Work> static double timed(u64 count, u32 user, Random& random, Work work) {
    std::vector<u32> lbas(65536);
    double seconds = 0;
    while (count > 0) {
        size_t now_count = count < lbas.size() ? count : lbas.size();
        for (size_t i = 0; i < now_count; i++) lbas[i] = random.below(user);
        double start = now();
        work(lbas.data(), now_count);
        seconds += now() - start;
        count -= now_count;
    }
    return seconds;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    u64 bytes = strtoull(argv[1], nullptr, 10) << 30;
    u32 user = u32(bytes >> 12);
    Random random(7);
    u64 count;
    if (std::string(argv[2]) == "rmw") {
        u32 count_all = u32(user * 2.07);
        size_t ahead;
        u32* map = table(count_all, 0);
        puts("ready"); fflush(stdout);
        while (scanf("%lu %zu", &count, &ahead) == 2) {
            double seconds = timed(count, count_all, random, [&](const u32* lbas, size_t n) {
                for (size_t i = 0; i < n; i++) {
                    if (i + ahead < n) __builtin_prefetch(&map[lbas[i + ahead]], 1);
                    map[lbas[i]] += 1;
                }
            });
            printf("%.9f 1\n", seconds); fflush(stdout);
        }
        return 0;
    }
    Drive drive(bytes, u32(atoi(argv[2])), atof(argv[3]));
    for (u32 lba = 0; lba < user; lba++) drive.write_all(&lba, 1);
    auto write = [&](const u32* lbas, size_t n) { drive.write_all(lbas, n); };
    timed(3ull * user, user, random, write);
    puts("ready"); fflush(stdout);
    while (scanf("%lu", &count) == 1) {
        u64 host = drive.host, programmed = drive.programmed;
        double seconds = timed(count, user, random, write);
        printf("%.9f %.6f\n", seconds, double(drive.programmed - programmed) / double(drive.host - host));
        fflush(stdout);
    }
}
