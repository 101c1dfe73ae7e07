#include "tokens.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <tuple>

namespace monograph {

namespace {

constexpr std::uint32_t NO_PAIR = std::numeric_limits<std::uint32_t>::max(), NO_TOKEN = NO_PAIR;
constexpr std::size_t MOST_TOKENS = 65'535, MOST_MERGES = 65'536;
constexpr std::string_view BLANK = "\xE2\x96\x81"; // U+2581, which encodes a space.

std::uint32_t pair_of(std::uint32_t left, std::uint32_t right) { return left << 16 | right; }

std::size_t place_of(std::uint32_t pair, std::size_t size) {
    const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
    return (mixed ^ mixed >> 32) & (size - 1);
}

std::size_t length_of_sign(char first) {
    const auto byte = static_cast<std::uint8_t>(first);
    return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

bool begins_sign(char byte) { return (byte & 0xC0) != 0x80; }

// Replace ``written`` by the text in UTF-8, with a space for each U+2581. Return false for an unpaired surrogate.
bool read(const Text &text, std::string &written) {
    if (!to_utf8(text, 0, text.size(), written)) return false;
    std::size_t size = std::min(written.find(BLANK), written.size());
    for (std::size_t at = size; at < written.size();) {
        const bool is_blank = std::string_view(written).substr(at).starts_with(BLANK);
        written[size++] = is_blank ? ' ' : written[at];
        at += is_blank ? BLANK.size() : 1;
    }
    written.resize(size);
    return true;
}

// Call ``with`` for each special token of a text, with its number, and for the parts between, with NO_TOKEN.
template <class Do> void for_each_part(std::string_view text, Do with) {
    constexpr std::string_view SPECIAL[] = {"<unk>", "<s>", "</s>"};
    std::size_t begin = 0;
    for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1))
        for (std::uint32_t token = 0; token < std::size(SPECIAL); ++token)
            if (text.substr(at).starts_with(SPECIAL[token])) {
                with(text.substr(begin, at - begin), NO_TOKEN);
                with(SPECIAL[token], token);
                begin = at + SPECIAL[token].size();
            }
    with(text.substr(begin), NO_TOKEN);
}

// Call ``with`` for each word, with the spaces before it except one, which the encoder adds. The first word retains all
// spaces: Llama 2 adds a space before the text.
template <class Do> void for_each_word(std::string_view text, Do with) {
    if (text.empty()) return;
    for (std::size_t begin = 0;;) {
        std::size_t end = begin;
        while (end < text.size() && text[end] == ' ') ++end;
        end = std::min(text.find(' ', end), text.size());
        with(text.substr(begin, end - begin));
        if (end == text.size()) return;
        begin = end + 1;
    }
}

// A token in the linked list of a word's tokens. ``gone`` is true after it was merged into its left neighbour.
struct Symbol {
    std::uint32_t id;
    std::int32_t before, after; // Indexes of the neighbours; -1 for none.
    bool gone;
};

// A merge that may be applied to the symbol ``at`` and the next one.
struct Candidate {
    std::uint32_t rank, at, pair, made;

    // The top of the heap is the lowest rank, then the leftmost symbol.
    bool operator<(const Candidate &other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
};

} // namespace

Tokenizer::Tokenizer(const std::unordered_map<std::string_view, std::uint32_t> &vocabulary, const std::vector<std::string_view> &merges,
                     std::size_t most_words, std::size_t longest_word)
    : pieces_(1 << 17), merges_(1 << 17, Merge{NO_PAIR, 0, 0}), most_words_(most_words), longest_word_(longest_word), words_(1 << 15) {
    for (const auto &[piece, id] : vocabulary) {
        if (id >= MOST_TOKENS) throw std::invalid_argument("a token has a number above 65,534");
        pieces_.put(piece, id, 0);
        begun_.resize(std::max<std::size_t>(begun_.size(), id + 1));
        begun_[id] = static_cast<std::uint8_t>(std::count_if(piece.begin(), piece.end(), begins_sign));
    }
    const auto id_of = [&](std::string_view key) {
        const auto *found = pieces_.find(key);
        if (!found) throw std::invalid_argument("the vocabulary lacks " + std::string(key));
        return found->first;
    };
    for (unsigned byte = 0; byte < 256; ++byte) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", byte);
        bytes_[byte] = id_of(name);
        begun_[bytes_[byte]] = begins_sign(static_cast<char>(byte));
    }
    blank_ = id_of(BLANK);
    for (unsigned sign = 0; sign < 128; ++sign) {
        const char one = static_cast<char>(sign);
        const auto *found = pieces_.find(std::string_view(&one, 1));
        ascii_[sign] = found ? found->first : NO_TOKEN;
    }
    if (merges.size() > MOST_MERGES) throw std::invalid_argument("there are more than 65,536 merges");
    std::string piece;
    std::size_t rank = 0;
    for (const std::string_view one : merges) {
        const std::size_t gap = one.find(' ');
        if (gap == std::string::npos) throw std::invalid_argument("a merge is not two pieces");
        const std::string_view left = one.substr(0, gap), right = one.substr(gap + 1);
        piece.assign(left).append(right);
        const Merge merge{pair_of(id_of(left), id_of(right)), static_cast<std::uint16_t>(rank++), static_cast<std::uint16_t>(id_of(piece))};
        std::size_t at = place_of(merge.pair, merges_.size());
        while (merges_[at].pair != NO_PAIR && merges_[at].pair != merge.pair) at = (at + 1) & (merges_.size() - 1);
        merges_[at] = merge; // If a pair occurs twice, the last one counts.
    }
}

const Tokenizer::Merge *Tokenizer::merge_of(std::uint32_t left, std::uint32_t right) const {
    const std::uint32_t pair = pair_of(left, right);
    std::size_t at = place_of(pair, merges_.size());
    for (; merges_[at].pair != NO_PAIR; at = (at + 1) & (merges_.size() - 1))
        if (merges_[at].pair == pair) return &merges_[at];
    return nullptr;
}

// Merges are applied by rank, then from the left. As in the tokenizers package, a queued merge whose symbols have
// changed is still applied if they merge into the same token.
void Tokenizer::encode_word(std::string_view word, std::vector<std::uint32_t> &ids) const {
    if (word.empty()) {
        ids.push_back(blank_);
        return;
    }
    // One tuple for all buffers, because each access to a thread_local variable takes a call.
    thread_local std::tuple<std::string, std::vector<Symbol>, std::vector<Candidate>> own;
    auto &[written, symbols, waiting] = own;
    written.assign(BLANK);
    for (char sign : word)
        if (sign == ' ')
            written += BLANK;
        else
            written += sign;
    symbols.clear();
    const auto add = [&](std::uint32_t id) {
        const auto at = static_cast<std::int32_t>(symbols.size());
        symbols.push_back({id, at - 1, at + 1, false});
    };
    for (std::size_t at = 0; at < written.size();) {
        const std::size_t length = length_of_sign(written[at]);
        if (length == 1 && written[at] >= 0 && ascii_[static_cast<std::uint8_t>(written[at])] != NO_TOKEN)
            add(ascii_[static_cast<std::uint8_t>(written[at])]);
        else if (const auto *found = pieces_.find(std::string_view(written).substr(at, length)))
            add(found->first);
        else
            for (std::size_t byte = 0; byte < length; ++byte) add(bytes_[static_cast<std::uint8_t>(written[at + byte])]);
        at += length;
    }
    symbols.back().after = -1;
    waiting.clear();
    const auto offer = [&](std::int32_t at) {
        const auto place = static_cast<std::size_t>(at);
        if (const Merge *merge = merge_of(symbols[place].id, symbols[static_cast<std::size_t>(symbols[place].after)].id)) {
            waiting.push_back({merge->rank, static_cast<std::uint32_t>(at), merge->pair, merge->made});
            std::push_heap(waiting.begin(), waiting.end());
        }
    };
    for (std::size_t at = 0; at + 1 < symbols.size(); ++at) offer(static_cast<std::int32_t>(at));
    while (!waiting.empty()) {
        std::pop_heap(waiting.begin(), waiting.end());
        const Candidate best = waiting.back();
        waiting.pop_back();
        Symbol &left = symbols[best.at];
        if (left.gone || left.after < 0) continue;
        Symbol &right = symbols[static_cast<std::size_t>(left.after)];
        if (pair_of(left.id, right.id) != best.pair) {
            const Merge *merge = merge_of(left.id, right.id);
            if (!merge || merge->made != best.made) continue;
        }
        left.id = best.made;
        left.after = right.after;
        right.gone = true;
        if (left.after >= 0) symbols[static_cast<std::size_t>(left.after)].before = static_cast<std::int32_t>(best.at);
        if (left.before >= 0) offer(left.before);
        if (left.after >= 0) offer(static_cast<std::int32_t>(best.at));
    }
    for (std::int32_t at = 0; at >= 0; at = symbols[static_cast<std::size_t>(at)].after)
        ids.push_back(symbols[static_cast<std::size_t>(at)].id);
}

bool Tokenizer::encode(const Text &text, std::vector<std::uint32_t> &ids) {
    thread_local std::string written;
    if (!read(text, written)) return false;
    for_each_part(written, [&](std::string_view part, std::uint32_t token) {
        if (token == NO_TOKEN)
            encode_part(part, ids);
        else
            ids.push_back(token);
    });
    return true;
}

void Tokenizer::encode_part(std::string_view part, std::vector<std::uint32_t> &ids) {
    thread_local std::vector<std::pair<std::string_view, std::size_t>> fresh; // New words; see learn().
    fresh.clear();
    {
        // Never wait for the lock: after a fork, the thread that holds it may be missing in the child.
        const std::shared_lock reading(lock_, std::try_to_lock);
        for_each_word(part, [&](std::string_view word) {
            if (const auto *known = reading.owns_lock() ? words_.find(word) : nullptr) {
                for (std::uint32_t at = 0; at < known->second; ++at) ids.push_back(ids_of_words_[known->first + at]);
            } else {
                fresh.emplace_back(word, ids.size());
                encode_word(word, ids);
                fresh.emplace_back(std::string_view(), ids.size());
            }
        });
    }
    if (!fresh.empty()) learn(fresh, ids);
}

std::int64_t Tokenizer::count(const Text &text) {
    thread_local std::pair<std::string, std::vector<std::uint32_t>> own;
    auto &[written, ids] = own;
    if (!read(text, written)) return -1;
    std::int64_t count = 0;
    bool known = false;
    {
        const std::shared_lock reading(lock_, std::try_to_lock);
        known = reading.owns_lock();
        for_each_part(written, [&](std::string_view part, std::uint32_t token) {
            count += token != NO_TOKEN;
            for_each_word(token == NO_TOKEN ? part : std::string_view(), [&](std::string_view word) {
                const auto *found = known ? words_.find(word) : nullptr;
                known = found != nullptr;
                count += known ? found->second : 0;
            });
        });
    }
    if (known) return count;
    ids.clear();
    return encode(text, ids) ? static_cast<std::int64_t>(ids.size()) : -1;
}

// encode_part adds a space before each part. A token of that space, or with it, begins where the part begins.
bool Tokenizer::spans(const Text &text, std::vector<Span> &out) {
    std::string written;
    if (!read(text, written)) return false;
    std::vector<std::uint32_t> ids;
    std::size_t offset = 0;
    for_each_part(written, [&](std::string_view part, std::uint32_t token) {
        const auto size = static_cast<std::size_t>(std::count_if(part.begin(), part.end(), begins_sign));
        ids.clear();
        if (token == NO_TOKEN)
            encode_part(part, ids);
        else
            out.emplace_back(offset, offset + size);
        std::size_t begun = 0;
        for (const std::uint32_t id : ids) {
            // A token of trailing bytes begins where its character begins.
            const std::size_t first = begun + (begun_[id] ? 1 : 0);
            begun += begun_[id];
            out.emplace_back(offset + (first > 2 ? first - 2 : 0), offset + (begun > 2 ? begun - 1 : 1));
        }
        offset += size;
    });
    return true;
}

void Tokenizer::learn(const std::vector<std::pair<std::string_view, std::size_t>> &words, const std::vector<std::uint32_t> &ids) {
    const std::unique_lock writing(lock_, std::try_to_lock);
    if (!writing.owns_lock()) return;
    for (std::size_t at = 0; at < words.size(); at += 2) {
        const auto [word, begin] = words[at];
        const std::size_t end = words[at + 1].second;
        if (word.size() > longest_word_ || words_.find(word)) continue;
        words_.put(word, static_cast<std::uint32_t>(ids_of_words_.size()), static_cast<std::uint32_t>(end - begin));
        for (std::size_t one = begin; one < end; ++one) ids_of_words_.push_back(static_cast<std::uint16_t>(ids[one]));
    }
    if (words_.size() > most_words_) {
        words_.clear();
        ids_of_words_.clear();
    }
}

std::size_t Tokenizer::known() const {
    const std::shared_lock reading(lock_, std::try_to_lock);
    return reading.owns_lock() ? words_.size() : 0;
}

} // namespace monograph
