// The yardstick of `flash_speed`: a page-mapped drive with exact greedy collection and nothing else, as fast as C++ can
// make it. No trait, no observer, no counters but two, no TRIM, no streams, powers of two only.
//
// usage: reference GIB PAGES_PER_BLOCK OVER_PROVISIONING    a drive in steady state under uniform random writes
//        reference GIB rmw AHEAD                            random read-modify-writes, prefetched AHEAD before their
//                                                            turn, of a table as large as that drive's two (map, and
//                                                            owners with 7 % spare), on huge pages as there
// Then, for each line with a number on standard input: does so many, and prints seconds, and bytes programmed over
// bytes written (1 for rmw).

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
static const u32 AHEAD = 96;  // pages of a victim that are looked ahead

struct Drive {
    int shift;
    u32 pages, user, blocks;
    u32 *map, *owners;
    struct Block { u32 live, next, previous, sealed; };
    std::vector<Block> block;
    std::vector<u32> bucket, free_list;  // heads of doubly linked lists by live pages
    u32 lowest = 0, next = 0, end = 0;
    u64 host = 0, programmed = 0;

    Drive(u64 bytes, u32 pages_per_block, double op) : shift(__builtin_ctz(pages_per_block)), pages(pages_per_block) {
        user = u32(bytes >> 12);
        u32 data = u32(std::lround(double(user) * (1 + op) / pages));
        blocks = data + 1;  // one of reserve
        map = table(user, 0xff);
        owners = table((size_t(blocks) << shift) + AHEAD, 0);
        block.assign(blocks, Block{0, NONE, NONE, 0});
        bucket.assign(pages + 1, NONE);
        for (u32 b = blocks; b-- > 0;) free_list.push_back(b);
    }

    void link(u32 b) {
        u32 live = block[b].live, head = bucket[live];
        block[b].next = head; block[b].previous = NONE;
        if (head != NONE) block[head].previous = b;
        bucket[live] = b;
        if (live < lowest) lowest = live;
    }
    void unlink(u32 b) {
        Block& one = block[b];
        if (one.next != NONE) block[one.next].previous = one.previous;
        if (one.previous != NONE) block[one.previous].next = one.next; else bucket[one.live] = one.next;
    }
    void fetch_owners(u32 start) {
        for (u32 i = 0; i < pages && i < 1024; i += 16) __builtin_prefetch(&owners[start + i], 1);
    }
    void open() {
        u32 b = free_list.back(); free_list.pop_back();
        next = b << shift; end = next + pages;
        fetch_owners(next);
    }
    inline void append(u32 lba) {
        u32 page = next++;
        owners[page] = lba; map[lba] = page; programmed++;
        u32 b = page >> shift;
        block[b].live++;
        if (next == end) { block[b].sealed = 1; link(b); }
    }
    inline void invalidate(u32 page) {
        u32 b = page >> shift;
        if (block[b].sealed) { unlink(b); block[b].live--; link(b); } else block[b].live--;
    }
    __attribute__((noinline)) void collect() {
        while (bucket[lowest] == NONE) lowest++;
        u32 victim = bucket[lowest];
        unlink(victim);
        block[victim].sealed = 0;
        u32 start = victim << shift, left = block[victim].live;
        for (u32 i = 0; i < AHEAD && i < pages; i++) __builtin_prefetch(&map[owners[start + i]], 1);
        u32 page = start;
        while (left > 0) {
            if (next == end) open();
            // No branch on whether a page is live, which no predictor can know: what is not live is overwritten by what
            // comes next, and its map entry gets the value that it has.
            u32 room = left < end - next ? left : end - next, first = next, last = next + room;
            while (next != last) {
                __builtin_prefetch(&map[owners[page + AHEAD]], 1);  // the table is longer by that
                u32 lba = owners[page], at = map[lba], live = at == page;
                owners[next] = lba;
                map[lba] = live ? next : at;
                next += live;
                page++;
            }
            u32 moved = next - first, b = (next - 1) >> shift;
            left -= moved; programmed += moved; block[b].live += moved;
            if (next == end) { block[b].sealed = 1; link(b); }
        }
        block[victim].live = 0;
        free_list.push_back(victim);
        // What the next victim needs is on its way while the host writes.
        u32 level = lowest;
        while (bucket[level] == NONE) level++;
        fetch_owners(bucket[level] << shift);
    }
    inline void write(u32 lba) {
        while (next == end) {
            if (free_list.size() > 1) { open(); break; }
            collect();
        }
        u32 old = map[lba];
        if (old != NONE) invalidate(old);
        append(lba); host++;
    }
    void write_all(const u32* lbas, size_t count) {
        for (size_t i = 0; i < count; i++) {
            if (i + 32 < count) __builtin_prefetch(&map[lbas[i + 32]], 1);
            // A block that is not there is prefetched in vain, which costs nothing.
            if (i + 12 < count) __builtin_prefetch(block.data() + (map[lbas[i + 12]] >> shift), 1);
            write(lbas[i]);
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
        size_t ahead = argc > 3 ? strtoull(argv[3], nullptr, 10) : 32;
        u32* map = table(count_all, 0);
        puts("ready"); fflush(stdout);
        while (scanf("%lu", &count) == 1) {
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
    for (u32 lba = 0; lba < user; lba++) drive.write(lba);
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
