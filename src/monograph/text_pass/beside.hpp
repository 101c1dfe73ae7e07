// Which of a question's words stand beside names in the sentences of a text.
#pragma once
#include "sentences.hpp"
#include "text.hpp"
#include "unicode.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace monograph {

// The question's words: hashes, ascending, and what each weighs; 64 at most.
class AskedWords {
  public:
    static constexpr std::size_t MOST = 64;

    AskedWords(std::vector<std::uint32_t> words, std::vector<double> weights);

    // Which of them stand in a text as the inverted index has it, as bits by their places.
    std::uint64_t places(const std::u32string &indexed) const;

    // What some weigh together, added up by their places.
    double weight(std::uint64_t places) const;

  private:
    std::vector<std::uint32_t> words_;
    std::vector<double> weights_;
};

// The sentences of one text under a title, and what the question has to do with names in them.
class Sentences {
  public:
    // ``starts`` ascend, the first is 0; none lies beyond the text.
    Sentences(const AskedWords &asked, const Text &text, std::vector<std::size_t> starts);

    void set_title(const Text &key);

    struct Name {
        std::size_t words; // Different ones that the title has not.
        double beside;     // What words of the question weigh that are beside the name, in the best of its sentences.
    };

    // Of a name by its key, in some sentences.
    Name name(const Text &key, const std::vector<std::size_t> &where);

  private:
    std::uint64_t places(std::size_t sentence);

    const AskedWords &asked_;
    Text text_;
    std::vector<std::size_t> starts_;
    std::vector<std::uint64_t> places_;
    std::vector<char> known_; // Of which sentences the places are.
    std::u32string title_;
    std::vector<View> title_words_;
    std::uint64_t title_places_ = 0;
};

} // namespace monograph
