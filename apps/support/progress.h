// Tells whoever waits how far a long run is, on standard error.
#pragma once

#include <string_view>

namespace sumwire::apps {

class Progress {
  public:
    // Shown if standard error is a terminal (one line, rewritten) or if `always` (a line each).
    explicit Progress(bool always);
    // Clears the line.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(std::string_view text);
    // Before other output to the same terminal.
    void clear();

  private:
    bool terminal_ = false;
    bool shown_ = false;
    bool line_open_ = false;
};

}  // namespace sumwire::apps
