// A table on standard output whose rows appear as they are measured.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace sumwire::apps {

struct Column {
    std::string title;
    int width = 0;         // at least the title's; longer cells push the rest of their row aside
    bool is_text = false;  // left-aligned; numbers are right-aligned
};

class Table {
  public:
    explicit Table(std::vector<Column> columns);

    void print_head() const;
    // Cells beyond the last column are not allowed, missing ones stay empty.
    void print_row(const std::vector<std::string>& cells) const;

  private:
    std::vector<Column> columns_;
};

// Lines above a table: what was run, and loudly what about it is emulated or shared.
void print_banner(std::initializer_list<std::string> lines);

}  // namespace sumwire::apps
