// Last and first names that stand for a full one in a document.
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

// The keys of a document's names, each with a number, and what they are told to be.
class Keys {
  public:
    static constexpr std::uint32_t NONE = 0xFFFFFFFF;

    enum Is : std::uint8_t { TOLD_PERSON = 1, TOLD_NAME = 2, PERSON = 4, NAME = 8, INITIALS = 16, LAST_NAME = 32, FULL = 64 };

    std::uint32_t number(View key) {
        const std::uint32_t number = numbers_.number(bytes_of(key));
        if (number < size()) return number;
        signs_.append(key);
        starts_.push_back(signs_.size());
        is_.push_back(0);
        return number;
    }

    // NONE where it has none.
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
    std::u32string signs_;
    std::vector<std::size_t> starts_{0};
    std::vector<std::uint8_t> is_;
};

// A key without Mr., Dr. and the like before it.
inline View without_courtesy(View key, const Lexicon &lexicon) {
    const std::size_t blank = key.find(U' ');
    if (blank == View::npos || blank + 1 == key.size()) return key;
    return lexicon.sets_of(key.substr(0, blank)) & COURTESY ? key.substr(blank + 1) : key;
}

inline View first_word(View key) { return key.substr(0, key.find(U' ')); }

inline View last_word(View key) { return key.substr(key.rfind(U' ') + 1); } // The place after npos is 0.

inline std::size_t count_words(View key) {
    return key.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(key.begin(), key.end(), U' '));
}

template <class Do> bool all_words(View key, Do holds) {
    for (std::size_t begin = 0;;) {
        const std::size_t end = std::min(key.find(U' ', begin), key.size());
        if (!holds(key.substr(begin, end - begin))) return false;
        if (end == key.size()) return true;
        begin = end + 1;
    }
}

class Teller {
  public:
    Teller(Keys &keys, const Lexicon &lexicon) : keys_(keys), lexicon_(lexicon) {}

    void tell() {
        const std::uint32_t told = keys_.size(); // More are numbered on the way.
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
    // Whether the words of a key are letters alone, and none of them small.
    bool is_plain(View key) {
        return all_words(key, [&](View word) { return is_alphabetic(word) && !(lexicon_.sets_of(word) & SMALL_WORDS); });
    }

    bool is_alphabetic(View word) {
        return !word.empty() && std::all_of(word.begin(), word.end(), [](char32_t code) { return Unicode::tables().is(code, ALPHA); });
    }

    // A person with initials, as T. Renk and J. R. R. Tolkien are.
    bool has_initials(View key) {
        const View last = last_word(key);
        if (last.size() == key.size() || last.size() <= LONGER_THAN_INITIALS) return false;
        const View given = key.substr(0, key.size() - last.size() - 1);
        return all_words(given, [](View word) { return word.size() == 1; }) && is_plain(key) && !(lexicon_.sets_of(last) & NO_PERSON);
    }

    // Whether a name of several words ends with a person's last name; one known by initials alone is held to more.
    bool bears(View key) {
        const std::uint32_t last = keys_.find(last_word(key));
        if (last == Keys::NONE || !keys_.is(last, Keys::PERSON | Keys::LAST_NAME)) return false;
        if (keys_.is(last, Keys::PERSON)) return true;
        return is_plain(key) && all_words(key, [&](View word) { return !(lexicon_.sets_of(word) & JOINED); });
    }

    Keys &keys_;
    const Lexicon &lexicon_;
};

// The full names that short forms mean: not one with initials where the same is named in full.
inline std::vector<std::uint32_t> meant(const Keys &keys) {
    std::set<std::pair<View, char32_t>> in_full; // Last words, and the first letters before them.
    std::vector<std::uint32_t> found;
    for (std::uint32_t one = 0; one < keys.size(); ++one)
        if (keys.is(one, Keys::FULL) && !keys.is(one, Keys::INITIALS)) in_full.emplace(last_word(keys[one]), keys[one][0]);
    for (std::uint32_t one = 0; one < keys.size(); ++one)
        if (keys.is(one, Keys::FULL) && !(keys.is(one, Keys::INITIALS) && in_full.contains({last_word(keys[one]), keys[one][0]})))
            found.push_back(one);
    return found;
}

// Of each key its full name, by the numbers of both; NONE for one that stands for no other. ``are_apart`` tells whether
// someone said that a short name and a full one are not one.
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
