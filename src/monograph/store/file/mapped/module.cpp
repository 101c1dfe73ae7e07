// Guard for files that SQLite maps into memory: a database and the index of its write-ahead log (-shm). If another
// program truncates a mapped file, a read beyond its new end raises SIGBUS, which ends the process. On Linux, the
// handler here maps zeros over the missing part, as systemd's journal does, and marks the file. Readers test the mark
// afterwards, and raise an error. Other faults go to the previous handler.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>

#ifdef __linux__
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#endif

namespace nb = nanobind;

namespace monograph {

namespace {

// The truncated part: none, the file, or the index of its log.
enum class Part { NONE = 0, FILE = 1, INDEX = 2 };

// A watched file. Records are never freed, because the handler takes no lock. Unused records are reused.
struct Watched {
    static constexpr std::size_t LONGEST = 4096;
    char path[LONGEST];
    std::size_t length = 0;
    unsigned long long device = 0, inode = 0;
    std::atomic<bool> used{false};
    std::atomic<int> fault{0}; // A Part.
    Watched *next = nullptr;
};

std::atomic<Watched *> watched{nullptr}; // List of all records.
std::mutex lock;                         // Guards changes to the records, but not reads by the handler.

#ifdef __linux__

// A line of /proc/self/maps: the addresses [first, end) and the mapped file.
struct Mapping {
    std::uintptr_t first = 0, end = 0;
    unsigned long long device = 0, inode = 0;
    const char *path = nullptr;
    std::size_t length = 0;
};

constexpr char INDEX[] = "-shm", DELETED[] = " (deleted)";
constexpr std::size_t INDEX_LENGTH = sizeof INDEX - 1, DELETED_LENGTH = sizeof DELETED - 1;

// Reader of /proc/self/maps. It makes only calls that are allowed in a signal handler.
class Lines {
  public:
    Lines() : descriptor(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
    ~Lines() {
        if (descriptor >= 0) close(descriptor);
    }
    Lines(const Lines &) = delete;
    Lines &operator=(const Lines &) = delete;

    // Read the next line; return false at the end. Lines that are too long for the buffer are cut off.
    bool next(Mapping &mapping) {
        std::size_t length = 0;
        for (;;) {
            if (at == filled) {
                const ssize_t count = descriptor < 0 ? 0 : read(descriptor, block, sizeof block);
                if (count <= 0) return false;
                at = 0, filled = static_cast<std::size_t>(count);
            }
            const char one = block[at++];
            if (one == '\n') break;
            if (length < sizeof line - 1) line[length++] = one;
        }
        line[length] = 0;
        parse(mapping, length);
        return true;
    }

  private:
    // Format of a line: first-end permissions offset device inode path.
    void parse(Mapping &mapping, std::size_t length) const {
        const char *at = line;
        mapping.first = number(at, 16), ++at;
        mapping.end = number(at, 16);
        for (int field = 0; field < 3; ++field) {
            while (*at && *at != ' ') ++at;
            while (*at == ' ') ++at;
        }
        const auto major = static_cast<unsigned>(number(at, 16));
        if (*at == ':') ++at;
        mapping.device = makedev(major, static_cast<unsigned>(number(at, 16)));
        while (*at == ' ') ++at;
        mapping.inode = number(at, 10);
        while (*at == ' ') ++at;
        mapping.path = at;
        mapping.length = length - static_cast<std::size_t>(at - line);
        if (mapping.length > DELETED_LENGTH && std::memcmp(at + mapping.length - DELETED_LENGTH, DELETED, DELETED_LENGTH) == 0)
            mapping.length -= DELETED_LENGTH;
    }

    static std::uintptr_t number(const char *&at, int base) {
        std::uintptr_t value = 0;
        for (;; ++at) {
            int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : base;
            if (digit >= base) return value;
            value = value * static_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(digit);
        }
    }

    int descriptor;
    char block[4096];
    char line[Watched::LONGEST + 256];
    std::size_t at = 0, filled = 0;
};

// Return which part of a watched file a mapping has. A renamed file is identified by device and inode.
Part part_of(const Watched &one, const Mapping &mapping) {
    if (mapping.length == one.length && std::memcmp(mapping.path, one.path, one.length) == 0) return Part::FILE;
    if (mapping.length == one.length + INDEX_LENGTH && std::memcmp(mapping.path, one.path, one.length) == 0 &&
        std::memcmp(mapping.path + one.length, INDEX, INDEX_LENGTH) == 0)
        return Part::INDEX;
    return mapping.inode != 0 && mapping.inode == one.inode && mapping.device == one.device ? Part::FILE : Part::NONE;
}

bool put_zeros(std::uintptr_t first, std::uintptr_t end, int protection) {
    return mmap(reinterpret_cast<void *>(first), end - first, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) !=
           MAP_FAILED;
}

// Map zeros over a whole index, so that SQLite rebuilds it from the log. Zeros in a part of it would hide commits.
bool put_zeros_for_index(const Watched &one) {
    constexpr std::size_t MOST = 256;
    Mapping found[MOST];
    std::size_t count = 0;
    {
        Lines lines;
        for (Mapping mapping; count < MOST && lines.next(mapping);)
            if (part_of(one, mapping) == Part::INDEX) found[count++] = mapping;
    }
    // If no mapping is found, another thread has already mapped zeros.
    bool done = true;
    for (std::size_t at = 0; at < count; ++at) done = put_zeros(found[at].first, found[at].end, PROT_READ | PROT_WRITE) && done;
    return done;
}

// Map zeros over the missing part of a mapping and mark its file. Return false if the file is not watched.
bool rescue(std::uintptr_t address, const Mapping &mapping) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    if (mapping.inode == 0 && mapping.length == 0) return true; // Another thread has already mapped zeros.
    const Watched *first = nullptr;
    Part part = Part::NONE;
    for (Watched *one = watched.load(); one; one = one->next) {
        if (!one->used.load()) continue;
        const Part here = part_of(*one, mapping);
        if (here == Part::NONE) continue;
        one->fault.store(static_cast<int>(here));
        if (!first) first = one, part = here;
    }
    if (!first) return false;
    return part == Part::INDEX ? put_zeros_for_index(*first) : put_zeros(address / page * page, mapping.end, PROT_READ);
}

// Find the mapping of an address.
bool find(std::uintptr_t address, Mapping &mapping, Lines &lines) {
    while (lines.next(mapping))
        if (address >= mapping.first && address < mapping.end) return true;
    return false;
}

// Do this for the mapping of an address. Retry, because the list may lack it while another thread changes the list.
bool rescue(std::uintptr_t address) {
    for (int times = 0; times < 8; ++times) {
        Mapping mapping;
        Lines lines;
        if (find(address, mapping, lines)) return rescue(address, mapping);
    }
    return false;
}

struct sigaction previous;
std::atomic<bool> passed{false};

// Pass a signal to the previous handler; to the default one if that raises it again, as Python's faulthandler does.
void pass_on(int signal, siginfo_t *info, void *context) {
    const bool sent = info->si_code <= 0, again = passed.exchange(true);
    if ((sent && again) || previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
        struct sigaction standard{};
        standard.sa_handler = SIG_DFL;
        sigaction(signal, &standard, nullptr);
        if (sent) raise(signal);
    } else if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else {
        previous.sa_handler(signal);
    }
}

void on_fault(int signal, siginfo_t *info, void *context) {
    const int saved = errno;
    if (info->si_code != BUS_ADRERR || !rescue(reinterpret_cast<std::uintptr_t>(info->si_addr))) pass_on(signal, info, context);
    errno = saved;
}

void install() {
    struct sigaction current{};
    sigaction(SIGBUS, nullptr, &current);
    if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_fault) return;
    struct sigaction ours{};
    ours.sa_sigaction = on_fault;
    // Without SA_ONSTACK: an alternative stack may be too small for the buffers.
    ours.sa_flags = SA_SIGINFO;
    sigemptyset(&ours.sa_mask);
    previous = current;
    sigaction(SIGBUS, &ours, nullptr);
}

constexpr bool IS_GUARDED = true;

#else

void install() {}

constexpr bool IS_GUARDED = false;

#endif

// Watches a file until end(). Paths of LONGEST bytes or more are not watched.
class Watch {
  public:
    Watch(const nb::bytes &path, unsigned long long device, unsigned long long inode) {
        const std::size_t length = path.size();
        if (length >= Watched::LONGEST) return;
        const std::lock_guard guard(lock);
        install();
        int fault = 0;
        Watched *record = nullptr;
        for (Watched *one = watched.load(); one; one = one->next) {
            if (!one->used.load()) {
                record = one;
            } else if (one->length == length && std::memcmp(one->path, path.c_str(), length) == 0) {
                // All connections of a process share one index.
                fault = std::max(fault, one->fault.load());
            }
        }
        if (!record) {
            record = new Watched;
            record->next = watched.load();
            watched.store(record);
        }
        std::memcpy(record->path, path.c_str(), length);
        record->length = length;
        record->device = device;
        record->inode = inode;
        record->fault.store(fault);
        record->used.store(true);
        held = record;
    }
    ~Watch() { end(); }
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    void end() {
        const std::lock_guard guard(lock);
        if (held) held->used.store(false);
        held = nullptr;
    }

    bool is(Part part) const { return held && held->fault.load() == static_cast<int>(part); }

  private:
    Watched *held = nullptr;
};

} // namespace

} // namespace monograph

NB_MODULE(_mapped, module) {
    using namespace monograph;
    module.doc() = "Files that other programs cut off while they are mapped into memory.";
    nb::set_leak_warnings(false);
    module.attr("IS_GUARDED") = IS_GUARDED;
    nb::class_<Watch>(module, "Watch")
        .def(nb::init<const nb::bytes &, unsigned long long, unsigned long long>())
        .def("end", &Watch::end)
        .def_prop_ro("file_is_cut", [](const Watch &watch) { return watch.is(Part::FILE); })
        .def_prop_ro("index_is_cut", [](const Watch &watch) { return watch.is(Part::INDEX); });
}
