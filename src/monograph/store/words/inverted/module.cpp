// Python interface to the postings in FTS5's pages.
#include "best.hpp"
#include "kept.hpp"
#include "segments.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace monograph {

namespace nb = nanobind;

namespace {

constexpr int PAGE_BITS = 37; // A page's row is (segment << PAGE_BITS) + page.
constexpr std::int64_t NO_LIMIT = std::int64_t{1} << 62;
constexpr std::uint64_t MOST_PAGES = 1u << 31, PAGE = 4'000,
                        LARGE = 24; // Bytes of a page; bytes of a posting, estimated high.

using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Page page_of(nb::handle block) {
    if (!PyBytes_Check(block.ptr())) throw nb::type_error("a page is bytes");
    return {reinterpret_cast<const unsigned char *>(PyBytes_AS_STRING(block.ptr())),
            static_cast<std::size_t>(PyBytes_GET_SIZE(block.ptr()))};
}

// Consecutive pages of a segment, by their rows in the table of pages, first and last included.
struct Stretch {
    std::size_t place; // Index among all words and segments.
    std::uint64_t first, last;
};

// Postings of a question's words, read in steps: each step returns the pages that the next one takes.
class Words {
  public:
    Words(const nb::bytes &layout, std::vector<std::string> asked, std::vector<std::int64_t> limits, Kept &known)
        : words(std::move(asked)), most(std::move(limits)), counts(words.size(), -1), held(words.size()) {
        if (most.size() != words.size()) throw std::invalid_argument("give each word a limit");
        for (std::size_t at = 0; at < words.size(); ++at) {
            if (const auto postings = known.find(words[at]); postings) {
                held[at] = postings;
                counts[at] = std::min(static_cast<std::int64_t>(postings->size()), most[at]);
            } else {
                unread.push_back(at);
            }
        }
        is_known = read_layout(page_of(layout), segments);
        // Segments without pages were merged into the next level.
        std::erase_if(segments, [](const Segment &one) { return !one.last; });
        for (std::size_t at = 0; at < words.size(); ++at) places[words[at]] = at;
    }

    bool known() const { return is_known; }

    // Return the numbers of the segments, as JSON.
    std::string numbers() const {
        std::string made = "[";
        for (const Segment &one : segments) made.append(made.size() > 1 ? "," : "").append(std::to_string(one.number));
        return made + "]";
    }

    // Return the words that are not cached, whose pages must be read.
    std::vector<std::string> missing() const {
        std::vector<std::string> made;
        for (const std::size_t at : unread) made.push_back(words[at]);
        return made;
    }

    // Take two values of words_idx.pgno for each missing word and segment: of the last entry up to the word, and of the
    // next entry. Return the pages to read, as JSON; nullopt if a value is not a page.
    std::optional<std::string> begin(const nb::list &first) {
        if (first.size() != unread.size() * segments.size()) throw std::invalid_argument("give two pages of each word and segment");
        whole.resize(first.size());
        found.resize(first.size());
        for (std::size_t at = 0; at < first.size(); ++at) {
            std::tuple<std::optional<std::uint64_t>, std::optional<std::uint64_t>> told;
            if (!nb::try_cast(first[at], told)) return std::nullopt;
            const auto &[here, behind] = told;
            const Segment &segment = segments[at % segments.size()];
            const std::uint64_t begin = std::min(std::max(segment.first, here.value_or(0) >> 1), segment.last);
            // The page of the next entry may hold the end of this word's postings.
            const std::uint64_t end = std::max(begin, std::min(segment.last, behind ? *behind >> 1 : segment.last));
            whole[at] = {at, (segment.number << PAGE_BITS) + begin, (segment.number << PAGE_BITS) + end};
        }
        if (segments.empty())
            for (const std::size_t at : unread) take(at, {});
        return ask(true);
    }

    // Take the requested pages: (index of the stretch, page) in order. Return the next pages to read, as JSON, "" at
    // the end; nullopt if pages are inconsistent.
    std::optional<std::string> read(const nb::list &given) {
        std::vector<std::vector<Page>> pages(stretches.size());
        for (nb::handle one : given) {
            const auto row = nb::cast<nb::tuple>(one);
            const auto place = nb::cast<std::size_t>(row[0]);
            if (place >= pages.size() || !PyBytes_Check(nb::object(row[1]).ptr())) return std::nullopt;
            pages[place].push_back(page_of(row[1]));
        }
        const nb::gil_scoped_release released;
        for (std::size_t at = 0; at < pages.size(); ++at) {
            const auto [place, first, last] = stretches[at];
            if (pages[at].size() != last - first + 1) return std::nullopt;
            if (!read_postings(words[unread[place / segments.size()]], pages[at], last == whole[place].last, found[place]))
                return std::nullopt;
        }
        for (std::size_t at = 0; at < unread.size(); ++at)
            if (counts[unread[at]] < 0) count(at);
        return ask(false);
    }

    // Cache the postings that were read completely.
    void keep(Kept &known) const {
        for (const std::size_t at : unread)
            if (held[at]) known.keep(words[at], held[at]);
    }

    // Return the number of chunks that have each word, at most its limit.
    const std::vector<std::int64_t> &counted() const { return counts; }

    // Return (row, score) of the k best chunks that have any of the words; see monograph::best(). Scores are added in
    // the order of the words. ``with`` has the counts over all files if this file is one of several.
    std::optional<std::vector<std::pair<std::int64_t, double>>> best(const std::vector<std::string> &some, const nb::list &given,
                                                                     std::tuple<double, double> totals, std::tuple<double, double> weights,
                                                                     std::size_t k, std::optional<RowNumbers> among,
                                                                     std::optional<std::vector<double>> with) const {
        std::vector<const ByBlock *> postings;
        for (const std::string &word : some) postings.push_back(&of(word));
        if (!with) {
            with.emplace();
            for (const ByBlock *one : postings) with->push_back(static_cast<double>(one->size()));
        }
        if (with->size() != postings.size()) throw std::invalid_argument("as many counts as words");
        Lengths lengths;
        for (nb::handle one : given) {
            const auto block = nb::cast<nb::tuple>(one);
            lengths.add({nb::cast<std::int64_t>(block[0]), page_of(block[1]), nb::cast<std::uint16_t>(block[2])});
        }
        std::optional<std::span<const std::int64_t>> rows;
        if (among) rows.emplace(among->data(), among->size());
        const nb::gil_scoped_release released;
        lengths.sort();
        const auto best = monograph::best(postings, *with, lengths,
                                          {std::get<0>(totals), std::get<1>(totals), std::get<0>(weights), std::get<1>(weights), k}, rows);
        if (!best) return std::nullopt;
        std::vector<std::pair<std::int64_t, double>> made;
        for (const Scored &one : *best) made.emplace_back(one.row, one.score);
        return made;
    }

    // Return the numbers of the blocks of rows that have any of the words, ascending.
    std::vector<std::int64_t> blocks(const std::vector<std::string> &some) const {
        std::vector<std::int64_t> numbers;
        for (const std::string &word : some)
            for (const ByBlock::Part &part : of(word).parts()) numbers.push_back(part.number);
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
        return numbers;
    }

  private:
    // Return the pages of words that are not counted yet, as JSON. The first request has one page instead of two, where
    // most words end. If a word has a limit, it has enough pages of the longest segment, and one of each other segment.
    std::string ask(bool is_first) {
        std::string made;
        stretches.clear();
        for (std::size_t number = 0; number < unread.size(); ++number) {
            const std::size_t word = unread[number];
            if (counts[word] >= 0) continue;
            const auto own = std::span(whole).subspan(number * segments.size(), segments.size());
            const auto longest = std::max_element(
                own.begin(), own.end(), [](auto &left, auto &right) { return left.last - left.first < right.last - right.first; });
            for (std::size_t at = 0; at < own.size(); ++at) {
                auto [place, first, last] = own[at];
                if (!is_first && found[place].ended) continue;
                if (is_first && last == first + 1) last = first;
                if (is_first && most[word] < NO_LIMIT) last = std::min(last, first + (&own[at] == &*longest ? enough(most[word]) : 0));
                stretches.push_back({place, first, last});
                made.append(made.empty() ? "[[" : ",[").append(std::to_string(first)).append(",").append(std::to_string(last)).append("]");
            }
        }
        return made.empty() ? made : made + "]";
    }

    // Return how many further pages of a segment have ``most`` postings.
    static std::uint64_t enough(std::int64_t most) {
        return std::min(static_cast<std::uint64_t>(most), MOST_PAGES * PAGE) * LARGE / PAGE + 2;
    }

    // Count a word's chunks if all postings were read, or its limit is reached. ``number`` is an index in unread.
    void count(std::size_t number) {
        const std::size_t word = unread[number];
        const auto own = std::span(found).subspan(number * segments.size(), segments.size());
        if (std::all_of(own.begin(), own.end(), [](const Postings &one) { return one.ended; })) {
            take(word, own);
            for (Postings &one : own) one.all = {};
        } else if (at_least(own) >= most[word]) {
            counts[word] = most[word];
        }
    }

    // Store the complete postings of a word.
    void take(std::size_t word, std::span<Postings> own) {
        held[word] = std::make_shared<const ByBlock>(own);
        counts[word] = std::min(static_cast<std::int64_t>(held[word]->size()), most[word]);
    }

    // Return a lower bound of a word's chunks. It counts the rows of the longest list, as far as all newer lists are
    // read. Postings in newer lists may all be deletions, so they are subtracted.
    static std::int64_t at_least(std::span<const Postings> lists) {
        const auto longest =
            std::max_element(lists.begin(), lists.end(), [](auto &left, auto &right) { return left.all.size() < right.all.size(); });
        std::int64_t sure = 0, known = std::numeric_limits<std::int64_t>::max();
        for (auto newer = lists.begin(); newer != longest; ++newer) {
            if (!newer->ended) known = std::min(known, newer->all.empty() ? std::int64_t{0} : std::int64_t{newer->all.back().row});
            sure -= static_cast<std::int64_t>(newer->all.size());
        }
        for (const Posting &one : longest->all) sure += one.row <= known && one.stands();
        return sure;
    }

    const ByBlock &of(const std::string &word) const {
        const auto place = places.find(word);
        if (place == places.end() || !held[place->second]) throw nb::key_error(word.c_str());
        return *held[place->second];
    }

    std::vector<std::string> words;
    std::vector<std::int64_t> most, counts; // Limit of each word; its number of chunks, -1 if unknown.
    std::unordered_map<std::string, std::size_t> places;
    std::vector<Segment> segments;
    std::vector<Stretch> whole, stretches;            // Of each unread word and segment; of the last request.
    std::vector<Postings> found;                      // Of each unread word and segment.
    std::vector<std::size_t> unread;                  // Indexes of the words that are not cached.
    std::vector<std::shared_ptr<const ByBlock>> held; // Of each word; nullptr unless they are complete.
    bool is_known = false;
};

} // namespace

} // namespace monograph

NB_MODULE(_inverted, module) {
    using namespace monograph;
    module.doc() = "FTS5's pages read in place, and BM25 over them.";
    nb::set_leak_warnings(false);
    module.attr("ROWS") = Lengths::ROWS;
    module.attr("NOT_TOLD") = Lengths::NOT_TOLD;
    module.def("shortest", [](const nb::bytes &lengths) { return Lengths::shortest(page_of(lengths)); });
    nb::class_<Kept>(module, "Kept").def(nb::init<std::size_t>()).def_prop_ro("size", &Kept::size);
    nb::class_<Words>(module, "Words")
        .def(nb::init<const nb::bytes &, std::vector<std::string>, std::vector<std::int64_t>, Kept &>())
        .def_prop_ro("known", &Words::known)
        .def_prop_ro("segments", &Words::numbers)
        .def_prop_ro("count", &Words::counted)
        .def_prop_ro("missing", &Words::missing)
        .def("keep", &Words::keep)
        .def("begin", &Words::begin)
        .def("read", &Words::read)
        .def("blocks", &Words::blocks)
        .def("best", &Words::best, nb::arg("words"), nb::arg("lengths"), nb::arg("totals"), nb::arg("weights"), nb::arg("k"),
             nb::arg("among").none(), nb::arg("counts") = nb::none());
}
