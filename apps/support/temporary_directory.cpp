#include "apps/support/temporary_directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "apps/support/launch_error.h"

namespace sumwire::apps {

TemporaryDirectory::TemporaryDirectory() {
    constexpr std::size_t longest_parent = 60;  // a socket's path has 107 bytes
    const char* chosen = std::getenv("TMPDIR");
    std::string path = chosen == nullptr || *chosen == '\0' || std::strlen(chosen) > longest_parent
                           ? "/tmp"
                           : chosen;
    path += "/sumwire-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
        throw LaunchError(
            fmt::format("cannot make the directory '{}': {}; set TMPDIR to a writable directory",
                        path, std::strerror(errno)));
    }
    path_ = path;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace sumwire::apps
