#include "mentions.hpp"

#include <algorithm>
#include <utility>

namespace monograph {

namespace {

constexpr std::size_t LONGEST_WORD = 32;
constexpr View SEVERAL_SMALL_FORMS = U"\u0130\u03A3";

bool is_left(View text) {
    return std::any_of(text.begin(), text.end(), [](char32_t code) {
        return code >= 0x80 && (SEVERAL_SMALL_FORMS.find(code) != View::npos || (code >= 0x3400 && code <= 0x4DBF) || (code >= 0x4E00 && code <= 0x9FFF));
    });
}

// Whether a name in quotation marks stands within a longer name.
bool is_within_name(const Signs &signs, std::size_t start, std::size_t end) {
    if (!signs.is(end + 2, UPPER)) return false;
    const std::size_t least = start > LONGEST_WORD ? start - LONGEST_WORD : 0, last = start > 2 ? start - 2 : 0;
    if (last <= least) return false;
    const View before = signs.part(least, last);
    return signs.is(least + before.rfind(U' ') + 1, UPPER) && least + before.rfind(U' ') + 1 < last;
}

// What is found of a span, in the order in which it is found.
class Merged {
  public:
    Merged(View text, std::size_t longest) : signs_(text), longest_(longest) {}

    void shape(std::size_t start, std::size_t end, Kind kind) { found_.push_back({{start, end, kind}, Of::SHAPE}); }
    void name(std::size_t start, std::size_t end, Kind kind) {
        if (end - start <= longest_) found_.push_back({{start, end, kind}, Of::NAME});
    }
    void phrase(std::size_t start, std::size_t end) { found_.push_back({{start, end, Kind::TERM}, Of::PHRASE}); }

    std::vector<Mention> in_order(std::size_t most) {
        std::stable_sort(found_.begin(), found_.end(), [](const auto &one, const auto &other) {
            return one.mention.start != other.mention.start ? one.mention.start < other.mention.start : one.mention.end > other.mention.end;
        });
        std::vector<Mention> kept;
        kept.reserve(found_.size());
        for (const auto &[mention, of] : found_) {
            const bool is_known = !kept.empty() && kept.back().start == mention.start && kept.back().end == mention.end;
            if (!is_known) {
                if (kept.size() == most) break;
                kept.push_back(mention);
            } else if (of == Of::SHAPE) {
                kept.back().kind = mention.kind;
            } else if (of == Of::NAME && (kept.back().kind == Kind::NAME || kept.back().kind == Kind::QUOTE)) {
                // In quotation marks it is a work, unless it is known to be something else, or stands within a name.
                const bool is_work = kept.back().kind == Kind::QUOTE && mention.kind == Kind::NAME && !is_within_name(signs_, mention.start, mention.end);
                kept.back().kind = is_work ? Kind::WORK : mention.kind;
            }
        }
        return kept;
    }

  private:
    enum class Of { SHAPE, NAME, PHRASE };

    struct One {
        Mention mention;
        Of of;
    };

    Signs signs_;
    std::size_t longest_;
    std::vector<One> found_;
};

} // namespace

bool find_mentions(const Text &text, const Lexicon &lexicon, const FunctionWords &words, const Limits &limits, const Given &given, Found &out) {
    out.text = signs_of(text);
    if (is_left(out.text)) return false;
    const std::string &language = words.language_of(text, limits.characters, limits.words);
    if (language == "german") return false;
    out.names = proper_names(out.text, lexicon, language, given.taken);
    out.phrases = words.key_phrases(out.text, language, limits.phrases, limits.words_a_phrase);
    return true;
}

std::vector<Mention> mentions(const Given &given, const Found &found, std::size_t longest, std::size_t most) {
    Merged merged(found.text, longest);
    for (const Mention &one : given.shapes) merged.shape(one.start, one.end, one.kind);
    for (const auto &[first, last] : given.speakers) merged.name(first, last, Kind::PERSON);
    for (const Name &one : found.names) merged.name(one.start, one.end, static_cast<Kind>(one.kind));
    for (const auto &[first, last] : found.phrases) merged.phrase(first, last);
    return merged.in_order(most);
}

} // namespace monograph
