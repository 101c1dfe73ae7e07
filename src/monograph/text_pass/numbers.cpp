// Each part of the regular expression is a function that gives where it ends, or 0 where it does not match: nothing that
// is matched ends at 0. They are tried in the order in which they are written there.
#include "numbers.hpp"

#include <algorithm>

namespace monograph {

namespace {

constexpr std::size_t LONGEST_CODE = 24, LONGEST_MONTH = 12, LONGEST_WORD = 16, SEEN_AHEAD = 64;
constexpr View CURRENCIES = U"$€£¥";

bool is_in_code(char32_t code) { return (code >= U'A' && code <= U'Z') || (code >= U'0' && code <= U'9'); }

bool is_before_digit(char32_t code) {
    return is_ascii_letter(code) || (code >= U'0' && code <= U'9') || code == U'_' || code == U'/' || code == U'-';
}

bool is_han(char32_t code) { return code >= 0x3400 && code <= 0x9FFF; }

class Numbers {
  public:
    Numbers(View text, const Lexicon &lexicon) : signs_(text), lexicon_(lexicon) {}

    std::vector<Shaped> find() const {
        std::vector<Shaped> found;
        for (std::size_t end = 0;;) {
            std::size_t digit = end;
            while (digit < signs_.size() && !signs_.is(digit, DECIMAL)) ++digit;
            if (digit == signs_.size()) return found;
            std::size_t start = first_sign(digit, end);
            Shaped one{};
            const std::size_t month = month_before(start, end);
            if (month < start) one = at(month);
            if (!one.end) one = at(start);
            if (!one.end) {
                end = digit;
                while (signs_.is(end, DECIMAL) || signs_.is_one_of(end, U".,")) ++end;
                while (signs_.is(end, WORD) || signs_[end] == U'-') ++end;
                continue;
            }
            end = one.end;
            if (one.shape != Shape::TIME)
                while (one.end > one.start && signs_.is_one_of(one.end - 1, U".,")) --one.end;
            found.push_back(one);
        }
    }

  private:
    // Where the word of a digit begins, or its currency's sign; at the digit itself, if it goes on what was found.
    std::size_t first_sign(std::size_t digit, std::size_t end) const {
        std::size_t start = digit;
        const std::size_t least = std::max(end, digit > LONGEST_CODE ? digit - LONGEST_CODE : 0);
        while (start > least && is_before_digit(signs_[start - 1])) --start;
        if (start == end && end > 0) return digit;
        while (start < digit && signs_.is_one_of(start, U"_/-")) ++start;
        if (start > end && signs_.is_one_of(start - 1, CURRENCIES)) return start - 1;
        return start > end + 1 && signs_[start - 1] == U' ' && signs_.is_one_of(start - 2, CURRENCIES) ? start - 2 : start;
    }

    // Where the month before a number begins; the number's own start where none stands there.
    std::size_t month_before(const std::size_t number, std::size_t end) const {
        for (std::size_t start = number;;) {
            if (start <= end + 2 || signs_[start - 1] != U' ') return number;
            const std::size_t least = std::max(end, start > LONGEST_MONTH + 1 ? start - LONGEST_MONTH - 1 : 0);
            std::size_t last = start - 1; // A line's end may stand behind the word.
            if (last > least && signs_[last - 1] == U'\n') --last;
            if (last > least && signs_[last - 1] == U'.') --last;
            start = last;
            while (start > least && signs_.is(start - 1, WORD) && !signs_.is(start - 1, DECIMAL) && signs_[start - 1] != U'_' && !is_han(signs_[start - 1])) --start;
            if (start == last) return number;
            const View word = signs_.part(start, last);
            if (word != U"de" && word != U"del") return lexicon_.sets_of(word) & MONTHS ? start : number;
        }
    }

    Shaped at(std::size_t place) const {
        if (const std::size_t end = date(place)) return {place, end, Shape::DATE};
        if (const std::size_t end = time(place)) return {place, end, Shape::TIME};
        if (const std::size_t end = quantity(place)) return {place, end, Shape::QUANTITY};
        if (const std::size_t end = code(place)) return {place, end, Shape::CODE};
        return {place, 0, Shape::NONE};
    }

    // Where one or two digits end that no third follows.
    std::size_t few_digits(std::size_t at) const {
        const std::size_t count = signs_.digits(at, 3);
        return count == 1 || count == 2 ? at + count : 0;
    }

    std::size_t date(std::size_t at) const {
        if (const std::size_t end = date_in_numbers(at)) return end;
        if (const std::size_t end = day_and_month(at)) return end;
        if (const std::size_t end = month_and_day(at)) return end;
        if (const std::size_t end = month_and_year(at)) return end;
        if (const std::size_t end = han_date(at)) return end;
        return year(at);
    }

    std::size_t date_in_numbers(std::size_t at) const {
        if (signs_.digits(at, 4) == 4 && signs_.is_one_of(at + 4, U"-/."))
            if (const std::size_t month = few_digits(at + 5); month && signs_.is_one_of(month, U"-/."))
                if (const std::size_t day = few_digits(month + 1)) return day;
        if (const std::size_t day = few_digits(at); day && signs_.is_one_of(day, U"./"))
            if (const std::size_t month = few_digits(day + 1); month && signs_.is_one_of(month, U"./") && signs_.digits(month + 1, 4) == 4)
                return month + 5;
        const bool is_of_ours = signs_.starts_with(at, U"19") || signs_.starts_with(at, U"20");
        return is_of_ours && signs_.digits(at + 2, 7) == 6 ? at + 8 : 0;
    }

    // Where a month ends, with its dot.
    std::size_t month(std::size_t at) const {
        const std::size_t end = signs_.run(at, WORD, LONGEST_WORD);
        if (end == at || signs_.is(end, WORD) || !(lexicon_.sets_of(signs_.part(at, end)) & MONTHS)) return 0;
        return signs_[end] == U'.' ? end + 1 : end;
    }

    // A blank and four digits, behind "de" or "del" perhaps.
    std::size_t of_year(std::size_t at) const {
        for (const View of : {U" del", U" de"})
            if (signs_.starts_with(at, of) && blank_and_year(at + of.size())) return at + of.size() + 5;
        return blank_and_year(at) ? at + 5 : 0;
    }

    bool blank_and_year(std::size_t at) const { return signs_[at] == U' ' && signs_.digits(at + 1, 4) == 4; }

    std::size_t day_and_month(std::size_t at) const {
        std::size_t day = few_digits(at);
        if (!day) return 0;
        if (signs_.is_one_of(day, U".º°"))
            ++day;
        else if (const std::size_t behind = suffix(day); behind || signs_.starts_with(day, U"er"))
            day += 2;
        std::size_t end = 0;
        if (signs_.starts_with(day, U" de ") || signs_.starts_with(day, U" of ")) end = month(day + 4);
        if (!end && signs_[day] == U' ') end = month(day + 1);
        if (!end) return 0;
        if (signs_[end] == U',')
            if (const std::size_t year = of_year(end + 1)) return year;
        const std::size_t year = of_year(end);
        return year ? year : end;
    }

    std::size_t suffix(std::size_t at) const {
        for (const View one : {U"st", U"nd", U"rd", U"th"})
            if (signs_.starts_with(at, one)) return at + 2;
        return 0;
    }

    std::size_t month_and_day(std::size_t at) const {
        const std::size_t blank = month(at);
        if (!blank || signs_[blank] != U' ') return 0;
        std::size_t day = few_digits(blank + 1);
        if (!day) return 0;
        if (const std::size_t behind = suffix(day); behind && !signs_.is(behind, DECIMAL)) day = behind;
        const std::size_t year = signs_[day] == U',' ? day + 1 : day;
        return blank_and_year(year) && !signs_.is(year + 5, DECIMAL) ? year + 5 : day;
    }

    std::size_t month_and_year(std::size_t at) const {
        const std::size_t end = month(at);
        const std::size_t year = end ? of_year(end) : 0;
        return year && !signs_.is(year, DECIMAL) ? year : 0;
    }

    std::size_t han_day(std::size_t at) const {
        const std::size_t day = few_digits(at);
        return day && signs_.is_one_of(day, U"日号") ? day + 1 : at;
    }

    std::size_t han_month(std::size_t at) const {
        const std::size_t month = few_digits(at);
        return month && signs_[month] == U'月' ? han_day(month + 1) : 0;
    }

    std::size_t han_date(std::size_t at) const {
        const std::size_t count = signs_.digits(at, 5);
        if (count >= 2 && count <= 4 && signs_[at + count] == U'年') {
            const std::size_t end = han_month(at + count + 1);
            return end ? end : at + count + 1;
        }
        return han_month(at);
    }

    // 1980s, and 1984 where nothing goes on the number.
    std::size_t year(std::size_t at) const {
        const bool is_century = signs_.starts_with(at, U"20") || (signs_[at] == U'1' && signs_[at + 1] >= U'0' && signs_[at + 1] <= U'9');
        if (!is_century || !signs_.is(at + 2, DECIMAL)) return 0;
        if (signs_.starts_with(at + 3, U"0s") && !signs_.is(at + 5, WORD)) return at + 5;
        if (at > 0 && is_before_digit(signs_[at - 1]) && !signs_.is_one_of(at - 1, U"/-")) return 0;
        const std::size_t end = at + 4;
        if (!signs_.is(at + 3, DECIMAL) || (signs_.is(end, WORD) && !is_han(signs_[end])) || signs_[end] == U'%') return 0;
        if (signs_.is_one_of(end, U".,:") && signs_.is(end + 1, DECIMAL)) return 0;
        return signs_[end] == U'-' && signs_.digits(end + 1, 3) == 3 ? 0 : end;
    }

    // am, p.m. and the like, with the blank before; without the dot behind.
    std::size_t half_day(std::size_t at) const {
        std::size_t sign = signs_[at] == U' ' ? at + 1 : at;
        if (!signs_.is_one_of(sign++, U"apAP")) return 0;
        if (signs_[sign] == U'.') ++sign;
        return signs_.is_one_of(sign, U"mM") && !signs_.is(sign + 1, WORD) ? sign + 1 : 0;
    }

    std::size_t time(std::size_t at) const {
        const std::size_t hour = few_digits(at);
        if (!hour) return 0;
        const bool is_parted = signs_.is_one_of(hour, U":.") && signs_.digits(hour + 1, 2) == 2;
        const bool has_seconds = is_parted && signs_[hour + 3] == U':' && signs_.digits(hour + 4, 2) == 2;
        const std::size_t clock = hour + (has_seconds ? 6 : 3);
        if (is_parted) {
            if (const std::size_t half = half_day(clock)) {
                if (signs_[half] == U'.' && !signs_.is(half + 1, DECIMAL)) return half + 1;
                if (!signs_.is(half, DECIMAL)) return half;
            }
            if (signs_.starts_with(clock, U" Uhr") && !signs_.is(clock + 4, DECIMAL)) return clock + 4;
        }
        if (is_parted && signs_[hour] == U':') {
            if (has_seconds && signs_[clock] == U'Z' && !signs_.is(clock + 1, DECIMAL)) return clock + 1;
            if (!signs_.is(clock, DECIMAL)) return clock;
            if (!signs_.is(hour + 3, DECIMAL)) return hour + 3;
        }
        return full_hour(hour);
    }

    std::size_t full_hour(std::size_t hour) const {
        if (const std::size_t half = half_day(hour)) return signs_[half] == U'.' ? half + 1 : half;
        const std::size_t word = signs_[hour] == U' ' ? hour + 1 : hour;
        if (signs_.starts_with(word, U"Uhr") && !signs_.is(word + 3, WORD)) return word + 3;
        if (signs_[hour] != U'点') return 0;
        if (signs_[hour + 1] == U'半') return hour + 2;
        const std::size_t minute = few_digits(hour + 1);
        return minute && signs_[minute] == U'分' ? minute + 1 : hour + 1;
    }

    // Where the digits of an amount end, with the dots and commas among and behind them.
    std::size_t amount(std::size_t at) const {
        if (!signs_.is(at, DECIMAL)) return 0;
        while (signs_.is(at, DECIMAL) || signs_.is_one_of(at, U".,")) ++at;
        return at;
    }

    std::size_t quantity(std::size_t at) const {
        if (signs_.is_one_of(at, CURRENCIES)) {
            const std::size_t end = amount(signs_[at + 1] == U' ' ? at + 2 : at + 1);
            if (!end) return 0;
            const std::size_t word = signs_[end] == U' ' ? end + 1 : end;
            const std::size_t last = signs_.run(word, WORD, LONGEST_WORD);
            return last > word && !signs_.is(last, WORD) && (lexicon_.sets_of(signs_.part(word, last)) & MAGNITUDES) ? last : end;
        }
        const std::size_t end = amount(at);
        return end ? unit(signs_[end] == U' ' ? end + 1 : end) : 0;
    }

    std::size_t unit(std::size_t at) const {
        if (signs_.is_one_of(at, U"%€")) return at + 1;
        if (signs_[at] == U'°') return signs_.is_one_of(at + 1, U"CF") && !is_ascii_letter(signs_[at + 2]) ? at + 2 : 0;
        std::size_t last = at;
        while (last - at <= LONGEST_WORD && is_ascii_letter(signs_[last])) ++last;
        if (const View word = signs_.part(at, last); last > at && (lexicon_.sets_of(word) & UNITS)) {
            const bool is_of_euros = (word == U"Millionen" || word == U"Milliarden") && signs_.is(last, SPACE) &&
                                     signs_.starts_with(last + 1, U"Euro") && !is_ascii_letter(signs_[last + 5]);
            return is_of_euros ? last + 5 : last;
        }
        const bool is_great = signs_.is_one_of(at, U"万亿");
        const std::size_t word = is_great ? at + 1 : at;
        if (signs_.starts_with(word, U"公里") || signs_.starts_with(word, U"公斤")) return word + 2;
        if (signs_.is_one_of(word, U"美欧") && signs_[word + 1] == U'元') return word + 2;
        if (signs_.is_one_of(word, U"元人")) return word + 1;
        return is_great ? at + 1 : 0;
    }

    std::size_t code(std::size_t at) const {
        if (const std::size_t end = parted_code(at)) return end;
        std::size_t letters = at;
        while (signs_[letters] >= U'A' && signs_[letters] <= U'Z') ++letters;
        const std::size_t digits = signs_.digits(letters, 2);
        if ((letters > at && digits == 2) || (letters > at + 1 && digits == 1)) return in_code(letters + digits);
        return version(at);
    }

    std::size_t in_code(std::size_t at) const {
        while (is_in_code(signs_[at])) ++at;
        return at;
    }

    // Capitals and digits, in parts.
    std::size_t parted_code(std::size_t at) const {
        std::size_t capital = at;
        while (capital - at <= SEEN_AHEAD && !(signs_[capital] >= U'A' && signs_[capital] <= U'Z')) {
            if (!signs_.is(capital, WORD) && !signs_.is_one_of(capital, U"/-")) return 0;
            ++capital;
        }
        if (capital - at > SEEN_AHEAD) return 0;
        std::size_t end = in_code(at);
        if (end == at) return 0;
        const std::size_t first = end;
        while (signs_.is_one_of(end, U"-_/") && is_in_code(signs_[end + 1])) end = in_code(end + 1);
        return end > first && !(signs_[end] >= U'a' && signs_[end] <= U'z') ? end : 0;
    }

    std::size_t version(std::size_t at) const {
        std::size_t end = signs_.is_one_of(at, U"vV") ? at + 1 : at;
        if (!signs_.is(end, DECIMAL)) return 0;
        end = signs_.run(end, DECIMAL);
        std::size_t parts = 0;
        for (; signs_[end] == U'.' && signs_.is(end + 1, DECIMAL); ++parts) end = signs_.run(end + 1, DECIMAL);
        return parts >= 2 ? end : 0;
    }

    Signs signs_;
    const Lexicon &lexicon_;
};

} // namespace

std::vector<Shaped> numbers(View text, const Lexicon &lexicon) { return Numbers(text, lexicon).find(); }

} // namespace monograph
