#include "number_words.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

namespace monograph {

namespace {

using Words = std::initializer_list<View>;

constexpr Words UNITS_OF_GERMAN = {U"ein", U"eine", U"zwei", U"drei", U"vier", U"fünf", U"sechs", U"sieben", U"acht", U"neun"};
constexpr Words TENS_OF_GERMAN = {U"zwanzig", U"dreißig", U"dreissig", U"vierzig", U"fünfzig", U"sechzig", U"siebzig", U"achtzig", U"neunzig"};
constexpr Words UNITS_OF_DUTCH = {U"een", U"twee", U"drie", U"vier", U"vijf", U"zes", U"zeven", U"acht", U"negen"};
constexpr Words TENS_OF_DUTCH = {U"twintig", U"dertig", U"veertig", U"vijftig", U"zestig", U"zeventig", U"tachtig", U"negentig"};
constexpr Words TENS_OF_ITALIAN = {U"vent", U"trent", U"quarant", U"cinquant", U"sessant", U"settant", U"ottant", U"novant"};
constexpr Words UNITS_OF_ITALIAN = {U"uno", U"due", U"tre", U"tré", U"quattro", U"cinque", U"sei", U"sette", U"otto", U"nove"};

// A word as far as it is read: where each way to read it has come to.
class Spelling {
  public:
    explicit Spelling(View word) : word_(word), places_{0} {}

    // Go on by one of some words; perhaps, stay as well.
    Spelling then(const Words &some) const {
        Spelling next(word_, {});
        for (const std::size_t at : places_)
            for (const View one : some)
                if (word_.substr(at).starts_with(one)) next.places_.push_back(at + one.size());
        return next;
    }
    Spelling then_perhaps(const Words &some) const { return either(then(some)); }

    Spelling either(const Spelling &other) const {
        Spelling both = *this;
        both.places_.insert(both.places_.end(), other.places_.begin(), other.places_.end());
        return both;
    }

    bool is_whole() const { return std::find(places_.begin(), places_.end(), word_.size()) != places_.end(); }

    // Whether letters and then an ending make it whole.
    bool is_whole_with(View ending) const {
        if (!word_.ends_with(ending)) return false;
        const std::size_t last = word_.size() - ending.size();
        return std::any_of(places_.begin(), places_.end(), [&](std::size_t at) {
            return at <= last && std::all_of(word_.begin() + static_cast<std::ptrdiff_t>(at), word_.begin() + static_cast<std::ptrdiff_t>(last),
                                             [](char32_t code) { return Unicode::tables().is(code, WORD); });
        });
    }

  private:
    Spelling(View word, std::vector<std::size_t> places) : word_(word), places_(std::move(places)) {}

    View word_;
    std::vector<std::size_t> places_;
};

bool is_german(View word) {
    const Spelling none(word);
    const Spelling thousands = none.either(none.then_perhaps(UNITS_OF_GERMAN).then({U"tausend"}));
    const Spelling hundreds = thousands.either(thousands.then_perhaps(UNITS_OF_GERMAN).then({U"hundert"}));
    return hundreds.is_whole() || hundreds.then_perhaps(UNITS_OF_GERMAN).then({U"und"}).then(TENS_OF_GERMAN).is_whole() ||
           hundreds.is_whole_with(U"zehn") || hundreds.then({U"elf", U"zwölf"}).is_whole() || hundreds.then(UNITS_OF_GERMAN).is_whole();
}

bool is_compound(View word) {
    if (word.empty()) return false;
    return is_german(word) || Spelling(word).then(UNITS_OF_DUTCH).then({U"en", U"ën"}).then(TENS_OF_DUTCH).is_whole() ||
           Spelling(word).then(TENS_OF_ITALIAN).then_perhaps({U"i", U"a"}).then(UNITS_OF_ITALIAN).is_whole();
}

} // namespace

bool is_number_word(View word, const Lexicon &lexicon) {
    const std::u32string written = bare(word);
    if ((lexicon.sets_of(written) & NUMBERS) || is_compound(written)) return true;
    if (written.find(U'-') == std::u32string::npos) return false;
    for (std::size_t begin = 0; begin <= written.size();) {
        const std::size_t end = std::min(written.find(U'-', begin), written.size());
        const std::uint32_t sets = lexicon.sets_of(View(written).substr(begin, end - begin));
        if (!(sets & (NUMBERS | JOINING))) return false;
        begin = end + 1;
    }
    return true;
}

} // namespace monograph
