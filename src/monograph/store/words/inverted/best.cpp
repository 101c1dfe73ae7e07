#include "best.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

namespace monograph {

namespace {

constexpr double K1 = 1.2, B = 0.75;
constexpr double LEAST_IDF = 1e-6; // IDF of a word in half of the chunks or more.
constexpr std::size_t SPARE = 256; // Results are cut to the best ones at 2 k results plus this number.

double inverse_document_frequency(double rows, double with) {
    const double value = std::log((rows - with + 0.5) / (with + 0.5));
    return value <= 0.0 ? LEAST_IDF : value;
}

bool is_better(const Scored &left, const Scored &right) {
    return left.score != right.score ? left.score > right.score : left.row < right.row;
}

// Collects the k best results, and all that tie with the last.
class Pool {
  public:
    explicit Pool(std::size_t k) : k(k), room(2 * k + SPARE) {}

    double lowest() const { return least; }
    bool may_enter(double score) const { return score >= least; }

    void add(Scored one) {
        held.push_back(one);
        if (held.size() < room) return;
        cut();
        room = 2 * held.size() + SPARE; // Many results may tie.
    }

    std::vector<Scored> all() && {
        cut();
        std::sort(held.begin(), held.end(), is_better);
        return std::move(held);
    }

  private:
    void cut() {
        if (!k || held.size() <= k) return;
        const auto last = held.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(held.begin(), last, held.end(), is_better);
        least = last->score;
        std::erase_if(held, [this](const Scored &one) { return one.score < least; });
    }

    std::size_t k, room;
    double least = 0.0; // Lowest score that may enter. Scores are above 0.
    std::vector<Scored> held;
};

// Score of a word with IDF 1, by its occurrences in a chunk and the chunk's length. Common cases are cached.
class Shares {
  public:
    explicit Shares(const Asked &asked) : asked(asked), is_plain(asked.in_title == 1.0 && asked.in_text == 1.0) {}

    static std::uint16_t words_at(const unsigned char *length) { return static_cast<std::uint16_t>(length[0] | length[1] << 8); }

    // Return the cached score of ``often`` occurrences, all in the text; 0 if it is not cached.
    double known(std::uint8_t often, std::uint16_t words) const {
        const std::size_t number = static_cast<std::uint8_t>(often - 1);
        return number < OFTEN && words < LONG ? shares[number][words] : 0.0;
    }

    // Return the score; -1 if the length is unknown.
    double of(Times times, std::uint16_t words) {
        if (!words || words == Lengths::NOT_TOLD) return -1.0;
        double often = 0.0; // Added one by one, as in FTS5.
        for (std::uint16_t time = 0; time < times.title; ++time) often += asked.in_title;
        for (std::uint16_t time = 0; time < times.text; ++time) often += asked.in_text;
        const double found = share(often, norm(words));
        if (is_plain && !times.title && times.text <= OFTEN && words < LONG) shares[times.text - 1][words] = found;
        return found;
    }

    // Return an upper bound of the score of ``times`` occurrences in a chunk of ``words`` words or more.
    double at_most(std::uint32_t times, std::uint16_t words) const {
        return share(static_cast<double>(times) * std::max(asked.in_title, asked.in_text), norm(words));
    }
    bool can_bound() const { return asked.in_title >= 0.0 && asked.in_text >= 0.0; }

  private:
    static constexpr std::size_t OFTEN = 4, LONG = 1'024; // Cached occurrences and lengths.

    double norm(std::uint16_t words) const { return K1 * (1 - B + B * static_cast<double>(words) / (asked.words / asked.rows)); }
    static double share(double often, double norm) { return (often * (K1 + 1.0)) / (often + norm); }

    const Asked &asked;
    bool is_plain;
    double shares[OFTEN][LONG] = {};
};

// A word's postings in one block: [begin, end), most occurrences in one row, and the word's IDF.
struct Span {
    const ByBlock *word;
    std::size_t begin, end;
    std::uint32_t most;
    double weight;
};

// Scores of the chunks in one block.
class Block {
  public:
    explicit Block(Shares &shares) : shares(shares) {}

    // Add a word's score to each of its chunks. Return false if a length is unknown.
    bool add(const Span &span, const unsigned char *lengths) {
        const std::uint16_t *const places = span.word->places();
        const std::uint8_t *const in_text = span.word->in_text();
        for (std::size_t at = span.begin; at < span.end; ++at) {
            const std::uint16_t place = places[at], words = Shares::words_at(lengths + 2 * static_cast<std::size_t>(place));
            const double share = shares.known(in_text[at], words);
            if (share == 0.0) {
                if (!add_one(span, lengths, at)) return false;
                continue;
            }
            add_to(place, span.weight * share);
        }
        return true;
    }

    // Do the same for some chunks, ascending, by binary search.
    bool add_to(const std::vector<std::uint16_t> &some, const Span &span, const unsigned char *lengths) {
        const std::uint16_t *const places = span.word->places();
        std::size_t at = span.begin;
        for (const std::uint16_t place : some) {
            at = static_cast<std::size_t>(std::lower_bound(places + at, places + span.end, place) - places);
            if (at == span.end) return true;
            if (places[at] == place && !add_one(span, lengths, at)) return false;
        }
        return true;
    }

    // Replace ``found`` by the chunks that score at least ``least``, ascending. Branch-free: the test is unpredictable.
    void gather(double least, std::vector<std::uint16_t> &found) const {
        found.resize(Lengths::ROWS);
        std::size_t count = 0;
        for (std::size_t word = 0; word < WORDS; ++word)
            for (std::uint64_t left = seen[word]; left; left &= left - 1) {
                const std::size_t at = 64 * word + static_cast<std::size_t>(std::countr_zero(left));
                found[count] = static_cast<std::uint16_t>(at);
                count += scores[at] >= least;
            }
        found.resize(count);
    }

    // Remove the chunks that score less than ``least``.
    void leave(double least, std::vector<std::uint16_t> &some) const {
        std::size_t count = 0;
        for (const std::uint16_t at : some) {
            some[count] = at;
            count += scores[at] >= least;
        }
        some.resize(count);
    }

    double score(std::uint16_t at) const { return scores[at]; }

    void clear() { std::fill_n(seen, WORDS, 0); }

  private:
    static constexpr std::size_t WORDS = (Lengths::ROWS + 63) / 64;

    bool add_one(const Span &span, const unsigned char *lengths, std::size_t at) {
        const std::uint16_t place = span.word->places()[at];
        const double share = shares.of(span.word->times(at), Shares::words_at(lengths + 2 * static_cast<std::size_t>(place)));
        if (share < 0.0) return false;
        add_to(place, span.weight * share);
        return true;
    }

    void add_to(std::uint16_t place, double score) {
        std::uint64_t &some = seen[place / 64];
        const std::uint64_t one = std::uint64_t{1} << place % 64;
        scores[place] = (some & one ? scores[place] : 0.0) + score;
        some |= one;
    }

    Shares &shares;
    double scores[64 * WORDS] = {}; // Valid for chunks in ``seen``.
    std::uint64_t seen[WORDS] = {}; // A bit for each chunk.
};

} // namespace

void Lengths::sort() {
    std::sort(blocks.begin(), blocks.end(), [](const Block &left, const Block &right) { return left.number < right.number; });
}

const Lengths::Block *Lengths::of_block(std::int64_t block) const {
    const auto found =
        std::lower_bound(blocks.begin(), blocks.end(), block, [](const Block &one, std::int64_t number) { return one.number < number; });
    return found == blocks.end() || found->number != block || found->each.size() != 2 * ROWS ? nullptr : &*found;
}

void Lengths::fetch_after(const Block *one) const {
#if defined(__GNUC__)
    if (one == &blocks.back()) return;
    for (std::size_t at = 0; at < 2 * ROWS; at += 64) __builtin_prefetch(one[1].each.data() + at, 0, 2);
#else
    (void)one;
#endif
}

std::uint16_t Lengths::shortest(Page two_bytes_each) {
    std::uint16_t least = NOT_TOLD;
    for (std::size_t at = 0; at + 1 < two_bytes_each.size(); at += 2) {
        // A row without a length has 0. Subtracting 1 makes it the largest number.
        least = std::min(least, static_cast<std::uint16_t>((two_bytes_each[at] | two_bytes_each[at + 1] << 8) - 1));
    }
    return static_cast<std::uint16_t>(least + 1);
}

std::optional<std::vector<Scored>> best(const std::vector<const ByBlock *> &words, const std::vector<double> &with, const Lengths &lengths,
                                        const Asked &asked, std::optional<std::span<const std::int64_t>> among) {
    struct Cursor {
        const ByBlock *word;
        std::size_t part;
        double weight;
    };
    // Looking up one chunk takes as long as scanning this many postings.
    constexpr std::size_t LOOKED_UP = 8;
    std::vector<Cursor> cursors;
    for (std::size_t at = 0; at < words.size(); ++at)
        cursors.push_back({words[at], 0, inverse_document_frequency(asked.rows, with.at(at))});
    Pool pool(asked.k);
    const auto shares = std::make_unique<Shares>(asked);
    const auto block = std::make_unique<Block>(*shares);
    std::vector<Span> spans;
    std::vector<double> rest; // Upper bound of the scores of each word and all later ones together.
    std::vector<std::uint16_t> some;
    for (;;) {
        std::int64_t number = std::numeric_limits<std::int64_t>::max();
        for (const Cursor &one : cursors)
            if (one.part < one.word->parts().size()) number = std::min(number, one.word->parts()[one.part].number);
        if (number == std::numeric_limits<std::int64_t>::max()) return std::move(pool).all();
        spans.clear();
        for (Cursor &one : cursors) {
            const auto &parts = one.word->parts();
            if (one.part == parts.size() || parts[one.part].number != number) continue;
            spans.push_back({one.word, parts[one.part].begin, one.word->end(one.part), parts[one.part].most, one.weight});
            ++one.part;
        }
        const Lengths::Block *const told = lengths.of_block(number);
        if (!told) return std::nullopt;
        const unsigned char *const held = told->each.data();
        lengths.fetch_after(told);
        rest.assign(spans.size() + 1, 0.0);
        // However sums are rounded, a score below the bar is below the lowest one.
        const double bar = pool.lowest() * (1.0 - 1e-9);
        if (bar > 0.0 && shares->can_bound()) {
            for (std::size_t at = spans.size(); at-- > 0;)
                rest[at] = rest[at + 1] + spans[at].weight * shares->at_most(spans[at].most, told->least);
        } else {
            std::fill(rest.begin(), rest.end(), std::numeric_limits<double>::infinity());
        }
        // Words are added in order. When the remaining words cannot reach the bar together, only chunks that can still
        // reach it are scored further.
        std::size_t at = 0;
        for (; at < spans.size() && rest[at] >= bar; ++at)
            if (!block->add(spans[at], held)) return std::nullopt;
        if (!at) continue;
        block->gather(bar - rest[at], some);
        for (; at < spans.size() && !some.empty(); ++at) {
            const bool is_little = some.size() * LOOKED_UP < spans[at].end - spans[at].begin;
            if (!(is_little ? block->add_to(some, spans[at], held) : block->add(spans[at], held))) return std::nullopt;
            block->leave(bar - rest[at + 1], some);
        }
        for (const std::uint16_t one : some) {
            const std::int64_t row = number * BLOCK_ROWS + one;
            const double score = block->score(one);
            if (pool.may_enter(score) && (!among || std::binary_search(among->begin(), among->end(), row))) pool.add({score, row});
        }
        block->clear();
    }
}

} // namespace monograph
