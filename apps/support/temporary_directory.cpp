#include "apps/support/temporary_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "apps/support/launch_error.h"

namespace sumwire::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "sumwire-";
// Only directories with this file are ours to remove.
constexpr const char* owner_file = ".sumwire-owner";

Descriptor open_owner(const fs::path& directory, int flags) {
    return Descriptor(
        open((directory / owner_file).c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
}

// This user's own, and no link to elsewhere.
bool is_own_directory(const fs::path& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid();
}

void remove_abandoned(const fs::path& parent) {
    std::error_code ignored;
    for (fs::directory_iterator entry(parent, ignored), end; entry != end;
         entry.increment(ignored)) {
        const fs::path& path = entry->path();
        if (!path.filename().string().starts_with(prefix) || !is_own_directory(path)) continue;
        const Descriptor owner = open_owner(path, 0);
        if (owner && flock(owner.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
    }
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
    constexpr std::size_t longest_parent = 60;  // a socket's path has 107 bytes
    const char* chosen = std::getenv("TMPDIR");
    std::string path = chosen == nullptr || *chosen == '\0' || std::strlen(chosen) > longest_parent
                           ? "/tmp"
                           : chosen;
    remove_abandoned(path);
    path += fmt::format("/{}XXXXXX", prefix);
    if (mkdtemp(path.data()) == nullptr) {
        throw LaunchError(
            fmt::format("cannot make the directory '{}': {}; set TMPDIR to a writable directory",
                        path, std::strerror(errno)));
    }
    path_ = path;
    // Locked before it has its name, so that no other process takes it for abandoned.
    owner_ = Descriptor(open(path_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    const std::string unnamed = fmt::format("/proc/self/fd/{}", owner_.get());
    if (owner_ && flock(owner_.get(), LOCK_EX) == 0)
        linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, (path_ / owner_file).c_str(),
               AT_SYMLINK_FOLLOW);
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace sumwire::apps
