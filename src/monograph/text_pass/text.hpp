// Views of Python strings. They are read without the interpreter's lock, while a reference to the string is held.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

namespace nb = nanobind;

// View of a text, with 1, 2 or 4 bytes per character.
class Text {
  public:
    explicit Text(PyObject *text)
        : kind_(PyUnicode_KIND(text)), ascii_(PyUnicode_IS_ASCII(text)), data_(PyUnicode_DATA(text)),
          size_(static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))) {}

    // View a text that is not a Python string.
    explicit Text(std::u32string_view text) : kind_(PyUnicode_4BYTE_KIND), ascii_(false), data_(text.data()), size_(text.size()) {}

    std::size_t size() const { return size_; }
    bool ascii() const { return ascii_; }

    // Return the first ``most`` characters, or the whole text if it is shorter.
    Text head(std::size_t most) const {
        Text shorter = *this;
        if (most < size_) shorter.size_ = most;
        return shorter;
    }

    Text part(std::size_t first, std::size_t last) const {
        Text one = *this;
        // The kind is the number of bytes per character.
        one.data_ = static_cast<const char *>(data_) + first * static_cast<std::size_t>(kind_);
        one.size_ = last - first;
        return one;
    }

    const char *bytes() const { return static_cast<const char *>(data_); }

    std::uint32_t operator[](std::size_t at) const {
        if (kind_ == PyUnicode_1BYTE_KIND) return static_cast<const std::uint8_t *>(data_)[at];
        if (kind_ == PyUnicode_2BYTE_KIND) return static_cast<const std::uint16_t *>(data_)[at];
        return static_cast<const std::uint32_t *>(data_)[at];
    }

    // Call ``with`` with a typed pointer to the characters, so that a loop need not test their width each time.
    template <class Do> auto visit(Do with) const {
        if (kind_ == PyUnicode_1BYTE_KIND) return with(static_cast<const std::uint8_t *>(data_));
        if (kind_ == PyUnicode_2BYTE_KIND) return with(static_cast<const std::uint16_t *>(data_));
        return with(static_cast<const std::uint32_t *>(data_));
    }

  private:
    int kind_;
    bool ascii_;
    const void *data_;
    std::size_t size_;
};

// The strings of a list. References are held, because the list may change while the interpreter's lock is released.
class Texts {
  public:
    explicit Texts(const nb::list &given) {
        held_.reserve(given.size());
        for (nb::handle one : given) {
            if (!PyUnicode_Check(one.ptr())) throw nb::type_error("a text is a str");
            held_.push_back(nb::borrow<nb::str>(one));
        }
    }

    std::size_t size() const { return held_.size(); }
    Text operator[](std::size_t at) const { return Text(held_[at].ptr()); }
    nb::handle held(std::size_t at) const { return held_[at]; }

  private:
    std::vector<nb::str> held_;
};

// Return the characters of a text in UTF-32.
inline std::u32string signs_of(const Text &text) {
    return text.visit([&](const auto *signs) { return std::u32string(signs, signs + text.size()); });
}

// Write a character in UTF-8; return the number of bytes, at most 4.
inline std::size_t write_utf8(char *out, std::uint32_t code) {
    if (code < 0x80) {
        out[0] = static_cast<char>(code);
        return 1;
    }
    std::size_t size = 0;
    if (code < 0x800) {
        out[size++] = static_cast<char>(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            out[size++] = static_cast<char>(0xE0 | code >> 12);
        } else {
            out[size++] = static_cast<char>(0xF0 | code >> 18);
            out[size++] = static_cast<char>(0x80 | (code >> 12 & 63));
        }
        out[size++] = static_cast<char>(0x80 | (code >> 6 & 63));
    }
    out[size++] = static_cast<char>(0x80 | (code & 63));
    return size;
}

inline void append_utf8(std::string &out, std::uint32_t code) {
    char bytes[4];
    out.append(bytes, write_utf8(bytes, code));
}

// Replace ``out`` by text[first:last] in UTF-8. Return false for an unpaired surrogate, which UTF-8 cannot represent.
inline bool to_utf8(const Text &text, std::size_t first, std::size_t last, std::string &out) {
    out.clear();
    if (text.ascii()) {
        out.assign(text.bytes() + first, last - first);
        return true;
    }
    for (std::size_t at = first; at < last; ++at) {
        const std::uint32_t code = text[at];
        if (code >= 0xD800 && code < 0xE000) return false;
        append_utf8(out, code);
    }
    return true;
}

} // namespace monograph
