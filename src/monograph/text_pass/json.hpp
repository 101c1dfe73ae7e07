// JSON, read once from its beginning to its end: whoever reads says what is kept.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace monograph {

class Json {
  public:
    explicit Json(std::string_view written) : written_(written) {}

    // Each member of an object: ``with`` is given its name, and reads its value.
    template <class Do> void members(Do with) {
        take('{');
        if (is_next('}')) return;
        do {
            std::string name;
            text(name);
            take(':');
            with(std::string_view(name));
        } while (is_next(','));
        take('}');
    }

    // Each element of a list, which ``with`` reads.
    template <class Do> void elements(Do with) {
        take('[');
        if (is_next(']')) return;
        do with();
        while (is_next(','));
        take(']');
    }

    // A text as UTF-8.
    void text(std::string &out) {
        take('"');
        out.clear();
        for (;;) {
            const std::size_t end = written_.find_first_of("\"\\", at_);
            if (end == std::string_view::npos) throw std::invalid_argument("JSON ends within a text");
            out.append(written_, at_, end - at_);
            at_ = end + 1;
            if (written_[end] == '"') return;
            escaped(out);
        }
    }

    std::uint64_t whole_number() {
        const char first = next();
        std::uint64_t value = 0;
        for (; at_ < written_.size() && written_[at_] >= '0' && written_[at_] <= '9' && value < 1'000'000'000; ++at_)
            value = 10 * value + static_cast<std::uint64_t>(written_[at_] - '0');
        if (first < '0' || first > '9') throw std::invalid_argument("JSON has something else where a number is wanted");
        return value;
    }

    void skip() {
        std::string passed;
        switch (next()) {
        case '{': return members([this](std::string_view) { skip(); });
        case '[': return elements([this] { skip(); });
        case '"': return text(passed);
        default: at_ = std::min(written_.find_first_of(",]} \t\r\n", at_), written_.size());
        }
    }

  private:
    // The next sign that is no blank.
    char next() {
        at_ = written_.find_first_not_of(" \t\r\n", at_);
        if (at_ == std::string_view::npos) throw std::invalid_argument("JSON ends early");
        return written_[at_];
    }

    bool is_next(char sign) {
        if (next() != sign) return false;
        ++at_;
        return true;
    }

    void take(char sign) {
        if (!is_next(sign)) throw std::invalid_argument(std::string("JSON lacks ") + sign);
    }

    void escaped(std::string &out) {
        constexpr std::string_view SIGNS = "\"\\/bfnrt", MEANT = "\"\\/\b\f\n\r\t";
        const char sign = at_ < written_.size() ? written_[at_++] : '\0';
        if (const std::size_t place = SIGNS.find(sign); place != std::string_view::npos) {
            out += MEANT[place];
            return;
        }
        std::uint32_t code = sign == 'u' ? unit() : 0xD800;
        if (code >= 0xD800 && code < 0xDC00 && written_.substr(at_, 2) == "\\u") {
            at_ += 2;
            const std::uint32_t low = unit();
            code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF)) : 0xD800;
        }
        if (code >= 0xD800 && code < 0xE000) throw std::invalid_argument("JSON holds what is no text");
        put(code, out);
    }

    // Four digits.
    std::uint32_t unit() {
        std::uint32_t value = 0;
        for (int count = 0; count < 4; ++count, ++at_) {
            const std::size_t digit = at_ < written_.size() ? DIGITS.find(written_[at_]) : std::string_view::npos;
            if (digit == std::string_view::npos) throw std::invalid_argument("JSON holds what is no text");
            value = value << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
        }
        return value;
    }

    static void put(std::uint32_t code, std::string &out) {
        const auto rest = [&](unsigned shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
        if (code < 0x80) {
            out += static_cast<char>(code);
        } else if (code < 0x800) {
            out += static_cast<char>(0xC0 | code >> 6);
            rest(0);
        } else if (code < 0x10000) {
            out += static_cast<char>(0xE0 | code >> 12);
            rest(6), rest(0);
        } else {
            out += static_cast<char>(0xF0 | code >> 18);
            rest(12), rest(6), rest(0);
        }
    }

    static constexpr std::string_view DIGITS = "0123456789abcdefABCDEF";
    std::string_view written_;
    std::size_t at_ = 0;
};

} // namespace monograph
