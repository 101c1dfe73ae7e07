// Texts held against a question: which of its words their stretches have or come near to, and what else their words may
// tell.
#pragma once
#include "byte_map.hpp"
#include "sentences.hpp"
#include "text.hpp"
#include "tokens.hpp"
#include "unicode.hpp"
#include "word_map.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace monograph {

// What a word may tell by how it is written.
enum Clue : std::uint32_t { CAPITAL = 1, DATE = 2, AMOUNT = 4, POINTER = 8 };

// Words in small letters, and what they tell.
struct Clues {
    WordMap words;
};

// Rows of a table of token vectors, numbers of 16 bits, which someone holds.
struct TokenVectors {
    const std::uint16_t *data;
    std::size_t rows, dimension;
};

// Products are added up in so many lanes: a dimension is a multiple of it.
inline constexpr std::size_t LANES = 16;

// The words of a question, as texts are held against them.
class AskedTerms {
  public:
    static constexpr std::size_t MOST = 64;

    // ``words`` are its telling words, ``every`` all of them in order. What else is given is to outlive it.
    AskedTerms(Tokenizer &tokenizer, TokenVectors table, const std::vector<std::u32string> &words, const std::vector<std::u32string> &every,
               const Clues &clues);

    std::size_t size() const { return size_; }

  private:
    friend class Compared;
    using Run = std::array<std::int32_t, 3>; // Stems by number; the last of a pair is -1.
    struct Stem {
        std::uint64_t has = 0, stands = 0; // Of the telling words that have it the last one; all.
    };

    // The number of a stem that is the question's, else -1; and the same of one that becomes the question's.
    std::int32_t number_of(View stemmed) const;
    std::int32_t numbered(View stemmed);
    // Append the tokens of a word; what is no word counts as one that is not known.
    void append_tokens(View word, std::vector<std::uint32_t> &tokens) const;
    // The sum of the vectors of tokens, of which there is one at least, and its length, which is above 0.
    float add_up(const std::uint32_t *tokens, std::size_t count, std::vector<float> &sum) const;

    Tokenizer &tokenizer_;
    TokenVectors table_;
    std::size_t size_;
    std::vector<float> targets_;      // Of each telling word a row of unit length.
    ByteMap every_{64}, numbers_{64}; // All words; their stems, numbered.
    std::vector<Stem> stems_;
    std::vector<Run> pairs_, triples_; // That follow each other, ascending, each once.
    const Clues &clues_;
};

// What stretches of texts have to do with a question; each different word is looked at once.
class Compared {
  public:
    // Numbers of a row beside two for each word of the question.
    static constexpr std::size_t TOLD = 5, TOLD_OF_TEXT = 1;

    explicit Compared(const AskedTerms &asked);

    // Fill a row for each stretch of a text: how near it comes to each of the question's words; 1 for each that it has (of
    // those that share a stem the last one stands for it); words with a capital beyond the first, 1 for three; 1 for a
    // time, an amount, a first word that points elsewhere; how many different pairs of the question stand in it. And one for
    // the text, of which the stretches leave out nothing but white space: how near it comes; 1 for each word that stands
    // there in whatever form; how many different triples.
    void text(const Text &text, const std::vector<Span> &stretches, double *rows, double *whole);

  private:
    struct Word {
        std::int32_t number; // Of its stem.
        bool is_asked;
        std::size_t tokens; // Where its tokens begin.
    };
    // Of a stretch, beside how near it comes.
    struct Row {
        std::uint64_t has = 0, stands = 0;
        std::size_t names = 0;
        bool is_dated = false, is_counted = false, points = false;
    };
    struct Form {
        std::uint64_t has, stands;
        std::int32_t number; // Of its first word.
        std::uint32_t clues;
        std::size_t words; // Where its words begin.
    };

    void stretch(const Text &text, Span span, Row &row);
    void settle();
    void nearest(std::size_t from, std::size_t to, double *near) const;
    void words_of(const Text &text, std::vector<View> &words);
    std::uint32_t word(View word);
    std::uint32_t form(View written);
    std::uint32_t clues_of(View written, View small) const;
    static std::size_t different(const std::vector<std::int32_t> &numbers, const std::vector<AskedTerms::Run> &runs, std::size_t length);

    const AskedTerms &asked_;
    ByteMap words_by_text_, forms_by_text_;
    std::vector<Word> words_;
    std::vector<Form> forms_;
    std::vector<std::uint32_t> tokens_, words_of_forms_;
    std::vector<float> near_words_, near_forms_; // Rows of what is known of each.
    std::vector<std::uint32_t> read_;            // The forms of a text's stretches, one after the other.
    std::vector<std::int32_t> numbers_;          // Of the stems of a stretch's words, -1 for others.
    std::u32string folded_, paired_, written_;
    std::vector<View> found_, own_;
    std::vector<float> sum_;
};

} // namespace monograph
