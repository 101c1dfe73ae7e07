// Python bindings of vector search, documented in _kernel.pyi, and the graph of a cluster. Functions check sizes before
// they touch memory, and release the interpreter lock while they compute.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "arena.hpp"
#include "arrays.hpp"
#include "body.hpp"
#include "codes.hpp"
#include "course.hpp"
#include "level.hpp"
#include "pool.hpp"

namespace monograph {
void bind_signs(nb::module_ &module); // In signs.cpp.
}

using namespace monograph;

namespace {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bits = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::uint32_t checksum(const nb::bytes &data) { return level->checksum(static_cast<const std::uint8_t *>(data.data()), data.size()); }

// -------------------------------------------------------------------------------------------------- queries and scans

void require_query(const Vector &query) {
    const float *asked = query.data();
    if (!std::all_of(asked, asked + query.shape(0), [](float value) { return std::isfinite(value); }))
        throw nb::value_error("the query is not finite");
}

void require_dimension(const Body &body, std::size_t d) {
    if (body.d != d) damaged("vectors have dimension " + std::to_string(body.d) + ", the query has " + std::to_string(d));
}

// Returns a Python object as a C++ value, without conversion. Throws TypeError for another type.
template <typename T> T must(const nb::handle &given) {
    try {
        return nb::cast<T>(given, false);
    } catch (const std::bad_cast &) { throw nb::type_error("an argument is of another type"); }
}

Bitmap bitmap_of(const nb::object &allowed) {
    if (allowed.is_none()) return {};
    const Bits bits = must<Bits>(allowed);
    return {bits.data(), bits.shape(0), false};
}

nb::tuple scan(const nb::list &bodies, const Vector &query, Pool &pool, std::size_t k, const nb::object &allowed, bool trusted) {
    require_query(query);
    const Bitmap bits = bitmap_of(allowed);
    std::vector<nb::bytes> held;
    for (nb::handle one : bodies) held.push_back(must<nb::bytes>(one));
    std::fill(pool.fresh.begin(), pool.fresh.end(), std::uint8_t{0});
    std::size_t compared = 0;
    {
        nb::gil_scoped_release released;
        Query asked(query.data(), query.shape(0));
        std::vector<float> scores;
        std::vector<std::int32_t> whole;
        for (const nb::bytes &one : held) {
            const Body body(one.data(), one.size(), !trusted);
            require_dimension(body, query.shape(0));
            compared += body.n;
            if (!pool.capacity()) continue;
            if (body.is_compact()) {
                Held({{one.data(), one.size()}}, body.d).scan(asked, bits, pool, nullptr);
                continue;
            }
            scores.resize(body.n);
            whole.resize(body.n);
            score(body, asked, 0, body.n, scores.data(), whole.data());
            for (std::size_t row = 0; row < body.n; ++row) {
                const std::int64_t id = body.id(row);
                if (id >= 0 && pool.wants(scores[row], id) && bits.has(id)) pool.offer(scores[row], id);
            }
        }
    }
    return nb::make_tuple(pool.ranks(k), compared);
}

nb::tuple top_k(const Matrix &vectors, const Vector &query, std::size_t k, const nb::object &allowed) {
    const std::size_t n = vectors.shape(0), d = vectors.shape(1);
    if (d != query.shape(0)) damaged("vectors have dimension " + std::to_string(d) + ", the query has " + std::to_string(query.shape(0)));
    require_query(query);
    std::optional<Bits> mask;
    if (!allowed.is_none()) mask = must<Bits>(allowed);
    if (mask && mask->shape(0) != n) throw nb::value_error("a mask of rows must be as long as the rows");
    const float *rows = vectors.data(), *asked = query.data();
    const std::uint8_t *wanted = mask ? mask->data() : nullptr;
    std::vector<Scored> best;
    std::int64_t wrong = -1;
    {
        nb::gil_scoped_release released;
        std::vector<float> scores(n);
        level->floats(rows, asked, n, d, scores.data());
        best.reserve(n);
        for (std::size_t row = 0; row < n && wrong < 0; ++row) {
            if (std::isnan(scores[row])) wrong = static_cast<std::int64_t>(row);
            if (!wanted || wanted[row]) best.push_back({scores[row], static_cast<std::int64_t>(row)});
        }
        const std::size_t kept = std::min(best.size(), k);
        if (wrong < 0) {
            const auto end = best.begin() + static_cast<std::ptrdiff_t>(kept);
            if (kept < best.size()) std::nth_element(best.begin(), end, best.end(), before);
            std::sort(best.begin(), end, before);
        }
        best.resize(std::min(kept, best.size()));
    }
    if (wrong >= 0) damaged("the score of row " + std::to_string(wrong) + " is not a number");
    std::vector<std::int64_t> places(best.size());
    std::vector<float> scores(best.size());
    for (std::size_t at = 0; at < best.size(); ++at) {
        places[at] = best[at].row;
        scores[at] = best[at].score;
    }
    const std::size_t found = best.size();
    return nb::make_tuple(array_of(std::move(places), found), array_of(std::move(scores), found));
}

// ------------------------------------------------------------------------------------------------------------- codes

nb::tuple encode(const Matrix &vectors, const Bits &centre, float scale) {
    const std::size_t n = vectors.shape(0), d = vectors.shape(1);
    if (d != centre.shape(0))
        throw nb::value_error(
            ("vectors have dimension " + std::to_string(d) + ", the centre has " + std::to_string(centre.shape(0))).c_str());
    const float *rows = vectors.data();
    // Python checks the vectors of callers, so such a vector comes from stored bytes.
    if (!std::all_of(rows, rows + n * d, [](float value) { return std::isfinite(value); })) damaged("a vector is not finite");
    const std::size_t width = PLANES * groups_of(d);
    std::vector<std::uint8_t> codes(n * width);
    std::vector<float> scales(n);
    {
        nb::gil_scoped_release released;
        const auto rotation = rotation_of(d);
        Encoder encoder(centre.data(), scale, d, *rotation);
        for (std::size_t row = 0; row < n; ++row) scales[row] = encoder.encode(rows + row * d, codes.data() + row * width);
    }
    return nb::make_tuple(array_of(std::move(codes), n, width), array_of(std::move(scales), n));
}

// ------------------------------------------------------------------------------------------------------------- arenas

constexpr std::size_t FEW = 64;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Returns the addresses and sizes of the bytes objects in a list, which keeps them alive.
Parts pieces_of(const nb::list &given) {
    Parts pieces;
    for (nb::handle one : given) {
        const auto held = must<nb::bytes>(one);
        pieces.emplace_back(held.data(), held.size());
    }
    return pieces;
}

// An arena that keeps the bytes of its centroids alive.
struct HeldArena : Arena {
    nb::bytes centroids_held;

    explicit HeldArena(const nb::bytes &given) : Arena(given.data(), given.size()), centroids_held(given) {}
    bool keep(std::int64_t cluster, const nb::list &bodies, std::size_t most) {
        const std::size_t place = place_of(cluster);
        const Parts parts = pieces_of(bodies);
        std::size_t needed = size();
        for (const auto &part : parts) needed += part.second;
        if (needed > most) return false; // Do not copy a cluster that does not fit.
        return Arena::keep(place, std::make_unique<Held>(parts, centroids().d), most);
    }
    void remember(const nb::list &bodies) { Arena::remember(pieces_of(bodies)); }
};

// A course that keeps the Python objects alive whose memory it reads.
struct HeldCourse : Course {
    nb::object arena_held, pool_held, allowed_held;
    std::vector<nb::bytes> brought;

    HeldCourse(const nb::object &arena, const Vector &query, const nb::object &results, std::size_t k, const Weights &weights,
               double epsilon, std::int64_t window, std::int64_t most, const nb::object &allowed)
        : Course(checked(arena, query), query.data(), nb::cast<Pool &>(results), k,
                 {{weights.data(), weights.data() + weights.shape(0)}, epsilon, window, most}, bitmap_of(allowed)),
          arena_held(arena), pool_held(results), allowed_held(allowed) {}

    static const Arena &checked(const nb::object &arena, const Vector &query) {
        const auto &held = nb::cast<HeldArena &>(arena);
        require_query(query);
        require_dimension(held.centroids(), query.shape(0));
        return held;
    }
    std::int64_t run(std::int64_t loads) {
        nb::gil_scoped_release released;
        return Course::run(loads);
    }
    void bring(const nb::dict &clusters) {
        const auto &held = nb::cast<HeldArena &>(arena_held);
        std::unordered_map<std::size_t, Parts> places;
        std::vector<nb::bytes> bytes;
        for (auto [name, bodies] : clusters) {
            Parts &parts = places[held.place_of(must<std::int64_t>(name))];
            for (nb::handle one : must<nb::list>(bodies)) {
                const nb::bytes &body = bytes.emplace_back(must<nb::bytes>(one));
                parts.emplace_back(body.data(), body.size());
            }
        }
        Course::bring(std::move(places));
        brought.swap(bytes);
    }
    std::vector<std::int64_t> rank_by_value(std::size_t most, const nb::list &bodies) {
        const Parts pieces = pieces_of(bodies);
        // Few codes take a microsecond or two. Threads that a release wakes up would find the lock taken again.
        std::optional<nb::gil_scoped_release> released;
        if (pool.filled > FEW || pieces.size() > FEW) released.emplace();
        return Course::rank_by_value(most, pieces);
    }
};

// -------------------------------------------------------------------------------------------------------------- graph

constexpr int MOST_LEVELS = 16;

// A graph that can be changed. A node has at most m links at each upper level, and 2m at level 0.
struct Graph {
    std::size_t m = 0;
    std::int32_t entry = -1;
    std::vector<std::vector<std::vector<std::int32_t>>> links; // By node, then by level.

    std::size_t room(int at) const { return at ? m : 2 * m; }
    int top() const { return entry < 0 ? -1 : static_cast<int>(links[static_cast<std::size_t>(entry)].size()) - 1; }
    template <typename Visit> void each(std::size_t node, int height, Visit visit) const {
        if (static_cast<int>(links[node].size()) <= height) return;
        for (std::int32_t other : links[node][static_cast<std::size_t>(height)]) visit(static_cast<std::size_t>(other));
    }
};

// View of a stored graph, in numbers of 4 bytes:
// - header: magic, number of nodes n, M, entry node, checksum of the following bytes;
// - n + 1 numbers: for each node, the number of upper rows before its own. It has one upper row for each level above 0;
// - level 0: (n, 2M) links;
// - upper rows: (rows, M) links. -1 fills up a row of links.
struct GraphView {
    std::size_t n, m;
    std::int32_t entry;
    const std::uint8_t *rows, *base, *above;

    GraphView(const void *given, std::size_t size, std::size_t nodes, bool verify) {
        const auto *data = static_cast<const std::uint8_t *>(given);
        if (size < 20 || read<std::uint32_t>(data) != GRAPH_MAGIC) damaged("not a graph");
        n = read<std::uint32_t>(data + 4);
        m = read<std::uint32_t>(data + 8);
        entry = read<std::int32_t>(data + 12);
        if (n != nodes || m < 2 || m > 256 || size < 24 + (4 + 8 * m) * n) damaged("the graph is of another cluster");
        if (verify && level->checksum(data + 20, size - 20) != read<std::uint32_t>(data + 16))
            damaged("the checksum of its graph does not match");
        rows = data + 20;
        base = rows + 4 * (n + 1);
        above = base + 8 * m * n;
        if (size != 24 + (4 + 8 * m) * n + 4 * m * row(n) || entry < (n ? 0 : -1) || entry >= static_cast<std::int64_t>(n))
            damaged("the graph is of another length");
    }
    std::size_t row(std::size_t node) const { return read<std::uint32_t>(rows + 4 * node); }
    // Returns the level of a node; 0 if the stored number is out of range.
    int height(std::size_t node) const {
        const std::size_t first = row(node), end = row(node + 1);
        return end < first || end > row(n) || end - first > MOST_LEVELS ? 0 : static_cast<int>(end - first);
    }
    // Returns the address of a node's links at a level, and their maximum number in `count`.
    const std::uint8_t *at(std::size_t node, int height, std::size_t &count) const {
        count = height ? m : 2 * m;
        return height ? above + 4 * m * (row(node) + static_cast<std::size_t>(height) - 1) : base + 8 * m * node;
    }
    bool reaches(std::size_t node, int level) const { return height(node) >= level; }
    // Calls visit with each link of a node at a level. Throws Damaged unless the link leads to another node that has
    // the level: a right checksum does not guarantee that.
    template <typename Visit> void each(std::size_t node, int height, Visit visit) const {
        if (!reaches(node, height)) return;
        std::size_t count;
        const std::uint8_t *found = at(node, height, count);
        for (std::size_t place = 0; place < count; ++place) {
            const auto link = read<std::int32_t>(found + 4 * place);
            if (link < 0) return;
            const auto other = static_cast<std::size_t>(link);
            if (other >= n || other == node || (height && !reaches(other, height))) damaged("a link of its graph leads astray");
            visit(other);
        }
    }
    // Throws Damaged unless levels and links are valid, the entry is the first of the highest nodes, and no node has a
    // link twice at a level.
    void require_links() const {
        bool wrong = row(0) != 0;
        for (std::size_t node = 0; node < n; ++node) wrong |= row(node + 1) < row(node) || row(node + 1) - row(node) > MOST_LEVELS;
        if (wrong) damaged("a level of its graph cannot be");
        std::size_t highest = 0;
        for (std::size_t node = 0; node < n; ++node)
            if (height(node) > height(highest)) highest = node;
        if (n && static_cast<std::size_t>(entry) != highest) damaged("the entry of its graph is another");
        std::vector<std::size_t> last(n);
        std::size_t turn = 0;
        for (std::size_t node = 0; node < n; ++node)
            for (int level = 0; level <= height(node); ++level) {
                ++turn;
                each(node, level, [&](std::size_t other) {
                    if (last[other] == turn) damaged("a link of its graph leads astray");
                    last[other] = turn;
                });
            }
    }
};

// Search along a graph: a stored one (GraphView), or one that is being changed (Graph).
template <typename Links> struct Walk {
    const Body &body;
    const Query &query;
    const Links &links;
    std::size_t compared = 0;

    float score(std::size_t row) {
        ++compared;
        return score_one(body, query, row);
    }
    // Steps to better neighbours until there is none; returns the last node.
    Scored descend(Scored from, int height) {
        for (bool better = true; better;) {
            better = false;
            const auto here = static_cast<std::size_t>(from.row);
            links.each(here, height, [&](std::size_t other) {
                const Scored seen{score(other), static_cast<std::int64_t>(other)};
                if (before(seen, from)) {
                    from = seen;
                    better = true;
                }
            });
        }
        return from;
    }
    // Returns the ef best nodes found from a start, best first (Malkov and Yashunin, Alg. 2).
    std::vector<Scored> expand(Scored start, int height, std::size_t ef) {
        const auto worst_first = [](const Scored &a, const Scored &b) { return before(a, b); };
        const auto best_first = [](const Scored &a, const Scored &b) { return before(b, a); };
        std::priority_queue<Scored, std::vector<Scored>, decltype(best_first)> open(best_first);
        std::priority_queue<Scored, std::vector<Scored>, decltype(worst_first)> kept(worst_first);
        std::vector<bool> seen(body.n);
        seen[static_cast<std::size_t>(start.row)] = true;
        open.push(start);
        kept.push(start);
        while (!open.empty()) {
            const Scored next = open.top();
            if (kept.size() >= ef && before(kept.top(), next)) break;
            open.pop();
            links.each(static_cast<std::size_t>(next.row), height, [&](std::size_t other) {
                if (seen[other]) return;
                seen[other] = true;
                const Scored found{score(other), static_cast<std::int64_t>(other)};
                if (kept.size() < ef || before(found, kept.top())) {
                    open.push(found);
                    kept.push(found);
                    if (kept.size() > ef) kept.pop();
                }
            });
        }
        std::vector<Scored> result;
        for (; !kept.empty(); kept.pop()) result.push_back(kept.top());
        std::reverse(result.begin(), result.end());
        return result;
    }
};

// Returns the distance that RobustPrune compares.
float distance(float score) { return 1.0f - score; }

// Returns at most `room` candidates, nearest first. It drops a candidate if alpha times its distance to a kept one is
// below its distance to the node (Vamana).
std::vector<std::int32_t> robust_prune(const Body &body, std::size_t node, std::vector<Scored> candidates, std::size_t room, float alpha) {
    std::sort(candidates.begin(), candidates.end(), before);
    std::vector<std::int32_t> kept;
    std::vector<Query> queries;
    for (const Scored &candidate : candidates) {
        if (kept.size() >= room) break;
        const auto row = static_cast<std::size_t>(candidate.row);
        if (row == node) continue;
        const float far = distance(candidate.score);
        bool covered = false;
        for (std::size_t at = 0; at < kept.size() && !covered; ++at) {
            if (kept[at] == candidate.row)
                covered = true;
            else
                covered = alpha * distance(score_one(body, queries[at], row)) < far;
        }
        if (covered) continue;
        kept.push_back(static_cast<std::int32_t>(row));
        queries.emplace_back(body, row);
    }
    return kept;
}

// Returns the level of a node, computed from its id (splitmix64): at least l with probability M^-l.
int level_of(std::int64_t id, std::size_t m) {
    std::uint64_t state = static_cast<std::uint64_t>(id) + 0x9E3779B97F4A7C15ull;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
    state ^= state >> 31;
    const double chance = static_cast<double>(state >> 11) / 9007199254740992.0;
    int height = 0;
    for (double least = 1.0 / static_cast<double>(m); chance < least && height < MOST_LEVELS; least /= static_cast<double>(m)) ++height;
    return height;
}

void require_values(const Body &body) {
    if (body.is_compact()) damaged("codes of two bits have no graph");
}

// Insertion and removal of nodes.
struct Growth {
    const Body &body;
    Graph &graph;
    std::size_t ef;
    float alpha;

    std::vector<Scored> scored(const Query &query, const std::vector<std::int32_t> &rows) {
        std::vector<Scored> result;
        for (std::int32_t row : rows) result.push_back({score_one(body, query, static_cast<std::size_t>(row)), row});
        return result;
    }
    // Links a node to others and back (connectTwoWay). A neighbour with too many links keeps the best.
    void connect(std::size_t node, const std::vector<std::int32_t> &kept, int height) {
        graph.links[node][static_cast<std::size_t>(height)] = kept;
        for (std::int32_t other : kept) {
            auto &back = graph.links[static_cast<std::size_t>(other)][static_cast<std::size_t>(height)];
            if (std::find(back.begin(), back.end(), static_cast<std::int32_t>(node)) != back.end()) continue;
            back.push_back(static_cast<std::int32_t>(node));
            if (back.size() > graph.room(height)) {
                const Query query(body, static_cast<std::size_t>(other));
                back = robust_prune(body, static_cast<std::size_t>(other), scored(query, back), graph.room(height), alpha);
            }
        }
    }
    // Inserts a node (MobileRAG, Alg. 1).
    void insert(std::size_t node) {
        const int height = level_of(body.id(node), graph.m), top = graph.top();
        graph.links[node].assign(static_cast<std::size_t>(height) + 1, {});
        if (graph.entry < 0) {
            graph.entry = static_cast<std::int32_t>(node);
            return;
        }
        const Query query(body, node);
        Walk<Graph> walk{body, query, graph};
        Scored here{walk.score(static_cast<std::size_t>(graph.entry)), graph.entry};
        for (int at = top; at > height; --at) here = walk.descend(here, at);
        for (int at = std::min(height, top); at >= 0; --at) {
            const std::vector<Scored> found = walk.expand(here, at, ef);
            connect(node, robust_prune(body, node, found, graph.room(at), alpha), at);
            here = found.front();
        }
        if (height > top) graph.entry = static_cast<std::int32_t>(node);
    }
    // Removes a node (MobileRAG, Alg. 2, with two corrections: a removed entry point is replaced, and each node with a
    // link to the removed node gets new links).
    void remove(std::size_t node) {
        const auto mine = std::move(graph.links[node]);
        graph.links[node].clear();
        if (graph.entry == static_cast<std::int32_t>(node)) hand_over();
        for (std::size_t height = 0; height < mine.size(); ++height) {
            std::vector<std::size_t> bereft;
            for (std::size_t other = 0; other < graph.links.size(); ++other)
                if (graph.links[other].size() > height && std::erase(graph.links[other][height], static_cast<std::int32_t>(node)))
                    bereft.push_back(other);
            for (std::size_t other : bereft) relink(other, static_cast<int>(height), mine[height]);
        }
    }
    // Chooses new links of a node among its links, `heirs` (the links of the removed node) and the nodes near it.
    void relink(std::size_t node, int height, const std::vector<std::int32_t> &heirs) {
        std::vector<std::int32_t> candidates = graph.links[node][static_cast<std::size_t>(height)];
        candidates.insert(candidates.end(), heirs.begin(), heirs.end());
        const Query query(body, node);
        std::vector<Scored> near = scored(query, candidates);
        Walk<Graph> walk{body, query, graph};
        const Scored here{walk.score(node), static_cast<std::int64_t>(node)};
        for (const Scored &found : walk.expand(here, height, graph.room(height))) near.push_back(found);
        connect(node, robust_prune(body, node, near, graph.room(height), alpha), height);
    }
    // Makes the first of the highest nodes the entry.
    void hand_over() {
        graph.entry = -1;
        std::size_t highest = 0;
        for (std::size_t node = 0; node < graph.links.size(); ++node)
            if (graph.links[node].size() > highest) {
                highest = graph.links[node].size();
                graph.entry = static_cast<std::int32_t>(node);
            }
    }
};

// Returns a stored graph in changeable form, with space for `nodes` nodes.
Graph thaw(const GraphView &view, std::size_t nodes) {
    Graph graph;
    graph.m = view.m;
    graph.entry = view.entry;
    graph.links.resize(nodes);
    view.require_links();
    for (std::size_t node = 0; node < view.n; ++node) {
        graph.links[node].resize(static_cast<std::size_t>(view.height(node)) + 1);
        for (int height = 0; height <= view.height(node); ++height)
            view.each(node, height, [&](std::size_t other) {
                graph.links[node][static_cast<std::size_t>(height)].push_back(static_cast<std::int32_t>(other));
            });
    }
    return graph;
}

// Returns the stored form of a graph: see GraphView.
nb::bytes freeze(const Graph &graph) {
    const std::size_t n = graph.links.size();
    std::size_t above = 0;
    for (const auto &node : graph.links) above += node.size() - 1;
    std::string data(24 + (4 + 8 * graph.m) * n + 4 * graph.m * above, '\0');
    auto put = [&](std::size_t at, auto value) { std::memcpy(data.data() + at, &value, sizeof value); };
    put(0, GRAPH_MAGIC);
    put(4, static_cast<std::uint32_t>(n));
    put(8, static_cast<std::uint32_t>(graph.m));
    put(12, graph.entry);
    std::size_t low = 24 + 4 * n, high = low + 8 * graph.m * n;
    std::uint32_t rows = 0;
    for (std::size_t node = 0; node < n; ++node) {
        rows += static_cast<std::uint32_t>(graph.links[node].size() - 1);
        put(24 + 4 * node, rows);
        for (std::size_t height = 0; height < graph.links[node].size(); ++height) {
            std::size_t &at = height ? high : low;
            const auto &links = graph.links[node][height];
            for (std::size_t place = 0; place < graph.room(static_cast<int>(height)); ++place, at += 4)
                put(at, place < links.size() ? links[place] : std::int32_t{-1});
        }
    }
    put(16, level->checksum(reinterpret_cast<const std::uint8_t *>(data.data()) + 20, data.size() - 20));
    return nb::bytes(data.data(), data.size());
}

void require_growth(std::int64_t m, std::int64_t ef, double alpha) {
    if (m < 2 || m > 256) throw nb::value_error(("M is " + std::to_string(m) + ": give 2 to 256").c_str());
    if (ef < 1) throw nb::value_error(("ef is " + std::to_string(ef) + ": give 1 or more").c_str());
    if (!(alpha >= 1)) throw nb::value_error("alpha is below 1");
}

nb::bytes graph_insert(const nb::bytes &given, const nb::object &stored, std::int64_t m, std::int64_t ef, double alpha) {
    require_growth(m, ef, alpha);
    const Body body(given.data(), given.size(), true);
    require_values(body);
    Graph graph;
    std::size_t first = 0;
    if (stored.is_none()) {
        graph.m = static_cast<std::size_t>(m);
        graph.links.resize(body.n);
    } else {
        const auto bytes = must<nb::bytes>(stored);
        const auto *data = static_cast<const std::uint8_t *>(bytes.data());
        if (bytes.size() < 20) damaged("not a graph");
        first = read<std::uint32_t>(data + 4);
        if (first > body.n) damaged("the graph is of another cluster");
        graph = thaw(GraphView(bytes.data(), bytes.size(), first, true), body.n);
    }
    {
        nb::gil_scoped_release released;
        Growth growth{body, graph, static_cast<std::size_t>(ef), static_cast<float>(alpha)};
        for (std::size_t node = first; node < body.n; ++node) growth.insert(node);
    }
    return freeze(graph);
}

nb::bytes graph_remove(const nb::bytes &given, const nb::bytes &stored, const nb::list &rows, std::int64_t ef, double alpha) {
    require_growth(2, ef, alpha);
    const Body body(given.data(), given.size(), true);
    require_values(body);
    Graph graph = thaw(GraphView(stored.data(), stored.size(), body.n, true), body.n);
    std::vector<bool> gone(body.n);
    std::vector<std::size_t> leaving;
    for (nb::handle row : rows) {
        const auto number = must<std::int64_t>(row);
        if (number < 0 || static_cast<std::size_t>(number) >= body.n || gone[static_cast<std::size_t>(number)])
            throw nb::value_error(("there is no row " + std::to_string(number) + " to remove").c_str());
        gone[static_cast<std::size_t>(number)] = true;
        leaving.push_back(static_cast<std::size_t>(number));
    }
    {
        nb::gil_scoped_release released;
        Growth growth{body, graph, static_cast<std::size_t>(ef), static_cast<float>(alpha)};
        for (std::size_t node : leaving) growth.remove(node);
    }
    // Renumber the remaining rows from 0.
    std::vector<std::int32_t> place(body.n, -1);
    std::int32_t next = 0;
    for (std::size_t row = 0; row < body.n; ++row)
        if (!gone[row]) place[row] = next++;
    Graph left;
    left.m = graph.m;
    left.entry = graph.entry < 0 ? -1 : place[static_cast<std::size_t>(graph.entry)];
    for (std::size_t row = 0; row < body.n; ++row) {
        if (gone[row]) continue;
        for (auto &links : graph.links[row])
            for (std::int32_t &other : links) other = place[static_cast<std::size_t>(other)];
        left.links.push_back(std::move(graph.links[row]));
    }
    return freeze(left);
}

void graph_check(const nb::bytes &given, const nb::bytes &stored) {
    const Body body(given.data(), given.size(), true);
    require_values(body);
    GraphView(stored.data(), stored.size(), body.n, true).require_links();
}

nb::tuple walk(const nb::bytes &given, const nb::bytes &stored, const Vector &query, Pool &pool, std::size_t k, std::int64_t ef,
               const nb::object &allowed, bool trusted) {
    require_growth(2, ef, 1);
    require_query(query);
    std::fill(pool.fresh.begin(), pool.fresh.end(), std::uint8_t{0});
    const Bitmap bits = bitmap_of(allowed);
    std::size_t compared = 0;
    {
        nb::gil_scoped_release released;
        const Body body(given.data(), given.size(), !trusted);
        require_values(body);
        require_dimension(body, query.shape(0));
        const GraphView view(stored.data(), stored.size(), body.n, !trusted);
        const Query asked(query.data(), query.shape(0));
        if (view.entry >= 0) {
            Walk<GraphView> walk{body, asked, view};
            Scored here{walk.score(static_cast<std::size_t>(view.entry)), view.entry};
            for (int at = view.height(static_cast<std::size_t>(view.entry)); at > 0; --at) here = walk.descend(here, at);
            for (const Scored &found : walk.expand(here, 0, static_cast<std::size_t>(ef))) {
                const std::int64_t id = body.id(static_cast<std::size_t>(found.row));
                if (id >= 0 && pool.wants(found.score, id) && bits.has(id)) pool.offer(found.score, id);
            }
            compared = walk.compared;
        }
    }
    return nb::make_tuple(pool.ranks(k), compared);
}

} // namespace

void bind_courses(nb::module_ &module) {
    nb::class_<Pool>(module, "Pool")
        .def(nb::init<std::size_t>(), nb::arg("capacity"))
        .def_ro("filled", &Pool::filled)
        .def_prop_ro(
            "scores",
            [](const Pool &pool) { return array_of(std::vector(pool.scores.data(), pool.scores.data() + pool.filled), pool.filled); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "ids", [](const Pool &pool) { return array_of(std::vector(pool.ids.data(), pool.ids.data() + pool.filled), pool.filled); },
            nb::rv_policy::automatic);
    nb::class_<HeldArena>(module, "Arena")
        .def(nb::init<nb::bytes>(), nb::arg("centroids"))
        .def("keep", &HeldArena::keep, nb::arg("cluster"), nb::arg("bodies"), nb::arg("most") = std::numeric_limits<std::int64_t>::max())
        .def("remember", &HeldArena::remember, nb::arg("bodies"))
        .def_prop_ro("size", &HeldArena::size);
    nb::class_<HeldCourse>(module, "Course")
        .def(nb::init<const nb::object &, const Vector &, const nb::object &, std::size_t, const Weights &, double, std::int64_t,
                      std::int64_t, const nb::object &>(),
             nb::arg("arena"), nb::arg("query").noconvert(), nb::arg("pool"), nb::arg("k"), nb::arg("weights").noconvert(),
             nb::arg("epsilon"), nb::arg("window"), nb::arg("most"), nb::arg("allowed").none() = nb::none())
        .def("run", &HeldCourse::run, nb::arg("loads") = std::numeric_limits<std::int64_t>::max())
        .def("bring", &HeldCourse::bring, nb::arg("clusters"))
        .def("ahead", &HeldCourse::ahead, nb::arg("count"))
        .def("rank_by_value", &HeldCourse::rank_by_value, nb::arg("most"), nb::arg("bodies"))
        .def_ro("spent", &HeldCourse::spent)
        .def_prop_ro("sure", &HeldCourse::sure)
        .def_prop_ro("ranks", [](const HeldCourse &course) { return course.pool.ranks(course.k()); })
        .def_ro("loads", &HeldCourse::loads)
        .def_ro("compared", &HeldCourse::compared);
    module.attr("ENOUGH") = static_cast<std::int64_t>(Course::ENOUGH);
    module.attr("ALL") = static_cast<std::int64_t>(Course::ALL);
    module.attr("PAUSED") = static_cast<std::int64_t>(Course::PAUSED);
}

NB_MODULE(_kernel, module) {
    module.doc() = "The inner loops of vector search, compiled.";
    nb::set_leak_warnings(false);
    nb::exception<Damaged>(module, "DamagedBytes");
    module.def("levels", &levels);
    module.def("use_level", &use_level, nb::arg("name"));
    bind_courses(module);
    module.def("encode", &encode, nb::arg("vectors").noconvert(), nb::arg("centre").noconvert(), nb::arg("scale"));
    module.def("checksum", &checksum, nb::arg("data"));
    module.def("top_k", &top_k, nb::arg("vectors").noconvert(), nb::arg("query").noconvert(), nb::arg("k"),
               nb::arg("allowed").none() = nb::none());
    module.def("scan", &scan, nb::arg("bodies"), nb::arg("query").noconvert(), nb::arg("pool"), nb::arg("k") = 0,
               nb::arg("allowed").none() = nb::none(), nb::arg("trusted") = false);
    module.def("graph_insert", &graph_insert, nb::arg("body"), nb::arg("graph").none(), nb::arg("m"), nb::arg("ef"),
               nb::arg("alpha") = 1.0);
    module.def("graph_remove", &graph_remove, nb::arg("body"), nb::arg("graph"), nb::arg("rows"), nb::arg("ef"), nb::arg("alpha") = 1.0);
    module.def("graph_check", &graph_check, nb::arg("body"), nb::arg("graph"));
    module.def("walk", &walk, nb::arg("body"), nb::arg("graph"), nb::arg("query").noconvert(), nb::arg("pool"), nb::arg("k"), nb::arg("ef"),
               nb::arg("allowed").none() = nb::none(), nb::arg("trusted") = false);
    bind_signs(module);
}
