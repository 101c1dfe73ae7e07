// What a text names, by patterns alone: what is found of each kind, and what of it stands. Twin: monograph.derive.extract.pattern.
#pragma once
#include "lexicon.hpp"
#include "names.hpp"
#include "phrases.hpp"
#include "sentences.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace monograph {

// Kinds of names first, as a lexicon counts them.
enum class Kind : std::int32_t { NAME, PERSON, ORGANISATION, PLACE, EVENT, WORK, DATE, TIME, QUANTITY, CODE, QUOTE, TERM, URL, EMAIL };

struct Mention {
    std::size_t start, end;
    Kind kind;
};

struct Limits {
    std::size_t characters, words, phrases, words_a_phrase; // Of a text's head that tell its language; of key phrases.
};

// What Python found in a text: things known by their shape, in order of precedence, which of their spans hold no part of a name,
// ascending, and who speaks.
struct Given {
    std::vector<Mention> shapes;
    std::vector<Span> taken, speakers;
};

// What else is found in it; of some names the twin has to tell the kind.
struct Found {
    std::u32string text;
    std::vector<Span> phrases;
    std::vector<Name> names;
};

// False for a text that is left to the twin: it is German, or Chinese is in it, or letters that have several small forms.
bool find_mentions(const Text &text, const Lexicon &lexicon, const FunctionWords &words, const Limits &limits, const Given &given, Found &out);

// Each span once, in order of start, longer before shorter. Every name has its kind.
std::vector<Mention> mentions(const Given &given, const Found &found, std::size_t longest, std::size_t most);

} // namespace monograph
