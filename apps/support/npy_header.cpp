#include "apps/support/npy_header.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace sumwire::apps {
namespace {

class Parser {
  public:
    explicit Parser(std::string_view text) : rest_(text) {}

    NpyHeader parse() {
        std::optional<std::string> descr;
        std::optional<bool> fortran_order;
        std::optional<std::vector<std::uint64_t>> shape;
        expect('{');
        while (!take('}')) {
            const std::string key = string();
            expect(':');
            if (key == "descr" && !descr) {
                descr = peek() == '[' ? structured() : string();
            } else if (key == "fortran_order" && !fortran_order) {
                fortran_order = boolean();
            } else if (key == "shape" && !shape) {
                shape = tuple();
            } else {
                throw std::invalid_argument("the key '" + key + "' is unknown or there twice");
            }
            if (!take(',') && peek() != '}') fail("',' or '}'");
        }
        skip_space();
        if (!rest_.empty()) fail("nothing more");
        if (!descr || !fortran_order || !shape) {
            throw std::invalid_argument("one of descr, fortran_order and shape is missing");
        }
        return {std::move(*descr), *fortran_order, std::move(*shape)};
    }

  private:
    [[noreturn]] static void fail(std::string_view expected) {
        throw std::invalid_argument("expected " + std::string(expected));
    }

    void skip_space() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size()));
    }

    char peek() {
        skip_space();
        return rest_.empty() ? '\0' : rest_.front();
    }

    bool take(char wanted) {
        if (peek() != wanted || rest_.empty()) return false;
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char wanted) {
        if (!take(wanted)) fail(std::string("'") + wanted + "'");
    }

    std::string string() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') fail("a quoted string");
        rest_.remove_prefix(1);
        const std::size_t end = rest_.find(quote);
        if (end == std::string_view::npos) fail("a closing quote");
        std::string text(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        // It will be part of messages.
        constexpr std::size_t most_characters = 64;
        const bool printable =
            std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
        if (!printable || text.size() > most_characters) fail("a short printable text in quotes");
        return text;
    }

    bool boolean() {
        skip_space();
        for (const bool value : {true, false}) {
            const std::string_view word = value ? "True" : "False";
            if (!rest_.starts_with(word)) continue;
            rest_.remove_prefix(word.size());
            return value;
        }
        fail("True or False");
    }

    std::vector<std::uint64_t> tuple() {
        std::vector<std::uint64_t> sizes;
        expect('(');
        while (!take(')')) {
            skip_space();
            std::uint64_t size = 0;
            const auto [end, error] =
                std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
            if (error != std::errc()) fail("a dimension below 2^64");
            rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
            sizes.push_back(size);
            if (!take(',') && peek() != ')') fail("',' or ')'");
        }
        return sizes;
    }

    // Nothing in a record type is of use here, so its inside is skipped.
    std::string structured() {
        int depth = 0;
        do {
            const char c = peek();
            if (c == '\0') fail("']'");
            if (c == '\'' || c == '"') {
                string();
                continue;
            }
            depth += (c == '[' ? 1 : 0) - (c == ']' ? 1 : 0);
            rest_.remove_prefix(1);
        } while (depth > 0);
        return "structured";
    }

    std::string_view rest_;
};

}  // namespace

NpyHeader parse_npy_dictionary(std::string_view text) {
    return Parser(text).parse();
}

}  // namespace sumwire::apps
