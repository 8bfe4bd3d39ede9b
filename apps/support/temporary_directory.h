// A private directory that is removed with everything in it; if its process is killed, by the next
// one that makes such a directory in the same place.
#pragma once

#include <filesystem>

#include "apps/support/descriptor.h"

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
    Descriptor owner_;  // locked as long as the process lives
};

}  // namespace sumwire::apps
