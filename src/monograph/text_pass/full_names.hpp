// Full names of persons for the first and last names in a document.
#pragma once
#include "byte_map.hpp"
#include "lexicon.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace monograph {

constexpr std::size_t MOST_WORDS = 4, LONGER_THAN_INITIALS = 2;

// Keys of a document's names, each with a number, and flags.
class Keys {
  public:
    static constexpr std::uint32_t NONE = 0xFFFFFFFF;

    // TOLD_PERSON, TOLD_NAME: kinds of its mentions. PERSON: a person, without a courtesy title. NAME: a name of 2 to
    // MOST_WORDS words. INITIALS: initials and a last name. LAST_NAME: of such a person. FULL: a full name.
    enum Is : std::uint8_t { TOLD_PERSON = 1, TOLD_NAME = 2, PERSON = 4, NAME = 8, INITIALS = 16, LAST_NAME = 32, FULL = 64 };

    // Return the number of a key, which is added if it is new.
    std::uint32_t number(View key) {
        const std::uint32_t number = numbers_.number(bytes_of(key));
        if (number < size()) return number;
        signs_.append(key);
        starts_.push_back(signs_.size());
        is_.push_back(0);
        return number;
    }

    // Return the number of a key; NONE if it is missing.
    std::uint32_t find(View key) const {
        const auto *known = numbers_.find(bytes_of(key));
        return known ? known->first : NONE;
    }
    View operator[](std::uint32_t number) const { return View(signs_).substr(starts_[number], starts_[number + 1] - starts_[number]); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(is_.size()); }

    bool is(std::uint32_t number, unsigned what) const { return is_[number] & what; }
    void tell(std::uint32_t number, Is what) { is_[number] = static_cast<std::uint8_t>(is_[number] | what); }

  private:
    ByteMap numbers_{256};
    std::u32string signs_; // All keys, one after the other.
    std::vector<std::size_t> starts_{0};
    std::vector<std::uint8_t> is_;
};

// Return a key without a courtesy title (Mr., Dr.) before it.
inline View without_courtesy(View key, const Lexicon &lexicon) {
    const std::size_t blank = key.find(U' ');
    if (blank == View::npos || blank + 1 == key.size()) return key;
    return lexicon.sets_of(key.substr(0, blank)) & COURTESY ? key.substr(blank + 1) : key;
}

inline View first_word(View key) { return key.substr(0, key.find(U' ')); }

inline View last_word(View key) { return key.substr(key.rfind(U' ') + 1); } // npos + 1 is 0.

inline std::size_t count_words(View key) {
    return key.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(key.begin(), key.end(), U' '));
}

// Return whether ``holds`` is true for all words of a key.
template <class Do> bool all_words(View key, Do holds) {
    for (std::size_t begin = 0;;) {
        const std::size_t end = std::min(key.find(U' ', begin), key.size());
        if (!holds(key.substr(begin, end - begin))) return false;
        if (end == key.size()) return true;
        begin = end + 1;
    }
}

// Sets the flags PERSON to FULL.
class Teller {
  public:
    Teller(Keys &keys, const Lexicon &lexicon) : keys_(keys), lexicon_(lexicon) {}

    void tell() {
        const std::uint32_t told = keys_.size(); // The loop adds keys, but does not visit them.
        for (std::uint32_t one = 0; one < told; ++one) {
            if (keys_.is(one, Keys::TOLD_PERSON))
                if (const std::u32string person(without_courtesy(keys_[one], lexicon_)); !person.empty())
                    keys_.tell(keys_.number(person), Keys::PERSON);
            if (const std::size_t words = count_words(keys_[one]); keys_.is(one, Keys::TOLD_NAME) && words >= 2 && words <= MOST_WORDS)
                keys_.tell(one, Keys::NAME);
        }
        const std::uint32_t named = keys_.size();
        for (std::uint32_t one = 0; one < named; ++one)
            if (keys_.is(one, Keys::NAME | Keys::PERSON) && has_initials(keys_[one])) {
                keys_.tell(one, Keys::INITIALS);
                keys_.tell(keys_.number(std::u32string(last_word(keys_[one]))), Keys::LAST_NAME);
            }
        for (std::uint32_t one = 0; one < keys_.size(); ++one)
            if ((keys_.is(one, Keys::PERSON) && keys_[one].find(U' ') != View::npos) || (keys_.is(one, Keys::NAME) && bears(keys_[one])))
                keys_.tell(one, Keys::FULL);
    }

  private:
    // Return whether all words of a key consist of letters, and none is in SMALL_WORDS.
    bool is_plain(View key) {
        return all_words(key, [&](View word) { return is_alphabetic(word) && !(lexicon_.sets_of(word) & SMALL_WORDS); });
    }

    bool is_alphabetic(View word) {
        return !word.empty() && std::all_of(word.begin(), word.end(), [](char32_t code) { return Unicode::tables().is(code, ALPHA); });
    }

    // Return whether a key is the name of a person with initials: T. Renk, J. R. R. Tolkien.
    bool has_initials(View key) {
        const View last = last_word(key);
        if (last.size() == key.size() || last.size() <= LONGER_THAN_INITIALS) return false;
        const View given = key.substr(0, key.size() - last.size() - 1);
        return all_words(given, [](View word) { return word.size() == 1; }) && is_plain(key) && !(lexicon_.sets_of(last) & NO_PERSON);
    }

    // Return whether a name ends with a person's last name. If only initials show that it is one, more is required.
    bool bears(View key) {
        const std::uint32_t last = keys_.find(last_word(key));
        if (last == Keys::NONE || !keys_.is(last, Keys::PERSON | Keys::LAST_NAME)) return false;
        if (keys_.is(last, Keys::PERSON)) return true;
        return is_plain(key) && all_words(key, [&](View word) { return !(lexicon_.sets_of(word) & JOINED); });
    }

    Keys &keys_;
    const Lexicon &lexicon_;
};

// Return the full names that short forms may mean: not T. Renk if Tobias Renk is named, too.
inline std::vector<std::uint32_t> meant(const Keys &keys) {
    std::set<std::pair<View, char32_t>> in_full; // (last word, first letter) of names without initials.
    std::vector<std::uint32_t> found;
    for (std::uint32_t one = 0; one < keys.size(); ++one)
        if (keys.is(one, Keys::FULL) && !keys.is(one, Keys::INITIALS)) in_full.emplace(last_word(keys[one]), keys[one][0]);
    for (std::uint32_t one = 0; one < keys.size(); ++one)
        if (keys.is(one, Keys::FULL) && !(keys.is(one, Keys::INITIALS) && in_full.contains({last_word(keys[one]), keys[one][0]})))
            found.push_back(one);
    return found;
}

// Return the number of each key's full name, which may be the key itself; NONE if it has none, or more than one.
// ``are_apart`` returns whether a user said that a short and a full name are different names.
inline std::vector<std::uint32_t> full_names(Keys &keys, const Lexicon &lexicon, const std::function<bool(View, View)> &are_apart) {
    constexpr std::uint32_t SEVERAL = Keys::NONE - 1;
    Teller(keys, lexicon).tell();
    std::vector<std::uint32_t> full(keys.size(), Keys::NONE);
    for (const std::uint32_t one : meant(keys))
        for (const std::u32string &form : {std::u32string(first_word(keys[one])), std::u32string(last_word(keys[one]))}) {
            const std::uint32_t number = keys.number(form);
            full.resize(keys.size(), Keys::NONE);
            full[number] = full[number] == Keys::NONE || full[number] == one ? one : SEVERAL;
        }
    for (std::uint32_t one = 0; one < keys.size(); ++one) {
        if (keys.is(one, Keys::FULL))
            full[one] = one;
        else if (full[one] != Keys::NONE && (full[one] == SEVERAL || keys[one].size() < 2 || are_apart(keys[one], keys[full[one]])))
            full[one] = Keys::NONE;
    }
    return full;
}

} // namespace monograph
