// A directory of our own that vanishes with the object.
#pragma once

#include <filesystem>

namespace sumwire::apps {

class TemporaryDirectory {
  public:
    // Under TMPDIR or /tmp. Throws std::system_error.
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace sumwire::apps
