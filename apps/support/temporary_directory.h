// A private directory that is removed with everything in it.
#pragma once

#include <filesystem>

namespace sumwire::apps {

class TemporaryDirectory {
  public:
    // In $TMPDIR or /tmp; in /tmp also where sockets below $TMPDIR would have too long a path.
    // Throws LaunchError.
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace sumwire::apps
