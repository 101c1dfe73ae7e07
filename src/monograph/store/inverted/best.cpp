#include "best.hpp"

#include <algorithm>
#include <cmath>

namespace monograph {

namespace {

constexpr double K1 = 1.2, B = 0.75;
constexpr double LEAST_IDF = 1e-6; // What a word in half of the chunks counts.
constexpr std::size_t SPARE = 256; // Results that are gathered before the best of them are chosen.

double inverse_document_frequency(double rows, double with) {
    const double value = std::log((rows - with + 0.5) / (with + 0.5));
    return value <= 0.0 ? LEAST_IDF : value;
}

// How often a word stands there, as FTS5 adds it up: one after the other.
double frequency(const Posting &one, const Asked &asked) {
    double sum = 0.0;
    for (std::uint32_t time = 0; time < one.title; ++time) sum += asked.in_title;
    for (std::uint32_t time = 0; time < one.text; ++time) sum += asked.in_text;
    return sum;
}

bool is_better(const Scored &left, const Scored &right) {
    return left.score != right.score ? left.score > right.score : left.row < right.row;
}

// The k best, and what ties with the last of them.
class Pool {
  public:
    explicit Pool(std::size_t k) : k(k), room(2 * k + SPARE) {}

    bool may_enter(double score) const { return score >= least; }

    void add(Scored one) {
        held.push_back(one);
        if (held.size() < room) return;
        cut();
        room = 2 * held.size() + SPARE; // Many may tie.
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
    double least = 0.0; // Scores are above it.
    std::vector<Scored> held;
};

// The scores of a block's chunks.
class Block {
  public:
    bool add(const unsigned char *lengths, std::size_t at, double weight, double often, const Asked &asked) {
        double &norm = norms[at];
        if (norm == 0.0) {
            const std::uint16_t length = static_cast<std::uint16_t>(lengths[2 * at] | lengths[2 * at + 1] << 8);
            if (!length || length == Lengths::NOT_TOLD) return false;
            norm = K1 * (1 - B + B * static_cast<double>(length) / (asked.words / asked.rows));
            scores[at] = 0.0;
            touched.push_back(static_cast<std::uint16_t>(at));
        }
        scores[at] += weight * ((often * (K1 + 1.0)) / (often + norm));
        return true;
    }

    template <class Take> void give(Take take) {
        for (const std::uint16_t at : touched) {
            take(at, scores[at]);
            norms[at] = 0.0;
        }
        touched.clear();
    }

  private:
    double norms[Lengths::ROWS] = {}, scores[Lengths::ROWS];
    std::vector<std::uint16_t> touched;
};

} // namespace

void Lengths::sort() {
    std::sort(blocks.begin(), blocks.end(), [](const Block &left, const Block &right) { return left.number < right.number; });
}

const unsigned char *Lengths::of_block(std::int64_t block) const {
    const auto found =
        std::lower_bound(blocks.begin(), blocks.end(), block, [](const Block &one, std::int64_t number) { return one.number < number; });
    return found == blocks.end() || found->number != block || found->each.size() != 2 * ROWS ? nullptr : found->each.data();
}

std::optional<std::vector<Scored>> best(const std::vector<const std::vector<Posting> *> &words, const Lengths &lengths, const Asked &asked,
                                        std::optional<std::span<const std::int64_t>> among) {
    struct Cursor {
        const Posting *at, *end;
        double weight;
    };
    constexpr auto ROWS = static_cast<std::int64_t>(Lengths::ROWS);
    std::vector<Cursor> cursors;
    for (const auto *one : words) {
        const double weight = inverse_document_frequency(asked.rows, static_cast<double>(one->size()));
        cursors.push_back({one->data(), one->data() + one->size(), weight});
    }
    Pool pool(asked.k);
    Block block;
    for (;;) {
        const Posting *first = nullptr;
        for (const Cursor &one : cursors)
            if (one.at != one.end && (!first || one.at->row < first->row)) first = one.at;
        if (!first) return std::move(pool).all();
        const std::int64_t number = first->row / ROWS;
        const std::int64_t begin = number * ROWS;
        const unsigned char *const held = lengths.of_block(number);
        if (!held) return std::nullopt;
        for (Cursor &one : cursors)
            for (; one.at != one.end && one.at->row - begin < ROWS; ++one.at)
                if (!block.add(held, static_cast<std::size_t>(one.at->row - begin), one.weight, frequency(*one.at, asked), asked))
                    return std::nullopt;
        block.give([&](std::size_t at, double score) {
            const std::int64_t row = begin + static_cast<std::int64_t>(at);
            if (pool.may_enter(score) && (!among || std::binary_search(among->begin(), among->end(), row))) pool.add({score, row});
        });
    }
}

} // namespace monograph
