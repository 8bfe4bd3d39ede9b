// Cuts a stream of output into lines and puts a mark in front of each.
#pragma once

#include <string>
#include <string_view>

namespace sumwire::apps {

class LinePrefixer {
  public:
    // Without a prefix everything passes through unchanged.
    explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

    // What can be written after this piece of output.
    std::string add(std::string_view piece);
    // An unfinished last line.
    std::string finish();

  private:
    std::string prefix_;
    std::string line_;
};

}  // namespace sumwire::apps
