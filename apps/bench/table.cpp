#include "apps/bench/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

namespace sumwire::apps {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (auto& column : columns_)
        column.width = std::max(column.width, static_cast<int>(column.title.size()));
}

void Table::print_head() const {
    std::vector<std::string> titles;
    for (const auto& column : columns_)
        titles.push_back(column.title);
    print_row(titles);
}

void Table::print_row(const std::vector<std::string>& cells) const {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto& column = columns_.at(i);
        if (i > 0) line += "  ";
        line += column.is_text ? fmt::format("{:<{}}", cells[i], column.width)
                               : fmt::format("{:>{}}", cells[i], column.width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

void print_banner(std::initializer_list<std::string> lines) {
    for (const auto& line : lines)
        fmt::print("# {}\n", line);
    fmt::print("\n");
    std::fflush(stdout);
}

}  // namespace sumwire::apps
