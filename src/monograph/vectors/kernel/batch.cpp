// Courses side by side, on as many threads as are worth it.
#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace monograph {

namespace {

// What several threads take in turn.
class Round {
  public:
    Round(const std::vector<Course *> &courses, std::int64_t loads) : states(courses.size()), courses_(courses), loads_(loads) {}

    std::vector<std::int64_t> states;
    std::exception_ptr wrong; // To be looked at when all are done.

    bool take() noexcept {
        const std::size_t at = next_.fetch_add(1, std::memory_order_relaxed);
        if (at >= courses_.size()) return false;
        try {
            states[at] = courses_[at]->run(loads_);
        } catch (...) {
            const std::lock_guard held(lock_);
            if (!wrong) wrong = std::current_exception();
        }
        return true;
    }

  private:
    const std::vector<Course *> &courses_;
    std::int64_t loads_;
    std::atomic<std::size_t> next_{0};
    std::mutex lock_;
};

} // namespace

std::vector<std::int64_t> side_by_side(const std::vector<Course *> &courses, std::int64_t loads, std::size_t threads, std::int64_t worth) {
    Round round(courses, loads);
    const auto begun = std::chrono::steady_clock::now();
    round.take();
    std::size_t more = std::min(threads, courses.size());
    if (worth > 0) {
        const auto spent = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun).count();
        const auto left = static_cast<std::size_t>(spent) * (courses.empty() ? 0 : courses.size() - 1);
        more = std::min(more, 1 + left / static_cast<std::size_t>(worth));
    }
    std::vector<std::thread> started;
    started.reserve(more);
    try {
        while (started.size() + 1 < more) started.emplace_back([&round] { while (round.take()) {} });
    } catch (const std::system_error &) {
        // The system gives no more threads: those that there are do it.
    }
    while (round.take()) {}
    for (std::thread &one : started) one.join();
    if (round.wrong) std::rethrow_exception(round.wrong);
    return std::move(round.states);
}

} // namespace monograph
