#include "chunks.hpp"

#include <algorithm>
#include <utility>

namespace monograph {

namespace {

struct Sentence {
    std::size_t start, end;
    std::int64_t tokens;
    std::uint32_t strength, mark;
};

// Sentences are counted with the white space that follows them.
bool counted(Tokenizer &tokenizer, const Text &text, const std::vector<Span> &spans, std::int64_t most, std::vector<Sentence> &out) {
    const std::vector<Break> found = breaks(text, spans, 0);
    out.reserve(spans.size());
    for (std::size_t at = 0; at < spans.size(); ++at) {
        const auto [start, end] = spans[at];
        const std::int64_t tokens = tokenizer.count(text.part(start, at + 1 < spans.size() ? spans[at + 1].first : text.size()));
        if (tokens < 0 || tokens > most) return false;
        out.push_back({start, end, tokens, found[at].blank_line ? PARAGRAPH : SENTENCE, found[at].mark});
    }
    return true;
}

void mark_headings(std::vector<Sentence> &sentences, const std::vector<std::int64_t> &headings) {
    auto heading = headings.begin();
    for (Sentence &one : sentences)
        for (; heading != headings.end() && *heading <= static_cast<std::int64_t>(one.start); ++heading) one.strength = HEADING;
}

class Cutter {
  public:
    Cutter(const std::vector<Sentence> &sentences, Room room, std::vector<ChunkSpan> &out) : sentences_(sentences), room_(room), out_(out) {}

    void cut(const std::vector<std::int64_t> &borders) {
        std::size_t border = 0;
        for (; last_ < sentences_.size(); ++last_) {
            const auto start = static_cast<std::int64_t>(sentences_[last_].start);
            if (border < borders.size() && borders[border] <= start) {
                border = static_cast<std::size_t>(std::upper_bound(borders.begin(), borders.end(), start) - borders.begin());
                if (first_ < last_) {
                    add(last_);
                    first_ = overlap_ = last_;
                    held_ = repeated_ = 0;
                }
            }
            held_ += sentences_[last_].tokens;
            while (held_ > room_.tokens && last_ > first_) cut_off();
        }
        if (first_ < last_) add(last_);
    }

  private:
    void add(std::size_t end) { out_.push_back({sentences_[overlap_].start, sentences_[first_].start, sentences_[end - 1].end}); }

    // The last of the sentences does not fit any more: those before a border are a chunk.
    void cut_off() {
        const std::size_t at = best_border(room_.tokens - repeated_);
        add(at);
        overlap_ = at;
        repeated_ = 0;
        // The next chunk's first own sentence must fit beside what is repeated; nothing is, across a heading.
        const std::int64_t most = std::min(room_.overlap, room_.tokens - sentences_[at].tokens);
        while (overlap_ > first_ + 1 && sentences_[overlap_].strength < HEADING && repeated_ + sentences_[overlap_ - 1].tokens <= most)
            repeated_ += sentences_[--overlap_].tokens;
        first_ = at;
        held_ = repeated_;
        for (std::size_t one = first_; one <= last_; ++one) held_ += sentences_[one].tokens;
    }

    // The strongest break in the second half of the room; of several the one with the highest mark.
    std::size_t best_border(std::int64_t room) const {
        std::size_t best = 0, fitting = 0;
        std::int64_t filled = 0;
        for (std::size_t at = first_ + 1; at <= last_; ++at) {
            filled += sentences_[at - 1].tokens;
            if (filled > room) break;
            ++fitting;
            if (2 * filled < room) continue;
            const Sentence &one = sentences_[at];
            if (!best || std::pair(one.strength, one.mark) > std::pair(sentences_[best].strength, sentences_[best].mark)) best = at;
        }
        // One long sentence jumps from the first half past the room: all that fits before it.
        return best ? best : first_ + std::max<std::size_t>(1, fitting);
    }

    const std::vector<Sentence> &sentences_;
    Room room_;
    std::vector<ChunkSpan> &out_;
    std::size_t overlap_ = 0, first_ = 0, last_ = 0; // What is repeated, what is the chunk's own, and the last so far.
    std::int64_t held_ = 0, repeated_ = 0; // Tokens of all of it, and of what is repeated.
};

} // namespace

bool cut_chunks(Tokenizer &tokenizer, const Text &text, const std::vector<Span> &spans, const std::vector<std::int64_t> &headings,
                const std::vector<std::int64_t> &borders, Room room, std::vector<ChunkSpan> &out) {
    std::vector<Sentence> sentences;
    if (!counted(tokenizer, text, spans, room.tokens, sentences)) return false;
    mark_headings(sentences, headings);
    Cutter(sentences, room, out).cut(borders);
    return true;
}

} // namespace monograph
