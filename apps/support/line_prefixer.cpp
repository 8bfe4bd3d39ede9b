#include "apps/support/line_prefixer.h"

#include <utility>

namespace sumwire::apps {

std::string LinePrefixer::add(std::string_view piece) {
    if (prefix_.empty()) return std::string(piece);
    std::string out;
    for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;) {
        out += prefix_;
        out += std::exchange(line_, {});
        out += piece.substr(0, end + 1);
        piece.remove_prefix(end + 1);
    }
    line_ += piece;
    return out;
}

std::string LinePrefixer::finish() {
    if (line_.empty()) return {};
    return prefix_ + std::exchange(line_, {}) + '\n';
}

}  // namespace sumwire::apps
