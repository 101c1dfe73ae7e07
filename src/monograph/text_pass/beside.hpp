// Words of a question that occur in the same sentences of a text as names.
#pragma once
#include "fold.hpp"
#include "sentences.hpp"
#include "text.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace monograph {

// Return a text in the form of the inverted index. The result is valid until the thread's next call.
inline const std::u32string &indexed(const Text &text) {
    thread_local std::pair<std::u32string, std::u32string> own;
    return index_form(text, own.first, own.second);
}

// Return the distinct words of a text in the form of the inverted index, sorted.
inline std::vector<View> words_of(View indexed) {
    std::vector<View> words;
    each_word(indexed, [&](View word) { words.push_back(word); });
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
}

// The question's words: their hashes, ascending, and their weights; at most 64.
class AskedWords {
  public:
    static constexpr std::size_t MOST = 64;

    AskedWords(std::vector<std::uint32_t> words, std::vector<double> weights) : words_(std::move(words)), weights_(std::move(weights)) {
        if (words_.size() > MOST || words_.size() != weights_.size() || !std::is_sorted(words_.begin(), words_.end()))
            throw std::invalid_argument("words ascend, 64 at most, and each has a weight");
    }

    // Return which of the words occur in a text in the form of the inverted index: bit n for word n.
    std::uint64_t places(const std::u32string &indexed) const {
        thread_local std::vector<std::uint32_t> hashes;
        hash_words(indexed, hashes);
        std::uint64_t out = 0;
        for (const std::uint32_t hash : hashes) {
            const auto found = std::lower_bound(words_.begin(), words_.end(), hash);
            if (found != words_.end() && *found == hash) out |= std::uint64_t{1} << (found - words_.begin());
        }
        return out;
    }

    // Return the sum of the weights of some words, given by their bits.
    double weight(std::uint64_t places) const {
        double sum = 0.0; // Rounding depends on the order.
        for (std::size_t place = 0; place < weights_.size(); ++place)
            if (places >> place & 1) sum += weights_[place];
        return sum;
    }

  private:
    std::vector<std::uint32_t> words_;
    std::vector<double> weights_;
};

// The sentences of one text with a title, compared with a question.
class Sentences {
  public:
    // ``starts`` are the offsets of the sentences, ascending from 0. ``asked`` and the text must outlive this object.
    Sentences(const AskedWords &asked, const Text &text, std::vector<std::size_t> starts)
        : asked_(asked), text_(text), starts_(std::move(starts)), places_(starts_.size()), known_(starts_.size()) {
        if (starts_.empty() || starts_[0] != 0 || !std::is_sorted(starts_.begin(), starts_.end()) || starts_.back() > text.size())
            throw std::invalid_argument("sentences ascend from 0, and lie in the text");
    }

    void set_title(const Text &key) {
        title_ = indexed(key);
        title_places_ = asked_.places(title_);
        title_words_ = words_of(title_);
    }

    struct Name {
        std::size_t words; // Number of distinct words that the title lacks.
        // Weight of the question's words outside of name and title, in the name's best sentence.
        double beside;
    };

    // Compare a name, given by its key and the numbers of its sentences.
    Name name(const Text &key, const std::vector<std::size_t> &where) {
        const std::u32string &written = indexed(key);
        Name out{};
        const auto words = words_of(written);
        out.words = static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [&](const auto word) {
            return !std::binary_search(title_words_.begin(), title_words_.end(), word);
        }));
        if (where.empty()) return out;
        const std::uint64_t aside = asked_.places(written) | title_places_;
        for (const std::size_t sentence : where) {
            const std::uint64_t held = places(std::min(sentence, starts_.size() - 1));
            if (held & ~aside) out.beside = std::max(out.beside, asked_.weight(held & ~aside));
        }
        return out;
    }

  private:
    std::uint64_t places(std::size_t sentence) {
        if (!known_[sentence]) {
            const std::size_t last = sentence + 1 < starts_.size() ? starts_[sentence + 1] : text_.size();
            places_[sentence] = asked_.places(indexed(text_.part(starts_[sentence], last)));
            known_[sentence] = true;
        }
        return places_[sentence];
    }

    const AskedWords &asked_;
    Text text_;
    std::vector<std::size_t> starts_;
    std::vector<std::uint64_t> places_;
    std::vector<char> known_; // Whether places_ has the sentence.
    std::u32string title_;
    std::vector<View> title_words_;
    std::uint64_t title_places_ = 0;
};

} // namespace monograph
