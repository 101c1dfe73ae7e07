#include "canonical.hpp"

#include <cstdio>

namespace monograph {

namespace {

constexpr bool is_plain(std::uint32_t code) { return code >= 0x20 && code != '"' && code != '\\'; }

void append_escaped(std::string &out, std::uint32_t code) {
    constexpr std::string_view SIGNS = "\"\\\n\r\t\f\b", LETTERS = "\"\\nrtfb";
    out += '\\';
    if (const std::size_t at = SIGNS.find(static_cast<char>(code)); at != std::string_view::npos) {
        out += LETTERS[at];
        return;
    }
    char written[8];
    std::snprintf(written, sizeof written, "u%04x", static_cast<unsigned>(code));
    out += written;
}

} // namespace

void append_json(const Text &text, std::string &out) {
    out += '"';
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::uint32_t code = text[at];
        if (is_plain(code))
            append_utf8(out, code);
        else
            append_escaped(out, code);
    }
    out += '"';
}

} // namespace monograph
