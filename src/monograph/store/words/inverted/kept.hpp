// Cache of words' postings for one state of the file, bounded in bytes. The least recently used words are dropped.
#pragma once
#include "by_block.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace monograph {

class Kept {
  public:
    explicit Kept(std::size_t most) : most_(most) {}

    std::size_t size() const { return size_; }

    // Return the postings of a word; nullptr if they are not cached.
    std::shared_ptr<const ByBlock> find(const std::string &word) {
        const auto held = held_.find(word);
        if (held == held_.end()) return nullptr;
        held->second.asked = ++asked_;
        return held->second.postings;
    }

    void keep(const std::string &word, const std::shared_ptr<const ByBlock> &postings) {
        const std::size_t size = BESIDE + word.size() + postings->bytes();
        if (size > most_ / LEAST_WORDS || !held_.try_emplace(word, One{postings, size, ++asked_}).second) return;
        for (size_ += size; size_ > most_;) {
            const auto oldest = std::min_element(held_.begin(), held_.end(),
                                                 [](auto &left, auto &right) { return left.second.asked < right.second.asked; });
            size_ -= oldest->second.size;
            held_.erase(oldest);
        }
    }

  private:
    static constexpr std::size_t BESIDE = 128;    // Approximate bytes of a word's entry.
    static constexpr std::size_t LEAST_WORDS = 4; // Postings of more than most_ / LEAST_WORDS bytes are not cached.
    struct One {
        std::shared_ptr<const ByBlock> postings;
        std::size_t size;
        std::uint64_t asked; // Number of its last request.
    };
    std::size_t most_, size_ = 0;
    std::uint64_t asked_ = 0;
    std::unordered_map<std::string, One> held_;
};

} // namespace monograph
